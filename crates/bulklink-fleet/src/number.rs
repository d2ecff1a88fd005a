//! Numbers of the protocol. They are exact below 2⁵³, so a server may compute with floating-point
//! numbers.

use std::fmt;
use std::time::Duration;

/// Declares numbers that must not be mistaken for each other.
macro_rules! numbers {
    ($($(#[$docs:meta])* $name:ident)+) => {$(
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u64);

        impl From<u64> for $name {
            fn from(number: u64) -> Self {
                Self(number)
            }
        }

        impl From<$name> for u64 {
            fn from(number: $name) -> Self {
                number.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

numbers! {
    /// The life of the data of a name; data that is made anew has a larger one.
    ///
    /// It is the server's time when the data was made, in microseconds, or more.
    Epoch
    /// A fencing token: larger than all that were handed out before for the same name.
    Token
    /// Counts the changes of the live limit.
    Version
    /// An instant of the server's clock, in microseconds since 1970.
    ServerTime
    /// Identifies a run of the server program: another one may lack data. A hash of its run id.
    RunId
}

impl ServerTime {
    /// Returns the instant that is `duration` later, in whole microseconds.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Returns the time from `earlier` to this instant, and zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}
