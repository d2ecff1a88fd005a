//! What handlers, wakers and receivers do to other calls: none of these waits for a waker, and each
//! delivers a bounded number of events.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use bulklink::testing::FakeClock;
use bulklink::{Event, EventFilter, EventKind, OwnedSlotFuture, Partitions};

use crate::{TestBulkhead, bulkhead, executor, ms};

/// A timeout that only a failing test reaches.
pub(crate) const LONG: Duration = Duration::from_secs(10);

/// A point at which foreign code stands still until the test lets it go on.
pub(crate) struct Stop {
    reached: Receiver<()>,
    go_on: Sender<()>,
}

/// Returns the point, and the foreign code, which stops at its first call.
pub(crate) fn stop() -> (Stop, impl Fn() + Send + Sync) {
    let ((arrives, reached), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel());
    let first = Mutex::new(Some((arrives, goes_on)));
    let code = move || {
        let first = first.lock().expect("no panic").take();
        if let Some((arrives, goes_on)) = first {
            arrives.send(()).expect("the test waits");
            let _ = goes_on.recv_timeout(LONG);
        }
    };
    (Stop { reached, go_on }, code)
}

impl Stop {
    #[track_caller]
    pub(crate) fn reached(&self) {
        self.reached.recv_timeout(LONG).expect("it is reached");
    }

    pub(crate) fn go_on(&self) {
        self.go_on.send(()).expect("it goes on");
    }
}

struct Runs<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Runs<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

pub(crate) fn waker(code: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Runs(code)))
}

pub(crate) type Call = Pin<Box<OwnedSlotFuture<FakeClock>>>;

pub(crate) fn queued(bulkhead: &TestBulkhead, waker: &Waker) -> Call {
    let mut call = Box::pin(bulkhead.owned().slot());
    assert!(call.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    call
}

/// Makes calls that are rejected.
pub(crate) fn rejected(bulkhead: &TestBulkhead, calls: usize) {
    (0..calls).for_each(|_| assert!(bulkhead.try_slot().is_err()));
}

thread_local! { pub(crate) static DELIVERED: Cell<usize> = const { Cell::new(0) } }

/// Counts the events that a thread delivers.
pub(crate) fn count(_: &Event) {
    DELIVERED.set(DELIVERED.get() + 1);
}

/// Returns a lock that a waker takes after it has stopped, and the waker.
fn locking() -> (Stop, Arc<Mutex<()>>, Waker) {
    let (stop, code) = stop();
    let lock = Arc::new(Mutex::new(()));
    let taken = Arc::clone(&lock);
    let waker = waker(move || {
        code();
        drop(taken.lock().expect("no panic"));
    });
    (stop, lock, waker)
}

/// Makes many calls under the lock while the waker waits for it. Each of them returns.
fn calls_under_the_lock(bulkhead: &TestBulkhead, stop: &Stop, lock: &Mutex<()>) {
    stop.reached();
    let guard = lock.lock().expect("no panic");
    stop.go_on();
    rejected(bulkhead, 200);
    drop(guard);
}

#[test]
fn no_call_waits_for_a_waker() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    bulkhead.handle().add_event_handler(EventFilter::ALL, count);
    let running = bulkhead.owned().try_slot().expect("free");
    let (stop, lock, waker) = locking();
    let call = queued(&bulkhead, &waker);
    let release = thread::spawn(move || drop(running));
    calls_under_the_lock(&bulkhead, &stop, &lock);
    release.join().expect("no panic");
    drop(call);
}

#[test]
fn no_call_waits_for_the_waker_of_a_receiver() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    bulkhead.handle().add_event_handler(EventFilter::ALL, count);
    let _running = bulkhead.owned().try_slot().expect("free");
    let mut events = bulkhead.handle().subscribe(EventFilter::ALL, 1_000).expect("valid");
    let (stop, lock, waker) = locking();
    {
        let mut received = pin!(events.recv());
        while received.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {}
    }
    let mut received = pin!(events.recv());
    assert!(received.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let other = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || rejected(&bulkhead, 1)
    });
    calls_under_the_lock(&bulkhead, &stop, &lock);
    other.join().expect("no panic");
    assert!(matches!(received.poll(&mut Context::from_waker(&waker)), Poll::Ready(Some(_))));
}

#[test]
fn a_call_that_causes_no_event_delivers_none() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 3);
    let running = bulkhead.owned().try_slot().expect("free");
    let (stop, code) = stop();
    let stopping = waker(code);
    let calls = [(); 3].map(|()| queued(&bulkhead, &stopping));
    bulkhead.handle().add_event_handler(EventFilter::REJECTIONS, count);
    let grown = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || {
            bulkhead.resize(4).expect("open");
            DELIVERED.get()
        }
    });
    stop.reached();
    DELIVERED.set(0);
    rejected(&bulkhead, 100);
    assert_eq!(DELIVERED.get(), 100, "each call delivers its own event beside the waker");
    stop.go_on();
    assert_eq!(grown.join().expect("no panic"), 0);
    drop((calls, running));
}

