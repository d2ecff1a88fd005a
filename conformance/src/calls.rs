//! The calls of an async front: real futures on the deterministic executor, and the slots that they came to.

use std::collections::BTreeMap;
use std::future::Future;

use bulklink::testing::{Executor, FakeClock, Task};
use bulklink::{Clock, Reason, Rejection};
use bulklink_core::Instant;

use crate::subject;

pub struct Calls<S> {
    executor: Executor,
    waiting: BTreeMap<usize, Task<Result<S, Rejection>>>,
    running: BTreeMap<usize, S>,
    changed: Vec<(usize, &'static str)>,
}

impl<S: 'static> Calls<S> {
    pub fn new() -> Self {
        let executor = Executor::new(FakeClock::at(subject::instant(0)));
        Calls { executor, waiting: BTreeMap::new(), running: BTreeMap::new(), changed: vec![] }
    }

    pub fn clock(&self) -> FakeClock {
        self.executor.clock()
    }

    pub fn pass_time(&mut self, to: Instant) {
        let passed = to.saturating_since(Clock::now(&self.executor.clock()));
        self.executor.advance(passed);
        self.settle();
    }

    pub fn enter(&mut self, id: usize, call: impl Future<Output = Result<S, Rejection>> + 'static) {
        self.waiting.insert(id, self.executor.spawn(call));
        self.settle();
        if self.waiting.contains_key(&id) {
            self.changed.push((id, "queued"));
        }
    }

    pub fn release(&mut self, id: usize) {
        self.give_back(id);
        self.settle();
    }

    pub fn cancel(&mut self, id: usize) {
        self.waiting.remove(&id).expect("a waiting call").cancel();
        self.changed.push((id, "cancelled"));
        self.settle();
    }

    pub fn release_then_cancel(&mut self, id: usize, cancel: usize) {
        self.give_back(id);
        self.cancel(cancel);
    }

    fn give_back(&mut self, id: usize) {
        drop(self.running.remove(&id).expect("a running operation"));
        self.changed.push((id, "finished"));
    }

    /// Runs all tasks to idle and takes in which calls have ended.
    pub fn settle(&mut self) {
        self.executor.run_until_idle();
        let finished = self.waiting.extract_if(.., |_, call| call.is_finished());
        for (id, call) in finished.collect::<Vec<_>>() {
            let outcome = match call.output().expect("it has ended") {
                Ok(slot) => {
                    self.running.insert(id, slot);
                    "admitted"
                }
                Err(rejection) => outcome(&rejection),
            };
            self.changed.push((id, outcome));
        }
    }

    pub fn outcomes(&mut self) -> Vec<(usize, &'static str)> {
        std::mem::take(&mut self.changed)
    }
}

fn outcome(rejection: &Rejection) -> &'static str {
    match rejection.reason() {
        Reason::Saturated => "saturated",
        Reason::Expired => "expired",
        Reason::Closed => "closed",
        Reason::InvalidCost => "invalid",
        Reason::PartitionLimit => "partition_limit",
        _ => "unknown",
    }
}
