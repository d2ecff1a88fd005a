//! The slope of the curve near the place where the limit is: a weighted regression.

use super::super::math::exp;
use super::window::Point;

/// A regression of `y` on `x` that forgets points as others come, and the faster the further they
/// are away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slope {
    /// The sum of the weights.
    pub(super) weight: f64,
    pub(super) mean_x: f64,
    pub(super) mean_y: f64,
    sxx: f64,
    sxy: f64,
    /// Where the latest points were.
    near: f64,
}

impl Slope {
    pub(super) const NONE: Slope = Slope { weight: 0.0, mean_x: 0.0, mean_y: 0.0, sxx: 0.0, sxy: 0.0, near: 0.0 };

    pub(super) fn learn(&mut self, point: Point) {
        if self.weight == 0.0 {
            *self = Slope { weight: 1.0, mean_x: point.x, mean_y: point.y, near: point.x, ..Slope::NONE };
            return;
        }
        let away = point.x - self.near;
        let kept = KEPT * exp(-magnitude(away));
        self.near += 0.5 * away;
        self.weight *= kept;
        self.sxx *= kept;
        self.sxy *= kept;
        let (dx, dy, weight) = (point.x - self.mean_x, point.y - self.mean_y, self.weight + 1.0);
        self.mean_x += dx / weight;
        self.mean_y += dy / weight;
        self.sxx += dx * dx * self.weight / weight;
        self.sxy += dx * dy * self.weight / weight;
        self.weight = weight;
    }

    /// How fast `y` grows with `x`, pulled towards zero as if by so much spread of `x`, and between
    /// these bounds.
    pub(super) fn rise(&self, pull: f64, least: f64, most: f64) -> f64 {
        if self.sxx > LEAST_SPREAD { (self.sxy / (self.sxx + pull)).clamp(least, most) } else { 0.0 }
    }

    /// How much more work another slot gives, by the points alone; `None` while they are in one
    /// place.
    pub(super) fn raw(&self) -> Option<f64> {
        (self.sxx > LEAST_SPREAD).then(|| (1.0 - self.sxy / self.sxx).clamp(-2.0, 1.5))
    }

    /// The weight of the points beside the knowledge without them, of points with this
    /// variance.
    pub(super) fn trust(&self, noise: f64) -> f64 {
        self.sxx / (self.sxx + pull(noise))
    }
}

/// The spread of `x` at which points of this variance are worth as much as the prior.
pub(super) fn pull(noise: f64) -> f64 {
    noise / PRIOR_VARIANCE
}

/// Without `f64::abs`, which the core library does not have on all versions of Rust.
pub(super) fn magnitude(number: f64) -> f64 {
    if number < 0.0 { -number } else { number }
}

/// How much of a point is kept when another comes at the same place.
const KEPT: f64 = 0.95;
const LEAST_SPREAD: f64 = 1e-6;
/// The variance of true slopes around the prior.
const PRIOR_VARIANCE: f64 = 0.04;
