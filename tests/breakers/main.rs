//! The promises of breakers and guards to tasks and threads; those of the circuit are tested in its
//! crate.

mod breaker;
mod classifiers;
mod guard;
mod guards;
mod log;

use std::time::Duration;

use bulklink::testing::{Executor, FakeClock};

fn executor() -> Executor {
    Executor::new(FakeClock::new())
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
