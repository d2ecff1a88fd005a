//! Random numbers that are the same on every machine.

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    uniform: fastrand::Rng,
    /// Normal numbers are made in pairs.
    spare: Option<f64>,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random { uniform: fastrand::Rng::with_seed(seed), spare: None }
    }

    /// Returns a number from zero up to one.
    pub(crate) fn unit(&mut self) -> f64 {
        self.uniform.f64()
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.uniform.usize(..bound)
    }

    /// Returns a number of the exponential distribution with mean one.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Returns a number of the standard normal distribution, by Marsaglia's polar method.
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * libm::log(square) / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }

    /// Returns how many tries it takes until one succeeds, if it takes so many on average.
    pub(crate) fn tries(&mut self, mean: f64) -> u64 {
        if mean <= 1.0 {
            return 1;
        }
        1 + whole(self.exponential() / -libm::log(1.0 - 1.0 / mean))
    }
}

/// The whole part of a number that is not negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub(crate) fn whole(number: f64) -> u64 {
    number as u64
}

/// The whole part of a number of units.
pub(crate) fn units(number: f64) -> usize {
    usize::try_from(whole(number)).unwrap_or(usize::MAX)
}
