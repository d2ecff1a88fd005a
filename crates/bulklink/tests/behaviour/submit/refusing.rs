//! Runtimes that refuse a task, or drop it without an error.

use bulklink::{EventFilter, EventKind, SubmitError};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use super::by_hand::{ByHand, Treatment};
use super::{is_lost, on, settled};

#[test]
fn a_refused_operation_is_counted_and_leaks_nothing() {
    for treatment in [Treatment::Refuse, Treatment::Panic, Treatment::KeepAndPanic] {
        let runtime = ByHand::new(treatment);
        let bulkhead = on(runtime.clone(), 1, 1);
        let refused = bulkhead.submit(async { unreachable!("it never began") }).expect_err("refused");
        assert!(matches!(refused, SubmitError::Refused(_)), "{treatment:?}: {refused}");
        assert!(bulkhead.submit_blocking(|| unreachable!("it never began")).is_err(), "{treatment:?}");
        assert_eq!((bulkhead.status().totals.abandoned, bulkhead.status().in_flight), (2, 0), "{treatment:?}");
        let running = bulkhead.try_slot().expect("free");
        assert!(bulkhead.submit(async { unreachable!("it never began") }).is_err());
        assert!(bulkhead.submit_blocking(|| unreachable!("it never began")).is_err());
        assert_eq!((bulkhead.status().totals.cancelled, bulkhead.status().waiting), (2, 0), "{treatment:?}");
        drop(running);
        assert_eq!(runtime.is_empty(), treatment != Treatment::KeepAndPanic);
        runtime.poll_tasks(Waker::noop());
        runtime.works().into_iter().for_each(|work| work());
        settled(&bulkhead);
    }
}

#[test]
fn an_operation_that_is_polled_and_then_refused_is_dropped() {
    let bulkhead = on(ByHand::new(Treatment::PollAndRefuse), 1, 1);
    assert!(bulkhead.submit(std::future::pending::<()>()).is_err());
    settled(&bulkhead);
    let running = bulkhead.try_slot().expect("free");
    let kept = Arc::new(());
    let queued = Arc::clone(&kept);
    assert!(bulkhead.submit_blocking(move || drop(queued)).is_err());
    assert_eq!(Arc::strong_count(&kept), 1, "the closure is dropped");
    drop(running);
    settled(&bulkhead);
}

#[test]
fn an_operation_dropped_without_an_error_ends_its_handle() {
    let bulkhead = on(ByHand::new(Treatment::DropSilently), 1, 1);
    let handles = [bulkhead.submit(async {}), bulkhead.submit_blocking(|| ())];
    assert!(handles.into_iter().all(|handle| is_lost(handle.expect("the runtime returned no error"))));
    let running = bulkhead.try_slot().expect("free");
    let handles = [bulkhead.submit(async {}), bulkhead.submit_blocking(|| ())];
    assert!(handles.into_iter().all(|handle| is_lost(handle.expect("the runtime returned no error"))));
    assert_eq!((bulkhead.status().totals.abandoned, bulkhead.status().totals.cancelled), (2, 2));
    drop(running);
    settled(&bulkhead);
}

#[test]
fn an_operation_that_never_began_is_reported_as_abandoned() {
    let bulkhead = on(ByHand::new(Treatment::Refuse), 1, 1);
    let seen = Arc::new(Mutex::new(vec![]));
    let handler = {
        let seen = Arc::clone(&seen);
        move |event: &bulklink::Event| seen.lock().expect("no panic").push((event.kind, event.occupancy.in_flight()))
    };
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    assert!(bulkhead.submit(async {}).is_err());
    assert_eq!(*seen.lock().expect("no panic"), [(EventKind::Admitted, 1), (EventKind::Abandoned, 0)]);
}
