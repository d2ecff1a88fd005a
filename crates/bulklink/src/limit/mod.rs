//! Limits that find themselves, in a bulkhead: machines that turn the calls that end into a
//! ceiling.
//!
//! [`Builder::adaptive`](crate::Builder::adaptive) has a machine move a ceiling below the capacity
//! of a bulkhead. The capacity is not changed, nor are the bounds of a configuration, a fleet or a
//! breaker, and the least of all binds.
//!
//! ```
//! use bulklink_tokio::limit::{Knee, Outcome};
//! use bulklink_tokio::Bulkhead;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let search = Bulkhead::builder("search")
//!     .parallelism(200)
//!     .waiting_room(100)
//!     .adaptive(Knee::between(4, 200))
//!     .build()?;
//! assert_eq!(search.status().adaptive.unwrap().state.limit, 20);
//!
//! let slot = search.slot().await?;
//! // The dependency answered that it is overloaded.
//! slot.set_outcome(Outcome::Overload);
//! # Ok(())
//! # }
//! ```
//!
//! - [`Knee`] needs no target, and finds the number of slots from which on more of them give no
//!   more completed calls.
//! - [`Slo`] keeps nine of ten calls within a target for their length.
//! - [`Fixed`] never moves.
//! - Any other [`Limit`] works as well. It is called outside all locks. If it panics, or returns a
//!   limit beyond its bounds, it is not asked again, the last limit stays, and the
//!   [status](Adaptive::has_failed) shows it.

mod adaptation;
mod report;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

pub use bulklink_core::limit::{Fixed, Knee, Limit, Outcome, Sample, Slo, State, Step};
use bulklink_core::{InvalidArgument, Limits};

pub(crate) use adaptation::Adaptation;

use crate::Handle;
use crate::observe::trace::Account;

/// The name of the ceiling of an adaptive limit, in rejections, figures and reports.
pub(crate) const BY: &str = "adaptive";

/// What an adaptive limit does in its bulkhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// It moves its ceiling.
    #[default]
    Active,
    /// Its ceiling stays where it is, and it learns nothing: for hours in which it
    /// must not move.
    Frozen,
    /// It has no ceiling, and only shows which limit it would set. That is an estimate: it learns
    /// less where it moves nothing.
    Monitor,
}

impl Mode {
    /// Returns its name for metrics and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Active => "active",
            Mode::Frozen => "frozen",
            Mode::Monitor => "monitor",
        }
    }
}

/// The figures of an adaptive limit, in the [status](crate::Status::adaptive) of its bulkhead.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Adaptive {
    /// Its mode.
    pub mode: Mode,
    /// The least and the greatest limit.
    pub bounds: (usize, usize),
    /// Its limit, the reason of the latest step, and the figures that explain them. While it only
    /// [monitors](Mode::Monitor), the limit is the one that it would set.
    pub state: State,
    /// How often it has raised its ceiling.
    pub raised: u64,
    /// How often it has lowered its ceiling.
    pub lowered: u64,
    /// Whether it panicked, or returned a limit beyond its bounds. Since then its limit stays.
    pub has_failed: bool,
}

/// The configuration of an adaptive limit, in a builder.
#[derive(Clone)]
pub(crate) struct Config {
    make: Arc<dyn Make>,
    logged: Logged,
}

/// How many moves and failures are logged, each for itself. All partitions of one `Partitions`
/// share it.
#[derive(Clone)]
pub(crate) struct Logged {
    pub(crate) moved: Account,
    pub(crate) failed: Account,
}

impl Logged {
    fn new() -> Self {
        Logged { moved: Account::new(), failed: Account::new() }
    }
}

/// Makes a machine for each bulkhead of a builder.
trait Make: Send + Sync {
    fn make(&self) -> Box<dyn Limit + Send>;
}

impl<L: Limit + Clone + Send + Sync + 'static> Make for L {
    fn make(&self) -> Box<dyn Limit + Send> {
        Box::new(self.clone())
    }
}

impl Config {
    pub(crate) fn new(limit: impl Limit + Clone + Send + Sync + 'static) -> Self {
        Config { make: Arc::new(limit), logged: Logged::new() }
    }

    /// The same, of which nothing was logged.
    pub(crate) fn with_own_log(self) -> Self {
        Config { logged: Logged::new(), ..self }
    }

    pub(crate) fn make(&self) -> Box<dyn Limit + Send> {
        self.make.make()
    }

    /// Checks the bounds against the limits of a bulkhead.
    pub(crate) fn check(&self, limits: &Limits, capacity_field: &str) -> Result<(), InvalidArgument> {
        let limit = self.make();
        let ((least, most), capacity) = (limit.bounds(), limits.capacity);
        // Not by `format_args!` in a variable, which older versions of Rust refuse.
        let error =
            |what: fmt::Arguments<'_>| Err(InvalidArgument::new("adaptive", format_args!("{least} to {most}"), what));
        if least == 0 {
            return error(format_args!("must begin at 1 or more"));
        }
        if least > most {
            return error(format_args!("must not have a least limit above the greatest"));
        }
        if most > capacity {
            return error(format_args!("must not go beyond the {capacity_field} of {capacity}"));
        }
        let first = limit.limit();
        if !(least..=most).contains(&first) {
            return error(format_args!("must have its first limit between them, which is {first}"));
        }
        Ok(())
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adaptive").finish_non_exhaustive()
    }
}

impl Handle {
    /// Sets what the adaptive limit does: whether it moves its ceiling. Returns the mode before;
    /// `None` if the bulkhead has no [adaptive limit](crate::Builder::adaptive).
    ///
    /// From [`Mode::Monitor`] to another, the limit that it would have set becomes its ceiling at
    /// once.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    /// use bulklink_tokio::limit::{Knee, Mode};
    ///
    /// let builder = Bulkhead::builder("search").parallelism(200);
    /// let search = builder.adaptive(Knee::between(4, 200)).build()?;
    /// assert_eq!(search.handle().set_limit_mode(Mode::Frozen), Some(Mode::Active));
    /// assert_eq!(search.status().adaptive.unwrap().mode, Mode::Frozen);
    /// # Ok::<(), bulklink_tokio::InvalidArgument>(())
    /// ```
    pub fn set_limit_mode(&self, mode: Mode) -> Option<Mode> {
        self.shared.set_limit_mode(mode)
    }
}
