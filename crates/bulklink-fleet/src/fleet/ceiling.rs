//! The names of the ceiling of a share: the state in which the share is.
//!
//! They are in rejections, in the status, reports and metrics of the bulkhead, and in its page.
//!
//! ```
//! use bulklink::Rejection;
//! use bulklink_fleet::ceiling;
//!
//! fn is_outage(rejection: &Rejection) -> bool {
//!     rejection.restriction().is_some_and(|ceiling| ceiling.by == ceiling::UNAVAILABLE)
//! }
//! ```

/// The limit of the fleet, or the part that this process has of it now.
pub const SHARE: &str = "fleet";

/// The store is out of reach, refuses, or does not answer: the process keeps its units until its
/// lease ends, and gets no more. [`StoreError::of`](crate::StoreError::of) a rejection says why.
pub const UNAVAILABLE: &str = "fleet (unavailable)";

/// The store was restarted or has lost data, or the name is new on a server that has just started:
/// nothing is granted until all that can be in use is known.
pub const RECOVERING: &str = "fleet (recovering)";

/// The store refuses the declaration of the process: the source of a rejection is the
/// [`Refusal`](crate::share::Refusal). Or the options of a key are invalid: it is the
/// [`JoinError`](super::JoinError).
pub const REFUSED: &str = "fleet (refused)";

/// The process has left the fleet.
pub const LEFT: &str = "fleet (left)";