/// The call in the waker comes while another thread delivers; that ends before the other waiters
/// are woken.
#[test]
fn a_call_in_a_waker_delivers_after_all_wakers_whatever_other_threads_do() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 40);
    let _running = bulkhead.owned().try_slot().expect("free");
    let log = Arc::new(Mutex::new(vec![]));
    let (delivering, code) = stop();
    let go_on = delivering.go_on.clone();
    let (ended, ends) = mpsc::channel();
    let (ends, inside, woken) = (Mutex::new(ends), bulkhead.clone(), Arc::clone(&log));
    let before = AtomicUsize::new(0);
    let waker = waker(move || {
        woken.lock().expect("no panic").push("woken");
        if before.fetch_add(1, SeqCst) == 1 {
            go_on.send(()).expect("the handler goes on");
            ends.lock().expect("no panic").recv_timeout(LONG).expect("the other call ends");
            rejected(&inside, 1);
        }
    });
    let calls: Vec<_> = (0..20).map(|_| queued(&bulkhead, &waker)).collect();
    let (delivered, closing) = (Arc::clone(&log), thread::current().id());
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |_| {
        code();
        if thread::current().id() == closing {
            delivered.lock().expect("no panic").push("delivered");
        }
    });
    let other = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || {
            rejected(&bulkhead, 1);
            ended.send(()).expect("the waker waits");
        }
    });
    delivering.reached();
    bulkhead.close();
    other.join().expect("no panic");
    let log = log.lock().expect("no panic");
    assert!(log[..calls.len()].iter().all(|&step| step == "woken"), "{log:?}");
    assert!(log[calls.len()..].iter().all(|&step| step == "delivered") && log.len() > calls.len(), "{log:?}");
}

#[test]
fn no_event_is_left_behind_while_a_waker_runs() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 2);
    let running = bulkhead.owned().try_slot().expect("free");
    let ((waking, wakes), (delivering, delivers)) = (stop(), stop());
    let wakes = waker(wakes);
    let calls = [(); 2].map(|()| queued(&bulkhead, &wakes));
    let numbers = Arc::new(Mutex::new(vec![]));
    let log = Arc::clone(&numbers);
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| {
        log.lock().expect("no panic").push(event.number);
        delivers();
    });
    let on_a_thread = |act: fn(&TestBulkhead)| {
        let bulkhead = bulkhead.clone();
        thread::spawn(move || act(&bulkhead))
    };
    let first = on_a_thread(|bulkhead| rejected(bulkhead, 1));
    delivering.reached();
    let closing = on_a_thread(|bulkhead| _ = bulkhead.close());
    waking.reached();
    delivering.go_on();
    first.join().expect("no panic");
    rejected(&bulkhead, 5);
    assert_eq!(*numbers.lock().expect("no panic"), (1..=9).collect::<Vec<_>>(), "also those of the close");
    waking.go_on();
    closing.join().expect("no panic");
    drop((calls, running));
}

#[test]
fn a_handler_of_one_partition_stops_no_call_of_another() {
    let builder = Partitions::builder_on(FakeClock::new(), "test").parallelism(1).max_partitions(2);
    let partitions: Arc<Partitions<u64, _>> = Arc::new(builder.build().expect("valid"));
    let running = [0, 1].map(|key| partitions.key(&key).try_slot().expect("free"));
    // Either of the two can be the first of a pause.
    for (key, other) in [(0, 1), (1, 0)] {
        let (stop, lock, locking) = locking();
        let handle = partitions.partition(&key).expect("it exists");
        let handlers = [
            handle.add_event_handler(EventFilter::ALL, move |_| locking.wake_by_ref()),
            partitions.partition(&other).expect("it exists").add_event_handler(EventFilter::ALL, count),
        ];
        let pause = thread::spawn({
            let partitions = Arc::clone(&partitions);
            move || partitions.pause()
        });
        stop.reached();
        let guard = lock.lock().expect("no panic");
        stop.go_on();
        (0..200).for_each(|_| assert!(partitions.key(&other).try_slot().is_err()));
        drop(guard);
        assert!(pause.join().expect("no panic") && partitions.resume());
        assert!(handle.remove_event_handler(handlers[0]));
    }
    drop(running);
}

