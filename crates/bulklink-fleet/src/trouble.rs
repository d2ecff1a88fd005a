//! The obstacle between a process and its store, for its operators: the last error, a handler, and
//! the log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bulklink::plumbing::{contain, texts};
use bulklink::runtime::Instant;

use crate::share::Refusal;
use crate::{Name, Namespace, StoreError};

/// How many causes of one outage are told: their texts could differ each time.
const MOST: usize = 8;

/// How long an outage that begins so soon after another lasts beyond its last error: where the
/// store answers one and ends the connection because of another, each answer would end an outage.
const QUIET: Duration = Duration::from_secs(10);

/// Hears of the store.
pub(crate) type Handler = Box<dyn Fn(Option<&StoreError>) + Send + Sync>;

/// The present error, for any task.
#[derive(Clone, Default)]
pub(crate) struct LastError(Arc<Mutex<Option<StoreError>>>);

impl LastError {
    pub(crate) fn get(&self) -> Option<StoreError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, error: Option<StoreError>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

/// The trouble of a task with its connection, and the refusals of the store.
pub(crate) struct Trouble {
    log: Log,
    handler: Option<Handler>,
    error: LastError,
    /// Why there is no connection, or none that lasts.
    lost: Option<StoreError>,
    /// No answer ends the outage before.
    quiet_at: Option<Instant>,
    /// When the last outage ended.
    ended: Option<Instant>,
    /// The refusals of the store, by the numbers of shares or circuits.
    refused: BTreeMap<u64, StoreError>,
    /// The causes that were told since the store was in reach.
    told: Vec<String>,
}

/// The fields of the log.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "there is no log"))]
struct Log {
    of: &'static str,
    namespace: Namespace,
    process: Arc<str>,
}

impl Trouble {
    pub(crate) fn new(of: &'static str, namespace: Namespace, process: Arc<str>, handler: Option<Handler>) -> Self {
        Self {
            log: Log { of, namespace, process },
            handler,
            error: LastError::default(),
            lost: None,
            quiet_at: None,
            ended: None,
            refused: BTreeMap::new(),
            told: vec![],
        }
    }

    /// Returns where the present error is.
    pub(crate) fn error(&self) -> LastError {
        self.error.clone()
    }

    /// The connection has ended, or none could be made.
    pub(crate) fn lost(&mut self, error: &StoreError, now: Instant) {
        self.begin(now);
        self.refused.clear();
        self.lost = Some(error.clone());
        self.update(Some(error), now);
    }

    /// The store has answered this one, or refuses it.
    pub(crate) fn note(&mut self, number: u64, refusal: Option<StoreError>, now: Instant) {
        if let Some(error) = &refusal {
            self.begin(now);
            self.refused.insert(number, error.clone());
        } else {
            self.refused.remove(&number);
        }
        if self.quiet_at.is_none_or(|quiet| quiet <= now) {
            self.lost = None;
        }
        if !(self.refused.is_empty() && self.told.is_empty()) {
            self.update(refusal.as_ref(), now);
        }
    }

    /// There is no such one any more. That is no answer of the store.
    pub(crate) fn forget(&mut self, number: u64) {
        if self.refused.remove(&number).is_some() {
            self.error.set(self.present().cloned());
        }
    }

    /// Nothing needs the store any more.
    pub(crate) fn rest(&mut self) {
        (self.lost, self.quiet_at) = (None, None);
        self.refused.clear();
        self.error.set(None);
    }

    /// Forgets those that are gone.
    #[cfg(feature = "circuits")]
    pub(crate) fn retain(&mut self, lives: impl Fn(u64) -> bool) {
        let gone: Vec<_> = self.refused.keys().copied().filter(|number| !lives(*number)).collect();
        for number in gone {
            self.forget(number);
        }
    }

    fn begin(&mut self, now: Instant) {
        if self.quiet_at.is_some() || self.ended.is_some_and(|ended| now < ended.saturating_add(QUIET)) {
            self.quiet_at = Some(now.saturating_add(QUIET));
        }
    }

    fn present(&self) -> Option<&StoreError> {
        self.lost.as_ref().or_else(|| self.refused.values().next())
    }

