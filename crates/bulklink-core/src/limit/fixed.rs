//! A limit that never moves.

use super::{Limit, Sample};

/// A limit that never moves: for the place of one that does, to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed(usize);

impl Fixed {
    /// Creates the limit.
    #[must_use]
    pub const fn new(units: usize) -> Self {
        Fixed(units)
    }
}

impl Limit for Fixed {
    fn sample(&mut self, _: &Sample) {}

    fn limit(&self) -> usize {
        self.0
    }

    fn bounds(&self) -> (usize, usize) {
        (self.0, self.0)
    }
}
