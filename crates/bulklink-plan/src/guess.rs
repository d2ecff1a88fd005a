//! A guess by a closed form, from which the search begins.

use crate::Ask;
use crate::random::units;

/// Returns a capacity near the least one, without a bound on the waiting room.
///
/// The formula is that of exponential holds and independent calls. Burstier calls count as fewer
/// and larger ones (Hayward), and a wait limit as longer for holds that vary less.
pub(crate) fn capacity(ask: &Ask, wait_limit: f64) -> usize {
    let (peakedness, ends) = (ask.peakedness(), 1e9 / ask.hold.mean_nanos());
    let limit = wait_limit / 1e9 * 2.0 / (1.0 + ask.hold.variation());
    let rate = ask.rate / peakedness;
    let least = (rate / ends).floor().max(1.0);
    let mut queue = Queue::new(rate, ends);
    while queue.capacity < least || queue.expired(limit) > ask.rejected {
        queue.grow();
    }
    units((queue.capacity * peakedness).ceil())
}

/// M/M/c+D: independent calls, exponential holds, a constant limit on every wait.
struct Queue {
    rate: f64,
    ends: f64,
    capacity: f64,
    /// The probability that at most c − 1 units are in use, by that of exactly c − 1.
    below: f64,
}

impl Queue {
    fn new(rate: f64, ends: f64) -> Self {
        Queue { rate, ends, capacity: 1.0, below: 1.0 }
    }

    fn grow(&mut self) {
        self.below = 1.0 + self.below * self.capacity * self.ends / self.rate;
        self.capacity += 1.0;
    }

    /// Returns the part of all calls that waits for longer than the limit.
    fn expired(&self, limit: f64) -> f64 {
        let most = self.capacity * self.ends;
        let spare = most - self.rate;
        let kept = libm::exp(-spare * limit);
        // The time with all units in use, in which waits are shorter than the limit.
        let full = if spare.abs() < 1e-9 * most { limit + 1.0 / most } else { (1.0 - kept) / spare + kept / most };
        (1.0 - spare * full) / (self.below + self.rate * full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expired(capacity: u32, rate: f64, limit: f64) -> f64 {
        let mut queue = Queue::new(rate, 100.0);
        (1..capacity).for_each(|_| queue.grow());
        queue.expired(limit)
    }

    #[test]
    fn the_closed_form_has_the_figures_of_the_literature() {
        for (rate, part) in [(900.0, 0.009_853), (1_000.0, 0.040_551), (1_200.0, 0.168_046)] {
            assert!((expired(10, rate, 0.02) - part).abs() < 1e-6, "{rate}");
        }
        // Without a wait it is Erlang's loss formula.
        assert!((expired(10, 800.0, 0.0) - 0.121_661).abs() < 1e-6);
        assert!(expired(10_100, 1_000_000.0, 0.001) < 0.01, "nothing overflows");
    }
}
