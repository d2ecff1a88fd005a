//! What calls inside of handlers leave to the outermost call of their thread, and which wakers and
//! channels a call serves before it calls handlers.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Waker};
use std::thread;

use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, EventFilter, EventKind, Partitions};

use crate::foreign_code::{Call, DELIVERED, LONG, Stop, count, queued, rejected, stop, waker};
use crate::{TestBulkhead, bulkhead, executor, ms};

/// A close of a bulkhead on another thread, which stands still in its first waker.
struct Closing {
    thread: thread::JoinHandle<()>,
    stop: Stop,
    calls: Vec<Call>,
}

fn closing(bulkhead: &TestBulkhead, waiting: usize) -> Closing {
    let (stop, code) = stop();
    let stopping = waker(code);
    let waker = |place| if place == 0 { &stopping } else { Waker::noop() };
    let calls = (0..waiting).map(|place| queued(bulkhead, waker(place))).collect();
    let closing = bulkhead.clone();
    let thread = thread::spawn(move || _ = closing.close());
    stop.reached();
    Closing { thread, stop, calls }
}

impl Closing {
    fn ends(self) {
        self.stop.go_on();
        self.thread.join().expect("no panic");
        drop(self.calls);
    }
}

/// A handler that calls its bulkhead again and again gives the call no larger share.
#[test]
fn what_a_handler_leaves_is_delivered_without_those_of_others() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 900);
    let _running = bulkhead.owned().try_slot().expect("free");
    let inside = bulkhead.clone();
    bulkhead.handle().add_event_handler(EventFilter::ALL, move |event| {
        count(event);
        if event.number % 50 == 0 {
            rejected(&inside, 1);
        }
    });
    let closing = closing(&bulkhead, 900);
    DELIVERED.set(0);
    rejected(&bulkhead, 1);
    let (delivered, own) = (DELIVERED.get(), 1 + DELIVERED.get() / 50);
    assert!((64..=own + 64).contains(&delivered), "{delivered}");
    closing.ends();
}

#[test]
fn a_call_has_one_share_for_all_that_its_handlers_call() {
    const OTHERS: usize = 10;
    let executor = executor();
    let first = bulkhead(&executor, 1, 0);
    let others: Vec<_> = (0..OTHERS).map(|_| bulkhead(&executor, 1, 90)).collect();
    let running: Vec<_> =
        others.iter().chain([&first]).map(|bulkhead| bulkhead.owned().try_slot().expect("free")).collect();
    for other in &others {
        other.handle().add_event_handler(EventFilter::ALL, count);
    }
    let closings: Vec<_> = others.iter().map(|other| closing(other, 90)).collect();
    let inside = others.clone();
    first.handle().add_event_handler(EventFilter::ALL, move |_| inside.iter().for_each(|other| rejected(other, 1)));
    DELIVERED.set(0);
    rejected(&first, 1);
    let delivered = DELIVERED.get();
    assert!((OTHERS..=OTHERS + 64).contains(&delivered), "{delivered}");
    closings.into_iter().for_each(Closing::ends);
    drop(running);
}

/// A call under a lock is not given the wakers of another call, which may take that lock.
#[test]
fn a_call_wakes_no_waiter_of_another_call() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 40);
    let _running = bulkhead.owned().try_slot().expect("free");
    bulkhead.handle().add_event_handler(EventFilter::ALL, count);
    let (woken, (stop, code)) = (Arc::new(Mutex::new(vec![])), stop());
    let log = Arc::clone(&woken);
    let notes = waker(move || {
        log.lock().expect("no panic").push(thread::current().id());
        code();
    });
    let calls: Vec<_> = (0..40).map(|_| queued(&bulkhead, &notes)).collect();
    let closes = bulkhead.clone();
    let closing = thread::spawn(move || _ = closes.close());
    let id = closing.thread().id();
    stop.reached();
    rejected(&bulkhead, 5);
    assert_eq!(*woken.lock().expect("no panic"), [id], "only the first one so far");
    stop.go_on();
    closing.join().expect("no panic");
    assert_eq!(*woken.lock().expect("no panic"), [id; 40]);
    drop(calls);
}

/// Values that are dropped with a bulkhead can make calls, which leave events to the same call.
#[test]
fn many_bulkheads_that_end_in_a_handler_use_no_stack() {
    struct Calls(TestBulkhead);
    impl Drop for Calls {
        fn drop(&mut self) {
            rejected(&self.0, 1);
        }
    }
    let deep = thread::Builder::new().stack_size(512 * 1024).spawn(|| {
        let executor = executor();
        let [log, first] = [bulkhead(&executor, 1, 0), bulkhead(&executor, 1, 0)];
        let _running = [&log, &first].map(|bulkhead| bulkhead.owned().try_slot().expect("free"));
        log.handle().add_event_handler(EventFilter::ALL, count);
        let (noted, clock) = (log.clone(), executor.clock());
        first.handle().add_event_handler(EventFilter::ALL, move |_| {
            for _ in 0..5_000 {
                let short = Bulkhead::builder_on(clock.clone(), "short").parallelism(1).build().expect("valid");
                let end = Calls(noted.clone());
                short.handle().add_event_handler(EventFilter::ALL, move |_| _ = &end);
                drop(short.try_slot().expect("free"));
            }
        });
        rejected(&first, 1);
        DELIVERED.get()
    });
    assert_eq!(deep.expect("a thread").join().expect("no panic"), 5_000);
}

