//! Means with an interval.

/// The 99.5th percentile of the standard normal distribution: both sides leave out one in a
/// hundred.
const NORMAL: f64 = 2.575_829_303_548_9;

/// A mean, as a simulation has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// How far the true mean can be from it, in 99 of 100 simulations.
    pub half: f64,
}

impl Estimate {
    /// The probability that the interval has the true mean.
    pub const LEVEL: f64 = 0.99;

    /// The mean of figures that do not depend on each other, of which there must be two at least.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "few figures")]
    pub fn of(figures: &[f64]) -> Self {
        let count = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / count;
        let variance = figures.iter().map(|figure| (figure - mean) * (figure - mean)).sum::<f64>() / (count - 1.0);
        Estimate { mean, half: student(count - 1.0) * (variance / count).sqrt() }
    }
}

/// The quantile of Student's distribution, by the expansion of Cornish and Fisher: from 15 degrees
/// of freedom on, its error is less than one in a thousand.
fn student(freedom: f64) -> f64 {
    let z = NORMAL;
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    let first = (z3 + z) / 4.0;
    let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0;
    let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0;
    z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_are_those_of_tables() {
        for (freedom, quantile) in [(15.0, 2.9467), (19.0, 2.8609), (30.0, 2.7500), (120.0, 2.6174)] {
            assert!((student(freedom) - quantile).abs() < 5e-4, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn equal_figures_leave_no_doubt() {
        assert_eq!(Estimate::of(&[0.5, 0.5, 0.5]), Estimate { mean: 0.5, half: 0.0 });
        let two = Estimate::of(&[0.0, 1.0]);
        assert!((two.mean - 0.5).abs() < 1e-9 && two.half > 1.0);
    }
}
