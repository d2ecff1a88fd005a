//! The suite without a runtime: a bare `block_on`, and the front's fake clock and deterministic
//! executor, driven in real time by one thread.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use bulklink::StdClock;
use bulklink::runtime::{Clock, Instant, Spawn, SpawnBlocking, SpawnError, Timer};
use bulklink::testing::{Executor, FakeClock, FakeRuntime, FakeSleep};
use bulklink_runtimes::{Harness, suite};

/// The runtime that the thread drives.
static KEPT_GOING: LazyLock<FakeRuntime> = LazyLock::new(|| {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let executor = Executor::new(FakeClock::at(StdClock.now()));
        sender.send(executor.runtime()).expect("it is awaited");
        keep_going(executor)
    });
    receiver.recv().expect("no panic")
});

fn keep_going(mut executor: Executor) -> ! {
    loop {
        executor.clock().set(StdClock.now());
        executor.run_until_idle();
        thread::sleep(Duration::from_micros(100));
    }
}

#[derive(Clone, Copy)]
struct NoRuntime;

impl Clock for NoRuntime {
    type Instant = Instant;

    fn now(&self) -> Instant {
        KEPT_GOING.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for NoRuntime {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        KEPT_GOING.sleep_until(deadline)
    }
}

impl Spawn for NoRuntime {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        KEPT_GOING.spawn(task)
    }
}

impl SpawnBlocking for NoRuntime {
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        thread::spawn(work);
        Ok(())
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

struct Bare;

impl Harness for Bare {
    type Runtime = NoRuntime;

    fn start() -> Self {
        Bare
    }

    fn runtime() -> NoRuntime {
        NoRuntime
    }

    fn present(&self) -> Instant {
        NoRuntime.now()
    }

    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let (mut future, waker) = (pin!(future), Waker::from(Arc::new(Unpark(thread::current()))));
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => thread::park(),
            }
        }
    }
}

suite!(bare: Bare);
