//! The keys that operators may see: which of them are the worst now.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use bulklink_core::{Instant, Snapshot};

use super::inner::Inner;
use super::{Class, Handle};
use crate::Clock;
use crate::foreign::{attempt, discard};
use crate::gate::lock::Lock;

/// The age from which on a sample is preferred to the one before it.
const SHORTEST: Duration = Duration::from_secs(10);

/// The age from which on a sample is not recent any more. Some servers scrape once a minute.
const LONGEST: Duration = Duration::from_secs(120);

/// Returns the text of a key. It is foreign.
pub(super) type ShowKey<K> = Arc<dyn Fn(&K) -> String + Send + Sync>;

/// The keys with the most load; returned by [`Handle::worst_keys`].
///
/// A key without any is in no list. Those with equal loads are in the order of their text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorstKeys {
    /// Those with the most units in use.
    pub in_use: Vec<KeyLoad>,
    /// Those with the most calls waiting.
    pub waiting: Vec<KeyLoad>,
    /// Those with the most calls rejected lately.
    pub rejected: Vec<KeyLoad>,
    /// The time in which [rejections](KeyLoad::rejected) were counted, up to now; `None` if no
    /// earlier reading is recent: then no rejection is counted.
    pub period: Option<Duration>,
}

/// The load of the partition of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyLoad {
    /// The key, as [shown](super::Builder::show_keys), with its [class](crate::Partitions::class)
    /// unless that is the normal one.
    pub key: Arc<str>,
    /// Units in use.
    pub in_use: usize,
    /// Units that may be in use, by the limits of the partition. The ceiling of a
    /// [share](super::Share) may be lower.
    pub capacity: usize,
    /// Calls waiting.
    pub waiting: usize,
    /// Calls that may wait.
    pub waiting_room: usize,
    /// Calls rejected in the [period](WorstKeys::period).
    pub rejected: u64,
}

impl Handle {
    /// Returns which keys have the most load now: at most `most` of them for each kind of load.
    /// `None` unless the keys are [shown](super::Builder::show_keys).
    ///
    /// Rejections are those since an earlier call of this, by any reader: one that is 10 seconds to
    /// 2 minutes old, or a younger one if there is none. The partitions that are kept are counted,
    /// each for itself: one that is evicted and comes again begins at zero.
    ///
    /// It calls no foreign code but the clock, and takes time in proportion to the number of
    /// partitions that are kept; calls can enter and leave meanwhile, other readers wait. It
    /// allocates a pointer for each partition, and `most` entries, which should be few.
    ///
    /// ```
    /// use bulklink_tokio::Partitions;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let hosts: Partitions<String> = Partitions::builder("hosts")
    ///     .parallelism(2)
    ///     .max_partitions(10)
    ///     .show_keys(|host: &String| host.clone())
    ///     .build()?;
    /// let _ = hosts.handle().worst_keys(10);
    /// tokio::time::sleep(Duration::from_secs(15)).await;
    ///
    /// let a = || hosts.key("a.example").try_slot();
    /// let running = (a()?, a()?, hosts.key("b.example").try_slot()?);
    /// assert!(a().is_err());
    /// let worst = hosts.handle().worst_keys(10).expect("they are shown");
    /// let [full, other] = &worst.in_use[..] else { panic!("two are in use") };
    /// assert_eq!((&*full.key, full.in_use, full.capacity), ("a.example", 2, 2));
    /// assert_eq!((&*other.key, other.in_use, other.capacity), ("b.example", 1, 2));
    /// assert_eq!((&*worst.rejected[0].key, worst.rejected[0].rejected), ("a.example", 1));
    /// assert_eq!(worst.period, Some(Duration::from_secs(15)));
    /// # drop(running);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn worst_keys(&self, most: usize) -> Option<WorstKeys> {
        self.inner.worst_keys(most)
    }
}

/// The text of a partition's key, and samples of its rejections.
pub(crate) struct ShownKey {
    pub(crate) text: Arc<str>,
    rejected: Lock<Past<u64>>,
}

/// The samples of two earlier readings. What came later than a reading, as a new partition, has its
/// default in it: nothing was rejected by then.
#[derive(Clone, Copy, Default)]
struct Past<T> {
    older: T,
    newer: T,
}

