//! The promises of a breaker to tasks and threads.

mod calls;
mod faults;
mod reconfigure;
mod status;
mod threads;
mod transitions;
mod waiting;

use std::sync::{Arc, Mutex};

use bulklink::testing::FakeClock;
use bulklink_breaker::{Breaker, BreakerBuilder, Call, Settings, State, Transition};

use super::ms;

fn builder(clock: &FakeClock, settings: Settings) -> BreakerBuilder {
    Breaker::builder_on(clock.clone(), "test").settings(settings)
}

fn breaker(clock: &FakeClock, settings: Settings) -> Breaker {
    builder(clock, settings).build().expect("valid settings")
}

/// Opens at the second failure in a row, for 10 ms.
fn two_in_a_row() -> Settings {
    Settings::consecutive(2).cool_down(ms(10))
}

fn admitted(breaker: &Breaker) -> Call<'_> {
    breaker.admit().expect("the circuit lets it through")
}

fn state(breaker: &Breaker) -> State {
    breaker.status().circuit.state
}

type Log = Arc<Mutex<Vec<Transition>>>;

/// Returns the log of all transitions from now on.
fn recorded(breaker: &Breaker) -> Log {
    let log = Log::default();
    let inside = Arc::clone(&log);
    breaker.add_transition_handler(move |transition| inside.lock().expect("no panic").push(transition.clone()));
    log
}

/// Empties the log, and returns its content.
fn taken(log: &Log) -> Vec<Transition> {
    std::mem::take(&mut *log.lock().expect("no panic"))
}
