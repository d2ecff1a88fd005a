//! The needs of the suite from a store and its server.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use bulklink_breaker::{Mark, Outcomes, Settings};
use bulklink_fleet::circuits::{Change, Changes, CircuitStore};
use bulklink_fleet::{Name, Namespace};

/// Far more than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A server with a store on it. Clones are the same server.
pub trait Subject: Clone + Send + Sync + 'static {
    /// The store.
    type Store: CircuitStore;

    /// Returns a store with connections of its own, on the time of [`set_now`](Self::set_now).
    fn store(&self) -> Self::Store;

    /// Sets the time, in microseconds.
    fn set_now(&self, micros: u64);

    /// Loses a row.
    fn lose(&self, name: &Name);

    /// Runs a future on this thread.
    fn block_on<F: Future>(&self, future: F) -> F::Output;
}

/// Runs a future of the store in memory on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    futures_executor::block_on(future)
}

/// The namespace of the tests.
pub fn namespace() -> Namespace {
    Namespace::new("test").expect("it is plain")
}

/// A name of the tests.
pub fn name(label: &str) -> Name {
    Name::new(&namespace(), label).expect("it is short")
}

/// Outcomes: `.` succeeds, `f` fails, `s` is slow, `b` is both.
pub fn outcomes(settings: &Settings, marks: &str) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for mark in marks.chars() {
        outcomes.push(settings, Mark { failed: matches!(mark, 'f' | 'b'), slow: matches!(mark, 's' | 'b') });
    }
    outcomes
}

/// Receives the transitions in the namespace of the tests.
pub fn listen<S: Subject>(subject: &S) -> Receiver<Change> {
    let (sender, receiver) = channel();
    let subject = subject.clone();
    let store = subject.store();
    let (ready, is_ready) = channel();
    thread::spawn(move || {
        subject.block_on(async {
            let mut changes = store.changes(&namespace()).await.expect("the server runs");
            ready.send(()).expect("the test waits");
            while let Ok(change) = changes.next().await {
                if sender.send(change).is_err() {
                    return;
                }
            }
        });
    });
    is_ready.recv_timeout(PATIENCE).expect("the subscription begins");
    receiver
}

/// Waits for what comes soon.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "not so: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}
