//! The forms in which files and environment variables give numbers, durations and reserves. An
//! error lists the accepted forms.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::string::String;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::ser::Serializer;

use super::duration::{FORM, exact, parse};
use super::reserve_text;
use crate::label::quoted;
use crate::{Limits, Reserve};

/// How a value is written and read.
pub(crate) trait Form {
    type Value;

    /// Writes the accepted forms.
    fn expected(f: &mut fmt::Formatter<'_>) -> fmt::Result;

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error>;

    /// Asks a format that has no types of its own for the type of this form.
    fn read<'de, D: Deserializer<'de>>(deserializer: D, reader: Reader<Self>) -> Result<Option<Self::Value>, D::Error>;

    fn from_number(_: u64) -> Option<Self::Value> {
        None
    }

    fn from_text(_: &str) -> Option<Self::Value> {
        None
    }
}

/// A number whose range begins here. The range is checked later, with all other values.
pub(crate) struct Number<const LEAST: usize>;

impl<const LEAST: usize> Form for Number<LEAST> {
    type Value = usize;

    fn expected(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {LEAST} to {}", Limits::MAX)
    }

    fn write<S: Serializer>(value: &usize, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(*value as u64)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, reader: Reader<Self>) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_u64(reader)
    }

    fn from_number(number: u64) -> Option<usize> {
        usize::try_from(number).ok()
    }
}

/// A duration, as a text with its unit.
pub(crate) struct Time;

impl Form for Time {
    type Value = Duration;

    fn expected(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORM)
    }

    fn write<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&exact(*value))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, reader: Reader<Self>) -> Result<Option<Duration>, D::Error> {
        deserializer.deserialize_str(reader)
    }

    fn from_text(text: &str) -> Option<Duration> {
        parse(text)
    }
}

/// A reserve: the name of one, or a duration.
pub(crate) struct Kept;

impl Form for Kept {
    type Value = Reserve;

    fn expected(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"learnt\", \"none\" or {FORM}")
    }

    fn write<S: Serializer>(value: &Reserve, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&reserve_text(*value))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, reader: Reader<Self>) -> Result<Option<Reserve>, D::Error> {
        deserializer.deserialize_str(reader)
    }

    fn from_text(text: &str) -> Option<Reserve> {
        match text.trim() {
            "learnt" => Some(Reserve::Learnt),
            "none" => Some(Reserve::None),
            text => parse(text).map(Reserve::Fixed),
        }
    }
}

/// Reads an optional value of this form.
pub(crate) struct Reader<F: ?Sized>(PhantomData<F>);

impl<'de, F: Form> Visitor<'de> for Reader<F> {
    type Value = Option<F::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        F::expected(f)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        F::read(deserializer, self)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        let value = F::from_number(number).map(Some);
        value.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        F::from_text(text).map(Some).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

fn read<'de, F: Form, D: Deserializer<'de>>(deserializer: D) -> Result<Option<F::Value>, D::Error> {
    deserializer.deserialize_option(Reader::<F>(PhantomData))
}

fn write<F: Form, S: Serializer>(value: Option<&F::Value>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => F::write(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Modules for serde's `with`.
macro_rules! modules {
    ($($module:ident: $form:ty;)*) => {$(
        pub(crate) mod $module {
            use super::*;

            type Value = <$form as Form>::Value;

            #[expect(clippy::ref_option, reason = "serde passes it so")]
            pub(crate) fn serialize<S: Serializer>(
                value: &Option<Value>,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                write::<$form, S>(value.as_ref(), serializer)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Option<Value>, D::Error> {
                read::<$form, D>(deserializer)
            }
        }
    )*};
}

modules! {
    from_0: Number<0>;
    from_1: Number<1>;
    duration: Time;
    reserve: Kept;
}

/// Reads sections by their names. One that is there twice is refused: some formats leave that to
/// their reader, and the first would be lost.
pub(crate) fn sections<'de, T, D>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_map(Sections(PhantomData))
}

struct Sections<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Sections<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of sections by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut sections: BTreeMap<String, T> = BTreeMap::new();
        while let Some((name, section)) = map.next_entry()? {
            match sections.entry(name) {
                Entry::Vacant(place) => _ = place.insert(section),
                Entry::Occupied(place) => {
                    return Err(A::Error::custom(format_args!("section {} is there twice", quoted(place.key()))));
                }
            }
        }
        Ok(sections)
    }
}
