//! Filters of subscribers, for each layer and by the name of the event.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::{builder, executor};

/// Counts the events of a target.
#[derive(Clone)]
struct Counter(&'static str, Arc<AtomicU64>);

impl Counter {
    fn new(target: &'static str) -> Self {
        Counter(target, Arc::default())
    }

    fn events(&self) -> u64 {
        self.1.load(SeqCst)
    }
}

impl<S: tracing::Subscriber> Layer<S> for Counter {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        self.1.fetch_add(u64::from(event.metadata().target() == self.0), SeqCst);
    }
}

#[test]
fn an_event_that_is_left_out_takes_no_other_event_from_a_layer() {
    let (own, others) = (Counter::new("bulklink"), Counter::new("program"));
    let subscriber = tracing_subscriber::registry()
        .with(own.clone().with_filter(LevelFilter::TRACE))
        .with(others.clone().with_filter(filter_fn(|metadata| metadata.target() != "bulklink")));
    tracing::subscriber::with_default(subscriber, || {
        let test = builder(&executor()).parallelism(1).build().expect("valid");
        let _running = test.try_slot().expect("free");
        for _ in 0..20 {
            assert!(test.try_slot().is_err());
            tracing::info!(target: "program", "one of 20");
        }
    });
    assert_eq!((own.events(), others.events()), (10, 20));
}

#[test]
fn a_filter_can_ask_for_the_name_of_the_event() {
    let own = Counter::new("bulklink");
    let named = filter_fn(|metadata| metadata.name() == "bulkhead.rejected");
    let subscriber = tracing_subscriber::registry().with(own.clone().with_filter(named));
    tracing::subscriber::with_default(subscriber, || {
        let test = builder(&executor()).parallelism(1).build().expect("valid");
        let _running = test.try_slot().expect("free");
        assert!(test.try_slot().is_err());
    });
    assert_eq!(own.events(), 1);
}
