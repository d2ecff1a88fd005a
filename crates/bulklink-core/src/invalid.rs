//! The error for invalid numbers and names.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// The largest value of a limit.
pub(crate) const LARGEST: usize = i32::MAX as usize;

/// An invalid value. The error names the field and the value; nothing was changed or counted.
///
/// Its debug form is its text too, so that it can be read where `main` returns it.
#[derive(Clone)]
pub struct InvalidArgument(Cause);

#[derive(Clone)]
enum Cause {
    Violation(Violation),
    Custom(Box<Custom>),
}

/// A violation that the gate itself finds. It is formatted only when it is read, so that finding it
/// takes no memory and none of the code that formats numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// The limit must be at least this much, and at most [`LARGEST`]; `u32::MAX` means that it
    /// must not be set.
    Limit { field: Field, value: usize, least: u32 },
    /// A cost of `u32::MAX` means that many units or more.
    CostOutOfRange { cost: u32, capacity: u32 },
}

/// A limit, by its name. Of a word, so that errors are copied by words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Field {
    Capacity,
    WaitingRoom,
    WaitingRoomUnits,
    WaitLimit,
}

impl Field {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Field::Capacity => "capacity",
            Field::WaitingRoom => "waiting_room",
            Field::WaitingRoomUnits => "waiting_room_units",
            Field::WaitLimit => "wait_limit",
        }
    }
}

/// A violation in the words of a crate that builds on the gate, or one of the gate's own that was
/// renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Custom {
    owner: Option<String>,
    field: &'static str,
    value: String,
    requirement: String,
}

impl InvalidArgument {
    /// Creates an error that rejects `value` for `field`, which must satisfy `requirement`.
    ///
    /// The requirement must follow the field's name grammatically, such as "must be at least 1".
    /// For crates that build on the gate and validate fields of their own.
    #[must_use]
    pub fn new(field: &'static str, value: impl fmt::Display, requirement: impl fmt::Display) -> Self {
        let (value, requirement) = (value.to_string(), requirement.to_string());
        InvalidArgument(Cause::Custom(Box::new(Custom { owner: None, field, value, requirement })))
    }

    /// Returns the same error under another name for the field: the one that the caller knows.
    #[must_use]
    pub fn for_field(self, field: &'static str) -> Self {
        InvalidArgument(Cause::Custom(Box::new(Custom { field, ..self.into_custom() })))
    }

    /// Returns the same error with the owner of the field at the head of its text.
    #[must_use]
    pub fn of(self, owner: impl fmt::Display) -> Self {
        let custom = self.into_custom();
        let owner = match &custom.owner {
            Some(part) => format!("{owner}: {part}"),
            None => owner.to_string(),
        };
        InvalidArgument(Cause::Custom(Box::new(Custom { owner: Some(owner), ..custom })))
    }

    fn into_custom(self) -> Custom {
        match self.0 {
            Cause::Violation(violation) => Custom {
                owner: None,
                field: violation.field(),
                value: violation.value().to_string(),
                requirement: violation.to_string(),
            },
            Cause::Custom(custom) => *custom,
        }
    }

    /// Returns the name of the field.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match &self.0 {
            Cause::Violation(violation) => violation.field(),
            Cause::Custom(custom) => custom.field,
        }
    }

    /// Returns the invalid value, to be displayed.
    #[must_use]
    pub fn value(&self) -> &dyn fmt::Display {
        match &self.0 {
            Cause::Violation(violation) => violation.value(),
            Cause::Custom(custom) => &custom.value,
        }
    }
}

impl From<Violation> for InvalidArgument {
    fn from(violation: Violation) -> Self {
        InvalidArgument(Cause::Violation(violation))
    }
}

impl Violation {
    fn field(&self) -> &'static str {
        match self {
            Violation::Limit { field, .. } => field.name(),
            Violation::CostOutOfRange { .. } => "cost",
        }
    }

    fn value(&self) -> &dyn fmt::Display {
        match self {
            Violation::Limit { field: Field::WaitLimit, .. } => &"0 s",
            Violation::Limit { value, .. } => value,
            Violation::CostOutOfRange { cost: u32::MAX, .. } => &"4294967295 or more",
            Violation::CostOutOfRange { cost, .. } => cost,
        }
    }
}

