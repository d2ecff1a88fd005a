//! Threads that block, in the same queue as tasks that wait.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as Std};

use bulklink::runtime::{Clock, Instant};
use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, ExecuteError, OwnedSlot, Reason, Rejection, Request, StdClock};

use crate::counters::add_up;
use crate::{TestBulkhead, bulkhead, call, executor, ms, slot};

type Blocked = JoinHandle<Result<OwnedSlot, Rejection>>;

/// Starts a thread that blocks with this request, and returns when it is in the queue.
fn blocked(bulkhead: &TestBulkhead, request: Request<Instant>) -> Blocked {
    let queued = bulkhead.status().totals.queued;
    let thread = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || bulkhead.with(request).blocking_slot()
    });
    until(|| bulkhead.status().totals.queued > queued);
    thread
}

fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        thread::yield_now();
    }
}

fn answer(thread: Blocked) -> Result<OwnedSlot, Reason> {
    thread.join().expect("no panic").map_err(|rejection| rejection.reason())
}

#[test]
fn all_four_blocking_methods_work() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 2, 9);
    let now = executor.clock().now();
    let running = bulkhead.blocking_slot().expect("free");
    let second = bulkhead.try_slot().expect("free");
    let saturated = bulkhead.with(Request::new().now()).blocking_slot().expect_err("full");
    assert_eq!((saturated.reason(), bulkhead.try_slot().is_err()), (Reason::Saturated, true));
    let past = bulkhead.with(Request::new().before(now)).blocking_slot().expect_err("past");
    assert_eq!((past.reason(), past.limit()), (Reason::Expired, Some(Duration::ZERO)));

    let within = blocked(&bulkhead, Request::new().within(ms(10)));
    let before = blocked(&bulkhead, Request::new().before(now + ms(20)));
    let both = blocked(&bulkhead, Request::new().cost(2));
    executor.clock().advance(ms(10));
    let late = within.join().expect("no panic").expect_err("too late");
    assert_eq!((late.reason(), late.waited()), (Reason::Expired, ms(10)));
    executor.clock().advance(ms(10));
    assert_eq!(answer(before).err(), Some(Reason::Expired));
    drop((running, second));
    assert_eq!(answer(both).expect("there is room").cost(), 2);
    assert_eq!(executor.clock().next_timer(), None);
}

#[test]
fn threads_and_tasks_share_one_fifo_queue() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 9);
    let mut running = bulkhead.owned().try_slot().expect("free");
    for _ in 0..2 {
        let first = blocked(&bulkhead, Request::new());
        let second = call(&mut executor, &bulkhead);
        let third = blocked(&bulkhead, Request::new());
        drop(running);
        let next = answer(first).expect("it was admitted");
        executor.run_until_idle();
        assert!(!second.is_finished() && !third.is_finished() && bulkhead.try_slot().is_err());
        drop(next);
        executor.run_until_idle();
        let next = slot(&second);
        assert!(!third.is_finished());
        drop(next);
        running = answer(third).expect("it was admitted");
    }
}

#[test]
fn the_bulkheads_wait_limit_applies_on_the_std_clock() {
    let limit = ms(20);
    let builder = Bulkhead::builder_on(StdClock, "test").parallelism(1).waiting_room(1).wait_limit(limit);
    let bulkhead = builder.build().expect("valid");
    let _running = bulkhead.blocking_slot().expect("free");
    let begun = Std::now();
    let rejection = bulkhead.blocking_slot().expect_err("the slot is taken");
    assert_eq!((rejection.reason(), rejection.limit()), (Reason::Expired, Some(limit)));
    assert!(rejection.waited() >= limit && begun.elapsed() >= limit);
    let deadline =
        bulkhead.with(Request::new().before(Std::now() + ms(5))).blocking_slot().expect_err("the slot is taken");
    assert_eq!((deadline.reason(), bulkhead.status().totals.expired), (Reason::Expired, 2));
}

