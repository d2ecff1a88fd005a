//! The error for numbers and names that cannot be meant.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

/// A value that was refused. It names the field and the value, and nothing was changed or counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(Cause);

/// What the gate itself refuses is kept as it was found and put into words where it is read: that takes no memory, and none of
/// the code that formats numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cause {
    Found { field: &'static str, value: Value, requirement: Requirement },
    Told(Box<Told>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(usize),
    Text(&'static str),
}

/// What the gate asks of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    LongerThanZero,
    AtLeast(u32),
    AtMost(u32),
    AtLeastTheCostOfAWaiter(u32),
    UpToTheCapacity(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    owner: Option<String>,
    field: &'static str,
    value: String,
    requirement: String,
}

impl Invalid {
    /// A refusal of `value` for `field`, which must satisfy `requirement` (worded to follow the field's name, such as
    /// "must be at least 1"). For crates that build on the gate and check fields of their own.
    #[must_use]
    pub fn new(field: &'static str, value: impl fmt::Display, requirement: impl fmt::Display) -> Self {
        let (value, requirement) = (value.to_string(), requirement.to_string());
        Invalid(Cause::Told(Box::new(Told { owner: None, field, value, requirement })))
    }

    pub(crate) const fn found(field: &'static str, value: Value, requirement: Requirement) -> Self {
        Invalid(Cause::Found { field, value, requirement })
    }

    pub(crate) const fn number(field: &'static str, value: usize, requirement: Requirement) -> Self {
        Invalid::found(field, Value::Number(value), requirement)
    }

    /// The same refusal under the name that the caller knows the field by.
    #[must_use]
    pub fn for_field(mut self, name: &'static str) -> Self {
        match &mut self.0 {
            Cause::Found { field, .. } => *field = name,
            Cause::Told(told) => told.field = name,
        }
        self
    }

    /// The same refusal, with whose field it is at the head of its text.
    #[must_use]
    pub fn of(self, owner: impl fmt::Display) -> Self {
        let owner = Some(owner.to_string());
        Invalid(Cause::Told(match self.0 {
            Cause::Found { field, value, requirement } => {
                Box::new(Told { owner, field, value: value.to_string(), requirement: requirement.to_string() })
            }
            Cause::Told(mut told) => {
                told.owner = owner;
                told
            }
        }))
    }

    /// The name of the field.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match &self.0 {
            Cause::Found { field, .. } => field,
            Cause::Told(told) => told.field,
        }
    }

    /// The value that was refused, to be displayed.
    #[must_use]
    pub fn value(&self) -> &dyn fmt::Display {
        match &self.0 {
            Cause::Found { value, .. } => value,
            Cause::Told(told) => &told.value,
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Found { field, value, requirement } => write!(f, "{field} {requirement}, got {value}"),
            Cause::Told(told) => told.fmt(f),
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { owner, field, value, requirement } = self;
        if let Some(owner) = owner {
            write!(f, "{owner}: ")?;
        }
        write!(f, "{field} {requirement}, got {value}")
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requirement::LongerThanZero => f.write_str("must be longer than zero"),
            Requirement::AtLeast(least) => write!(f, "must be at least {least}"),
            Requirement::AtMost(most) => write!(f, "must be at most {most}"),
            Requirement::AtLeastTheCostOfAWaiter(cost) => {
                write!(f, "must be at least {cost}, which a waiter asks for")
            }
            Requirement::UpToTheCapacity(capacity) => write!(f, "must be from 1 to the capacity, {capacity}"),
        }
    }
}

impl core::error::Error for Invalid {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_found_reads_as_what_is_told() {
        for (value, shown, requirement, worded) in [
            (Value::Text("0s"), "0s", Requirement::LongerThanZero, "must be longer than zero"),
            (Value::Number(0), "0", Requirement::AtLeast(1), "must be at least 1"),
            (Value::Number(8), "8", Requirement::AtMost(7), "must be at most 7"),
            (
                Value::Number(2),
                "2",
                Requirement::AtLeastTheCostOfAWaiter(3),
                "must be at least 3, which a waiter asks for",
            ),
            (Value::Number(9), "9", Requirement::UpToTheCapacity(5), "must be from 1 to the capacity, 5"),
        ] {
            let (found, told) = (Invalid::found("a", value, requirement), Invalid::new("a", shown, worded));
            assert_eq!(found.to_string(), told.to_string());
            let [found, told] = [found, told].map(|invalid| invalid.for_field("b").of("c"));
            assert_eq!(found, told);
            assert_eq!((found.field(), found.value().to_string().as_str()), ("b", shown));
            assert_eq!(found.to_string(), ["c: b ", worded, ", got ", shown].concat());
        }
    }

    #[test]
    fn it_is_no_larger_than_a_rejection() {
        assert!(size_of::<Invalid>() <= size_of::<crate::Rejection>());
    }
}