/// Writes the requirement that the field violates.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Violation::Limit { value, .. } if value > LARGEST => write!(f, "must be at most {LARGEST}"),
            Violation::Limit { field: Field::WaitLimit, .. } => f.write_str("must be longer than zero"),
            Violation::Limit { least: u32::MAX, value: 1.., .. } => {
                f.write_str("must not be set without a waiting room")
            }
            Violation::Limit { field: Field::Capacity, least: least @ 2.., .. } => {
                write!(f, "must be at least {least}, which a waiter asks for")
            }
            Violation::Limit { .. } => f.write_str("must be at least 1"),
            Violation::CostOutOfRange { capacity, .. } => write!(f, "must be from 1 to the capacity, {capacity}"),
        }
    }
}

/// Compares the contents: an error of the gate equals a custom one with the same text.
impl PartialEq for InvalidArgument {
    fn eq(&self, other: &InvalidArgument) -> bool {
        self.clone().into_custom() == other.clone().into_custom()
    }
}

impl Eq for InvalidArgument {}

impl fmt::Display for InvalidArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Violation(violation) => write!(f, "{} {violation}, got {}", violation.field(), violation.value()),
            Cause::Custom(custom) => custom.fmt(f),
        }
    }
}

impl fmt::Debug for InvalidArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InvalidArgument({self})")
    }
}

impl fmt::Display for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Custom { owner, field, value, requirement } = self;
        if let Some(owner) = owner {
            write!(f, "{owner}: ")?;
        }
        write!(f, "{field} {requirement}, got {value}")
    }
}

impl core::error::Error for InvalidArgument {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const fn limit(field: Field, value: usize, least: u32) -> Violation {
        Violation::Limit { field, value, least }
    }

    #[test]
    fn a_violation_equals_a_custom_error_with_the_same_text() {
        let custom = InvalidArgument::new("capacity", 0, "must be at least 1");
        assert_eq!(InvalidArgument::from(limit(Field::Capacity, 0, 1)), custom);
        assert_ne!(InvalidArgument::from(limit(Field::WaitLimit, 0, 1)), custom);
        assert_ne!(custom.clone().of("payments"), custom);
    }

    #[test]
    fn a_violation_reads_as_a_custom_error() {
        for (violation, text) in [
            (limit(Field::WaitLimit, 0, 1), "wait_limit must be longer than zero, got 0 s"),
            (limit(Field::Capacity, 0, 1), "capacity must be at least 1, got 0"),
            (limit(Field::Capacity, 1 << 31, 1), "capacity must be at most 2147483647, got 2147483648"),
            (limit(Field::WaitingRoom, 1 << 31, 0), "waiting_room must be at most 2147483647, got 2147483648"),
            (limit(Field::WaitingRoomUnits, 0, 1), "waiting_room_units must be at least 1, got 0"),
            (
                limit(Field::WaitingRoomUnits, 1 << 31, 1),
                "waiting_room_units must be at most 2147483647, got 2147483648",
            ),
            (
                limit(Field::WaitingRoomUnits, 5, u32::MAX),
                "waiting_room_units must not be set without a waiting room, got 5",
            ),
            (
                limit(Field::WaitingRoomUnits, LARGEST, u32::MAX),
                "waiting_room_units must not be set without a waiting room, got 2147483647",
            ),
            (limit(Field::Capacity, 2, 3), "capacity must be at least 3, which a waiter asks for, got 2"),
            (Violation::CostOutOfRange { cost: 9, capacity: 5 }, "cost must be from 1 to the capacity, 5, got 9"),
            (
                Violation::CostOutOfRange { cost: u32::MAX, capacity: 5 },
                "cost must be from 1 to the capacity, 5, got 4294967295 or more",
            ),
        ] {
            let error = InvalidArgument::from(violation);
            assert_eq!((error.to_string().as_str(), format!("{error:?}")), (text, format!("InvalidArgument({text})")));
            assert!(text.starts_with(error.field()) && text.ends_with(&error.value().to_string()));
            let named = error.clone().for_field("parallelism");
            assert_eq!(named.to_string(), text.replacen(error.field(), "parallelism", 1));
            assert_eq!((named.field(), named.value().to_string()), ("parallelism", error.value().to_string()));
            let owned = named.of("bulkhead a");
            assert_eq!(owned.to_string(), ["bulkhead a: ", &text.replacen(error.field(), "parallelism", 1)].concat());
            assert_eq!(owned.field(), "parallelism");
        }
    }

    #[test]
    fn an_invalid_argument_is_no_larger_than_a_rejection() {
        assert!(size_of::<InvalidArgument>() <= size_of::<crate::Rejection>());
    }
}
