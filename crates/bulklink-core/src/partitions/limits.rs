//! The limits of partitions: how many are kept, and for how long.

use core::fmt;
use core::time::Duration;

use crate::InvalidArgument;

/// The limits of a set of partitions. [`new`](Limits::new) and the `with_` methods set them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Partitions kept at the same time, 1 to [`MAX`](Limits::MAX).
    pub max_partitions: usize,
    /// How long a partition must have been idle before
    /// [`cleanup_idle`](super::Partitions::cleanup_idle) removes it. Zero removes every idle
    /// partition, `None` removes none.
    pub idle_timeout: Option<Duration>,
}

impl Limits {
    /// The largest number of partitions: the largest value of 31 bits.
    pub const MAX: usize = u32::MAX as usize >> 1;

    /// Returns the limits of a set that keeps this many partitions, idle or not.
    #[must_use]
    pub const fn new(max_partitions: usize) -> Self {
        Limits { max_partitions, idle_timeout: None }
    }

    /// Returns these limits with another [`idle_timeout`](Limits::idle_timeout).
    #[must_use]
    pub const fn with_idle_timeout(self, idle_timeout: Option<Duration>) -> Self {
        Limits { idle_timeout, ..self }
    }

    /// Returns the number of partitions, if it is in range.
    pub(super) fn check(&self) -> Result<u32, InvalidArgument> {
        match (self.max_partitions, u32::try_from(self.max_partitions)) {
            (0, _) => Err(self.invalid("must be at least 1")),
            (1..=Limits::MAX, Ok(count)) => Ok(count),
            _ => Err(self.invalid(format_args!("must be at most {}", Limits::MAX))),
        }
    }

    fn invalid(&self, requirement: impl fmt::Display) -> InvalidArgument {
        InvalidArgument::new("max_partitions", self.max_partitions, requirement)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn error_for(max_partitions: usize) -> alloc::string::String {
        Limits::new(max_partitions).check().expect_err("out of range").to_string()
    }

    #[test]
    fn an_error_names_the_number_out_of_range() {
        assert_eq!(error_for(0), "max_partitions must be at least 1, got 0");
        let beyond = Limits::MAX + 1;
        assert_eq!(
            error_for(beyond),
            ["max_partitions must be at most 2147483647, got ", &beyond.to_string()].concat()
        );
        assert_eq!(Limits::new(Limits::MAX).with_idle_timeout(Some(Duration::ZERO)).check(), Ok(2_147_483_647));
    }
}
