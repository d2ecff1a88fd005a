//! A store that a process cannot use says why: to its share, its fleet, its calls, a handler, and
//! in the log.

use std::error::Error;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink_fleet::{Fleet, JoinError, LeaseStore, StoreError, StoreErrorKind};
use futures_util::future::{Either, select};
use tracing::subscriber::DefaultGuard;

use crate::fleets::{LEASE, bulkhead, payments};
use crate::{Platform, pass};

/// The log of a thread.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Logs what this thread does from now on, until the guard is dropped.
    #[must_use]
    pub fn begin() -> (Self, DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).without_time();
        let guard = tracing::subscriber::set_default(subscriber.with_writer(move || writer.clone()).finish());
        (log, guard)
    }

    /// Returns its lines so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let bytes = self.0.lock().expect("no panic").clone();
        String::from_utf8(bytes).expect("UTF-8").lines().map(str::to_owned).collect()
    }
}

/// Returns the texts of an error and of its causes.
#[must_use]
pub fn texts(error: &(dyn Error + 'static)) -> Vec<String> {
    std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string).collect()
}

/// Panics unless a store that lets no share begin says why, wherever that can be seen: by texts
/// that contain those that are expected. The runtime must run its tasks in this thread.
pub async fn are_seen_everywhere<R: Platform>(
    runtime: R,
    store: impl LeaseStore,
    kind: StoreErrorKind,
    expected: &[&str],
) {
    let (log, _guard) = Log::begin();
    let heard = Arc::<Mutex<Vec<_>>>::default();
    let fleet = Fleet::builder(store, runtime.clone()).namespace("test").process("service");
    let fleet = fleet.on_store_change({
        let heard = Arc::clone(&heard);
        move |error| heard.lock().expect("no panic").push(error.map(|error| texts(error)))
    });
    let (fleet, bulkhead) = (fleet.build().expect("the values are valid"), bulkhead(runtime));
    let joining = payments(&fleet, &bulkhead, 1, LEASE).connect_within(Duration::from_secs(2)).connect();
    let mut joining = pin!(joining);
    let rejection = loop {
        let Either::Right(_) = select(joining.as_mut(), pin!(pass(Duration::from_millis(5)))).await else {
            panic!("the share has ended before a call was rejected with a cause");
        };
        let rejection = bulkhead.try_slot().expect_err("nothing is granted");
        if rejection.source().is_some() {
            break rejection;
        }
    };
    let of_call = StoreError::of(&rejection).expect("its cause");
    let of_fleet = fleet.error().expect("the store cannot be used");
    let JoinError::Store(of_share) = joining.await.expect_err("no share begins") else { panic!("it has no answer") };
    for error in [of_call, &of_fleet, &of_share] {
        let texts = texts(error);
        let is_expected = texts.iter().zip(expected).all(|(text, part)| text.contains(part));
        assert!(error.kind() == kind && texts.len() == expected.len() && is_expected, "{texts:#?}");
    }
    let [outer, inner @ ..] = &texts(&JoinError::Store(of_share))[..] else { panic!("it has a text") };
    assert_eq!((&**outer, inner), ("this process has not got a share from the store", &texts(of_call)[..]));
    assert_eq!(*heard.lock().expect("no panic"), [Some(texts(of_call))], "each attempt is not told again");
    // The front may log the rejections of the calls, too.
    let lines: Vec<_> = log.lines().into_iter().filter(|line| line.contains(" bulklink_fleet")).collect();
    let [line] = &lines[..] else { panic!("{lines:#?}") };
    let error = format!("error={:?}", texts(of_call).join(": "));
    for part in [" WARN bulklink_fleet", "out of reach, or refuses", "namespace=test", "process=service", &error] {
        assert!(line.contains(part), "{line}");
    }
}
