//! What a request says about its caller: the tenant, and how long it waits for an answer.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bulklink_tokio::Request;
use tokio::time::{Instant, timeout_at};

use crate::problem::Problem;

#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) tenant: String,
    deadline: Option<Instant>,
}

impl Caller {
    /// Returns a request for a slot that leaves enough of the caller's time to the work itself.
    pub(crate) fn request(&self) -> Request {
        self.deadline.map_or(Request::new(), |deadline| Request::new().deadline(deadline))
    }

    /// Runs the work until the deadline. A bulkhead never cancels what it has admitted.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        match self.deadline {
            Some(deadline) => timeout_at(deadline, work).await.map_err(|_| Problem::Late),
            None => Ok(work.await),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let get = |name| parts.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let deadline = get("x-timeout-ms").map(|value| match value.parse() {
            // A deadline beyond the clock's range is none.
            Ok(millis) => Ok(Instant::now().checked_add(Duration::from_millis(millis))),
            Err(_) => Err(Problem::BadRequest(format!("x-timeout-ms must be a number of milliseconds, got {value:?}"))),
        });
        Ok(Caller {
            tenant: get("x-tenant").map_or("anonymous".into(), Into::into),
            deadline: deadline.transpose()?.flatten(),
        })
    }
}
