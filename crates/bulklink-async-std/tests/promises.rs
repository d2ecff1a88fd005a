//! The suite of every runtime, on async-std.

use std::future::Future;
use std::thread::available_parallelism;
use std::time::Instant;

use bulklink_async_std::AsyncStd;
use bulklink_runtimes::{Harness, suite};

struct Process;

impl Harness for Process {
    type Runtime = AsyncStd;

    fn start() -> Self {
        Process
    }

    fn runtime() -> AsyncStd {
        AsyncStd
    }

    fn present(&self) -> Instant {
        Instant::now()
    }

    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        async_std::task::block_on(future)
    }
}

suite!(on_async_std: Process);

/// This is why there is no driver: it would share the threads behind `async_std::task::spawn` with
/// all other tasks.
#[test]
fn a_busy_executor_delays_no_limit_elsewhere() {
    let threads = available_parallelism().map_or(1, usize::from);
    bulklink_runtimes::a_busy_executor_delays_no_limit_elsewhere::<Process>(threads);
}
