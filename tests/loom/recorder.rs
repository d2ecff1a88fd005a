//! An event handler that records its events, and checks that they are complete.

use std::sync::{Arc, Mutex};

use bulklink::{Event, EventFilter, EventKind, HandlerId};

use crate::model::TestBulkhead;

pub(crate) struct Recorder {
    recorded: Arc<Mutex<Vec<Event>>>,
    added: Mutex<Option<HandlerId>>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Recorder { recorded: Arc::default(), added: Mutex::new(None) }
    }

    pub(crate) fn attached(bulkhead: &TestBulkhead) -> Self {
        let recorder = Recorder::new();
        recorder.attach(bulkhead);
        recorder
    }

    pub(crate) fn attach(&self, bulkhead: &TestBulkhead) {
        let recorded = Arc::clone(&self.recorded);
        let added = bulkhead
            .handle()
            .add_event_handler(EventFilter::ALL, move |event| recorded.lock().unwrap().push(event.clone()));
        *self.added.lock().unwrap() = Some(added);
    }

    pub(crate) fn detach(&self, bulkhead: &TestBulkhead) -> bool {
        let added = self.added.lock().unwrap().expect("attached");
        bulkhead.handle().remove_event_handler(added)
    }

    /// Returns the events in the order of their numbers. Checks that the numbers begin with 1 and
    /// have no gaps or repetitions, and that each event's occupancy follows from the one before.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = self.recorded.lock().unwrap().clone();
        events.sort_by_key(|event| event.number);
        assert!(
            events.iter().map(|event| event.number).eq(1..=events.len() as u64),
            "a number is missing or repeated: {events:?}"
        );
        for pair in events.windows(2) {
            let (before, after, (in_flight, waiting)) = (pair[0].occupancy, pair[1].occupancy, change(&pair[1]));
            assert_eq!(before.in_flight().checked_add_signed(in_flight), Some(after.in_flight()), "{pair:?}");
            assert_eq!(before.waiting().checked_add_signed(waiting), Some(after.waiting()), "{pair:?}");
        }
        events
    }

    pub(crate) fn kinds(&self) -> Vec<EventKind> {
        self.events().iter().map(|event| event.kind).collect()
    }

    /// Returns all events, and checks that the last one agrees with the bulkhead's status.
    pub(crate) fn complete_events(&self, bulkhead: &TestBulkhead) -> Vec<Event> {
        let (events, status) = (self.events(), bulkhead.status());
        if let Some(last) = events.last() {
            assert_eq!(last.occupancy.in_flight(), status.in_flight);
            assert_eq!(last.occupancy.waiting(), status.waiting);
            assert_eq!(last.occupancy.capacity(), status.limits.capacity);
            assert_eq!(last.is_closed, status.is_closed);
        }
        events
    }
}

/// Returns by how much an event changes the numbers of slots in use and of waiters.
fn change(event: &Event) -> (isize, isize) {
    let from_queue = -isize::from(event.from_queue());
    match event.kind {
        EventKind::Admitted => (1, from_queue),
        EventKind::Released | EventKind::Abandoned => (-1, 0),
        EventKind::Queued => (0, 1),
        EventKind::Cancelled | EventKind::Expired | EventKind::ClosedRejection => (0, from_queue),
        _ => (0, 0),
    }
}