/// When the samples were taken.
#[derive(Default)]
pub(super) struct Marks(Past<Option<Instant>>);

/// The samples that a reading counts from, and whether it takes new ones.
struct Reading {
    period: Option<Duration>,
    is_from_older: bool,
    takes: bool,
}

impl ShownKey {
    /// Returns nothing if the function panics. Called outside all locks.
    pub(super) fn new<K>(show: &ShowKey<K>, key: &K, class: Class) -> Option<Arc<Self>> {
        let mut text = attempt(|| show(key))?;
        if class != Class::Normal {
            text = format!("{text} ({class})");
        }
        Some(Arc::new(ShownKey { text: text.into(), rejected: Lock::new(Past::default()) }))
    }

    fn load(&self, now: &Snapshot, reading: &Reading) -> KeyLoad {
        let total = now.totals.rejected();
        let before = self.rejected.with(|past| {
            let before = if reading.is_from_older { past.older } else { past.newer };
            if reading.takes {
                *past = Past { older: past.newer, newer: total };
            }
            before
        });
        KeyLoad {
            key: Arc::clone(&self.text),
            in_use: now.in_use,
            capacity: now.limits.capacity,
            waiting: now.waiting,
            waiting_room: now.limits.waiting_room,
            rejected: if reading.period.is_some() { total.wrapping_sub(before) } else { 0 },
        }
    }
}

impl Marks {
    /// Begins a reading at this time; without it, nothing is known of the past.
    fn begin(&mut self, now: Option<Instant>) -> Reading {
        let Some(now) = now else { return Reading { period: None, is_from_older: false, takes: false } };
        let Marks(past) = self;
        let age = |at: Option<Instant>| at.map(|at| now.saturating_since(at));
        let recent = |at| age(at).filter(|age| Duration::ZERO < *age && *age <= LONGEST);
        let takes = age(past.newer).is_none_or(|age| age >= SHORTEST);
        let older = recent(past.older).filter(|_| !takes);
        let reading = Reading { period: older.or(recent(past.newer)), is_from_older: older.is_some(), takes };
        if takes {
            *past = Past { older: past.newer, newer: Some(now) };
        }
        reading
    }
}

impl WorstKeys {
    /// All partitions are looked at, each of which has exact figures: no sketch of the most
    /// frequent keys is needed, since `max_partitions` bounds the memory already.
    fn add(&mut self, load: &KeyLoad, most: usize) {
        enter(&mut self.in_use, load, most, |load| load.in_use as u64);
        enter(&mut self.waiting, load, most, |load| load.waiting as u64);
        enter(&mut self.rejected, load, most, |load| load.rejected);
    }
}

/// Enters a key in its place if it is among the first.
fn enter(kept: &mut Vec<KeyLoad>, load: &KeyLoad, most: usize, of: impl Fn(&KeyLoad) -> u64) {
    let is_worse = |one: &KeyLoad| (Reverse(of(one)), &one.key) < (Reverse(of(load)), &load.key);
    let is_least = kept.len() >= most && kept.last().is_none_or(is_worse);
    if of(load) > 0 && !is_least {
        kept.insert(kept.partition_point(is_worse), load.clone());
        kept.truncate(most);
    }
}

impl<K, R: Clock + Clone + Send + Sync + 'static, S> Inner<K, R, S> {
    pub(super) fn worst_keys(&self, most: usize) -> Option<WorstKeys> {
        self.show_key.as_ref()?;
        // A clock that panics must not hide the present.
        let now = attempt(|| self.each.runtime.now());
        let (worst, bulkheads) = self.marks.with(|marks| {
            // Before the list is copied: a partition that comes later has no rejections by then.
            let reading = marks.begin(now);
            let mut worst = WorstKeys { period: reading.period, ..WorstKeys::default() };
            let bulkheads: Vec<_> =
                self.state.with(|state| state.partitions().map(|kept| Arc::clone(&kept.shared)).collect());
            for shared in &bulkheads {
                if let Some(key) = shared.key() {
                    let snapshot = shared.with_gate(|state| state.snapshot(None));
                    worst.add(&key.load(&snapshot, &reading), most);
                }
            }
            (worst, bulkheads)
        });
        // A partition may be gone by now, and its own handlers are foreign.
        bulkheads.into_iter().for_each(discard);
        Some(worst)
    }
}
