//! Which results of operations are failures of the dependency.

#[cfg(feature = "http")]
mod http;

#[cfg(feature = "http")]
pub use self::http::ByHttpStatus;
use crate::Outcome;

/// Decides whether the result of an operation is a failure of the dependency.
///
/// Closures of `&Result<T, E>` implement it, if the type of their argument is written:
/// `|result: &Result<String, Fault>| …`. A type of its own can classify many types of results, and
/// has a name to store a guard by, as `ByHttpStatus` of the feature `http` does.
///
/// ```
/// use bulklink_breaker::{Classify, Guard, Outcome};
/// use bulklink_tokio::{Bulkhead, InvalidArgument, Tokio};
///
/// enum Fault {
///     NotFound,
///     Unavailable,
/// }
///
/// /// A mistake of the caller is no sign of the dependency's health.
/// #[derive(Clone)]
/// struct ByFault;
///
/// impl<T> Classify<T, Fault> for ByFault {
///     fn classify(&self, result: &Result<T, Fault>) -> Outcome {
///         match result {
///             Ok(_) | Err(Fault::NotFound) => Outcome::Success,
///             Err(Fault::Unavailable) => Outcome::Failure,
///         }
///     }
/// }
///
/// struct Upstreams {
///     orders: Guard<Tokio, ByFault>,
/// }
///
/// fn upstreams(orders: &Bulkhead) -> Result<Upstreams, InvalidArgument> {
///     Ok(Upstreams { orders: Guard::builder(orders).classify(ByFault).build()? })
/// }
///
/// let answer: Result<(), Fault> = Err(Fault::NotFound);
/// assert_eq!(ByFault.classify(&answer), Outcome::Success);
/// # _ = Fault::Unavailable;
/// # let orders = Bulkhead::builder("orders").parallelism(1).build()?;
/// # assert_eq!(upstreams(&orders)?.orders.status().active(), 0);
/// # Ok::<(), InvalidArgument>(())
/// ```
pub trait Classify<T, E> {
    /// Returns the outcome. It should be quick, and must not panic: the call would count as
    /// cancelled.
    fn classify(&self, result: &Result<T, E>) -> Outcome;
}

impl<T, E, C: Fn(&Result<T, E>) -> Outcome> Classify<T, E> for C {
    #[inline]
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        self(result)
    }
}

/// Each error is a failure, and each value a success.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorsFail;

impl<T, E> Classify<T, E> for ErrorsFail {
    #[inline]
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        if result.is_ok() { Outcome::Success } else { Outcome::Failure }
    }
}