    /// Makes the present error known, and this one, if it is new.
    fn update(&mut self, error: Option<&StoreError>, now: Instant) {
        self.error.set(self.present().cloned());
        if let Some(error) = error {
            let text = texts(error);
            if self.told.len() < MOST && !self.told.contains(&text) {
                self.tell(Some((error, &text)));
                self.told.push(text);
            }
        } else if self.present().is_none() && self.quiet_at.is_none_or(|quiet| quiet <= now) {
            self.told.clear();
            (self.quiet_at, self.ended) = (None, Some(now));
            self.tell(None);
        }
    }

    fn tell(&self, error: Option<(&StoreError, &str)>) {
        self.log.write(error.map(|(_, text)| text));
        if let Some(handler) = &self.handler {
            contain(|| handler(error.map(|(error, _)| error)));
        }
    }
}

impl Log {
    #[cfg(not(feature = "tracing"))]
    #[expect(clippy::unused_self, reason = "there is no log")]
    fn write(&self, _: Option<&str>) {}

    /// Writes why the store cannot be used, or that it can again.
    #[cfg(feature = "tracing")]
    fn write(&self, error: Option<&str>) {
        let Self { of, namespace, process } = self;
        if let Some(error) = error {
            tracing::warn!(%namespace, %process, error, "the store of {of} is out of reach, or refuses");
        } else {
            tracing::info!(%namespace, %process, "the store of {of} answers again");
        }
    }
}

/// Writes that the fleet has other values than those that a process declares for a share.
#[cfg(not(feature = "tracing"))]
pub(crate) fn log_refusal(_: &Name, _: &Refusal, _: bool) {}

/// Writes that the fleet has other values than those that a process declares for a share, which
/// goes on with them or not.
#[cfg(feature = "tracing")]
pub(crate) fn log_refusal(name: &Name, refusal: &Refusal, goes_on: bool) {
    let (namespace, share, error) = (name.namespace(), name.label(), texts(refusal));
    if goes_on {
        tracing::warn!(namespace, share, error, "a share goes on with the values of its fleet");
    } else {
        tracing::error!(namespace, share, error, "a fleet refuses a share, which ends with its lease");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Heard = Arc<Mutex<Vec<Option<String>>>>;

    fn trouble() -> (Trouble, Heard) {
        let heard = Heard::default();
        let place = Arc::clone(&heard);
        let handler: Handler =
            Box::new(move |error| place.lock().expect("no panic").push(error.map(|error| texts(error))));
        let namespace = Namespace::new("test").expect("valid");
        (Trouble::new("a fleet", namespace, "service".into(), Some(handler)), heard)
    }

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn caused(number: usize) -> StoreError {
        StoreError::UNREACHABLE.with_source(Arc::new(std::io::Error::other(format!("cause {number}"))))
    }

    fn taken(heard: &Heard) -> Vec<Option<String>> {
        std::mem::take(&mut *heard.lock().expect("no panic"))
    }

    #[test]
    fn each_cause_of_an_outage_is_told_once_and_its_end_too() {
        let (mut trouble, heard) = trouble();
        trouble.note(1, None, at(0));
        assert_eq!(taken(&heard), []);
        for number in [0, 0, 1, 0, 1] {
            trouble.lost(&caused(number), at(0));
        }
        let told = [0, 1].map(|number| Some(format!("the store is unreachable: cause {number}")));
        assert_eq!((taken(&heard), trouble.error().get()), (told.into(), Some(StoreError::UNREACHABLE)));
        for number in 0..100 {
            trouble.lost(&caused(number), at(0));
        }
        assert_eq!(taken(&heard).len(), MOST - 2);
        trouble.note(1, None, at(0));
        trouble.note(1, None, at(0));
        assert_eq!((taken(&heard), trouble.error().get()), (vec![None], None));
        trouble.lost(&caused(0), at(0));
        assert_eq!(taken(&heard).len(), 1, "another outage");
    }

    #[test]
    fn a_refusal_lasts_until_that_share_has_an_answer_and_what_is_gone_is_no_answer() {
        let (mut trouble, heard) = trouble();
        let refused = |code: &str| Some(StoreError::refused(code));
        trouble.note(1, refused("NOPERM"), at(0));
        trouble.note(2, refused("NOPERM"), at(0));
        trouble.note(3, None, at(0));
        assert_eq!((taken(&heard).len(), trouble.error().get()), (1, refused("NOPERM")));
        trouble.note(1, None, at(0));
        assert_eq!((taken(&heard).len(), trouble.error().get()), (0, refused("NOPERM")));
        trouble.note(1, refused("WRONGTYPE"), at(0));
        trouble.forget(2);
        assert_eq!((taken(&heard).len(), trouble.error().get()), (1, refused("WRONGTYPE")));
        trouble.forget(1);
        trouble.rest();
        assert_eq!((taken(&heard).len(), trouble.error().get()), (0, None), "nothing needs it");
        trouble.note(3, None, at(0));
        assert_eq!(taken(&heard), [None]);
    }

    #[test]
    fn each_refusal_of_an_outage_is_told_in_whatever_order_the_shares_are() {
        for numbers in [[2, 1], [1, 2]] {
            let (mut trouble, heard) = trouble();
            trouble.note(numbers[0], Some(StoreError::refused("NOPERM")), at(0));
            trouble.note(numbers[1], Some(StoreError::refused("WRONGTYPE")), at(0));
            assert_eq!(taken(&heard).len(), 2, "{numbers:?}");
        }
    }

    #[test]
    fn outages_that_follow_each_other_at_once_are_one() {
        type Error = fn(&mut Trouble, u64);
        let lost: Error = |trouble, millis| trouble.lost(&caused(0), at(millis));
        let refused: Error = |trouble, millis| trouble.note(2, Some(StoreError::FULL), at(millis));
        for error in [lost, refused] {
            let (mut trouble, heard) = trouble();
            for millis in (0..60_000).step_by(100) {
                error(&mut trouble, millis);
                trouble.note(1, None, at(millis + 10));
                trouble.note(2, None, at(millis + 20));
            }
            let told = taken(&heard);
            assert_eq!(told.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
            trouble.note(1, None, at(69_899));
            assert_eq!(taken(&heard), []);
            trouble.note(1, None, at(69_900));
            assert_eq!((taken(&heard), trouble.error().get()), (vec![None], None));
            error(&mut trouble, 79_900);
            trouble.note(1, None, at(79_900));
            trouble.note(2, None, at(79_900));
            assert_eq!(taken(&heard).len(), 2, "an outage of its own");
            error(&mut trouble, 80_000);
            trouble.note(2, None, at(80_000));
            assert_eq!(taken(&heard).len(), 1, "and one that follows at once");
            trouble.note(1, None, at(90_000));
            assert_eq!(taken(&heard), [None]);
        }
    }

    #[cfg(feature = "tracing")]
    #[test]
    fn the_log_has_a_line_for_each_cause_and_one_for_the_end() {
        #[derive(Clone, Default)]
        struct Log(Arc<Mutex<Vec<u8>>>);

        impl std::io::Write for Log {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().expect("no panic").write(bytes)
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }

        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).without_time();
        let subscriber = subscriber.with_writer(move || writer.clone()).finish();
        let tell = || {
            let (mut trouble, _) = trouble();
            trouble.lost(&caused(1), at(0));
            trouble.lost(&caused(1), at(0));
            trouble.note(1, None, at(0));
        };
        tracing::subscriber::with_default(subscriber, || {
            // Another test, on a thread without a subscriber, may be the first that has an event,
            // just while this one begins: for the process, nobody wants it then.
            tell();
            tracing::callsite::rebuild_interest_cache();
            log.0.lock().expect("no panic").clear();
            tell();
        });
        let bytes = log.0.lock().expect("no panic").clone();
        let lines = String::from_utf8(bytes).expect("UTF-8");
        let fields = "namespace=test process=service";
        let from = "bulklink_fleet::trouble: the store of a fleet";
        let error = r#"error="the store is unreachable: cause 1""#;
        let expected = [
            format!(" WARN {from} is out of reach, or refuses {fields} {error}"),
            format!(" INFO {from} answers again {fields}"),
        ];
        assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
    }
}
