//! Inputs to all partitions: the waiters of all are woken before the first event, whatever a
//! handler or its destructor does.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Event, EventFilter, Partitions};

use crate::{Log, executor, ms, taken};

/// A waker that notes in a log that it was woken.
struct Noting(Log<&'static str>);

impl Wake for Noting {
    fn wake(self: Arc<Self>) {
        self.0.lock().expect("no panic").push("wake");
    }
}

fn tenants(executor: &Executor) -> Partitions<u64, FakeRuntime> {
    let builder = Partitions::builder_on(executor.runtime(), "tenants").parallelism(1).waiting_room(5);
    builder.max_partitions(99).build().expect("valid")
}

/// Adds a handler that notes each event in the log.
fn note_events(tenants: &Partitions<u64, FakeRuntime>, log: &Log<&'static str>) {
    let log = Arc::clone(log);
    let handler = move |_: &Event| log.lock().expect("no panic").push("event");
    tenants.handle().add_event_handler(EventFilter::ALL, handler);
}

fn poll<F: Future + Unpin>(call: &mut F, log: &Log<&'static str>) {
    let waker = Waker::from(Arc::new(Noting(Arc::clone(log))));
    assert!(std::pin::Pin::new(call).poll(&mut Context::from_waker(&waker)).is_pending());
}

#[test]
fn a_resumption_wakes_all_before_the_first_event() {
    let (executor, log) = (executor(), Log::default());
    let tenants = tenants(&executor);
    assert!(tenants.pause());
    let mut calls: Vec<_> = (0..4).map(|key| tenants.key(&key).slot()).collect();
    for call in &mut calls {
        poll(call, &log);
    }
    note_events(&tenants, &log);
    assert!(tenants.resume());
    assert_eq!(taken(&log)[..5], ["wake", "wake", "wake", "wake", "event"]);
}

#[test]
fn a_change_of_limits_wakes_all_before_the_first_event() {
    let clock = FakeClock::new();
    let (executor, log) = (Executor::new(clock.clone()), Log::default());
    let tenants = tenants(&executor);
    let _running = tenants.key(&1).try_slot().expect("free");
    let (mut late, mut next) = (tenants.key(&1).within(ms(5)).slot(), tenants.key(&1).slot());
    poll(&mut late, &log);
    poll(&mut next, &log);
    note_events(&tenants, &log);
    clock.advance(ms(10));
    taken(&log);
    tenants.reconfigure(tenants.status().each.with_capacity(2)).expect("valid");
    let log = taken(&log);
    let first_event = log.iter().position(|noted| *noted == "event").expect("a call has expired");
    assert!(!log[first_event..].contains(&"wake"), "{log:?}");
}

/// A value in a handler that panics once when it is dropped.
struct PanicsOnDrop(Arc<AtomicBool>);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        assert!(self.0.swap(true, SeqCst), "on purpose");
    }
}

/// While `input` is delivered, a handler discards partitions with handlers that panic in drop.
fn discard_during(input: impl FnOnce(&Partitions<u64, FakeRuntime>), is_paused: bool) {
    let mut executor = executor();
    let tenants = tenants(&executor);
    let has_panicked = Arc::new(AtomicBool::new(false));
    for key in 0..40 {
        drop(tenants.key(&key).try_slot().expect("free"));
        let panics = PanicsOnDrop(Arc::clone(&has_panicked));
        let own = move |_: &Event| _ = &panics;
        tenants.partition(&key).expect("kept").add_event_handler(EventFilter::ALL, own);
    }
    let _held = if is_paused { None } else { Some(tenants.key(&99).try_slot().expect("free")) };
    assert_eq!(is_paused && tenants.pause(), is_paused);
    let waiting = executor.spawn(tenants.key(&99).slot());
    executor.run_until_idle();
    let (others, once) = (tenants.clone(), Mutex::new(Some(())));
    let handler = move |_: &Event| {
        if once.lock().expect("no panic").take().is_some() {
            (0..40).for_each(|key| _ = others.discard(&key));
        }
    };
    tenants.handle().add_event_handler(EventFilter::ALL, handler);
    let _ = catch_unwind(AssertUnwindSafe(|| input(&tenants)));
    assert!(has_panicked.load(SeqCst), "a handler was dropped");
    executor.run_until_idle();
    assert!(waiting.is_finished(), "the call was admitted or rejected, and must know");
}

#[test]
fn a_destructor_that_panics_during_a_resumption_loses_no_wake() {
    discard_during(|tenants| _ = tenants.resume(), true);
}

#[test]
fn a_destructor_that_panics_during_a_close_loses_no_wake() {
    discard_during(|tenants| _ = tenants.close(), false);
}
