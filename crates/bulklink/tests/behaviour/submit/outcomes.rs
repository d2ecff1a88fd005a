//! The outcome of a submitted operation, and how its handle gets it.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use bulklink::JoinError;

use super::by_hand::{ByHand, Treatment};
use super::{Log, ended, is_lost, on, outcome, settled, setup};
use crate::CountingWaker;

#[test]
fn dropping_the_handle_detaches_the_operation() {
    let (mut executor, bulkhead) = setup(1, 9);
    let log = Log::default();
    for number in 0..2 {
        let (task, closure) = (log.clone(), log.clone());
        drop(bulkhead.submit(async move { task.note(number) }));
        drop(bulkhead.submit_blocking(move || closure.note(10 + number)));
    }
    executor.run_until_idle();
    assert_eq!(log.all(), [0, 10, 1, 11]);
    assert_eq!(bulkhead.status().totals.finished, 4);
    settled(&bulkhead);
}

#[test]
fn a_detached_operations_output_is_dropped_and_may_panic() {
    let (mut executor, bulkhead) = setup(1, 9);
    let log = Log::default();
    let (task, closure) = (log.clone(), log.clone());
    drop(bulkhead.submit(async move { Bomb(task) }));
    drop(bulkhead.submit_blocking(move || Bomb(closure)));
    executor.run_until_idle();
    assert_eq!(log.all(), [1, 1]);
    settled(&bulkhead);
}

/// A value that records its drop, and panics.
struct Bomb(Log);

impl Bomb {
    fn throw(self) -> Self {
        panic_any(self)
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.note(1);
        panic!("an outcome that panics when dropped, on purpose");
    }
}

/// An outcome is a value, or the payload of the operation's panic.
#[test]
fn dropping_a_handle_contains_a_panic_of_its_outcome() {
    for cancels in [false, true] {
        let (mut executor, bulkhead) = setup(4, 0);
        let log = Log::default();
        let [value, from_closure, panic, from_panicked] = [(); 4].map(|()| Bomb(log.clone()));
        let submitted = [
            bulkhead.submit(async { value }),
            bulkhead.submit_blocking(|| from_closure),
            bulkhead.submit(async { panic.throw() }),
            bulkhead.submit_blocking(|| from_panicked.throw()),
        ];
        executor.run_until_idle();
        let escaped = submitted.map(|handle| {
            let handle = handle.expect("free");
            assert!(handle.is_finished());
            let drop_it = || if cancels { drop(handle.cancel_on_drop()) } else { drop(handle) };
            catch_unwind(AssertUnwindSafe(drop_it)).is_err()
        });
        assert_eq!(escaped, [false; 4]);
        assert_eq!(log.all(), [1; 4], "each value was dropped");
        settled(&bulkhead);
    }
}

#[test]
fn a_panic_is_an_outcome() {
    let (mut executor, bulkhead) = setup(2, 0);
    let task = bulkhead.submit(async { panic!("on {}", "purpose") }).expect("free");
    let closure = bulkhead.submit_blocking(|| panic!("on purpose")).expect("free");
    executor.run_until_idle();
    for handle in [task, closure] {
        let JoinError::Panicked(panic) = ended::<()>(handle).expect_err("the operation panicked") else {
            panic!("the outcome is not a panic")
        };
        assert_eq!(panic.message().as_deref(), Some("on purpose"));
        assert_eq!(panic.to_string(), "the operation panicked: on purpose");
        assert!(catch_unwind(AssertUnwindSafe(|| panic.resume())).is_err());
    }
    assert_eq!(bulkhead.status().totals.finished, 2);
    settled(&bulkhead);
}

/// The operation is dropped first, because it may own the resource of the slot. Its panics are
/// contained.
#[test]
fn an_operation_is_dropped_before_its_slot_despite_a_panic() {
    struct Operation(super::Submitted, bool);
    impl Future for Operation {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            if self.1 { Poll::Ready(()) } else { Poll::Pending }
        }
    }
    impl Drop for Operation {
        fn drop(&mut self) {
            assert_eq!(self.0.status().in_flight, 1);
            panic!("an operation that panics when dropped, on purpose");
        }
    }
    let (mut executor, bulkhead) = setup(1, 0);
    let ends = bulkhead.submit(Operation(bulkhead.clone(), true)).expect("free");
    executor.run_until_idle();
    assert!(matches!(ended(ends), Err(JoinError::Panicked(_))));
    let runs = bulkhead.submit(Operation(bulkhead.clone(), false)).expect("free");
    executor.run_until_idle();
    runs.cancel();
    executor.run_until_idle();
    assert!(matches!(ended(runs), Err(JoinError::Cancelled)));
    settled(&bulkhead);
}

