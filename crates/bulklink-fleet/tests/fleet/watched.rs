//! Clocks, wakers and handlers of others, each of which looks in every step whether a lock of the
//! bulkhead is held meanwhile.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, Spawn, SpawnError, Timer};
use bulklink::testing::{FakeRuntime, FakeSleep};
use bulklink_fleet::{Fleet, FleetBulkhead};

use crate::scene::{Scene, millis};

/// Far more than a look takes.
const SOON: Duration = Duration::from_secs(10);

thread_local! {
    /// Whether this thread only looks. What it runs of the test is not looked at.
    static IS_LOOKER: Cell<bool> = const { Cell::new(false) };
}

/// Foreign code that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Clock,
    Wake,
    Drop,
    Handler,
}

#[derive(Default)]
struct Watch {
    /// Sends the looker the channel on which it answers.
    looker: OnceLock<Mutex<Sender<Sender<()>>>>,
    looks: Mutex<BTreeMap<Step, u64>>,
    held: Mutex<Vec<Step>>,
    has_failed: AtomicBool,
    /// By how many milliseconds a reading of the clock is late to arrive.
    late: AtomicU64,
}

impl Watch {
    /// Looks at a bulkhead from now on.
    fn begin(&self, bulkhead: FleetBulkhead<Watched>) {
        let (sender, looks) = channel::<Sender<()>>();
        thread::spawn(move || {
            IS_LOOKER.set(true);
            for done in looks {
                drop(bulkhead.local_status());
                // Nothing waits any more if it came too late.
                let _ = done.send(());
            }
        });
        assert!(self.looker.set(Mutex::new(sender)).is_ok(), "once");
    }

    /// Looks on a thread of its own, which does not come back while a lock is held here.
    fn look(&self, step: Step) {
        let Some(looker) = self.looker.get().filter(|_| !IS_LOOKER.get()) else { return };
        *self.looks.lock().unwrap().entry(step).or_default() += 1;
        // Once a lock was held, every look takes all its time.
        if self.has_failed.load(Ordering::SeqCst) {
            return;
        }
        let (done, is_done) = channel();
        looker.lock().unwrap().send(done).expect("it looks for ever");
        if is_done.recv_timeout(SOON).is_err() {
            self.has_failed.store(true, Ordering::SeqCst);
            self.held.lock().unwrap().push(step);
        }
    }
}

/// A runtime whose clock looks.
#[derive(Clone)]
struct Watched {
    runtime: FakeRuntime,
    watch: Arc<Watch>,
}

impl Clock for Watched {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.watch.look(Step::Clock);
        let late = millis(self.watch.late.load(Ordering::SeqCst));
        Instant::EPOCH.saturating_add(self.runtime.now().saturating_since(Instant::EPOCH).saturating_sub(late))
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Watched {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.runtime.sleep_until(deadline)
    }
}

impl Spawn for Watched {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        self.runtime.spawn(task)
    }
}

/// A waker that looks when it is woken, and when the last of its clones is dropped.
struct Looks(Arc<Watch>);

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        self.0.look(Step::Wake);
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.0.look(Step::Drop);
    }
}

/// Polls with a waker of its own, of which no other clone is left.
fn poll<F: Future>(watch: &Arc<Watch>, future: Pin<&mut F>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::new(Looks(Arc::clone(watch))));
    future.poll(&mut Context::from_waker(&waker))
}

#[test]
fn no_lock_is_held_while_a_clock_a_waker_or_a_handler_runs() {
    let mut scene = Scene::new();
    let watch = Arc::<Watch>::default();
    let runtime = Watched { runtime: scene.executor.runtime(), watch: Arc::clone(&watch) };
    let fleet = Fleet::builder(scene.store.clone(), runtime).namespace("test").build().unwrap();
    let handler = Arc::clone(&watch);
    let builder = fleet.bulkhead("payments").limit(1).waiting_room(9);
    let bulkhead = builder.on_event(move |_| handler.look(Step::Handler)).build().unwrap();
    watch.begin(bulkhead.clone());
    scene.executor.run_until_idle();

    let first = bulkhead.clone();
    let first = scene.executor.block_on(async move { first.acquire().await }).unwrap();
    {
        let mut call = pin!(bulkhead.acquire());
        let mut status = pin!(bulkhead.status());
        for _ in 0..2 {
            assert!(poll(&watch, call.as_mut()).is_pending());
            assert!(poll(&watch, status.as_mut()).is_pending());
        }
        scene.executor.run_until_idle();
        assert!(poll(&watch, status).is_ready());
        let mut released = pin!(first.release());
        for _ in 0..2 {
            assert!(poll(&watch, released.as_mut()).is_pending());
        }
        scene.executor.run_until_idle();
        assert_eq!(poll(&watch, released), Poll::Ready(true));
        let Poll::Ready(Ok(second)) = poll(&watch, call) else { panic!("a unit is free") };

        let mut lost = pin!(second.lost());
        for _ in 0..2 {
            assert!(poll(&watch, lost.as_mut()).is_pending());
        }
        scene.store.stop();
        scene.executor.advance(millis(11_000));
        assert!(poll(&watch, lost).is_ready());
        let mut given_up = Box::pin(bulkhead.acquire());
        let _: Poll<_> = poll(&watch, given_up.as_mut());
    }
    let mut closing = pin!(fleet.close());
    let mut is_closed = poll(&watch, closing.as_mut());
    scene.executor.advance(millis(20_000));
    if is_closed.is_pending() {
        is_closed = poll(&watch, closing);
    }
    assert!(is_closed.is_ready());
    assert_eq!(*watch.held.lock().unwrap(), [], "a lock is held in these steps");
    let seen: Vec<_> = watch.looks.lock().unwrap().keys().copied().collect();
    assert_eq!(seen, [Step::Clock, Step::Wake, Step::Drop, Step::Handler]);
}

#[test]
fn a_reading_of_the_clock_that_arrives_late_sets_no_bulkhead_back() {
    let mut scene = Scene::new();
    let watch = Arc::<Watch>::default();
    let runtime = Watched { runtime: scene.executor.runtime(), watch: Arc::clone(&watch) };
    let fleet = Fleet::builder(scene.store.clone(), runtime).namespace("test").build().unwrap();
    let bulkhead = fleet.bulkhead("payments").limit(1).build().unwrap();
    let permit = scene.executor.block_on(async move { bulkhead.acquire().await }).unwrap();
    assert!(permit.is_valid());
    scene.store.stop();
    // The task that would notice does not run.
    scene.executor.clock().advance(millis(11_000));
    assert!(!permit.is_valid());
    watch.late.store(10_000, Ordering::SeqCst);
    assert!(!permit.is_valid(), "a permit that has ended never becomes valid again");
}
