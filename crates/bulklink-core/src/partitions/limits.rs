//! How many partitions are kept, and for how long.

use core::fmt;
use core::time::Duration;

use crate::InvalidArgument;

/// The limits of what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Partitions kept at once, 1 to [`MAX`](Limits::MAX).
    pub max_partitions: usize,
    /// How long a partition has been idle when [`cleanup_idle`](super::Partitions::cleanup_idle) takes it; zero for whatever is
    /// idle then, `None` for never.
    pub idle_timeout: Option<Duration>,
}

impl Limits {
    /// The most partitions that can be kept: what 31 bits hold.
    pub const MAX: usize = u32::MAX as usize >> 1;

    /// The number of partitions, if it is in range.
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

    fn refused(max_partitions: usize) -> alloc::string::String {
        Limits { max_partitions, idle_timeout: None }.check().expect_err("out of range").to_string()
    }

    #[test]
    fn a_number_out_of_range_is_named() {
        assert_eq!(refused(0), "max_partitions must be at least 1, got 0");
        let beyond = Limits::MAX + 1;
        assert_eq!(refused(beyond), ["max_partitions must be at most 2147483647, got ", &beyond.to_string()].concat());
        assert_eq!(
            Limits { max_partitions: Limits::MAX, idle_timeout: Some(Duration::ZERO) }.check(),
            Ok(2_147_483_647)
        );
    }
}
