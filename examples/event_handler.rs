//! Metrics from events: a handler is called for every transition, in order, on a thread that causes
//! events.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bulklink_tokio::{Bulkhead, Event, EventFilter, EventKind};

#[derive(Default)]
struct Metrics {
    admitted: AtomicUsize,
    rejected: AtomicUsize,
}

impl Metrics {
    /// Counts an event. Keep a handler short: calls that cause events faster than it takes them
    /// wait for it. It gets the events of other calls too, so it must take no lock that is held
    /// around a call; this one takes none. For anything longer, use an event channel.
    fn count(&self, event: &Event) {
        let counter = match event.kind {
            EventKind::Admitted => &self.admitted,
            EventKind::Saturated | EventKind::Expired | EventKind::ClosedRejection => &self.rejected,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let payments = Bulkhead::builder("payments").parallelism(1).build()?;

    let metrics = Arc::new(Metrics::default());
    let counting = Arc::clone(&metrics);
    let handler = move |event: &Event| counting.count(event);
    let added = payments.handle().add_event_handler(EventFilter::ALL, handler);

    let slot = payments.slot().await?;
    if let Err(rejection) = payments.try_slot() {
        println!("{rejection}");
    }
    drop(slot);
    payments.handle().remove_event_handler(added);

    let [admitted, rejected] = [&metrics.admitted, &metrics.rejected].map(|count| count.load(Ordering::Relaxed));
    println!("{admitted} admitted, {rejected} rejected");
    Ok(())
}