#[test]
fn a_call_on_all_partitions_delivers_at_most_64_events_of_others() {
    const PARTITIONS: u64 = 20;
    let builder = Partitions::builder_on(FakeClock::new(), "test").parallelism(1).max_partitions(100);
    let partitions: Arc<Partitions<u64, _>> = Arc::new(builder.build().expect("valid"));
    let running: Vec<_> = (0..PARTITIONS).map(|key| partitions.key(&key).try_slot().expect("free")).collect();
    let (stop, code) = stop();
    partitions.handle().add_event_handler(EventFilter::ALL, move |event| {
        count(event);
        code();
    });
    let pause = thread::spawn({
        let partitions = Arc::clone(&partitions);
        move || {
            assert!(partitions.pause());
            DELIVERED.get()
        }
    });
    stop.reached();
    for key in 0..PARTITIONS {
        (0..64).for_each(|_| assert!(partitions.key(&key).try_slot().is_err()));
    }
    stop.go_on();
    let delivered = pause.join().expect("no panic");
    let most = usize::try_from(PARTITIONS).expect("few") + 64;
    assert!((1..=most).contains(&delivered), "{delivered}");
    drop(running);
}

#[test]
fn what_a_handler_causes_is_delivered_by_its_own_call() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let _running = bulkhead.owned().try_slot().expect("free");
    let ((stop, code), inside, is_first) = (stop(), bulkhead.clone(), AtomicBool::new(true));
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| {
        count(event);
        if is_first.swap(false, SeqCst) {
            rejected(&inside, 1_000);
        }
        code();
    });
    let first = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || {
            rejected(&bulkhead, 1);
            DELIVERED.get()
        }
    });
    stop.reached();
    let others = [(); 2].map(|()| {
        let bulkhead = bulkhead.clone();
        thread::spawn(move || {
            rejected(&bulkhead, 1);
            DELIVERED.get()
        })
    });
    // They wait: more is queued than the first thread delivers.
    while bulkhead.status().totals.rejected() < 1_003 {
        thread::yield_now();
    }
    thread::sleep(ms(20));
    stop.go_on();
    let first = first.join().expect("no panic");
    let others = others.map(|other| other.join().expect("no panic"));
    assert!(others.iter().all(|&delivered| delivered <= 1 + 64), "{others:?}");
    assert_eq!(first + others.iter().sum::<usize>(), 1_003);
    assert_eq!(bulkhead.status().dropped_events, 0);
}

#[test]
fn a_burst_of_a_handler_is_bounded_and_its_end_is_delivered() {
    const CALLS: usize = 5_000;
    let executor = executor();
    let [bulkhead, other] = [bulkhead(&executor, 1, CALLS), bulkhead(&executor, 1, 0)];
    let running = [&bulkhead, &other].map(|bulkhead| bulkhead.owned().try_slot().expect("free"));
    let calls: Vec<_> = (0..CALLS).map(|_| queued(&bulkhead, Waker::noop())).collect();
    let (stop, code) = stop();
    let kinds = Arc::new(Mutex::new(vec![]));
    let log = Arc::clone(&kinds);
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| {
        count(event);
        log.lock().expect("no panic").push(event.kind);
        code();
    });
    let inside = bulkhead.clone();
    other.handle().add_event_handler(EventFilter::ALL, move |_| _ = inside.close());
    let one = thread::spawn({
        let bulkhead = bulkhead.clone();
        move || {
            rejected(&bulkhead, 1);
            DELIVERED.get()
        }
    });
    stop.reached();
    let closing = thread::spawn(move || rejected(&other, 1));
    while bulkhead.status().dropped_events == 0 {
        thread::yield_now();
    }
    stop.go_on();
    let delivered = one.join().expect("no panic");
    closing.join().expect("no panic");
    assert!((1..=1 + 64).contains(&delivered), "{delivered}");
    drop((running, calls));
    let kinds = kinds.lock().expect("no panic");
    assert_eq!(kinds.len() + bulkhead.status().dropped_events, 1 + 1 + CALLS + 2, "each is delivered or counted");
    assert!(kinds.len() < 1_100 && kinds.contains(&EventKind::Closed), "{}", kinds.len());
    assert_eq!(kinds.last(), Some(&EventKind::Drained));
}

