//! The async front as a subject: real futures on the deterministic executor, in the time of the fake clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bulklink::testing::{Executor, FakeClock, Task};
use bulklink::{Bulkhead, EventHandler, OwnedSlot, Reason, Rejection, Request};
use bulklink_core::{Event, Instant, Limits, Snapshot};

use crate::subject::{self, Subject};
use crate::trace::Enter;

type Call = Task<Result<OwnedSlot, Rejection>>;

pub struct FrontSubject {
    executor: Executor,
    bulkhead: Bulkhead<FakeClock>,
    calls: BTreeMap<usize, Call>,
    running: BTreeMap<usize, OwnedSlot>,
    changed: Vec<(usize, &'static str)>,
    events: Arc<Mutex<Vec<Event>>>,
}

impl FrontSubject {
    /// Runs all tasks to idle and takes in which calls have ended.
    fn settle(&mut self) {
        self.executor.run_until_idle();
        let finished = self.calls.extract_if(.., |_, call| call.is_finished());
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

    fn give_back(&mut self, id: usize) {
        drop(self.running.remove(&id).expect("a running operation"));
        self.changed.push((id, "finished"));
    }

    fn withdraw(&mut self, id: usize) {
        self.calls.remove(&id).expect("a waiting call").cancel();
        self.changed.push((id, "cancelled"));
    }
}

fn outcome(rejection: &Rejection) -> &'static str {
    match rejection.reason() {
        Reason::Saturated => "saturated",
        Reason::Expired => "expired",
        Reason::Closed => "closed",
        Reason::InvalidCost => "invalid",
        _ => "unknown",
    }
}

impl Subject for FrontSubject {
    fn new(limits: Limits) -> Self {
        let clock = FakeClock::at(subject::instant(0));
        let mut builder =
            Bulkhead::builder_on(clock.clone(), "trace").capacity(limits.capacity).waiting_room(limits.waiting_room);
        if let Some(limit) = limits.wait_limit {
            builder = builder.wait_limit(limit);
        }
        let bulkhead = builder.build().expect("the traces' limits are valid");
        let events = Arc::new(Mutex::new(vec![]));
        let log = Arc::clone(&events);
        let handler: EventHandler = Arc::new(move |event| log.lock().expect("one thread").push(event.event));
        bulkhead.add_event_handler(&handler);
        let (calls, running, changed) = (BTreeMap::new(), BTreeMap::new(), vec![]);
        FrontSubject { executor: Executor::new(clock), bulkhead, calls, running, changed, events }
    }

    fn pass_time(&mut self, to: Instant) {
        let passed = to.saturating_since(bulklink::Clock::now(&self.executor.clock()));
        self.executor.advance(passed);
        self.settle();
    }

    fn enter(&mut self, enter: &Enter, _now: Instant) {
        let request = Request::new().cost(enter.cost);
        let request = subject::ask(enter, request, Request::now, Request::within, Request::before);
        let call = self.executor.spawn(self.bulkhead.slot_owned_with(request));
        self.calls.insert(enter.id, call);
        self.settle();
        if self.calls.contains_key(&enter.id) {
            self.changed.push((enter.id, "queued"));
        }
    }

    fn release(&mut self, id: usize) {
        self.give_back(id);
        self.settle();
    }

    fn cancel(&mut self, id: usize) {
        self.withdraw(id);
        self.settle();
    }

    fn release_then_cancel(&mut self, id: usize, cancel: usize) {
        self.give_back(id);
        self.cancel(cancel);
    }

    fn resize(&mut self, to: usize) -> &'static str {
        let resized = self.bulkhead.resize(to);
        self.settle();
        subject::result(&resized)
    }

    fn close(&mut self) {
        self.bulkhead.close();
        self.settle();
    }

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().expect("one thread"))
    }

    fn outcomes(&mut self) -> Vec<(usize, &'static str)> {
        std::mem::take(&mut self.changed)
    }

    fn snapshot(&mut self) -> Snapshot {
        self.bulkhead.status().snapshot
    }
}
