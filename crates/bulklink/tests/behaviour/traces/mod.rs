//! Spans of waits and events of rejections, as subscribers of `tracing` see them.

mod filters;
mod limits;
mod log;
mod recorder;

use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant as StdInstant};

use bulklink::testing::Task;
use bulklink::{Bulkhead, Request, StdClock};
use futures_util::FutureExt;
use tracing::Level;

use self::recorder::{Fields, Recorder, Span};
use crate::clock::Counted;
use crate::panicking_clock::PanickingClock;
use crate::{TestBulkhead, builder, bulkhead, call, executor, ms, reason, slot};

/// Returns the outcome of each wait and how long it was, in milliseconds.
fn outcomes(recorder: &Recorder) -> Vec<(String, String)> {
    let outcome = |span: &Span| (span.fields["outcome"].clone(), span.fields["waited_ms"].clone());
    recorder.spans().iter().map(outcome).collect()
}

fn outcome(name: &str, waited_ms: &str) -> (String, String) {
    (name.to_string(), waited_ms.to_string())
}

#[test]
fn a_wait_is_a_span_from_the_queue_to_its_outcome() {
    let recorder = Recorder::new();
    recorder.run(|| {
        let mut executor = executor();
        let test = bulkhead(&executor, 3, 5);
        let running = test.owned().try_slot().expect("free");
        let heavy = executor.spawn(test.with(Request::new().cost(3)).slot());
        executor.run_until_idle();
        let span = recorder.spans().pop().expect("it waits");
        assert_eq!((span.name, span.level, span.is_closed), ("bulkhead.wait", Level::DEBUG, false));
        let fields = [("bulkhead", "test"), ("cost", "3")].map(|(name, value)| (name, value.to_string()));
        assert_eq!(span.fields, Fields::from(fields));
        executor.advance(Duration::from_nanos(8_715_721));
        drop(running);
        executor.run_until_idle();
        assert_eq!(slot(&heavy).cost(), 3);
    });
    assert_eq!(outcomes(&recorder), [outcome("admitted", "8.715721")]);
    assert!(recorder.spans()[0].is_closed);
    assert_eq!(recorder.events(), []);
}

#[test]
fn each_end_of_a_wait_has_its_outcome() {
    let recorder = Recorder::new();
    recorder.run(|| {
        let mut executor = executor();
        let test = builder(&executor).parallelism(1).waiting_room(5).collect_limit(ms(50)).build().expect("valid");
        let running = test.owned().try_slot().expect("free");
        let expired = executor.spawn(test.within(ms(10)).slot());
        let cancelled = call(&mut executor, &test);
        executor.advance(ms(10));
        assert_eq!(reason(&expired).as_str(), "expired");
        executor.advance(ms(5));
        cancelled.cancel();
        // It is handed the slot, and not polled before that is taken back.
        let mut uncollected = Box::pin(test.owned().slot());
        assert!(uncollected.poll_unpin(&mut Context::from_waker(Waker::noop())).is_pending());
        executor.clock().advance(ms(20));
        drop(running);
        executor.clock().advance(ms(60));
        let holder = test.owned().try_slot().expect("it was taken back");
        assert!(uncollected.now_or_never().expect("it has ended").is_err());
        let closed = call(&mut executor, &test);
        executor.advance(ms(7));
        test.close();
        executor.run_until_idle();
        assert_eq!(reason(&closed).as_str(), "closed");
        drop(holder);
    });
    let expected = [("expired", "10.0"), ("cancelled", "15.0"), ("uncollected", "20.0"), ("closed", "7.0")]
        .map(|(name, waited)| outcome(name, waited));
    assert_eq!(outcomes(&recorder), expected);
    assert!(recorder.spans().iter().all(|span| span.is_closed));
    let reasons: Vec<_> = recorder.events().iter().map(|event| event["reason"].clone()).collect();
    assert_eq!(reasons, ["expired", "uncollected", "closed"]);
}

#[test]
fn a_call_that_is_answered_immediately_has_no_span() {
    let recorder = Recorder::new();
    recorder.run(|| {
        let mut executor = executor();
        let test = bulkhead(&executor, 1, 0);
        let running = call(&mut executor, &test);
        assert_eq!(reason(&call(&mut executor, &test)).as_str(), "saturated");
        drop(slot(&running));
        test.close();
        assert_eq!(reason(&call(&mut executor, &test)).as_str(), "closed");
    });
    assert_eq!(recorder.spans(), []);
    assert_eq!(recorder.events().len(), 2);
}

