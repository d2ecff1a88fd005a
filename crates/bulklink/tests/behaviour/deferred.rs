//! What calls inside of handlers leave to the outermost call of their thread, and which wakers and
//! channels a call serves before it calls handlers.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, Event, EventKind, OwnedSlotFuture, Partitions};

use crate::{TestBulkhead, bulkhead, executor};

/// A timeout that only a failing test reaches.
const LONG: Duration = Duration::from_secs(10);

thread_local! { static DELIVERED: Cell<usize> = const { Cell::new(0) } }

/// Counts the events that a thread delivers.
fn count(_: &Event) {
    DELIVERED.set(DELIVERED.get() + 1);
}

fn rejected(bulkhead: &TestBulkhead) {
    assert!(bulkhead.try_slot().is_err());
}

/// A waker that stops until the test lets it go on.
struct Stops(Mutex<(Sender<()>, Receiver<()>)>);

impl Wake for Stops {
    fn wake(self: Arc<Self>) {
        let stop = self.0.lock().expect("no panic");
        stop.0.send(()).expect("the test waits");
        let _ = stop.1.recv_timeout(LONG);
    }
}

/// Returns the waker, where the test sees that it has stopped, and where it lets it go on.
fn stops() -> (Waker, Receiver<()>, Sender<()>) {
    let ((stops, stopped), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel());
    (Waker::from(Arc::new(Stops(Mutex::new((stops, goes_on))))), stopped, go_on)
}

type Call = Pin<Box<OwnedSlotFuture<FakeClock>>>;

fn queued(bulkhead: &TestBulkhead, waker: &Waker) -> Call {
    let mut call = Box::pin(bulkhead.slot_owned());
    assert!(call.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    call
}

/// A close of a bulkhead on another thread, which stands still in its first waker.
struct Closing {
    thread: thread::JoinHandle<()>,
    go_on: Sender<()>,
    calls: Vec<Call>,
}

fn closing(bulkhead: &TestBulkhead, waiting: usize) -> Closing {
    let (stopping, stopped, go_on) = stops();
    let waker = |place| if place == 0 { &stopping } else { Waker::noop() };
    let calls = (0..waiting).map(|place| queued(bulkhead, waker(place))).collect();
    let closing = bulkhead.clone();
    let thread = thread::spawn(move || _ = closing.close());
    stopped.recv_timeout(LONG).expect("it wakes");
    Closing { thread, go_on, calls }
}

impl Closing {
    fn ends(self) {
        self.go_on.send(()).expect("it goes on");
        self.thread.join().expect("no panic");
        drop(self.calls);
    }
}

/// A handler that calls its bulkhead again and again gives the call no larger share.
#[test]
fn what_a_handler_leaves_is_delivered_without_those_of_others() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 900);
    let _running = bulkhead.try_slot_owned().expect("free");
    let closing = closing(&bulkhead, 900);
    let inside = bulkhead.clone();
    bulkhead.add_event_handler(move |event| {
        count(event);
        if event.number % 50 == 0 {
            rejected(&inside);
        }
    });
    rejected(&bulkhead);
    let (delivered, own) = (DELIVERED.get(), 1 + DELIVERED.get() / 50);
    assert!((1..=own + 64).contains(&delivered), "{delivered}");
    closing.ends();
}

#[test]
fn a_call_has_one_share_for_all_that_its_handlers_call() {
    const OTHERS: usize = 10;
    let executor = executor();
    let first = bulkhead(&executor, 1, 0);
    let others: Vec<_> = (0..OTHERS).map(|_| bulkhead(&executor, 1, 90)).collect();
    let running: Vec<_> =
        others.iter().chain([&first]).map(|bulkhead| bulkhead.try_slot_owned().expect("free")).collect();
    let closings: Vec<_> = others.iter().map(|other| closing(other, 90)).collect();
    for other in &others {
        other.add_event_handler(count);
    }
    let inside = others.clone();
    first.add_event_handler(move |_| inside.iter().for_each(rejected));
    rejected(&first);
    let delivered = DELIVERED.get();
    assert!((1..=OTHERS + 64).contains(&delivered), "{delivered}");
    closings.into_iter().for_each(Closing::ends);
    drop(running);
}

/// A waker that notes the thread on which it is woken.
struct Notes(Arc<Mutex<Vec<thread::ThreadId>>>);
impl Wake for Notes {
    fn wake(self: Arc<Self>) {
        self.0.lock().expect("no panic").push(thread::current().id());
    }
}

/// A call under a lock is not given the wakers of another call, which may take that lock.
#[test]
fn a_call_wakes_no_waiter_of_another_call() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 40);
    let _running = bulkhead.try_slot_owned().expect("free");
    bulkhead.add_event_handler(count);
    let woken = Arc::new(Mutex::new(vec![]));
    let (stopping, stopped, go_on) = stops();
    let notes = Waker::from(Arc::new(Notes(Arc::clone(&woken))));
    let calls: Vec<_> = (0..40).map(|place| queued(&bulkhead, if place == 0 { &stopping } else { &notes })).collect();
    let closes = bulkhead.clone();
    let closing = thread::spawn(move || _ = closes.close());
    stopped.recv_timeout(LONG).expect("it wakes");
    (0..5).for_each(|_| rejected(&bulkhead));
    assert!(woken.lock().expect("no panic").is_empty());
    let id = closing.thread().id();
    go_on.send(()).expect("it goes on");
    closing.join().expect("no panic");
    assert_eq!(*woken.lock().expect("no panic"), vec![id; 39]);
    drop(calls);
}

