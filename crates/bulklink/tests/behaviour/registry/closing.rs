//! Closing a registry, and waiting until all its bulkheads are drained.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};

use bulklink::{RegisterError, Registry};

use super::foreign::create_panicking;
use super::{builder, create, labels};
use crate::executor;

#[test]
fn a_closed_registry_accepts_no_bulkhead() {
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    let _running = payments.try_slot().expect("free");
    assert!(registry.close_all());
    assert!(registry.is_closed() && payments.is_closed());
    assert_eq!(registry.create(builder("reports")).expect_err("closed"), RegisterError::Closed);
    let unregistered = builder("unregistered").build().expect("valid");
    assert_eq!(registry.add(&unregistered), Err(RegisterError::Closed));
    assert_eq!(RegisterError::Closed.to_string(), "the registry is closed, and takes in no bulkhead");
    assert_eq!(labels(&registry), ["payments"]);
    assert!(!unregistered.is_closed());
    assert!(!registry.close_all(), "it is closed already");
}

#[test]
fn a_closed_registry_is_drained_with_its_last_operation() {
    let mut executor = executor();
    let registry = Registry::new();
    let made = ["payments", "reports", "audit"].map(|label| create(&registry, label));
    let mut running: Vec<_> = made.iter().map(|bulkhead| bulkhead.owned().try_slot().expect("free")).collect();
    let watching = executor.spawn({
        let registry = registry.clone();
        async move { registry.closed().await }
    });
    let closing = registry.clone();
    executor.run_until_idle();
    let closing = executor.spawn(async move { closing.close_and_wait().await });
    while let Some(slot) = running.pop() {
        executor.run_until_idle();
        assert!(!watching.is_finished() && !closing.is_finished(), "something still runs");
        drop(slot);
    }
    executor.run_until_idle();
    assert!(watching.is_finished());
    assert!(closing.is_finished());
    assert!(registry.statuses().iter().all(|status| status.is_drained()));
}

#[test]
fn waiting_for_the_drain_does_not_close_a_registry() {
    let mut executor = executor();
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    let inside = registry.clone();
    let watching = executor.spawn(async move { inside.closed().await });
    executor.run_until_idle();
    assert!(!registry.is_closed() && !payments.is_closed());
    payments.close();
    executor.run_until_idle();
    assert!(!watching.is_finished(), "another bulkhead could still be added");
    let late = create(&registry, "reports");
    let running = late.try_slot().expect("free");
    registry.close_all();
    executor.run_until_idle();
    assert!(!watching.is_finished(), "the bulkhead was added before the close");
    drop(running);
    executor.run_until_idle();
    assert!(watching.is_finished());
}

#[test]
fn a_granted_future_delays_the_drain_of_the_registry() {
    let mut context = Context::from_waker(Waker::noop());
    let registry = Registry::new();
    let payments = registry.create(builder("payments").waiting_room(1)).expect("a new name");
    let running = payments.try_slot().expect("free");
    let mut granted = payments.slot();
    assert!(Pin::new(&mut granted).poll(&mut context).is_pending());
    drop(running);
    let (mut removal, mut closing) = (pin!(registry.remove("payments")), pin!(registry.close_and_wait()));
    assert!(removal.as_mut().poll(&mut context).is_pending() && closing.as_mut().poll(&mut context).is_pending());
    drop(granted);
    assert!(removal.as_mut().poll(&mut context).is_ready() && closing.as_mut().poll(&mut context).is_ready());
}

#[test]
fn an_empty_registry_drains_immediately() {
    let mut executor = executor();
    executor.block_on(async {
        let registry = Registry::default();
        registry.close_and_wait().await;
        registry.closed().await;
    });
}

#[test]
fn dropping_the_wait_for_the_drain_reopens_no_registry() {
    let registry = Registry::new();
    let payments = create(&registry, "payments");
    let _running = payments.try_slot().expect("free");
    drop(registry.close_and_wait());
    assert!(registry.is_closed() && payments.is_closed());
}

#[test]
fn closing_closes_all_although_clocks_panic() {
    let mut executor = executor();
    let registry = Registry::new();
    let (first, broken) = create_panicking(&registry, "first");
    let sound = create(&registry, "sound");
    let (last, also_broken) = create_panicking(&registry, "last");
    let running = last.owned().try_slot().expect("free");
    broken.panic(true);
    also_broken.panic(true);
    let inside = registry.clone();
    let closing = executor.spawn(async move { inside.close_and_wait().await });
    executor.run_until_idle();
    assert_eq!([first.is_closed(), sound.is_closed(), last.is_closed()], [true; 3]);
    assert!(!closing.is_finished(), "an operation still runs");
    drop(running);
    executor.run_until_idle();
    assert!(closing.is_finished());
}
