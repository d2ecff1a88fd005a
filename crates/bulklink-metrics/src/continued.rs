//! Counters that go on where another bulkhead gets the label of one that was removed.

/// The counts of the bulkheads of one label, one after the other.
#[derive(Default)]
pub(crate) struct Continued {
    instance: u64,
    /// The counters, in the order of the walk, which is always the same.
    counters: Vec<Sum>,
    sums: Vec<Sum<f64>>,
    /// The places of the next counter and the next sum.
    counter: usize,
    sum: usize,
}

#[derive(Clone, Copy, Default)]
struct Sum<T = u64> {
    earlier: T,
    latest: T,
}

impl Continued {
    /// Begins a walk over all counters of this instance.
    pub(crate) fn begin(&mut self, instance: u64) {
        (self.counter, self.sum) = (0, 0);
        if self.instance != instance {
            self.instance = instance;
            self.counters.iter_mut().for_each(|sum| *sum = Sum { earlier: sum.total(), latest: 0 });
            self.sums.iter_mut().for_each(|sum| *sum = Sum { earlier: sum.total(), latest: 0.0 });
        }
    }

    /// Enters the next counter. Returns its sum.
    pub(crate) fn count(&mut self, latest: u64) -> u64 {
        next(&mut self.counters, &mut self.counter, latest).total()
    }

    /// Enters the next counter that is no whole number. Returns its sum.
    pub(crate) fn add_up(&mut self, latest: f64) -> f64 {
        next(&mut self.sums, &mut self.sum, latest).total()
    }
}

/// Enters the latest value of the sum at the next place.
fn next<T: Copy + Default>(sums: &mut Vec<Sum<T>>, place: &mut usize, latest: T) -> Sum<T> {
    if sums.len() <= *place {
        sums.push(Sum::default());
    }
    let sum = &mut sums[*place];
    sum.latest = latest;
    *place += 1;
    *sum
}

impl Sum {
    fn total(self) -> u64 {
        self.earlier.wrapping_add(self.latest)
    }
}

impl Sum<f64> {
    fn total(self) -> f64 {
        self.earlier + self.latest
    }
}
