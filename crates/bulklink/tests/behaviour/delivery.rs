//! The order and the thread in which wakers are woken and events are delivered.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, Timer};
use bulklink::testing::{FakeClock, FakeSleep};
use bulklink::{Bulkhead, Event, EventFilter, EventKind, OwnedSlotFuture};

use crate::{TestBulkhead, bulkhead, executor, ms};

/// A timeout that only a failing test reaches.
const LONG: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Woken,
    Delivered(EventKind),
}

type Log = Arc<Mutex<Vec<Step>>>;

struct Logs(Log);

impl Wake for Logs {
    fn wake(self: Arc<Self>) {
        self.0.lock().expect("no panic").push(Step::Woken);
    }
}

type Call = Pin<Box<OwnedSlotFuture<FakeClock>>>;

/// Returns calls in the queue, with wakers that write to the log.
fn queued(bulkhead: &TestBulkhead, calls: usize, log: &Log) -> Vec<Call> {
    let waker = Waker::from(Arc::new(Logs(Arc::clone(log))));
    let call = |_| {
        let mut call = Box::pin(bulkhead.within(ms(300)).slot());
        assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        call
    };
    (0..calls).map(call).collect()
}

/// More calls than several batches, which have 16 wakers each.
const CALLS: usize = 50;

/// Returns the wakes and deliveries, in order, when `cause` settled [`CALLS`] waiters in one step.
fn settled_by(cause: impl FnOnce(&TestBulkhead, &FakeClock)) -> Vec<Step> {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, CALLS);
    let running = bulkhead.try_slot().expect("free");
    let log = Log::default();
    let calls = queued(&bulkhead, CALLS, &log);
    let inside = Arc::clone(&log);
    let handler = move |event: &Event| inside.lock().expect("no panic").push(Step::Delivered(event.kind));
    let added = bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    cause(&bulkhead, &executor.clock());
    let steps = std::mem::take(&mut *log.lock().expect("no panic"));
    bulkhead.handle().remove_event_handler(added);
    drop((calls, running));
    steps
}

#[test]
fn all_wakers_are_woken_before_the_first_event_is_delivered() {
    let closed = settled_by(|bulkhead, _| _ = bulkhead.close());
    let grown = settled_by(|bulkhead, _| _ = bulkhead.resize(CALLS + 1).expect("open"));
    let expired = settled_by(|bulkhead, clock| {
        clock.advance(ms(300));
        drop(bulkhead.try_slot());
    });
    let delivered = |count: usize, kind| [Step::Delivered(kind)].repeat(count);
    for (steps, events) in [
        (closed, [delivered(1, EventKind::Closed), delivered(CALLS, EventKind::ClosedRejection)].concat()),
        (grown, [delivered(1, EventKind::Resized), delivered(CALLS, EventKind::Admitted)].concat()),
        (expired, [delivered(CALLS, EventKind::Expired), delivered(1, EventKind::Saturated)].concat()),
    ] {
        // Timers may have woken some of them as well.
        let woken = steps.iter().take_while(|&&step| step == Step::Woken).count();
        assert!(woken >= CALLS, "{woken} woken before the first event");
        assert_eq!(steps[woken..], events);
    }
}

/// On some executors a waker runs its task immediately.
#[test]
fn events_caused_by_a_waker_are_delivered_after_all_wakers() {
    struct Looks(TestBulkhead, Log);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            self.1.lock().expect("no panic").push(Step::Woken);
            drop(self.0.try_slot());
        }
    }
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, CALLS);
    let _running = bulkhead.try_slot().expect("free");
    let log = Log::default();
    let waker = Waker::from(Arc::new(Looks(bulkhead.clone(), Arc::clone(&log))));
    let _calls: Vec<_> = (0..CALLS)
        .map(|_| {
            let mut call = Box::pin(bulkhead.owned().slot());
            assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            call
        })
        .collect();
    let inside = Arc::clone(&log);
    let handler = move |event: &Event| inside.lock().expect("no panic").push(Step::Delivered(event.kind));
    let added = bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    bulkhead.close();
    let steps = std::mem::take(&mut *log.lock().expect("no panic"));
    assert_eq!(steps[..CALLS], [Step::Woken].repeat(CALLS));
    assert_eq!(steps.len(), CALLS + 1 + CALLS + CALLS, "closed, each waiter, and each new call");
    bulkhead.handle().remove_event_handler(added);
}