/// The second panic must not happen while the first unwinds.
#[test]
fn an_operation_and_its_output_may_both_panic_when_dropped() {
    struct Operation(Log);
    impl Future for Operation {
        type Output = Bomb;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Bomb> {
            Poll::Ready(Bomb(self.0.clone()))
        }
    }
    impl Drop for Operation {
        fn drop(&mut self) {
            panic!("an operation that panics when dropped, on purpose");
        }
    }
    let (mut executor, bulkhead) = setup(1, 0);
    let log = Log::default();
    let handle = bulkhead.submit(Operation(log.clone())).expect("free");
    executor.run_until_idle();
    let Err(JoinError::Panicked(panic)) = ended(handle) else { panic!("the operation panicked") };
    assert_eq!(panic.message().as_deref(), Some("an operation that panics when dropped, on purpose"));
    assert_eq!(log.all(), [1]);
    settled(&bulkhead);
}

#[test]
fn only_the_last_waker_of_a_handle_is_woken_once() {
    let (mut executor, bulkhead) = setup(1, 0);
    let mut handle = bulkhead.submit(async { 5 }).expect("free");
    let counters = [Arc::new(CountingWaker::default()), Arc::new(CountingWaker::default())];
    for counter in [&counters[0], &counters[1], &counters[1]] {
        let waker = Waker::from(Arc::clone(counter));
        assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!(Arc::strong_count(&counters[0]), 1, "the displaced waker is gone");
    assert!(!handle.is_finished());
    executor.run_until_idle();
    assert_eq!((counters[0].wakes(), counters[1].wakes()), (0, 1));
    assert!(handle.is_finished());
    assert_eq!(outcome(&mut handle).map(Result::unwrap), Some(5));
    let again = catch_unwind(AssertUnwindSafe(|| outcome(&mut handle)));
    let message = again.expect_err("the handle has completed").downcast::<&str>().expect("a message");
    assert_eq!(*message, "polled again after it had completed");
}

#[test]
fn a_thread_can_block_until_the_end() {
    let (mut executor, bulkhead) = setup(1, 1);
    let first = bulkhead.submit(async { 1 }).expect("free");
    let second = bulkhead.submit_blocking(|| 2).expect("there is room");
    let joining = thread::spawn(move || (first.join(), second.join()));
    executor.run_until_idle();
    let (first, second) = joining.join().expect("no panic");
    assert_eq!((first.unwrap(), second.unwrap()), (1, 2));
}

/// The operations are running, admitted and not begun, and queued; futures and closures.
#[test]
fn a_dropped_runtime_loses_no_slot_and_ends_all_handles() {
    let (mut executor, bulkhead) = setup(3, 2);
    let running = bulkhead.submit(pending::<()>()).expect("free");
    executor.run_until_idle();
    let unbegun = bulkhead.submit(pending::<()>()).expect("free");
    let closure = bulkhead.submit_blocking(|| unreachable!("it never began")).expect("free");
    let queued = bulkhead.submit(pending::<()>()).expect("there is room");
    let queued_closure = bulkhead.submit_blocking(|| unreachable!("it never began")).expect("there is room");
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().waiting), (3, 2));
    drop(executor);
    assert!([running, unbegun, closure, queued, queued_closure].into_iter().all(is_lost));
    let totals = bulkhead.status().totals;
    assert_eq!((totals.finished, totals.abandoned + totals.cancelled), (1, 4), "{totals:?}");
    settled(&bulkhead);
    let refused = bulkhead.submit(async {}).expect_err("no runtime runs the operation");
    let cause = std::error::Error::source(&refused).expect("that of the runtime").to_string();
    assert_eq!(refused.to_string(), "the operation was not run");
    assert_eq!(cause, "the runtime refused to run it: the executor is gone");
    settled(&bulkhead);
}

/// On some executors a task lives only as long as one of its wakers. It must be dropped when no
/// other code can wake it.
#[test]
fn a_detached_task_does_not_keep_itself_alive() {
    struct Task(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);
    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }
    for queues in [false, true] {
        let runtime = ByHand::new(Treatment::Keep);
        let bulkhead = on(runtime.clone(), 1, 1);
        let running = queues.then(|| bulkhead.owned().try_slot());
        let handle = bulkhead.submit(pending::<()>()).expect("free");
        let task = Arc::new(Task(Mutex::new(runtime.pop())));
        let waker = Waker::from(Arc::clone(&task));
        let poll = || {
            let mut polled = task.0.lock().expect("no panic");
            polled.as_mut().expect("a task").as_mut().poll(&mut Context::from_waker(&waker))
        };
        assert!(poll().is_pending());
        drop(running);
        drop(handle);
        assert!(poll().is_pending());
        assert_eq!(bulkhead.status().in_flight, 1);
        let count = Arc::strong_count(&task);
        drop(waker);
        assert_eq!((count, Arc::strong_count(&task)), (2, 1), "there is no other reference");
        drop(task);
        settled(&bulkhead);
    }
}

#[test]
fn an_ended_operation_keeps_no_waker_of_its_task() {
    struct Task;
    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }
    let runtime = ByHand::new(Treatment::Keep);
    let handle = on(runtime.clone(), 1, 0).submit(async {}).expect("free");
    let task = Arc::new(Task);
    runtime.poll_tasks(&Waker::from(Arc::clone(&task)));
    assert!(handle.is_finished());
    assert_eq!(Arc::strong_count(&task), 1, "there is no other reference");
}
