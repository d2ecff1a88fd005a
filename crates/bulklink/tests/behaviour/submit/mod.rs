//! Submitted operations: the runtime runs them.

pub(crate) mod by_hand;
mod cancelling;
mod closures;
mod dropping;
mod order;
mod outcomes;
mod refusing;

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use crate::counters::add_up;
use bulklink::runtime::Runtime;
use bulklink::testing::{Executor, FakeRuntime};
use bulklink::{Bulkhead, JoinError, JoinHandle, Reason};

type Submitted = Bulkhead<FakeRuntime>;

fn on<R: Runtime>(runtime: R, parallelism: usize, waiting_room: usize) -> Bulkhead<R> {
    let builder = Bulkhead::builder_on(runtime, "test").parallelism(parallelism).waiting_room(waiting_room);
    builder.build().expect("valid")
}

fn setup(parallelism: usize, waiting_room: usize) -> (Executor, Submitted) {
    let executor = crate::executor();
    let bulkhead = on(executor.runtime(), parallelism, waiting_room);
    (executor, bulkhead)
}

/// Returns the outcome, if the handle has completed.
pub(crate) fn outcome<T>(handle: &mut JoinHandle<T>) -> Option<Result<T, JoinError>> {
    let mut context = Context::from_waker(Waker::noop());
    match std::pin::Pin::new(handle).poll(&mut context) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

fn ended<T>(mut handle: JoinHandle<T>) -> Result<T, JoinError> {
    outcome(&mut handle).expect("it has ended")
}

fn is_cancelled<T>(handle: JoinHandle<T>) -> bool {
    matches!(ended(handle), Err(JoinError::Cancelled))
}

pub(crate) fn is_lost<T>(handle: JoinHandle<T>) -> bool {
    matches!(ended(handle), Err(JoinError::Lost))
}

fn rejected<T>(handle: JoinHandle<T>) -> Reason {
    match ended(handle) {
        Err(JoinError::Rejected(rejection)) => rejection.reason(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it ran"),
    }
}

/// The operations that ran, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<usize>>>);

impl Log {
    fn note(&self, number: usize) {
        self.0.lock().expect("no panic").push(number);
    }

    fn all(&self) -> Vec<usize> {
        self.0.lock().expect("no panic").clone()
    }
}

/// Checks the identities, that no operation is left, and that every unit can be acquired again.
fn settled<R: Runtime>(bulkhead: &Bulkhead<R>) {
    let status = bulkhead.status();
    assert_eq!((status.in_flight, status.in_use, status.waiting), (0, 0, 0), "an operation is left");
    add_up(bulkhead);
    if !status.is_closed {
        let slots: Vec<_> = (0..status.limits.capacity).map(|_| bulkhead.try_slot()).collect();
        assert!(slots.iter().all(Result::is_ok) && bulkhead.try_slot().is_err());
    }
}
