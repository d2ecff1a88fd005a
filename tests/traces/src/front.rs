//! The async front as a subject: one bulkhead, on a runtime with virtual time.

use std::sync::{Arc, Mutex};

use bulklink::{Bulkhead, EventFilter, OwnedSlot, Request, ResizeError};
use bulklink_core::{Event, Instant, InvalidArgument};
use serde_json::{Map, Value};

use crate::calls::Calls;
use crate::subject::{self, Done, Subject};
use crate::trace::{Config, Enter};
use crate::words::{self, Kind};
use crate::world::World;

pub struct FrontSubject<W: World> {
    calls: Calls<OwnedSlot, W>,
    bulkhead: Bulkhead<W::Runtime>,
    events: Arc<Mutex<Vec<Event>>>,
}

impl<W: World> Subject for FrontSubject<W> {
    fn new(config: &Config) -> Result<Self, InvalidArgument> {
        let (calls, limits) = (Calls::<_, W>::new(), subject::limits(config));
        let builder = Bulkhead::builder_on(calls.world.runtime(), "trace").capacity(limits.capacity);
        let mut builder = builder.waiting_room(limits.waiting_room);
        if let Some(limit) = subject::meant(&limits) {
            builder = builder.wait_limit(limit);
        }
        let bulkhead = builder.build()?;
        let events = Arc::new(Mutex::new(vec![]));
        let log = Arc::clone(&events);
        bulkhead
            .handle()
            .add_event_handler(EventFilter::ALL, move |event| log.lock().expect("one thread").push(event.event));
        Ok(FrontSubject { calls, bulkhead, events })
    }

    fn pass_time(&mut self, to: Instant) {
        self.calls.pass_time(to);
    }

    fn enter(&mut self, enter: &Enter, _now: Instant) -> Done {
        let request = Request::new().cost(enter.cost);
        let request = subject::ask(enter, request, Request::now, Request::within, |request, deadline| {
            request.before(self.calls.world.instant(deadline))
        });
        self.calls.enter(enter.id, || self.bulkhead.with(request).slot())
    }

    fn release(&mut self, id: usize) -> Done {
        self.calls.release(id)
    }

    fn cancel(&mut self, id: usize) -> Done {
        self.calls.cancel(id)
    }

    fn release_then_cancel(&mut self, id: usize, cancel: usize) -> Done {
        self.calls.release_then_cancel(id, cancel)
    }

    fn resize(&mut self, to: usize) -> Done<&'static str> {
        let bulkhead = &self.bulkhead;
        Ok(subject::result(&self.calls.act(|| bulkhead.resize(to)), |error| {
            matches!(error, ResizeError::Closed { .. })
        }))
    }

    fn close(&mut self) {
        let bulkhead = &self.bulkhead;
        self.calls.act(|| bulkhead.close());
    }

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().expect("one thread"))
    }

    fn outcomes(&mut self) -> Vec<(usize, &'static str)> {
        self.calls.outcomes()
    }

    fn status(&mut self, kind: Kind) -> Map<String, Value> {
        words::status(kind, &self.bulkhead.status())
    }
}
