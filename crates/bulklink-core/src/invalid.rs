//! The error for numbers and names that cannot be meant.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

use crate::Limits;

/// A value that was refused. It names the field and the value, and nothing was changed or counted.
#[derive(Clone, Debug)]
pub struct InvalidArgument(Cause);

#[derive(Clone, Debug)]
enum Cause {
    Found(Found),
    Told(Box<Told>),
}

/// What the gate itself refuses, put into words only where it is read: to find it takes no memory, and none of the code that
/// formats numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    NoWaitLimit,
    NoCapacity,
    CapacityTooLarge(usize),
    WaitingRoomTooLarge(usize),
    CapacityBelowWaiter {
        capacity: u32,
        cost: u32,
    },
    /// A cost of `u32::MAX` is that much or more.
    CostOutOfRange {
        cost: u32,
        capacity: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    owner: Option<String>,
    field: &'static str,
    value: String,
    requirement: String,
}

impl InvalidArgument {
    /// A refusal of `value` for `field`, which must satisfy `requirement` (worded to follow the field's name, such as
    /// "must be at least 1"). For crates that build on the gate and check fields of their own.
    #[must_use]
    pub fn new(field: &'static str, value: impl fmt::Display, requirement: impl fmt::Display) -> Self {
        let (value, requirement) = (value.to_string(), requirement.to_string());
        InvalidArgument(Cause::Told(Box::new(Told { owner: None, field, value, requirement })))
    }

    /// The same refusal under the name that the caller knows the field by.
    #[must_use]
    pub fn for_field(self, field: &'static str) -> Self {
        InvalidArgument(Cause::Told(Box::new(Told { field, ..self.told() })))
    }

    /// The same refusal, with whose field it is at the head of its text.
    #[must_use]
    pub fn of(self, owner: impl fmt::Display) -> Self {
        InvalidArgument(Cause::Told(Box::new(Told { owner: Some(owner.to_string()), ..self.told() })))
    }

    fn told(self) -> Told {
        match self.0 {
            Cause::Found(found) => Told {
                owner: None,
                field: found.field(),
                value: found.value().to_string(),
                requirement: found.to_string(),
            },
            Cause::Told(told) => *told,
        }
    }

    /// The name of the field.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match &self.0 {
            Cause::Found(found) => found.field(),
            Cause::Told(told) => told.field,
        }
    }

    /// The value that was refused, to be displayed.
    #[must_use]
    pub fn value(&self) -> &dyn fmt::Display {
        match &self.0 {
            Cause::Found(found) => found.value(),
            Cause::Told(told) => &told.value,
        }
    }
}

impl From<Found> for InvalidArgument {
    fn from(found: Found) -> Self {
        InvalidArgument(Cause::Found(found))
    }
}

impl Found {
    fn field(&self) -> &'static str {
        match self {
            Found::NoWaitLimit => "wait_limit",
            Found::NoCapacity | Found::CapacityTooLarge(_) | Found::CapacityBelowWaiter { .. } => "capacity",
            Found::WaitingRoomTooLarge(_) => "waiting_room",
            Found::CostOutOfRange { .. } => "cost",
        }
    }

    fn value(&self) -> &dyn fmt::Display {
        match self {
            Found::NoWaitLimit => &"0s",
            Found::NoCapacity => &0,
            Found::CapacityTooLarge(value) | Found::WaitingRoomTooLarge(value) => value,
            Found::CapacityBelowWaiter { capacity, .. } => capacity,
            Found::CostOutOfRange { cost: u32::MAX, .. } => &"4294967295 or more",
            Found::CostOutOfRange { cost, .. } => cost,
        }
    }
}

/// What the field would have to satisfy.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::NoWaitLimit => f.write_str("must be longer than zero"),
            Found::NoCapacity => f.write_str("must be at least 1"),
            Found::CapacityTooLarge(_) | Found::WaitingRoomTooLarge(_) => write!(f, "must be at most {}", Limits::MAX),
            Found::CapacityBelowWaiter { cost, .. } => write!(f, "must be at least {cost}, which a waiter asks for"),
            Found::CostOutOfRange { capacity, .. } => write!(f, "must be from 1 to the capacity, {capacity}"),
        }
    }
}

/// By what it says, whoever found it.
impl PartialEq for InvalidArgument {
    fn eq(&self, other: &InvalidArgument) -> bool {
        self.clone().told() == other.clone().told()
    }
}

impl Eq for InvalidArgument {}

impl fmt::Display for InvalidArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Found(found) => write!(f, "{} {found}, got {}", found.field(), found.value()),
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

impl core::error::Error for InvalidArgument {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_found_equals_what_is_told() {
        let told = InvalidArgument::new("capacity", 0, "must be at least 1");
        assert_eq!(InvalidArgument::from(Found::NoCapacity), told);
        assert_ne!(InvalidArgument::from(Found::NoWaitLimit), told);
        assert_ne!(told.clone().of("payments"), told);
    }

    #[test]
    fn what_is_found_reads_as_what_is_told() {
        for (found, text) in [
            (Found::NoWaitLimit, "wait_limit must be longer than zero, got 0s"),
            (Found::NoCapacity, "capacity must be at least 1, got 0"),
            (Found::CapacityTooLarge(1 << 31), "capacity must be at most 2147483647, got 2147483648"),
            (Found::WaitingRoomTooLarge(1 << 31), "waiting_room must be at most 2147483647, got 2147483648"),
            (
                Found::CapacityBelowWaiter { capacity: 2, cost: 3 },
                "capacity must be at least 3, which a waiter asks for, got 2",
            ),
            (Found::CostOutOfRange { cost: 9, capacity: 5 }, "cost must be from 1 to the capacity, 5, got 9"),
            (
                Found::CostOutOfRange { cost: u32::MAX, capacity: 5 },
                "cost must be from 1 to the capacity, 5, got 4294967295 or more",
            ),
        ] {
            let found = InvalidArgument::from(found);
            assert_eq!(found.to_string(), text);
            assert!(text.starts_with(found.field()) && text.ends_with(&found.value().to_string()));
            let named = found.clone().for_field("parallelism");
            assert_eq!(named.to_string(), text.replacen(found.field(), "parallelism", 1));
            assert_eq!((named.field(), named.value().to_string()), ("parallelism", found.value().to_string()));
            let owned = named.of("bulkhead a");
            assert_eq!(owned.to_string(), ["bulkhead a: ", &text.replacen(found.field(), "parallelism", 1)].concat());
            assert_eq!(owned.field(), "parallelism");
        }
    }

    #[test]
    fn it_is_no_larger_than_a_rejection() {
        assert!(size_of::<InvalidArgument>() <= size_of::<crate::Rejection>());
    }
}