#[test]
fn closing_wakes_blocked_threads() {
    let bulkhead = bulkhead(&executor(), 1, 9);
    let running = bulkhead.try_slot().expect("free");
    let threads = [(); 5].map(|()| blocked(&bulkhead, Request::new()));
    bulkhead.close();
    for thread in threads {
        assert_eq!(answer(thread).err(), Some(Reason::Closed));
    }
    assert_eq!(bulkhead.blocking_slot().expect_err("closed").reason(), Reason::Closed);
    let end = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || bulkhead.close_and_wait().block()
    });
    drop(running);
    end.join().expect("no panic");
    assert!(bulkhead.status().is_drained());
}

#[test]
fn a_blocking_wait_for_the_drain_can_time_out() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let running = bulkhead.try_slot().expect("free");
    bulkhead.close();
    let wait = |limit| {
        let bulkhead = bulkhead.clone();
        thread::spawn(move || bulkhead.handle().closed().block_for(limit))
    };
    let (short, long) = (wait(ms(10)), wait(ms(1000)));
    until(|| executor.clock().next_timer() == Some(executor.clock().now() + ms(10)));
    executor.clock().advance(ms(10));
    assert!(!short.join().expect("no panic"));
    drop(running);
    assert!(long.join().expect("no panic"));
    assert!(bulkhead.handle().closed().block_for(Duration::ZERO));
}

#[test]
fn a_cancelled_waiter_ahead_does_not_keep_a_thread_asleep() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 9);
    let running = (bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free"));
    // It is ahead of the thread in the queue, and asks for more than is free.
    let heavy = executor.spawn(bulkhead.with(Request::new().cost(2)).slot());
    executor.run_until_idle();
    let thread = blocked(&bulkhead, Request::new());
    drop(running.0);
    assert!(!thread.is_finished());
    heavy.cancel();
    drop(answer(thread).expect("no waiter is ahead"));
    // The same for a waiter that was granted the slot already.
    let second = bulkhead.try_slot().expect("free");
    let neighbour = call(&mut executor, &bulkhead);
    let thread = blocked(&bulkhead, Request::new());
    drop(second);
    neighbour.cancel();
    drop(answer(thread).expect("the slot goes to the next waiter"));
    assert_eq!(bulkhead.status().totals.abandoned, 1);
}

#[test]
fn a_blocking_wait_keeps_an_unpark_token_of_other_code() {
    for unparked_before in [true, false] {
        let bulkhead = bulkhead(&executor(), 1, 1);
        let running = bulkhead.try_slot().expect("free");
        let (ready, noticed) = mpsc::channel();
        let thread = thread::spawn({
            let bulkhead = bulkhead.clone();
            move || {
                if unparked_before {
                    thread::current().unpark();
                }
                let slot = bulkhead.owned().blocking_slot();
                // The token is still there, once.
                thread::park();
                ready.send(()).expect("the test waits");
                thread::park();
                slot
            }
        });
        until(|| bulkhead.status().waiting == 1);
        if !unparked_before {
            thread.thread().unpark();
        }
        assert_eq!(bulkhead.status().waiting, 1, "the unpark ended the wait");
        drop(running);
        noticed.recv().expect("the thread went on");
        assert!(!thread.is_finished(), "the wait left a token");
        thread.thread().unpark();
        drop(answer(thread).expect("it was admitted"));
    }
}

/// A clock that only the test sets, and that counts its readings.
#[derive(Clone, Default)]
struct StoppedClock(Arc<AtomicU64>, Arc<AtomicUsize>);

