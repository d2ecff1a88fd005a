//! Requests.

use std::time::Duration;

use bulklink_core::{Instant, Request};

use super::model::Time;

/// A request, as the model sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The units it asks for.
    pub cost: usize,
    /// Whether it may wait.
    pub may_queue: bool,
    /// Whether it waits for a higher restriction.
    pub fetches: bool,
    /// The limit on its wait.
    pub within: Option<Time>,
    /// The deadline of its admission.
    pub before: Option<Time>,
    /// The deadline of the whole call; never together with `before`.
    pub deadline: Option<Time>,
    /// What its wait leaves to the operation, in place of the gate's reserve.
    pub leaving: Option<Time>,
}

impl Ask {
    /// One unit, for any length of time.
    pub const ONE: Ask =
        Ask { cost: 1, may_queue: true, fetches: false, within: None, before: None, deadline: None, leaving: None };
}

/// Returns the request that asks for this.
pub(super) fn request(ask: Ask) -> Request {
    let mut request = Request::new().cost(ask.cost);
    if !ask.may_queue {
        request = request.now();
    }
    if ask.fetches {
        request = request.fetching();
    }
    if let Some(limit) = ask.within {
        request = request.within(Duration::from_nanos(limit));
    }
    if let Some(deadline) = ask.before {
        request = request.before(Instant::from_nanos(deadline));
    }
    if let Some(reserve) = ask.leaving {
        request = request.leaving(Duration::from_nanos(reserve));
    }
    if let Some(deadline) = ask.deadline {
        request = request.deadline(Instant::from_nanos(deadline));
    }
    request
}
