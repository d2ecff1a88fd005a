//! The suite of every runtime, on both flavours of tokio.

use std::future::Future;

use bulklink_runtimes::{Harness, suite};
use bulklink_tokio::Tokio;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

/// A runtime with this many worker threads. With zero it is the current-thread flavour.
struct Workers<const NUMBER: usize>(Runtime);

impl<const NUMBER: usize> Harness for Workers<NUMBER> {
    type Runtime = Tokio;

    fn start() -> Self {
        let mut builder = if NUMBER == 0 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
        Workers(builder.worker_threads(NUMBER.max(1)).enable_all().build().expect("a runtime"))
    }

    fn runtime() -> Tokio {
        Tokio
    }

    fn present(&self) -> Instant {
        Instant::now()
    }

    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.block_on(future)
    }
}

type CurrentThread = Workers<0>;
suite!(current_thread: CurrentThread);

type MultiThread = Workers<4>;
suite!(multi_thread: MultiThread);
