//! Wakers and handlers that panic, call back, or own what the bulkhead has to take back.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

use bulklink::testing::FakeRuntime;
use bulklink_fleet::{Event, EventKind, FleetBulkhead, Permit, Reason};

use crate::scene::{Scene, admitted, rejected};

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("this must be without effect");
    }
}

/// A waker whose task has a permit.
struct Owns(#[expect(dead_code, reason = "it is dropped with the waker")] Mutex<Option<Permit>>);

impl Wake for Owns {
    fn wake(self: Arc<Self>) {}
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

#[test]
fn a_waker_that_panics_disturbs_no_other_call() {
    let mut scene = Scene::new();
    let process = scene.process(2);
    let permits = [scene.permit(&process), scene.permit(&process)];
    let waker = Waker::from(Arc::new(Panics));
    {
        let mut call = pin!(process.bulkhead.acquire());
        let mut status = pin!(process.bulkhead.status());
        assert!(poll(call.as_mut(), &waker).is_pending());
        assert!(poll(status.as_mut(), &waker).is_pending());
        scene.executor.run_until_idle();
        let other = scene.acquire(&process);
        drop(permits);
        scene.executor.run_until_idle();
        drop(admitted(&other));
        assert!(poll(status, Waker::noop()).is_ready());
        assert!(matches!(poll(call, Waker::noop()), Poll::Ready(Ok(_))));
    }
    let permit = scene.permit(&process);
    let mut lost = Box::pin(permit.lost());
    assert!(poll(lost.as_mut(), &waker).is_pending());
    scene.store.stop();
    scene.advance(11_000);
    assert!(poll(lost.as_mut(), &waker).is_ready());
    drop(lost);
    drop(permit);
    scene.store.start();
    scene.advance(20_000);
    drop(scene.permit(&process));
}

#[test]
fn a_waker_that_is_replaced_may_own_a_permit() {
    let mut scene = Scene::new();
    let process = scene.process(3);
    let owns = |permit| Waker::from(Arc::new(Owns(Mutex::new(Some(permit)))));
    let [first, second, third] = [(); 3].map(|()| scene.permit(&process));
    let mut call = Box::pin(process.bulkhead.acquire());
    assert!(poll(call.as_mut(), &owns(first)).is_pending());
    assert!(poll(call.as_mut(), Waker::noop()).is_pending());
    // The first permit was given back when its waker was replaced.
    scene.executor.run_until_idle();
    let Poll::Ready(Ok(fourth)) = poll(call.as_mut(), Waker::noop()) else { panic!("a unit is free") };
    drop(call);
    // The same for a call that is dropped, and for a permit that is watched.
    let mut call = Box::pin(process.bulkhead.acquire());
    assert!(poll(call.as_mut(), &owns(second)).is_pending());
    drop(call);
    scene.executor.run_until_idle();
    let mut lost = Box::pin(fourth.lost());
    assert!(poll(lost.as_mut(), &owns(third)).is_pending());
    drop(lost);
    drop(fourth);
    scene.executor.run_until_idle();
    let permits = [(); 3].map(|()| scene.permit(&process));
    drop(permits);
}

#[test]
fn a_handler_may_use_the_bulkhead() {
    let mut scene = Scene::new();
    let own: Arc<OnceLock<FleetBulkhead<FakeRuntime>>> = Arc::default();
    let handler = {
        let own = Arc::clone(&own);
        move |event: &Event| {
            let Some(bulkhead) = own.get() else { return };
            assert!(bulkhead.local_status().totals.admitted > 0);
            let mut call = pin!(bulkhead.acquire());
            assert!(poll(call.as_mut(), Waker::noop()).is_pending() || bulkhead.local_status().totals.closed > 0);
            if event.kind == EventKind::Released {
                drop(bulkhead.close());
            }
        }
    };
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let process = scene.process_with(|builder| {
        builder.limit(1).waiting_room(9).on_event(move |event| {
            // Its own calls have events too.
            let depth = {
                let mut calls = counted.lock().unwrap();
                *calls += 1;
                *calls
            };
            if depth < 20 {
                handler(event);
            }
        })
    });
    let permit = scene.permit(&process);
    assert!(own.set(process.bulkhead.clone()).is_ok());
    scene.release(permit);
    assert_eq!(rejected(&scene.acquire(&process)).reason(), Reason::Closed);
    assert!(*calls.lock().unwrap() > 2);
}