/// The events of a call that still wakes are taken out of the gate by one in a handler, which finds
/// the queue full.
#[test]
fn events_of_calls_outside_of_handlers_are_never_dropped() {
    let executor = executor();
    let [bulkhead, other] = [bulkhead(&executor, 1, 2), bulkhead(&executor, 1, 0)];
    let running = [&bulkhead, &other].map(|bulkhead| bulkhead.owned().try_slot().expect("free"));
    let ((waking, wakes), (delivering, delivers)) = (stop(), stop());
    let wakes = waker(wakes);
    let calls = [(); 2].map(|()| queued(&bulkhead, &wakes));
    let kinds = Arc::new(Mutex::new(vec![]));
    let log = Arc::clone(&kinds);
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| {
        log.lock().expect("no panic").push(event.kind);
        delivers();
    });
    let inside = bulkhead.clone();
    other.handle().add_event_handler(EventFilter::ALL, move |_| rejected(&inside, 1_100));
    let on_a_thread = |act: fn(&TestBulkhead), bulkhead: &TestBulkhead| {
        let bulkhead = bulkhead.clone();
        thread::spawn(move || act(&bulkhead))
    };
    let first = on_a_thread(|bulkhead| rejected(bulkhead, 1), &bulkhead);
    delivering.reached();
    let full = on_a_thread(|other| rejected(other, 1), &other);
    while bulkhead.status().dropped_events == 0 {
        thread::yield_now();
    }
    let closing = on_a_thread(|bulkhead| _ = bulkhead.close(), &bulkhead);
    waking.reached();
    let again = on_a_thread(|other| rejected(other, 1), &other);
    while bulkhead.status().totals.rejected() < 1 + 2 + 2 * 1_100 {
        thread::yield_now();
    }
    waking.go_on();
    delivering.go_on();
    for thread in [first, full, closing, again] {
        thread.join().expect("no panic");
    }
    let kinds = kinds.lock().expect("no panic").clone();
    let of = |kind| kinds.iter().filter(|&&found| found == kind).count();
    assert_eq!(of(EventKind::Closed), 1);
    let after_closing = 1_100;
    assert!(of(EventKind::ClosedRejection) >= 2, "those of the waiters at least");
    assert!(bulkhead.status().dropped_events <= 1_100 - 1_024 + 1 + after_closing, "only those of calls in handlers");
    drop((calls, running));
}

#[test]
fn a_thread_that_takes_over_counts_only_those_of_its_events_that_are_left() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 500);
    let _running = bulkhead.owned().try_slot().expect("free");
    let calls: Vec<_> = (0..500).map(|_| queued(&bulkhead, Waker::noop())).collect();
    let (stop, code) = stop();
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| {
        // Those after the events of the close.
        if event.number > 1 + 1 + 500 {
            count(event);
        }
        code();
    });
    let calls_of = |act: fn(&TestBulkhead)| {
        let bulkhead = bulkhead.clone();
        thread::spawn(move || {
            act(&bulkhead);
            DELIVERED.get()
        })
    };
    let first = calls_of(|bulkhead| rejected(bulkhead, 1));
    stop.reached();
    let closing = calls_of(|bulkhead| _ = bulkhead.close());
    while !bulkhead.is_closed() {
        thread::yield_now();
    }
    let others: Vec<_> = (0..100).map(|_| calls_of(|bulkhead| rejected(bulkhead, 1))).collect();
    while bulkhead.status().totals.rejected() < 1 + 500 + 100 {
        thread::yield_now();
    }
    stop.go_on();
    let by_closing = closing.join().expect("no panic");
    assert!(by_closing <= 64, "{by_closing}");
    let all = first.join().expect("no panic")
        + by_closing
        + others.into_iter().map(|other| other.join().expect("no panic")).sum::<usize>();
    assert_eq!(all, 100);
    drop(calls);
}

#[test]
fn a_receiver_gets_no_event_of_the_past() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 2);
    let running = bulkhead.owned().try_slot().expect("free");
    let mut earlier = bulkhead.handle().subscribe(EventFilter::ALL, 100).expect("valid");
    let (receiver, inside, made) = (Arc::new(Mutex::new(None)), bulkhead.clone(), AtomicUsize::new(0));
    let place = Arc::clone(&receiver);
    let subscribing = waker(move || {
        if made.fetch_add(1, SeqCst) == 0 {
            *place.lock().expect("no panic") = Some(inside.handle().subscribe(EventFilter::ALL, 100).expect("valid"));
        }
    });
    let calls = [(); 2].map(|()| queued(&bulkhead, &subscribing));
    bulkhead.close();
    drop(running);
    let mut receiver = receiver.lock().expect("no panic").take().expect("a waker was woken");
    let kinds: Vec<_> = std::iter::from_fn(|| receiver.try_recv().ok()).map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Released, EventKind::Drained]);
    let kinds: Vec<_> = std::iter::from_fn(|| earlier.try_recv().ok()).map(|event| event.kind).collect();
    let closed = [EventKind::Closed, EventKind::ClosedRejection, EventKind::ClosedRejection];
    assert_eq!(kinds[2..5], closed, "{kinds:?}");
    drop(calls);
}