/// What is dropped with a bulkhead can make calls, which leave events to the same call.
#[test]
fn many_bulkheads_that_end_in_a_handler_use_no_stack() {
    struct Calls(TestBulkhead);
    impl Drop for Calls {
        fn drop(&mut self) {
            rejected(&self.0);
        }
    }
    let deep = thread::Builder::new().stack_size(512 * 1024).spawn(|| {
        let executor = executor();
        let [log, first] = [bulkhead(&executor, 1, 0), bulkhead(&executor, 1, 0)];
        let _running = [&log, &first].map(|bulkhead| bulkhead.try_slot_owned().expect("free"));
        log.add_event_handler(count);
        let (noted, clock) = (log.clone(), executor.clock());
        first.add_event_handler(move |_| {
            for _ in 0..5_000 {
                let short = Bulkhead::builder_on(clock.clone(), "short").parallelism(1).build().expect("valid");
                let end = Calls(noted.clone());
                short.add_event_handler(move |_| _ = &end);
                drop(short.try_slot().expect("free"));
            }
        });
        rejected(&first);
        DELIVERED.get()
    });
    assert_eq!(deep.expect("a thread").join().expect("no panic"), 5_000);
}

#[test]
fn a_call_at_the_end_of_a_thread_leaves_no_event_behind() {
    struct AtExit(TestBulkhead);
    impl Drop for AtExit {
        fn drop(&mut self) {
            rejected(&self.0);
        }
    }
    thread_local! { static HELD: RefCell<Option<AtExit>> = const { RefCell::new(None) } }
    let executor = executor();
    let [first, other] = [bulkhead(&executor, 1, 0), bulkhead(&executor, 1, 0)];
    let _running = [&first, &other].map(|bulkhead| bulkhead.try_slot_owned().expect("free"));
    let delivered = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&delivered);
    other.add_event_handler(move |_| _ = counted.fetch_add(1, SeqCst));
    let inside = other.clone();
    first.add_event_handler(move |_| rejected(&inside));
    let on_the_thread = first.clone();
    let ended = thread::spawn(move || {
        HELD.set(Some(AtExit(on_the_thread.clone())));
        rejected(&on_the_thread);
    });
    ended.join().expect("no panic");
    assert_eq!(delivered.load(SeqCst), 2);
}

#[test]
fn channels_of_all_partitions_are_filled_before_any_handler_is_called() {
    let builder = Partitions::builder_on(FakeClock::new(), "test").parallelism(1).max_partitions(2);
    let partitions: Partitions<u64, _> = builder.build().expect("valid");
    let running = [0, 1].map(|key| partitions.try_slot(&key).expect("free"));
    let events = Arc::new(Mutex::new(partitions.subscribe(100).expect("valid")));
    let (received, seen) = (Arc::clone(&events), Arc::new(Mutex::new(vec![])));
    let log = Arc::clone(&seen);
    partitions.add_event_handler(move |_| {
        let mut events = received.lock().expect("no panic");
        log.lock().expect("no panic").push(std::iter::from_fn(|| events.try_recv().ok()).count());
    });
    assert!(partitions.pause());
    assert_eq!(*seen.lock().expect("no panic"), [2, 0], "both are there at the first call");
    drop(running);
}

/// The last event of the call is for channels only.
#[test]
fn a_call_waits_only_for_those_of_its_events_that_handlers_get() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let _running = bulkhead.try_slot_owned().expect("free");
    let waiting = queued(&bulkhead, Waker::noop());
    let (steps, step) = mpsc::channel::<()>();
    let ((called, calls), step) = (mpsc::channel(), Mutex::new(step));
    let filter = bulklink::EventFilter::CHANGES.or(bulklink::EventFilter::REJECTIONS);
    bulkhead.add_event_handler_for(filter, move |event| {
        called.send(event.kind).expect("the test goes on");
        let _ = step.lock().expect("no panic").recv_timeout(LONG);
    });
    let on_a_thread = |act: fn(&TestBulkhead)| {
        let bulkhead = bulkhead.clone();
        thread::spawn(move || act(&bulkhead))
    };
    let first = on_a_thread(rejected);
    assert_eq!(calls.recv_timeout(LONG), Ok(EventKind::Saturated));
    (0..64).for_each(|_| rejected(&bulkhead));
    // More is queued than the first call delivers, so this waits.
    let resizing = on_a_thread(|bulkhead| _ = bulkhead.resize(2).expect("open"));
    while bulkhead.limits().capacity == 1 {
        thread::yield_now();
    }
    let last = on_a_thread(|bulkhead| drop(bulkhead.try_slot()));
    for _ in 0..64 {
        steps.send(()).expect("the handler waits");
        assert_eq!(calls.recv_timeout(LONG), Ok(EventKind::Saturated));
    }
    steps.send(()).expect("the handler waits");
    assert_eq!(calls.recv_timeout(LONG), Ok(EventKind::Resized));
    steps.send(()).expect("the handler waits");
    // The handler stands still in the next event, if there is one.
    resizing.join().expect("it waits for no more");
    drop(steps);
    for thread in [first, last] {
        thread.join().expect("no panic");
    }
    drop(waiting);
}
