//! What each test runs in: a bulkhead on a runtime, tasks that use it, and a check of the counters
//! at the end.

use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use bulklink::runtime::{Clock, Spawn, Timer};
use bulklink::{Builder, Bulkhead, OwnedSlot, OwnedSlotFuture, Rejection, Request, Status};
use futures_util::FutureExt;
use futures_util::future::{Either, RemoteHandle, select};

use crate::{Harness, accounts};

/// The limit for calls that must expire: short, because it passes in real time.
pub(crate) const LIMIT: Duration = Duration::from_millis(20);

/// A timeout that only a failing test reaches.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A background task. Dropping the handle drops the task.
pub(crate) type Task<T> = RemoteHandle<T>;

/// A call for a slot, as a task.
pub(crate) type Call = Task<Result<OwnedSlot, Rejection>>;

/// The type of a point in time, for users of a harness's clock.
type InstantOf<H> = <<H as Harness>::Runtime as Clock>::Instant;

pub(crate) struct Scene<H: Harness> {
    harness: H,
    pub(crate) runtime: H::Runtime,
    pub(crate) bulkhead: Bulkhead<H::Runtime>,
}

/// Runs a test with a new bulkhead.
pub(crate) fn play<H: Harness>(
    limits: impl FnOnce(Builder<H::Runtime>) -> Builder<H::Runtime>,
    test: impl AsyncFnOnce(&Scene<H>),
) {
    Scene::new(limits).play(test);
}

/// Runs a test on several threads at the same time, each of which blocks on its own future.
pub(crate) fn play_on_threads<H: Harness>(
    threads: usize,
    limits: impl FnOnce(Builder<H::Runtime>) -> Builder<H::Runtime>,
    test: impl AsyncFn(&Scene<H>) + Sync,
) {
    let scene = Scene::<H>::new(limits);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| scene.harness.block_on(scene.in_time(test(&scene))));
        }
    });
    scene.play(async |_| {});
}

impl<H: Harness> Scene<H> {
    fn new(limits: impl FnOnce(Builder<H::Runtime>) -> Builder<H::Runtime>) -> Self {
        let bulkhead = limits(Bulkhead::builder_on(H::runtime(), "suite")).build().expect("valid");
        Scene::on_new_runtime(bulkhead)
    }

    /// Starts a new runtime for an existing bulkhead.
    pub(crate) fn on_new_runtime(bulkhead: Bulkhead<H::Runtime>) -> Self {
        Scene { harness: H::start(), runtime: H::runtime(), bulkhead }
    }

    /// Runs a test, and checks the counters at the end.
    pub(crate) fn play(self, test: impl AsyncFnOnce(&Self)) {
        self.act(async |scene| {
            test(scene).await;
            scene.until(accounts::is_idle).await;
        });
        accounts::are_settled(&self.bulkhead.status());
    }

    /// Runs a part of a test, which may leave calls behind for another runtime.
    pub(crate) fn act<T>(&self, part: impl AsyncFnOnce(&Self) -> T) -> T {
        let outcome = self.harness.block_on(self.in_time(part(self)));
        accounts::add_up(&self.bulkhead.status());
        outcome
    }

    /// Makes a test that hangs fail after [`LONG`].
    async fn in_time<T>(&self, test: impl Future<Output = T>) -> T {
        let (_watched, end) = watchdog();
        match select(pin!(test), end).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => panic!("the test hangs: {:#?}", self.bulkhead.status()),
        }
    }

    pub(crate) async fn sleep(&self, by: Duration) {
        sleep::<H>(by).await;
    }

    /// Returns the time this far from now, in the type that users of the runtime have.
    pub(crate) fn after(&self, by: Duration) -> InstantOf<H> {
        self.harness.present() + by
    }

    /// Returns how long a future takes, by the bulkhead's clock.
    pub(crate) async fn timed<T>(&self, future: impl Future<Output = T>) -> (T, Duration) {
        let begun = self.runtime.now();
        let outcome = future.await;
        (outcome, self.runtime.now().saturating_since(begun))
    }

    /// Runs a task through the adapter.
    pub(crate) fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Task<T> {
        let (task, handle) = task.remote_handle();
        self.runtime.spawn(task).expect("it runs");
        handle
    }

    /// Lets other tasks run until the status satisfies the condition.
    pub(crate) async fn until(&self, is_so: impl Fn(&Status) -> bool) {
        while !is_so(&self.bulkhead.status()) {
            self.sleep(Duration::from_millis(1)).await;
        }
    }

    /// Spawns a call as a task, and returns when it is in the queue.
    pub(crate) async fn queued(&self, request: Request<InstantOf<H>>) -> Call {
        let place = self.bulkhead.status().waiting + 1;
        let call = self.spawn(self.bulkhead.with(request).slot());
        self.until(|status| status.waiting == place).await;
        call
    }

    /// Returns a call that was polled once on this runtime, with a waker that does nothing.
    pub(crate) fn polled_once(&self, request: Request<InstantOf<H>>) -> OwnedSlotFuture<H::Runtime> {
        let mut call = self.bulkhead.with(request).slot();
        assert!(call.poll_unpin(&mut Context::from_waker(Waker::noop())).is_pending());
        call
    }
}

/// Completes after a long time, unless it is dropped before. It uses a thread, because the timers
/// are under test.
fn watchdog() -> (mpsc::Sender<()>, RemoteHandle<()>) {
    let (watched, released) = mpsc::channel();
    let (bark, heard) = ready(()).remote_handle();
    thread::spawn(move || {
        if released.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
            bark.now_or_never();
        }
    });
    (watched, heard)
}

/// Sleeps by the runtime's timer.
pub(crate) async fn sleep<H: Harness>(by: Duration) {
    let runtime = H::runtime();
    runtime.sleep_until(runtime.now() + by).await;
}

/// Lets other tasks run.
pub(crate) async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