#[test]
fn a_call_at_the_end_of_a_thread_leaves_no_event_behind() {
    struct AtExit(TestBulkhead);
    impl Drop for AtExit {
        fn drop(&mut self) {
            rejected(&self.0, 1);
        }
    }
    thread_local! { static HELD: RefCell<Option<AtExit>> = const { RefCell::new(None) } }
    let executor = executor();
    let [first, other] = [bulkhead(&executor, 1, 0), bulkhead(&executor, 1, 0)];
    let _running = [&first, &other].map(|bulkhead| bulkhead.owned().try_slot().expect("free"));
    let delivered = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&delivered);
    other.handle().add_event_handler(EventFilter::ALL, move |_| _ = counted.fetch_add(1, SeqCst));
    let inside = other.clone();
    first.handle().add_event_handler(EventFilter::ALL, move |_| rejected(&inside, 1));
    let on_the_thread = first.clone();
    let ended = thread::spawn(move || {
        HELD.set(Some(AtExit(on_the_thread.clone())));
        rejected(&on_the_thread, 1);
    });
    ended.join().expect("no panic");
    assert_eq!(delivered.load(SeqCst), 2);
}

#[test]
fn channels_of_all_partitions_are_filled_before_any_handler_is_called() {
    let builder = Partitions::builder_on(FakeClock::new(), "test").parallelism(1).max_partitions(2);
    let partitions: Partitions<u64, _> = builder.build().expect("valid");
    let running = [0, 1].map(|key| partitions.key(&key).try_slot().expect("free"));
    let events = Arc::new(Mutex::new(partitions.handle().subscribe(EventFilter::ALL, 100).expect("valid")));
    let (received, seen) = (Arc::clone(&events), Arc::new(Mutex::new(vec![])));
    let log = Arc::clone(&seen);
    partitions.handle().add_event_handler(EventFilter::ALL, move |_| {
        let mut events = received.lock().expect("no panic");
        log.lock().expect("no panic").push(std::iter::from_fn(|| events.try_recv().ok()).count());
    });
    assert!(partitions.pause());
    assert_eq!(*seen.lock().expect("no panic"), [2, 0], "both are there at the first call");
    drop(running);
}

/// The last event of the call is for channels only. The call comes for its events when others have
/// queued more behind them than the delivering thread delivers.
#[test]
fn a_call_waits_only_for_those_of_its_events_that_handlers_get() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let _running = bulkhead.owned().try_slot().expect("free");
    let waiting = queued(&bulkhead, Waker::noop());
    let mut events = bulkhead.handle().subscribe(EventFilter::ALL, 1_000).expect("valid");
    let ((called, calls), (turns, turn)) = (mpsc::channel(), mpsc::channel::<()>());
    let turn = Mutex::new(turn);
    let filter = EventFilter::CHANGES.or(EventFilter::REJECTIONS);
    bulkhead.handle().add_event_handler(filter, move |event| {
        let _ = called.send(event.kind);
        let _ = turn.lock().expect("no panic").recv_timeout(LONG);
    });
    let on_a_thread = |act: fn(&TestBulkhead)| {
        let (bulkhead, (ends, ended)) = (bulkhead.clone(), mpsc::channel());
        let thread = thread::spawn(move || {
            act(&bulkhead);
            let _ = ends.send(());
        });
        (thread, ended)
    };
    let first = on_a_thread(|bulkhead| rejected(bulkhead, 1));
    assert_eq!(calls.recv_timeout(LONG), Ok(EventKind::Saturated));
    while events.try_recv().is_ok() {}
    let (stop, code) = stop();
    let stopping = waker(code);
    assert!(pin!(events.recv()).poll(&mut Context::from_waker(&stopping)).is_pending());
    let resizing = on_a_thread(|bulkhead| _ = bulkhead.resize(2).expect("open"));
    stop.reached();
    let others = on_a_thread(|bulkhead| rejected(bulkhead, 70));
    while bulkhead.status().totals.rejected() < 1 + 64 {
        thread::yield_now();
    }
    stop.go_on();
    // Time to come for its events. If it has not, it finds them delivered.
    thread::sleep(ms(20));
    for kind in [EventKind::Resized, EventKind::Saturated] {
        turns.send(()).expect("the handler waits");
        assert_eq!(calls.recv_timeout(LONG), Ok(kind));
    }
    resizing.1.recv_timeout(LONG / 4).expect("it waits for no event of another call");
    drop(turns);
    for (thread, _) in [first, resizing, others] {
        thread.join().expect("no panic");
    }
    drop(waiting);
}
