//! Where the driver of a bulkhead lives: in a task on the runtime of those who wait.

use std::future::{Future, poll_fn};
use std::hash::{Hash, Hasher};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use bulklink::{Driver, Home, Runtime};
use tokio::runtime::{Handle, Id, RuntimeFlavor};

use crate::TokioSleep;

/// The runtime of this thread, if it is in one.
pub(crate) fn home<R: Runtime<Sleep = TokioSleep>>() -> Option<Home<R>> {
    current().map(|id| Home::new(number(id), |_, driver| spawn(driver)))
}

pub(crate) fn current() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

fn spawn<R: Runtime<Sleep = TokioSleep>>(driver: Driver<R>) {
    drop(tokio::spawn(apart(driver)));
    make_way();
}

/// Tokio's threads keep the task that they woke last to themselves, until the task that woke it lets go of the thread. A driver
/// must not be stuck behind one that blocks: whenever it is woken, another is right after it, and takes that place.
async fn apart<R: Runtime<Sleep = TokioSleep>>(driver: Driver<R>) {
    let mut driver = pin!(driver);
    let polled = poll_fn(|context| {
        let waker = Waker::from(Arc::new(Apart(context.waker().clone())));
        driver.as_mut().poll(&mut Context::from_waker(&waker))
    });
    polled.await;
}

struct Apart(Waker);

impl Wake for Apart {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_by_ref();
        make_way();
    }
}

fn make_way() {
    let handle = Handle::try_current().ok();
    if let Some(handle) = handle.filter(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread) {
        drop(handle.spawn(async {}));
    }
}

/// The number that an id is made of, which it shows only to hashers.
fn number(id: Id) -> u64 {
    let mut number = Number(0);
    id.hash(&mut number);
    number.finish()
}

struct Number(u64);

impl Hasher for Number {
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |number, &byte| number << 8 | u64::from(byte));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
