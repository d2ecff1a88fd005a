//! Earlier figures of each bulkhead: the difference shows how it is doing now.
//!
//! They are taken where the page is asked for, two for each bulkhead, and by no task. So the first
//! page, and one after a pause, have no earlier figures, and so no rates: figures since the start
//! would show findings that were over long ago.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The age from which on figures are preferred to those before them.
pub(super) const SHORTEST: Duration = Duration::from_secs(10);

/// The age from which on figures are not recent any more.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

/// Two samples of the figures `T` of each bulkhead, by its instance.
pub(super) struct Recent<T>(Mutex<HashMap<u64, Samples<T>>>);

struct Samples<T> {
    older: Sample<T>,
    newer: Sample<T>,
    read_at: Instant,
}

#[derive(Clone)]
struct Sample<T> {
    at: Instant,
    figures: T,
}

impl<T: Clone> Recent<T> {
    pub(super) fn new() -> Self {
        Recent(Mutex::new(HashMap::new()))
    }

    /// Returns the figures with which the recent past of this bulkhead begins, with their age, if
    /// there are any. Keeps the present ones for later.
    pub(super) fn before(&self, instance: u64, now: Instant, figures: &T) -> Option<(Duration, T)> {
        let present = Sample { at: now, figures: figures.clone() };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(samples) = all.get_mut(&instance) {
            return samples.before(present);
        }
        all.insert(instance, Samples { older: present.clone(), newer: present, read_at: now });
        None
    }

    /// Forgets the bulkheads that this reading, which began then, and those after it did not find.
    pub(super) fn forget_before(&self, reading: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.len();
        all.retain(|_, samples| samples.read_at >= reading);
        if all.len() < before {
            all.shrink_to_fit();
        }
    }
}

impl<T: Clone> Samples<T> {
    fn before(&mut self, present: Sample<T>) -> Option<(Duration, T)> {
        let now = present.at;
        self.read_at = self.read_at.max(now);
        let is_old_enough = self.newer.age(now).is_some_and(|age| age >= SHORTEST);
        let begins = if is_old_enough { [&self.newer, &self.older] } else { [&self.older, &self.newer] };
        let begin = begins.into_iter().find_map(|sample| Some((sample.age(now)?, sample.figures.clone())));
        if begin.is_none() && now > self.newer.at {
            (self.older, self.newer) = (present.clone(), present);
        } else if is_old_enough {
            self.older = std::mem::replace(&mut self.newer, present);
        }
        begin
    }
}

impl<T> Sample<T> {
    /// Returns the age, if the sample is recent and not of this moment.
    fn age(&self, now: Instant) -> Option<Duration> {
        let age = now.checked_duration_since(self.at)?;
        (Duration::ZERO < age && age <= LONGEST).then_some(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks at these seconds. Returns for each when the recent past began.
    fn ask(seconds: &[u64]) -> Vec<Option<u64>> {
        let (recent, start) = (Recent::new(), Instant::now());
        let ask = |&second: &u64| {
            let begin = recent.before(7, start + Duration::from_secs(second), &second);
            begin.map(|(age, begin)| {
                assert_eq!(age, Duration::from_secs(second - begin));
                begin
            })
        };
        seconds.iter().map(ask).collect()
    }

    #[test]
    fn the_recent_past_is_ten_to_thirty_seconds_or_the_time_since_the_first_look() {
        assert_eq!(ask(&[0, 0, 3, 9]), [None, None, Some(0), Some(0)]);
        let often: Vec<_> = (0..200).step_by(3).collect();
        for (begin, second) in ask(&often).into_iter().zip(often).skip(4) {
            // The newer sample is replaced at 12 s, and is too young for the next 9 s.
            assert!((12..=21).contains(&(second - begin.expect("asked before"))), "at {second} s");
        }
        assert_eq!(ask(&[0, 15, 30, 45, 50]), [None, Some(0), Some(15), Some(30), Some(30)]);
        assert_eq!(ask(&[0, 25, 50, 51]), [None, Some(0), Some(25), Some(25)]);
    }

    #[test]
    fn what_is_older_than_thirty_seconds_is_not_recent() {
        assert_eq!(ask(&[0, 30, 61, 62]), [None, Some(0), None, Some(61)]);
        assert_eq!(ask(&[0, 5, 31, 3_600, 3_601]), [None, Some(0), None, None, Some(3_600)]);
    }

    #[test]
    fn a_reading_that_began_earlier_finds_nothing_of_later_ones_and_spoils_none() {
        assert_eq!(ask(&[100]), [None]);
        let (recent, start) = (Recent::new(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(recent.before(1, at(50), &"later"), None);
        assert_eq!(recent.before(1, at(49), &"earlier"), None);
        assert_eq!(recent.before(1, at(60), &"now"), Some((Duration::from_secs(10), "later")));
    }

    #[test]
    fn what_was_not_found_is_forgotten_unless_a_later_reading_has_it() {
        let (recent, start) = (Recent::new(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for (instance, second) in [(1, 0), (2, 1), (3, 2)] {
            recent.before(instance, at(second), &());
        }
        recent.forget_before(at(1));
        assert_eq!(recent.0.lock().unwrap().len(), 2);
        assert!(recent.before(1, at(5), &()).is_none() && recent.before(2, at(5), &()).is_some());
    }
}
