//! The start: the limit doubles while that helps, and then looks at quarters of it.

use super::super::math::{exp, ln};
use super::track::Track;
use super::window::{Point, Window};
use super::{Knee, Mode, ROOM};
use crate::Instant;
use crate::limit::Step;

/// The start of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ramp {
    /// For how many windows the limit was not filled.
    unfilled: u8,
    /// The place of the latest doubling that helped, and the logarithm of the mean hold there.
    top: Option<(Point, f64)>,
    /// The quarters, once no doubling helps.
    calibration: Option<Calibration>,
}

/// How long calls take at a quarter of the slots, and at a quarter of that.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Calibration {
    /// The limit before the latest step down, divided by that after it.
    factor: f64,
    /// The measured `y` before it.
    before: f64,
    /// The most work a second, in units.
    rate: f64,
}

impl Ramp {
    pub(super) const START: Ramp = Ramp { unfilled: 0, top: None, calibration: None };

    pub(super) const fn calibrates(&self) -> bool {
        self.calibration.is_some()
    }
}

impl Knee {
    pub(super) fn ramp(&mut self, mut ramp: Ramp, window: &Window, point: Point, now: Instant) {
        let (in_use, rate) = (window.in_use(), exp(point.x - point.y));
        if let (Some(calibration), Some((top, _))) = (ramp.calibration, ramp.top) {
            let calibration = Calibration { rate: calibration.rate.max(rate), ..calibration };
            // Here calls disturb each other least, so this is how long one takes alone.
            (self.alone, self.warm) = (exp(point.y), super::WARM);
            let fell = calibration.before - point.y;
            if fell > CLEARLY * ln(calibration.factor) {
                let next = Calibration { before: point.y, ..calibration };
                if self.quarter(ramp, self.center, next, now) {
                    return;
                }
            }
            let useful = calibration.rate * exp(point.y);
            self.center = self.bounds.clamp((ROOM * useful).min(exp(top.x)));
            let mut track = Track::new();
            // The place before the latest step down. Further away the curve may be another one.
            track.learn(Point { x: point.x + ln(calibration.factor), y: calibration.before });
            track.learn(point);
            return self.begin_to_track(track, now);
        }
        // Filled only in part so far: it waits for the rest, a few windows long.
        if in_use < 0.7 * self.center && ramp.unfilled < 4 {
            ramp.unfilled += 1;
            self.mode = Mode::Ramp(ramp);
            return self.settle(now);
        }
        ramp.unfilled = 0;
        let hold = ln(window.mean_hold().unwrap_or(1e-9).max(1e-9));
        let helped = ramp.top.is_none_or(|(top, before)| {
            let rise = point.x - top.x;
            rise > 0.1 && 1.0 - (point.y - top.y) / rise > 0.5 && 1.0 - (hold - before) / rise > 0.4
        });
        if helped {
            ramp.top = Some((point, hold));
        }
        let most = f64::from(self.bounds.most);
        if helped && self.center < most {
            self.center = (self.center * 2.0).min(most);
            self.step = Step::Ramp;
            self.mode = Mode::Ramp(ramp);
            self.current = super::nearest(self.center);
            return self.settle(now);
        }
        let top = ramp.top.map_or(point, |(top, _)| top);
        let rate = rate.max(exp(top.x - top.y));
        let calibration = Calibration { factor: 1.0, before: top.y, rate };
        if self.quarter(ramp, exp(top.x), calibration, now) {
            return;
        }
        let useful = rate * self.alone;
        self.center = self.bounds.clamp((ROOM * useful).min(exp(top.x)));
        self.begin_to_track(Track::new(), now);
    }

    /// Goes down to a quarter of this limit, unless that is below the bounds. Returns whether it
    /// does.
    fn quarter(&mut self, mut ramp: Ramp, limit: f64, calibration: Calibration, now: Instant) -> bool {
        let least = f64::from(self.bounds.least.max(2));
        if limit <= 1.5 * least {
            return false;
        }
        self.center = self.bounds.clamp((limit / 4.0).max(least));
        ramp.calibration = Some(Calibration { factor: limit / self.center, ..calibration });
        self.mode = Mode::Ramp(ramp);
        self.step = Step::Calibrate;
        self.current = super::nearest(self.center);
        self.drains = true;
        self.open(now);
        true
    }

    fn begin_to_track(&mut self, track: Track, now: Instant) {
        self.mode = Mode::Track(track);
        self.step = Step::EnoughIsBusy;
        self.current = super::nearest(self.center);
        self.settle(now);
    }
}

/// The share of a step down, as a logarithm, by which calls must become faster so that it is a
/// reason for another one.
const CLEARLY: f64 = 0.4;
