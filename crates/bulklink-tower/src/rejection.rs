//! The error of a layer, and how the rejection is found in it.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use bulklink::{Rejection, limit};

/// The error of a service inside the layer, or a [`Rejection`], as in tower's own layers.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a request that was admitted, and
/// [cancelled at its deadline](crate::BulkheadLayer::cancel_at_deadline). Its work may have begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlinePassed {
    label: Arc<str>,
}

impl DeadlinePassed {
    pub(crate) fn new(label: &Arc<str>) -> Self {
        DeadlinePassed { label: Arc::clone(label) }
    }

    /// Returns the name of the bulkhead.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }
}

impl fmt::Display for DeadlinePassed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bulkhead {}: the request was cancelled at its deadline", self.label)
    }
}

impl Error for DeadlinePassed {}

/// Returns the rejection that is in `error`, or in one of its sources, however they are boxed.
///
/// `None` if the error has another cause: the service failed, and was not rejected by a bulkhead of
/// this process. An `anyhow::Error` hides the error that it was made of once it is boxed: it is
/// found if that has a `context`, or if it is boxed by
/// `reallocate_into_boxed_dyn_error_without_backtrace`.
///
/// ```
/// # use bulklink::testing::FakeClock;
/// # use bulklink::{Bulkhead, Reason};
/// use std::io;
///
/// # let builder = Bulkhead::builder_on(FakeClock::new(), "payments");
/// let payments = builder.parallelism(1).build()?;
/// let _running = payments.try_slot()?;
/// let rejection = payments.try_slot().unwrap_err();
/// let error = io::Error::other(rejection);
/// let found = bulklink_tower::rejection(&error).expect("the source is one");
/// assert_eq!((found.label(), found.reason()), ("payments", Reason::Saturated));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn rejection<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Rejection> {
    find(error)
}

/// Returns whether the error is a timeout of reqwest.
#[cfg(feature = "reqwest")]
pub(crate) fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    find::<reqwest::Error>(error).is_some_and(reqwest::Error::is_timeout)
}

#[cfg(not(feature = "reqwest"))]
pub(crate) fn is_timeout(_: &(dyn Error + 'static)) -> bool {
    false
}

/// Returns an error as a sign of the load of the service: a timeout, or a rejection by a bulkhead
/// inside, is an overload.
pub(crate) fn load(error: &(dyn Error + 'static)) -> limit::Outcome {
    let is_slow = find::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
    let is_late = is_timeout(error) || find::<DeadlinePassed>(error).is_some();
    if is_slow || is_late || rejection(error).is_some() { limit::Outcome::Overload } else { limit::Outcome::Ignore }
}

/// Returns the error of this type that is in `error`, or in one of its sources.
pub(crate) fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    /// More causes than an error has; a chain can be a circle.
    const MOST: usize = 1_000;
    let mut next = Some(error);
    for _ in 0..MOST {
        let error = next?;
        let found = error.downcast_ref::<T>();
        let found = found.or_else(|| error.downcast_ref::<Arc<T>>().map(|shared| &**shared));
        let found = found.or_else(|| error.downcast_ref::<Box<T>>().map(|boxed| &**boxed));
        if found.is_some() {
            return found;
        }
        // The source of an `io::Error` is that of the error inside, which is passed over.
        let io_error = error.downcast_ref::<io::Error>();
        let io_error = io_error.or_else(|| error.downcast_ref::<Arc<io::Error>>().map(|shared| &**shared));
        let shared = error.downcast_ref::<Arc<dyn Error + Send + Sync>>();
        next = match io_error.and_then(io::Error::get_ref) {
            Some(inside) => Some(inside),
            None => shared.map_or_else(|| error.source(), |shared| Some(&**shared)),
        };
    }
    None
}
