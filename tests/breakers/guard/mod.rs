//! The promises of a guard: its bulkhead, its breaker and its run limit as one.

mod by_hand;
mod capacity;
mod closures;
mod config;
mod configured;
mod faults;
mod panics;
mod queue;
mod registry;
mod run_limit;
mod runtimes;
mod threads;
mod unused;
mod wrap;

use std::future::{Future, pending};
use std::sync::{Arc, Mutex};

use bulklink::runtime::Runtime;
use bulklink::testing::{Executor, FakeRuntime, Task};
use bulklink::{Builder, Bulkhead};
use bulklink_breaker::{ErrorsFail, Guard, GuardBuilder, GuardError, OpenCircuit, Settings, State};

use super::{executor, ms};

type TestGuard = Guard<FakeRuntime>;
type Outcome<T = &'static str> = Result<T, GuardError<&'static str>>;

fn bulkhead<R: Runtime>(runtime: R, parallelism: usize, waiting_room: usize) -> Bulkhead<R> {
    limits(Bulkhead::builder_on(runtime, "test"), parallelism, waiting_room)
}

fn limits<R: Runtime>(builder: Builder<R>, parallelism: usize, waiting_room: usize) -> Bulkhead<R> {
    builder.parallelism(parallelism).waiting_room(waiting_room).build().expect("valid limits")
}

/// A guard that opens at the second failure in a row, for 10 ms.
fn builder<R: Runtime>(bulkhead: &Bulkhead<R>) -> GuardBuilder<R, ErrorsFail> {
    Guard::builder(bulkhead).settings(Settings::consecutive(2).cool_down(ms(10)))
}

fn guard(executor: &Executor, parallelism: usize, waiting_room: usize) -> TestGuard {
    builder(&bulkhead(executor.runtime(), parallelism, waiting_room)).build().expect("valid settings")
}

/// Spawns a call, and runs all tasks to idle.
fn call<T: 'static, F>(executor: &mut Executor, guard: &TestGuard, operation: F) -> Task<Outcome<T>>
where
    F: Future<Output = Result<T, &'static str>> + 'static,
{
    let guard = guard.clone();
    let call = executor.spawn(async move { guard.execute(operation).await });
    executor.run_until_idle();
    call
}

/// A call of an operation that never ends.
fn running(executor: &mut Executor, guard: &TestGuard) -> Task<Outcome<()>> {
    call(executor, guard, pending())
}

/// A call of an operation that must not run.
fn waiting(executor: &mut Executor, guard: &TestGuard) -> Task<Outcome<()>> {
    call(executor, guard, async { panic!("the operation ran") })
}

/// Runs two calls that fail beside the guard's bulkhead, so that the circuit opens.
fn trip<R>(guard: &Guard<R>) {
    for _ in 0..2 {
        guard.breaker().admit().expect("the circuit is closed").fail();
    }
}

fn ended<T>(call: &Task<Outcome<T>>) -> Outcome<T> {
    call.output().expect("the call has ended")
}

#[track_caller]
fn open<T>(outcome: Outcome<T>) -> OpenCircuit {
    match outcome {
        Err(GuardError::Open(open)) => open,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it ran"),
    }
}

fn state<R, K>(guard: &Guard<R, K>) -> State {
    guard.breaker().status().circuit.state
}

/// Checks that nothing runs or waits, and that every slot is free.
#[track_caller]
fn is_idle<R: Runtime, K>(guard: &Guard<R, K>) {
    let status = guard.bulkhead().status();
    assert_eq!((status.in_flight, status.waiting), (0, 0));
    let slots: Vec<_> = (0..status.limits.capacity).map(|_| guard.bulkhead().try_slot()).collect();
    assert!(slots.iter().all(Result::is_ok) && guard.bulkhead().try_slot().is_err());
}

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    fn note(&self, what: &'static str) {
        self.0.lock().expect("no panic").push(what);
    }

    fn all(&self) -> Vec<&'static str> {
        self.0.lock().expect("no panic").clone()
    }
}

/// Runs a closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
