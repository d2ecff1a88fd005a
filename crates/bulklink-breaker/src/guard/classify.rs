//! Which results of operations are failures of the dependency.

use crate::Outcome;

/// Decides whether the result of an operation is a failure of the dependency.
///
/// Closures of `&Result<T, E>` implement it. A classifier for all results implements it by itself.
///
/// ```
/// use bulklink_breaker::{Classify, Outcome};
///
/// struct Response {
///     status: u16,
/// }
///
/// fn by_status<E>(result: &Result<Response, E>) -> Outcome {
///     match result {
///         Ok(response) if response.status == 429 => Outcome::Ignore,
///         Ok(response) if response.status < 500 => Outcome::Success,
///         _ => Outcome::Failure,
///     }
/// }
///
/// let answer: Result<Response, ()> = Ok(Response { status: 404 });
/// assert_eq!(by_status.classify(&answer), Outcome::Success);
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
