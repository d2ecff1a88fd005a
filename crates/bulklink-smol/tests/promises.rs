//! The suite of every runtime on smol: on the executor behind `smol::spawn`, and on a separate one
//! with several threads.

use std::future::{Future, pending};
use std::sync::Once;
use std::thread;
use std::time::Instant;

use bulklink_runtimes::{Harness, suite};
use bulklink_smol::{Smol, SmolOn};
use smol::Executor;

struct Global;

impl Harness for Global {
    type Runtime = Smol;

    fn start() -> Self {
        Global
    }

    fn runtime() -> Smol {
        Smol
    }

    fn present(&self) -> Instant {
        Instant::now()
    }

    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        smol::block_on(future)
    }
}

suite!(global: Global);

static EXECUTOR: Executor<'_> = Executor::new();

struct Own;

impl Harness for Own {
    type Runtime = SmolOn;

    fn start() -> Self {
        static THREADS: Once = Once::new();
        THREADS.call_once(|| {
            for _ in 0..4 {
                thread::spawn(|| smol::block_on(EXECUTOR.run(pending::<()>())));
            }
        });
        Own
    }

    fn runtime() -> SmolOn {
        SmolOn::new(&EXECUTOR)
    }

    fn present(&self) -> Instant {
        Instant::now()
    }

    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        smol::block_on(EXECUTOR.run(future))
    }
}

suite!(own_executor: Own);

/// This is why there is no driver: the thread behind `smol::spawn` may not run it soon.
#[test]
fn a_busy_executor_delays_no_limit_elsewhere() {
    bulklink_runtimes::a_busy_executor_delays_no_limit_elsewhere::<Global>(1);
}