#[test]
fn a_handler_that_a_waker_adds_is_called_after_all_wakers() {
    struct Adds(TestBulkhead, Log);
    impl Wake for Adds {
        fn wake(self: Arc<Self>) {
            let log = Arc::clone(&self.1);
            log.lock().expect("no panic").push(Step::Woken);
            let handler = move |event: &Event| log.lock().expect("no panic").push(Step::Delivered(event.kind));
            self.0.handle().add_event_handler(EventFilter::ALL, handler);
            drop(self.0.try_slot());
        }
    }
    let executor = executor();
    // In a batch in the middle, in the last one and in the only one. The others of its batch are
    // out of the gate already when it is woken.
    for (waiting, adding) in [(CALLS, 1), (CALLS, CALLS - 2), (3, 1)] {
        let bulkhead = bulkhead(&executor, 1, CALLS);
        let _running = bulkhead.try_slot().expect("free");
        let log = Log::default();
        let mut calls = queued(&bulkhead, waiting, &log);
        let waker = Waker::from(Arc::new(Adds(bulkhead.clone(), Arc::clone(&log))));
        assert!(calls[adding].as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        bulkhead.close();
        let steps = std::mem::take(&mut *log.lock().expect("no panic"));
        let woken = steps.iter().take_while(|&&step| step == Step::Woken).count();
        assert!(woken >= waiting, "{woken} of {waiting} woken before the first event");
        assert_eq!(steps[woken..], [Step::Delivered(EventKind::ClosedRejection)]);
    }
}

#[test]
fn an_event_does_not_change_after_it_was_delivered() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let (clock, mut events) = (executor.clock(), bulkhead.handle().subscribe(EventFilter::ALL, 2).expect("valid"));
    let handler = move |event: &Event| {
        let first = event.clone();
        clock.advance(ms(1));
        assert!(first == *event && first.at() < event.at());
    };
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    let mut later = bulkhead.handle().subscribe(EventFilter::ALL, 2).expect("valid");
    drop(bulkhead.try_slot());
    assert_eq!((events.try_recv(), bulkhead.status().handler_panics), (later.try_recv(), 0));
}

/// A handler that blocks in its first call until the test lets it go on.
struct Blocking {
    handler: Arc<dyn Fn(&Event) + Send + Sync>,
    blocked: mpsc::Receiver<()>,
    go_on: mpsc::Sender<()>,
    /// The numbers of all events, and the threads that it ran on.
    ran: Arc<Mutex<Vec<(u64, ThreadId)>>>,
}

fn blocking() -> Blocking {
    let ((blocks, blocked), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel());
    let (ran, first) = (Arc::new(Mutex::new(vec![])), Mutex::new(Some((blocks, goes_on))));
    let log = Arc::clone(&ran);
    let handler = move |event: &Event| {
        log.lock().expect("no panic").push((event.number, thread::current().id()));
        let first = first.lock().expect("no panic").take();
        if let Some((blocks, goes_on)) = first {
            blocks.send(()).expect("the test goes on");
            goes_on.recv_timeout(LONG).expect("the test goes on");
        }
    };
    Blocking { handler: Arc::new(handler), blocked, go_on, ran }
}

#[test]
fn another_thread_runs_no_handler_during_a_delivery() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 2, 40);
    let running = [(); 2].map(|()| bulkhead.owned().try_slot().expect("free"));
    let calls = queued(&bulkhead, 40, &Log::default());
    let Blocking { handler, blocked, go_on, ran } = blocking();
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| handler(event));
    let closing = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || bulkhead.close()
    });
    let closer = closing.thread().id();
    blocked.recv_timeout(LONG).expect("the handler is called");
    assert!(bulkhead.try_slot().is_err(), "the bulkhead is closed");
    drop(running);
    assert_eq!(ran.lock().expect("no panic").len(), 1, "no other event was delivered meanwhile");
    go_on.send(()).expect("the handler goes on");
    closing.join().expect("no panic");
    let ran = ran.lock().expect("no panic");
    assert!(ran.iter().all(|&(_, thread)| thread == closer), "one thread delivers the events of both");
    let numbers: Vec<_> = ran.iter().map(|&(number, _)| number).collect();
    let all = 1 + calls.len() as u64 + 1 + 2 + 1;
    assert_eq!(numbers, (1..=all).collect::<Vec<_>>(), "closed, the waiters, a new call, two released, drained");
}