#[test]
fn the_parent_of_a_wait_is_the_span_of_its_call() {
    let recorder = Recorder::new();
    recorder.run(|| {
        let mut executor = executor();
        let test = bulkhead(&executor, 1, 5);
        let running = test.owned().try_slot().expect("free");
        let request = tracing::info_span!("request");
        let submitted = request.in_scope(|| {
            let future = test.owned().slot();
            (executor.spawn(future), test.clone())
        });
        // The first poll joins the queue, outside of the span.
        executor.run_until_idle();
        let polled = request.in_scope(|| call(&mut executor, &test));
        drop((running, submitted, polled));
    });
    let parents: Vec<_> = recorder.spans().iter().map(|span| (span.name, span.parent)).collect();
    assert_eq!(parents, [("request", None), ("bulkhead.wait", None), ("bulkhead.wait", Some(1))]);
}

#[test]
fn a_submitted_operation_waits_in_a_span_of_its_submitter() {
    let recorder = Recorder::new();
    recorder.run(|| {
        let mut executor = executor();
        let test = Bulkhead::builder_on(executor.runtime(), "test").parallelism(1).waiting_room(1);
        let test = test.build().expect("valid");
        let running = test.owned().try_slot().expect("free");
        let queued = tracing::info_span!("request").in_scope(|| test.submit(async { 7 })).expect("room");
        assert!(test.submit(async { 8 }).is_err());
        executor.advance(ms(3));
        drop(running);
        assert_eq!(executor.block_on(queued).expect("it ran"), 7);
    });
    assert_eq!(recorder.spans()[1].parent, Some(1));
    assert_eq!(recorder.spans()[1].fields["outcome"], "admitted");
    assert_eq!(recorder.events().len(), 1);
}

#[test]
fn a_blocked_thread_waits_in_a_span() {
    let test = Bulkhead::builder_on(StdClock, "threads").parallelism(1).waiting_room(1).build().expect("valid");
    let wait = || {
        let (recorder, running) = (Recorder::new(), test.owned().try_slot().expect("free"));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| recorder.run(|| test.blocking_slot().map(drop)));
            while test.status().waiting == 0 {
                thread::yield_now();
            }
            drop(running);
            waiting.join().expect("no panic").expect("it was admitted");
        });
        recorder
    };
    // A place of spans that is reached for the first time while another test adds its subscriber
    // can count as wanted by none, until the next subscriber comes.
    let recorder = (0..9).map(|_| wait()).find(|recorder| !recorder.spans().is_empty()).expect("it waits in a span");
    assert_eq!(recorder.spans()[0].fields["outcome"], "admitted");
    recorder.run(|| {
        let _running = test.try_slot().expect("free");
        assert!(test.within(ms(1)).blocking_slot().is_err());
    });
    assert_eq!(recorder.spans()[1].fields["outcome"], "expired");
    assert_eq!(recorder.events().len(), 1);
}

#[test]
fn a_subscriber_that_panics_changes_nothing() {
    let recorder = Recorder::with(Level::TRACE, || panic!("a subscriber that panics, on purpose"));
    let mut executor = executor();
    let test = bulkhead(&executor, 1, 3);
    recorder.run(|| {
        let running = test.owned().try_slot().expect("free");
        let [admitted, cancelled, expired] = [(); 3].map(|()| call(&mut executor, &test));
        assert!(test.try_slot().is_err());
        cancelled.cancel();
        let late = executor.spawn(test.within(ms(5)).slot());
        executor.run_until_idle();
        executor.advance(ms(5));
        assert_eq!(reason(&late).as_str(), "expired");
        drop(running);
        executor.run_until_idle();
        drop(slot(&admitted));
        executor.run_until_idle();
        drop(slot(&expired));
    });
    let status = test.status();
    assert_eq!((status.in_flight, status.waiting, status.totals.admitted, status.totals.cancelled), (0, 0, 3, 1));
    assert!(recorder.calls() >= 6, "{}", recorder.calls());
    // Rejections that were not logged because of the panics are in the next event.
    let sound = Recorder::new();
    sound.run(|| {
        let _running = test.try_slot().expect("free");
        assert!(test.try_slot().is_err());
    });
    assert_eq!(sound.events()[0]["left_out"], "2");
}