impl Clock for StoppedClock {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.1.fetch_add(1, SeqCst);
        Instant::from_nanos(self.0.load(SeqCst))
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl bulklink::runtime::Timer for StoppedClock {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn sleep_until(&self, _: Instant) -> Self::Sleep {
        unreachable!("a blocking thread needs no timer")
    }
}

#[test]
fn on_a_stopped_clock_blocking_neither_spins_nor_sleeps_forever() {
    let clock = StoppedClock::default();
    let bulkhead = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).waiting_room(1).build().expect("valid");
    let _running = bulkhead.try_slot().expect("free");
    let thread = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || bulkhead.within(Duration::from_nanos(1)).blocking_slot()
    });
    let (begun, readings) = (Std::now(), clock.1.load(SeqCst));
    until(|| begun.elapsed() > ms(20));
    let readings = clock.1.load(SeqCst) - readings;
    // Three readings per round, and one round per millisecond.
    assert!(readings <= 3 * (begun.elapsed().as_millis() as usize + 1), "{readings} readings");
    clock.0.store(1, SeqCst);
    assert_eq!(answer(thread).err(), Some(Reason::Expired));
}

#[test]
fn an_operation_that_panics_gives_its_slot_back() {
    let bulkhead = Bulkhead::builder_on(StdClock, "test").parallelism(1).build().expect("valid");
    let unwound =
        catch_unwind(AssertUnwindSafe(|| bulkhead.blocking_execute(|| panic!("on purpose")).map(|never: ()| never)));
    assert!(unwound.is_err());
    let status = bulkhead.status();
    assert_eq!((status.in_flight, status.totals.finished), (0, 1));
    assert_eq!(
        bulkhead.owned().blocking_execute_fallible(|| Err::<(), _>("its own")),
        Err(ExecuteError::Operation("its own"))
    );
    assert_eq!(
        bulkhead
            .with(Request::new().now())
            .blocking_execute(|| bulkhead.with(Request::new().now()).blocking_execute(|| ()).is_err()),
        Ok(true)
    );
}

/// Threads and tasks together, some with a limit of zero; the counters add up at the end.
#[test]
fn thousands_of_operations_from_many_threads_add_up() {
    const THREADS: usize = 8;
    const ROUNDS: usize = 1000;
    let bulkhead = Bulkhead::<StdClock>::builder("busy").parallelism(3).waiting_room(THREADS).build().expect("valid");
    let running = AtomicUsize::new(0);
    let (ran, late): (Vec<_>, Vec<_>) = thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| {
            scope.spawn(|| {
                let ran = (0..ROUNDS).filter(|&round| one_operation(&bulkhead, &running, round)).count();
                (ran, ROUNDS - ran)
            })
        });
        threads.map(|thread| thread.join().expect("no panic")).into_iter().unzip()
    });
    let (ran, late) = (ran.iter().sum::<usize>() as u64, late.iter().sum::<usize>() as u64);
    let status = bulkhead.status();
    add_up(&bulkhead);
    assert_eq!((status.in_flight, status.waiting, status.totals.finished, status.totals.rejected()), (0, 0, ran, late));
    assert!(status.peak_in_flight <= 3 && ran > late);
}

fn one_operation(bulkhead: &Bulkhead<StdClock>, running: &AtomicUsize, round: usize) -> bool {
    let request = match round % 4 {
        0 => Request::new().now(),
        1 => Request::new().within(Duration::from_micros(50)),
        _ => Request::new(),
    };
    let ran = bulkhead.with(request).blocking_execute(|| {
        assert!(running.fetch_add(1, SeqCst) < 3, "over the limit");
        if round % 8 == 0 {
            thread::yield_now();
        }
        running.fetch_sub(1, SeqCst);
    });
    ran.is_ok()
}

#[test]
fn blocking_calls_and_tasks_share_the_slots() {
    let bulkhead = Bulkhead::builder_on(FakeClock::new(), "test").parallelism(1).build().expect("valid");
    let clone = bulkhead.clone();
    let running = clone.blocking_slot().expect("free");
    assert!(bulkhead.try_slot().is_err() && clone.label() == "test");
    drop(running);
    assert_eq!(clone.status().totals.finished, 1);
    assert_eq!(format!("{clone:?}"), format!("{bulkhead:?}"));
}