#[test]
fn events_caused_by_a_handler_are_delivered_afterwards_without_recursion() {
    const ROUNDS: usize = 20_000;
    let deep = thread::Builder::new().stack_size(256 * 1024).spawn(|| {
        let executor = executor();
        let bulkhead = bulkhead(&executor, 1, 0);
        let (inside, rounds, depth) = (bulkhead.clone(), AtomicUsize::new(0), AtomicUsize::new(0));
        let handler = move |event: &Event| {
            assert_eq!(depth.fetch_add(1, SeqCst), 0, "a handler was called inside a handler");
            if event.kind == EventKind::Released && rounds.fetch_add(1, SeqCst) < ROUNDS {
                drop(inside.try_slot().expect("the slot was released"));
            }
            depth.fetch_sub(1, SeqCst);
        };
        let added = bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
        drop(bulkhead.try_slot().expect("free"));
        assert!(bulkhead.handle().remove_event_handler(added));
        (bulkhead.status().totals.finished, bulkhead.status().handler_panics)
    });
    let outcome = deep.expect("a thread").join().expect("no panic");
    assert_eq!(outcome, (ROUNDS as u64 + 1, 0));
}

#[test]
fn a_handler_removed_during_a_delivery_is_dropped_after_it() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let Blocking { handler, blocked, go_on, ran } = blocking();
    let weak = Arc::downgrade(&handler);
    let added = bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| handler(event));
    let delivering = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || drop(bulkhead.try_slot())
    });
    blocked.recv_timeout(LONG).expect("the handler is called");
    assert!(bulkhead.handle().remove_event_handler(added));
    drop(bulkhead.try_slot());
    assert!(weak.upgrade().is_some(), "the handler runs");
    go_on.send(()).expect("the handler goes on");
    delivering.join().expect("no panic");
    assert!(weak.upgrade().is_none(), "the last event was delivered");
    assert_eq!(ran.lock().expect("no panic").len(), 1);
}

/// A clock that panics after a number of readings.
#[derive(Clone)]
struct Faulty {
    clock: FakeClock,
    good: Arc<AtomicUsize>,
}

impl Clock for Faulty {
    type Instant = Instant;

    fn now(&self) -> Instant {
        let good = self.good.fetch_update(SeqCst, SeqCst, |good| good.checked_sub(1));
        assert!(good.is_ok(), "a clock that panics, on purpose");
        self.clock.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Faulty {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.clock.sleep_until(deadline)
    }
}

#[test]
fn an_event_reads_the_clock_only_on_demand() {
    let clock = Faulty { clock: FakeClock::new(), good: Arc::new(AtomicUsize::new(0)) };
    let bulkhead = Bulkhead::builder_on(clock.clone(), "faulty").parallelism(1).build().expect("valid");
    let (calls, timed) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(vec![])));
    let (count, log) = (Arc::clone(&calls), Arc::clone(&timed));
    let reads = move |event: &Event| {
        let at = event.at();
        log.lock().expect("no panic").push((event.number, at));
    };
    let counts = move |_: &Event| _ = count.fetch_add(1, SeqCst);
    bulkhead.handle().add_event_handler(EventFilter::ALL, counts);
    bulkhead.handle().add_event_handler(EventFilter::ALL, reads);
    let slot = bulkhead.try_slot().expect("free");
    assert_eq!((calls.load(SeqCst), bulkhead.status().handler_panics), (1, 1));
    clock.clock.advance(ms(3));
    clock.good.store(1, SeqCst);
    drop(slot);
    assert_eq!((calls.load(SeqCst), bulkhead.status().handler_panics), (2, 1));
    assert_eq!(*timed.lock().expect("no panic"), [(2, clock.clock.now())]);
}