#[test]
fn a_subscriber_is_called_outside_all_locks() {
    let place = Arc::new(OnceLock::<TestBulkhead>::new());
    let inside = Arc::clone(&place);
    // It would wait for itself for good.
    let recorder = Recorder::with(Level::TRACE, move || {
        let test = inside.get().expect("set first");
        let _ = (test.status(), test.resize(1), test.try_slot());
    });
    let mut executor = executor();
    let test = bulkhead(&executor, 1, 1);
    place.set(test.clone()).expect("once");
    recorder.run(|| {
        let running = test.owned().try_slot().expect("free");
        let waiting = call(&mut executor, &test);
        assert!(test.try_slot().is_err());
        drop(running);
        executor.run_until_idle();
        drop(slot(&waiting));
        let cancelled = {
            let _running = test.owned().try_slot().expect("free");
            call(&mut executor, &test)
        };
        cancelled.cancel();
    });
    assert!(recorder.calls() >= 5);
    assert_eq!(test.status().in_flight, 0);
}

#[test]
fn a_level_that_is_disabled_has_no_span_and_reads_no_clock() {
    // How often the clock is read to reject a call, and to cancel one that waits.
    let cases = [(None, 0, 0, 0, 0), (Some(Level::ERROR), 0, 0, 0, 0), (Some(Level::WARN), 0, 1, 1, 0)];
    for (level, spans, events, to_reject, to_cancel) in cases.into_iter().chain([(Some(Level::DEBUG), 1, 1, 1, 1)]) {
        let recorder = Recorder::with(level.unwrap_or(Level::TRACE), || {});
        let work = || {
            let clock = Counted::default();
            let test = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).waiting_room(1);
            let test = test.measure_waits(false).build().expect("valid");
            let _running = test.owned().try_slot().expect("free");
            let mut waiting = Box::pin(test.owned().slot());
            assert!((&mut waiting).now_or_never().is_none());
            assert_eq!(clock.reads(|| assert!(test.try_slot().is_err())).0, to_reject, "{level:?}");
            assert_eq!(clock.reads(|| drop(waiting)).0, to_cancel, "{level:?}");
        };
        match level {
            Some(_) => recorder.run(work),
            None => work(),
        }
        assert_eq!((recorder.spans().len(), recorder.events().len()), (spans, events), "{level:?}");
    }
}

#[test]
fn a_clock_that_panics_ends_the_span_all_the_same() {
    let (recorder, clock) = (Recorder::new(), PanickingClock::default());
    recorder.run(|| {
        let test = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).waiting_room(2);
        let test = test.measure_waits(false).build().expect("valid");
        let running = test.owned().try_slot().expect("free");
        let [mut admitted, mut cancelled] = [(); 2].map(|()| Box::pin(test.owned().slot()));
        assert!((&mut admitted).now_or_never().is_none());
        clock.panic(true);
        assert!((&mut cancelled).now_or_never().is_none());
        assert!(test.try_slot().is_err());
        drop(cancelled);
        drop(running);
        assert!(admitted.now_or_never().expect("it was handed the slot").is_ok());
    });
    let spans = recorder.spans();
    assert_eq!((&*spans[0].fields["outcome"], &*spans[1].fields["outcome"]), ("admitted", "cancelled"));
    assert!(!spans[1].fields.contains_key("waited_ms") && spans.iter().all(|span| span.is_closed));
    assert!(!recorder.events()[0].contains_key("oldest_wait_ms"));
}

#[test]
fn ten_thousand_calls_of_which_a_third_is_cancelled_leave_no_span_open() {
    let (recorder, begin) = (Recorder::new(), StdInstant::now());
    recorder.run(|| {
        let mut executor = executor();
        let test = bulkhead(&executor, 10, 10_000);
        let calls: Vec<_> = (0..10_000).map(|_| executor.spawn(test.owned().slot())).collect();
        executor.run_until_idle();
        calls.iter().skip(10).step_by(3).for_each(Task::cancel);
        for call in &calls {
            executor.run_until_idle();
            drop(call.output());
        }
        assert_eq!((test.status().in_flight, test.status().waiting), (0, 0));
        let totals = test.status().totals;
        let ended = |name| recorder.spans().iter().filter(|span| span.fields["outcome"] == name).count() as u64;
        assert_eq!((ended("admitted"), ended("cancelled")), (totals.admitted_from_queue, totals.cancelled));
    });
    assert!(recorder.spans().iter().all(|span| span.is_closed));
    assert!(begin.elapsed().as_secs() < 60);
}
