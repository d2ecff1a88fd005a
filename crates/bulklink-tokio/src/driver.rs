//! The driver of a bulkhead, in a task on the runtime of the calls that wait.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use bulklink::runtime::{Driver, Runtime};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::TokioSleep;

pub(crate) fn spawn<R: Runtime<Sleep = TokioSleep>>(driver: Driver<R>) {
    drop(tokio::spawn(run(driver)));
    spawn_empty_task();
}

/// Runs the driver so that it does not wait behind a task that blocks. A thread of tokio keeps the
/// task that it woke last to itself, until the task that woke it lets go of the thread. So whenever
/// the driver is woken, another task is spawned right after it and takes that place.
async fn run<R: Runtime<Sleep = TokioSleep>>(driver: Driver<R>) {
    let mut driver = pin!(driver);
    let polled = poll_fn(|context| {
        let waker = Waker::from(Arc::new(SpawnAfterWake(context.waker().clone())));
        driver.as_mut().poll(&mut Context::from_waker(&waker))
    });
    polled.await;
}

struct SpawnAfterWake(Waker);

impl Wake for SpawnAfterWake {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_by_ref();
        spawn_empty_task();
    }
}

fn spawn_empty_task() {
    let handle = Handle::try_current().ok();
    if let Some(handle) = handle.filter(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread) {
        drop(handle.spawn(async {}));
    }
}