/// Makes one call after the other that is rejected, and returns the most events for which a handler
/// was called in one of them.
fn most_delivered_in_a_call(bulkhead: &TestBulkhead, calls: usize) -> usize {
    let rejected = |_| {
        DELIVERED.set(0);
        assert!(bulkhead.try_slot().is_err());
        DELIVERED.get()
    };
    (0..calls).map(rejected).max().expect("a call")
}

thread_local! { static DELIVERED: Cell<usize> = const { Cell::new(0) } }

/// Returns the most events that a call delivered in a storm on the bulkhead of these events.
fn most_delivered_in_a_storm(bulkhead: &TestBulkhead, beside: impl FnOnce()) -> (usize, Vec<u64>) {
    const THREADS: usize = 4;
    const CALLS: usize = 2_000;
    let numbers = Arc::new(Mutex::new(vec![]));
    let log = Arc::clone(&numbers);
    let added = bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| {
        DELIVERED.set(DELIVERED.get() + 1);
        log.lock().expect("no panic").push(event.number);
        // Other threads add events meanwhile.
        thread::yield_now();
    });
    let most = thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| scope.spawn(|| most_delivered_in_a_call(bulkhead, CALLS)));
        beside();
        threads.map(|thread| thread.join().expect("no panic")).into_iter().max().expect("a thread")
    });
    assert!(bulkhead.handle().remove_event_handler(added));
    let numbers = std::mem::take(&mut *numbers.lock().expect("no panic"));
    (most, numbers)
}

#[test]
fn a_call_delivers_at_most_64_events_of_others() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let _running = bulkhead.try_slot().expect("free");
    // Alone, and beside channels, which want the time of each event.
    for channels in 0..2 {
        let receivers: Vec<_> =
            (0..channels).map(|_| bulkhead.handle().subscribe(EventFilter::ALL, 100_000).expect("valid")).collect();
        let (most, numbers) = most_delivered_in_a_storm(&bulkhead, || ());
        assert!((2..=1 + 64).contains(&most), "{most}");
        assert!(numbers.iter().copied().eq(numbers[0]..numbers[0] + 8_000), "each once, in order");
        for mut receiver in receivers {
            let received: Vec<_> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
            assert!(received.iter().map(|event| event.number).eq(numbers.iter().copied()), "each once, in order");
            assert!(received.is_sorted_by_key(Event::at), "time stands still or goes on");
        }
    }
    assert_eq!(bulkhead.status().dropped_events, 0);
}

#[test]
fn calls_in_handlers_of_another_bulkhead_add_no_work_without_a_bound() {
    let executor = executor();
    let [bulkhead, other] = [bulkhead(&executor, 1, 0), bulkhead(&executor, 1, 0)];
    let _running = [&bulkhead, &other].map(|bulkhead| bulkhead.try_slot().expect("free"));
    let inside = bulkhead.clone();
    let nested = move |_: &Event| assert!(inside.try_slot().is_err());
    other.handle().add_event_handler(EventFilter::ALL, nested);
    let (most, numbers) = most_delivered_in_a_storm(&bulkhead, || (0..4_000).for_each(|_| drop(other.try_slot())));
    assert!((2..=1 + 64).contains(&most), "{most}");
    assert!(numbers.is_sorted(), "in order");
    assert_eq!(numbers.len() + bulkhead.status().dropped_events, 12_000, "each is delivered or counted");
}

