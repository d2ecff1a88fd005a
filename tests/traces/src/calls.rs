//! The calls of the async front: tasks in a world, and the slots that they acquired.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use bulklink::{Reason, Rejection};
use bulklink_core::Instant;

use crate::subject::{self, Done};
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

    /// Spawns a call, and runs all tasks until they are idle.
    pub fn enter<F>(&mut self, id: usize, call: impl FnOnce() -> F) -> Done
    where
        F: Future<Output = Result<S, Rejection>> + Send + 'static,
    {
        if self.waiting.contains_key(&id) || self.running.contains_key(&id) {
            return Err(subject::not_ended(id));
        }
        let call = call();
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
        Ok(())
    }

    pub fn release(&mut self, id: usize) -> Done {
        self.give_back(id)?;
        self.settle();
        Ok(())
    }

    pub fn cancel(&mut self, id: usize) -> Done {
        self.withdraw(id)?;
        self.settle();
        Ok(())
    }

    pub fn release_then_cancel(&mut self, id: usize, cancel: usize) -> Done {
        let (given_back, withdrawn) = (self.give_back(id), self.withdraw(cancel));
        self.settle();
        given_back.and(withdrawn)
    }

    fn give_back(&mut self, id: usize) -> Done {
        let slot = self.running.remove(&id).ok_or_else(|| subject::not_running(id))?;
        self.world.act(|| drop(slot));
        self.changed.push((id, "finished"));
        Ok(())
    }

    fn withdraw(&mut self, id: usize) -> Done {
        let call = self.waiting.remove(&id).ok_or_else(|| subject::not_waiting(id))?;
        self.world.act(call.cancel);
        self.changed.push((id, "cancelled"));
        Ok(())
    }

    /// Runs another action than a call, and then all tasks until they are idle.
    pub fn act<T>(&mut self, action: impl FnOnce() -> T) -> T {
        let outcome = self.world.act(action);
        self.settle();
        outcome
    }

    /// Runs all tasks until they are idle, and records which calls have ended.
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
