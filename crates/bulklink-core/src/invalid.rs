//! The error for numbers and names that cannot be meant.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

/// A value that was refused. It names the field and the value, and nothing was changed or counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
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
        Invalid(Box::new(Details { owner: None, field, value, requirement }))
    }

    /// The same refusal under the name that the caller knows the field by.
    #[must_use]
    pub fn for_field(mut self, field: &'static str) -> Self {
        self.0.field = field;
        self
    }

    /// The same refusal, with whose field it is at the head of its text.
    #[must_use]
    pub fn of(mut self, owner: impl fmt::Display) -> Self {
        self.0.owner = Some(owner.to_string());
        self
    }

    /// The name of the field.
    #[must_use]
    pub fn field(&self) -> &'static str {
        self.0.field
    }

    /// The value that was refused, as text.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.0.value
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { owner, field, value, requirement } = &*self.0;
        if let Some(owner) = owner {
            write!(f, "{owner}: ")?;
        }
        write!(f, "{field} {requirement}, got {value}")
    }
}

impl core::error::Error for Invalid {}