#[test]
fn where_events_wait_for_a_handler_calls_wait_too_and_one_takes_over() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let _running = bulkhead.try_slot().expect("free");
    let Blocking { handler, blocked, go_on, ran } = blocking();
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| handler(event));
    let rejected = |calls: usize| {
        let bulkhead = bulkhead.clone();
        thread::spawn(move || (0..calls).for_each(|_| assert!(bulkhead.try_slot().is_err())))
    };
    let first = rejected(1);
    blocked.recv_timeout(LONG).expect("the handler is called");
    let second = rejected(100);
    let until = std::time::Instant::now() + LONG;
    while bulkhead.status().totals.rejected() < 1 + 65 && std::time::Instant::now() < until {
        thread::yield_now();
    }
    // Time for another call, if there could be one.
    thread::sleep(ms(20));
    assert_eq!(bulkhead.status().totals.rejected(), 1 + 65, "64 events are left, and the next call waits");
    go_on.send(()).expect("the handler goes on");
    let threads = [first, second].map(|joined| {
        let id = joined.thread().id();
        joined.join().expect("no panic");
        id
    });
    let ran = ran.lock().expect("no panic");
    assert!(ran.iter().map(|&(number, _)| number).eq(1..=101), "each once, in order");
    let by_first = ran.iter().filter(|&&(_, thread)| thread == threads[0]).count();
    assert_eq!(by_first, 1 + 64, "then the call that waits takes over");
    assert!(ran[by_first..].iter().all(|&(_, thread)| thread == threads[1]));
}

#[test]
fn a_channel_is_filled_while_a_handler_is_slow() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let Blocking { handler, blocked, go_on, .. } = blocking();
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| handler(event));
    let mut events = bulkhead.handle().subscribe(EventFilter::ALL, 100).expect("valid");
    let slow = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || drop(bulkhead.try_slot())
    });
    blocked.recv_timeout(LONG).expect("the handler is called");
    drop(bulkhead.try_slot());
    let received: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).map(|event| event.kind).collect();
    assert_eq!(received, [EventKind::Admitted, EventKind::Saturated], "of both threads");
    go_on.send(()).expect("the handler goes on");
    slow.join().expect("no panic");
    assert_eq!(events.try_recv().map(|event| event.kind), Ok(EventKind::Released));
}

#[test]
fn a_call_in_a_handler_never_waits_and_its_events_are_bounded() {
    const CALLS: usize = 10_000;
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let _running = bulkhead.try_slot().expect("free");
    let (inside, left, numbers) = (bulkhead.clone(), AtomicUsize::new(CALLS), Arc::new(Mutex::new(vec![])));
    let log = Arc::clone(&numbers);
    // Twice as many events as are delivered.
    let added = bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| {
        log.lock().expect("no panic").push(event.number);
        for _ in 0..2 {
            if left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
                assert!(inside.try_slot().is_err());
            }
        }
    });
    assert!(bulkhead.try_slot().is_err());
    assert!(bulkhead.handle().remove_event_handler(added));
    let (delivered, dropped) = (numbers.lock().expect("no panic").len(), bulkhead.status().dropped_events);
    assert_eq!((delivered + dropped, bulkhead.status().handler_panics), (CALLS + 1, 0), "each is delivered or counted");
    // One more is queued for each that is delivered, until the queue is full; then one in two is
    // dropped, and at the end all that is queued is delivered.
    assert!((CALLS / 2 + 1_000..CALLS / 2 + 1_050).contains(&delivered), "{delivered}");
    assert!(numbers.lock().expect("no panic").is_sorted(), "in order");
}

#[test]
fn threads_that_deliver_do_not_wait_for_each_other() {
    let executor = executor();
    let bulkheads = [bulkhead(&executor, 1, 0), bulkhead(&executor, 1, 0)];
    let budget = Arc::new(AtomicUsize::new(10_000));
    for (bulkhead, other) in [(0, 1), (1, 0)] {
        let (other, budget) = (bulkheads[other].clone(), Arc::clone(&budget));
        bulkheads[bulkhead].handle().add_event_handler(EventFilter::ALL, move |_| {
            if budget.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
                drop(other.try_slot());
            }
        });
    }
    let (ended, ends) = mpsc::channel();
    for thread in 0..4 {
        let (bulkhead, ended) = (bulkheads[thread % 2].clone(), ended.clone());
        thread::spawn(move || {
            (0..500).for_each(|_| drop(bulkhead.try_slot()));
            ended.send(()).expect("the test waits");
        });
    }
    for _ in 0..4 {
        ends.recv_timeout(LONG).expect("no thread waits for ever");
    }
    assert_eq!(bulkheads.map(|bulkhead| bulkhead.status().handler_panics), [0, 0]);
}
