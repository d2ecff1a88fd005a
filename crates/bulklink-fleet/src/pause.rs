//! The pauses of a process that connects again.

use std::time::Duration;

/// Pauses that double up to the longest. Each is a little random, so that a fleet does not connect
/// again in one moment.
#[derive(Debug)]
pub(crate) struct Pauses {
    first: Duration,
    next: Duration,
    longest: Duration,
}

impl Pauses {
    /// Begins with a short pause.
    pub(crate) fn up_to(longest: Duration) -> Self {
        let first = longest.min(Duration::from_millis(50));
        Pauses { first, next: first, longest }
    }

    /// The server has answered: the next pause is short again.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// Returns the next pause, which may be a fifth shorter or longer.
    pub(crate) fn next(&mut self) -> Duration {
        let bits = getrandom::u32().unwrap_or(u32::MAX / 2);
        let pause = self.next.mul_f64(0.8 + 0.4 * f64::from(bits) / f64::from(u32::MAX));
        self.next = self.longest.min(self.next * 2);
        pause
    }
}
