//! A world on tokio with paused time: the adapter's real clock, timers and driver.

use std::future::Future;

use bulklink_core::Instant;
use bulklink_tokio::Tokio;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::sleep_until;

use super::World;
use crate::subject;

pub struct PausedTokio {
    runtime: Runtime,
    start: tokio::time::Instant,
}

impl World for PausedTokio {
    type Runtime = Tokio;

    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        let start = runtime.block_on(async { tokio::time::Instant::now() });
        PausedTokio { runtime, start }
    }

    fn runtime(&self) -> Tokio {
        Tokio
    }

    fn instant(&self, at: Instant) -> tokio::time::Instant {
        let zero = subject::instant(0);
        let earlier = zero.saturating_since(at);
        // On some machines the clock has no instants before the machine's start.
        (self.start + at.saturating_since(zero)).checked_sub(earlier).unwrap_or(self.start)
    }

    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) -> Box<dyn FnOnce()> {
        let task = self.runtime.spawn(task);
        Box::new(move || task.abort())
    }

    /// Tokio does not report when it is idle, so this yields often enough: a wake-up causes no more
    /// than a few others.
    fn settle(&mut self) {
        self.runtime.block_on(async {
            for _ in 0..20 {
                yield_now().await;
            }
        });
    }

    /// Paused tokio advances its time to the next timer whenever it is idle.
    fn pass_time(&mut self, to: Instant) {
        self.settle();
        self.runtime.block_on(async { sleep_until(self.instant(to)).await });
        self.settle();
    }

    fn act<T>(&self, action: impl FnOnce() -> T) -> T {
        let _here = self.runtime.enter();
        action()
    }
}
