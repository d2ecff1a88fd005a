//! A subscriber that keeps all spans and events of bulkheads, and can panic or call back.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

pub(super) type Fields = BTreeMap<&'static str, String>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) name: &'static str,
    pub(super) level: Level,
    /// The id of the parent; the first span has 1.
    pub(super) parent: Option<u64>,
    pub(super) fields: Fields,
    pub(super) is_closed: bool,
}

type Called = Box<dyn Fn() + Send + Sync>;

/// Clones share everything.
#[derive(Clone)]
pub(super) struct Recorder(Arc<Inner>);

struct Inner {
    most: Level,
    spans: Mutex<Vec<Span>>,
    events: Mutex<Vec<Fields>>,
    calls: AtomicU64,
    /// Called at each span and event of a bulkhead, and at each record and close.
    called: Called,
}

thread_local! {
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Recorder {
    pub(super) fn new() -> Self {
        Recorder::with(Level::TRACE, || {})
    }

    /// Keeps records of this level or above, and calls `called` at each of its calls.
    pub(super) fn with(most: Level, called: impl Fn() + Send + Sync + 'static) -> Self {
        let (spans, events, calls) = Default::default();
        Recorder(Arc::new(Inner { most, spans, events, calls, called: Box::new(called) }))
    }

    pub(super) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        tracing::subscriber::with_default(self.clone(), work)
    }

    pub(super) fn spans(&self) -> Vec<Span> {
        self.0.spans.lock().expect("no panic").clone()
    }

    pub(super) fn events(&self) -> Vec<Fields> {
        self.0.events.lock().expect("no panic").clone()
    }

    /// Returns how often the subscriber was called for a bulkhead.
    pub(super) fn calls(&self) -> u64 {
        self.0.calls.load(SeqCst)
    }

    fn called(&self) {
        self.0.calls.fetch_add(1, SeqCst);
        (self.0.called)();
    }

    fn change(&self, id: &Id, change: impl FnOnce(&mut Span)) {
        let place = usize::try_from(id.into_u64()).expect("few spans") - 1;
        change(&mut self.0.spans.lock().expect("no panic")[place]);
    }
}

struct Into<'a>(&'a mut Fields);

impl Visit for Into<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_string());
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.0.most
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let metadata = attributes.metadata();
        let mut fields = Fields::new();
        attributes.record(&mut Into(&mut fields));
        let parent = ENTERED.with_borrow(|entered| entered.last().copied());
        let parent = if attributes.is_contextual() { parent } else { attributes.parent().map(Id::into_u64) };
        let span = Span { name: metadata.name(), level: *metadata.level(), parent, fields, is_closed: false };
        let id = {
            let mut spans = self.0.spans.lock().expect("no panic");
            spans.push(span);
            spans.len() as u64
        };
        if metadata.target() == "bulklink" {
            self.called();
        }
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.change(span, |span| values.record(&mut Into(&mut span.fields)));
        self.called();
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() != "bulklink" {
            return;
        }
        let level = match event.metadata().name() {
            "bulkhead.rejected" => Level::WARN,
            "bulkhead.limit" => Level::DEBUG,
            "bulkhead.limit_failed" => Level::ERROR,
            other => panic!("there is no event {other}"),
        };
        assert_eq!(*event.metadata().level(), level);
        let mut fields = Fields::new();
        event.record(&mut Into(&mut fields));
        self.called();
        self.0.events.lock().expect("no panic").push(fields);
    }

    fn enter(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(span.into_u64()));
    }

    fn exit(&self, _span: &Id) {
        ENTERED.with_borrow_mut(|entered| _ = entered.pop());
    }

    fn try_close(&self, span: Id) -> bool {
        self.change(&span, |span| span.is_closed = true);
        self.called();
        true
    }
}
