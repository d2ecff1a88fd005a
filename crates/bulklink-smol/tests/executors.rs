//! Several executors of any kind on smol, and futures that no executor of smol polls.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use bulklink::runtime::Spawn;
use bulklink_smol::{Bulkhead, Reason, Smol, SmolOn};
use smol::channel::{Receiver, bounded};
use smol::{Executor, LocalExecutor};

const LIMIT: Duration = Duration::from_millis(20);

fn bulkhead() -> Bulkhead {
    Bulkhead::builder("shared").parallelism(1).waiting_room(5).build().expect("valid")
}

/// Holds the only slot until another call expires.
async fn expires(bulkhead: &Bulkhead) {
    let _running = bulkhead.slot().await.expect("it was free");
    let rejection = bulkhead.within(LIMIT).slot().await.expect_err("it is taken");
    assert_eq!(rejection.reason(), Reason::Expired);
    assert!(rejection.waited() >= LIMIT, "{rejection}");
}

#[test]
fn an_executor_that_is_dropped_gives_back_slots_and_places() {
    let shared = bulkhead();
    let executor = Executor::new();
    for _ in 0..3 {
        let shared = shared.clone();
        executor.spawn(async move { shared.execute(pending::<()>()).await }).detach();
    }
    while executor.try_tick() {}
    assert_eq!((shared.status().in_flight, shared.status().waiting), (1, 2));
    drop(executor);
    assert_eq!((shared.status().in_flight, shared.status().waiting), (0, 0));
    let totals = shared.status().totals;
    assert_eq!((totals.finished, totals.abandoned + totals.cancelled), (1, 2));
    smol::block_on(expires(&shared));
}

#[test]
fn a_local_executor_runs_futures_that_are_not_send() {
    let (shared, executor) = (bulkhead(), LocalExecutor::new());
    let counted = Rc::new(Cell::new(0));
    let tasks: Vec<_> = (0..5)
        .map(|_| {
            let (shared, counted) = (shared.clone(), Rc::clone(&counted));
            executor.spawn(async move { shared.execute(async { counted.set(counted.get() + 1) }).await })
        })
        .collect();
    smol::block_on(executor.run(async {
        for task in tasks {
            task.await.expect("room for all to wait");
        }
        expires(&shared).await;
    }));
    assert_eq!((counted.get(), shared.status().totals.finished), (5, 6));
}

/// This `block_on` parks the thread and has no timers.
#[test]
fn a_limit_passes_on_an_executor_that_has_no_timers() {
    smol::future::block_on(expires(&bulkhead()));
}

fn current() -> Option<String> {
    thread::current().name().map(str::to_owned)
}

/// Spawns a task on this runtime, and returns a channel that receives the name of its thread.
fn thread_of<R: Spawn>(runtime: R) -> Receiver<Option<String>> {
    let (sender, receiver) = bounded(1);
    runtime.spawn(async move { sender.send(current()).await.expect("the test receives it") }).expect("the task runs");
    receiver
}

#[test]
fn a_task_runs_on_the_executor_of_its_runtime() {
    static EXECUTOR: Executor<'_> = Executor::new();
    let own = thread_of(SmolOn::new(&EXECUTOR));
    assert!(!EXECUTOR.is_empty(), "the task waits until the executor runs");
    assert_eq!(smol::block_on(EXECUTOR.run(own.recv())), Ok(current()));
    assert_eq!(smol::block_on(thread_of(Smol).recv()), Ok(Some("smol-1".into())));
}
