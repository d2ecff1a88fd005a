//! What each test stands on: a bulkhead on a runtime, tasks around it, and a look at the account at the end.

use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use bulklink::{Builder, Bulkhead, Clock, OwnedSlot, OwnedSlotFuture, Rejection, Request, Spawn, Status, Timer};
use futures_util::FutureExt;
use futures_util::future::{Either, RemoteHandle, select};

use crate::{Harness, accounts};

/// What limits are set to that are to pass: short, as they pass for real.
pub(crate) const LIMIT: Duration = Duration::from_millis(20);

/// Nobody waits that long unless a test fails.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A task in the background. Dropping it ends the task where it stands.
pub(crate) type Task<T> = RemoteHandle<T>;

/// A call for a slot, as a task.
pub(crate) type Call = Task<Result<OwnedSlot, Rejection>>;

/// How users of a harness's clock write a point in time.
type InstantOf<H> = <<H as Harness>::Runtime as Clock>::Instant;

pub(crate) struct Scene<H: Harness> {
    harness: H,
    pub(crate) runtime: H::Runtime,
    pub(crate) bulkhead: Bulkhead<H::Runtime>,
}

/// Runs a test around a new bulkhead.
pub(crate) fn play<H: Harness>(
    limits: impl FnOnce(Builder<H::Runtime>) -> Builder<H::Runtime>,
    test: impl AsyncFnOnce(&Scene<H>),
) {
    Scene::new(limits).play(test);
}

/// The same on several threads at once, each of which blocks on a future of its own.
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
        let bulkhead = limits(Bulkhead::builder_on(H::runtime(), "contract")).build().expect("valid");
        Scene::around(bulkhead)
    }

    /// A runtime of its own, for a bulkhead that was there before.
    pub(crate) fn around(bulkhead: Bulkhead<H::Runtime>) -> Self {
        Scene { harness: H::start(), runtime: H::runtime(), bulkhead }
    }

    /// Runs a test, and looks at the account when all is over.
    pub(crate) fn play(self, test: impl AsyncFnOnce(&Self)) {
        self.act(async |scene| {
            test(scene).await;
            scene.until(accounts::is_idle).await;
        });
        accounts::are_settled(&self.bulkhead.status());
    }

    /// Runs part of a test, which may leave something behind for another runtime.
    pub(crate) fn act<T>(&self, part: impl AsyncFnOnce(&Self) -> T) -> T {
        let outcome = self.harness.block_on(self.in_time(part(self)));
        accounts::add_up(&self.bulkhead.status());
        outcome
    }

    /// What hangs is to fail, and not to hang.
    async fn in_time<T>(&self, test: impl Future<Output = T>) -> T {
        let (_watched, end) = watchdog();
        match select(pin!(test), end).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => panic!("it hangs: {:#?}", self.bulkhead.status()),
        }
    }

    pub(crate) async fn sleep(&self, by: Duration) {
        sleep::<H>(by).await;
    }

    /// So far from now, as the runtime's users write it.
    pub(crate) fn after(&self, by: Duration) -> InstantOf<H> {
        self.harness.present() + by
    }

    /// How long a future takes, by the bulkhead's clock.
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

    /// Lets others run until the bulkhead looks like that.
    pub(crate) async fn until(&self, is_so: impl Fn(&Status) -> bool) {
        while !is_so(&self.bulkhead.status()) {
            self.sleep(Duration::from_millis(1)).await;
        }
    }

    /// A call as a task, after all that wait already.
    pub(crate) async fn queued(&self, request: Request<InstantOf<H>>) -> Call {
        let place = self.bulkhead.status().waiting + 1;
        let call = self.spawn(self.bulkhead.slot_owned_with(request));
        self.until(|status| status.waiting == place).await;
        call
    }

    /// A call that was polled once on this runtime, by nobody whom it could wake.
    pub(crate) fn held(&self, request: Request<InstantOf<H>>) -> OwnedSlotFuture<H::Runtime> {
        let mut call = self.bulkhead.slot_owned_with(request);
        assert!(call.poll_unpin(&mut Context::from_waker(Waker::noop())).is_pending());
        call
    }
}

/// Tells when a long time has passed, unless it is dropped before; by a thread, as the timers are under test.
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

/// Lets time pass by the runtime's own timer.
pub(crate) async fn sleep<H: Harness>(by: Duration) {
    let runtime = H::runtime();
    runtime.sleep_until(runtime.now() + by).await;
}

/// Lets others run.
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
