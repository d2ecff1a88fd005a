//! The calls of an async front: tasks in a world, and the slots that they came to.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use bulklink::{Reason, Rejection};
use bulklink_core::Instant;

use crate::world::World;

pub struct Calls<S, W> {
    pub world: W,
    waiting: BTreeMap<usize, Call<S>>,
    running: BTreeMap<usize, S>,
    changed: Vec<(usize, &'static str)>,
}

struct Call<S> {
    cancel: Box<dyn FnOnce()>,
    ended: Arc<Mutex<Option<Result<S, Rejection>>>>,
}

impl<S: Send + 'static, W: World> Calls<S, W> {
    pub fn new() -> Self {
        Calls { world: W::new(), waiting: BTreeMap::new(), running: BTreeMap::new(), changed: vec![] }
    }

    pub fn pass_time(&mut self, to: Instant) {
        self.world.pass_time(to);
        self.settle();
    }

    pub fn enter(&mut self, id: usize, call: impl Future<Output = Result<S, Rejection>> + Send + 'static) {
        let ended = Arc::new(Mutex::new(None));
        let end = Arc::clone(&ended);
        let cancel = self.world.spawn(async move {
            let outcome = call.await;
            *end.lock().expect("no panic") = Some(outcome);
        });
        self.waiting.insert(id, Call { cancel, ended });
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
        let call = self.waiting.remove(&id).expect("a waiting call");
        self.world.act(call.cancel);
        self.changed.push((id, "cancelled"));
        self.settle();
    }

    pub fn release_then_cancel(&mut self, id: usize, cancel: usize) {
        self.give_back(id);
        self.cancel(cancel);
    }

    fn give_back(&mut self, id: usize) {
        let slot = self.running.remove(&id).expect("a running operation");
        self.world.act(|| drop(slot));
        self.changed.push((id, "finished"));
    }

    /// Does something else than calling, with all that follows from it.
    pub fn act<T>(&mut self, deed: impl FnOnce() -> T) -> T {
        let outcome = self.world.act(deed);
        self.settle();
        outcome
    }

    /// Runs all tasks to idle and takes in which calls have ended.
    fn settle(&mut self) {
        self.world.settle();
        let Calls { waiting, running, changed, .. } = self;
        waiting.retain(|&id, call| {
            let Some(outcome) = call.ended.lock().expect("no panic").take() else { return true };
            changed.push((id, outcome.as_ref().map_or_else(reason, |_| "admitted")));
            running.extend(outcome.ok().map(|slot| (id, slot)));
            false
        });
    }

    pub fn outcomes(&mut self) -> Vec<(usize, &'static str)> {
        std::mem::take(&mut self.changed)
    }
}

fn reason(rejection: &Rejection) -> &'static str {
    match rejection.reason() {
        Reason::Saturated => "saturated",
        Reason::Expired => "expired",
        Reason::Closed => "closed",
        Reason::InvalidCost => "invalid",
        Reason::PartitionLimit => "partition_limit",
        _ => "unknown",
    }
}
