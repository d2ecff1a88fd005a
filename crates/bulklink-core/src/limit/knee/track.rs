//! After the start: the limit follows the slope of the curve.

use super::super::math::{exp, ln};
use super::slope::{Slope, magnitude, pull};
use super::window::Point;
use super::{Knee, Mode, STAR, nearest};
use crate::Instant;
use crate::limit::Step;

/// The knowledge of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Track {
    slope: Slope,
    /// The variance of points around the curve.
    noise: f64,
    /// The deviation of a point that disagrees with the curve; zero if the latest agreed.
    odd: f64,
    /// From where on it became worse; infinite if that is not known. And how many windows ago.
    edge: f64,
    since: u32,
    /// The place from which the limit falls, and the latest points, smoothed.
    top: Option<Point>,
    smooth: Option<Point>,
    /// How many steps went the same way: up, or down if negative.
    streak: i32,
    /// How many steps there were, for the movement up and down.
    steps: u32,
}

impl Track {
    pub(super) const fn new() -> Self {
        Track {
            slope: Slope::NONE,
            noise: 0.02,
            odd: 0.0,
            edge: f64::INFINITY,
            since: 0,
            top: None,
            smooth: None,
            streak: 0,
            steps: 0,
        }
    }

    pub(super) fn learn(&mut self, point: Point) {
        self.slope.learn(point);
    }

    /// No window was pressed.
    pub(super) fn rest(&mut self) {
        self.streak = 0;
    }

    pub(super) fn edge(&self) -> f64 {
        self.edge
    }

    /// Forgets the curve, but not how far points are from it.
    fn forget(&mut self) {
        *self = Track { noise: self.noise, steps: self.steps, ..Track::new() };
    }

    /// How far the limit is moved up and down, as a share.
    fn dither(&self, center: f64) -> f64 {
        if center > 0.7 * self.edge { NEAR_EDGE } else { DITHER }
    }

    /// How often the limit went this way, with this step.
    fn count(&mut self, is_up: bool) -> u32 {
        let streak = if is_up { self.streak.max(0).saturating_add(1) } else { self.streak.min(0).saturating_sub(1) };
        self.streak = streak;
        streak.unsigned_abs()
    }
}

/// Whether a point agrees with the curve.
enum Found {
    Agrees,
    /// More slots made it worse at once.
    Edge,
    /// It may be by chance.
    Odd,
    /// It is the second one.
    Changed,
}

impl Track {
    /// Compares a point with the curve.
    fn compare(&mut self, point: Point) -> Found {
        let Slope { weight, mean_x, mean_y, .. } = self.slope;
        if weight < 3.0 {
            return Found::Agrees;
        }
        let away = point.x - mean_x;
        let error = point.y - (mean_y + self.slope.rise(pull(self.noise), -0.5, 2.0) * away);
        let is_big = error * error > (SIGMAS * SIGMAS * self.noise).max(LEAST_ERROR * LEAST_ERROR);
        if is_big && error > 0.0 && away > 0.02 && self.odd <= 0.0 {
            self.odd = error;
            Found::Edge
        } else if is_big && magnitude(away) < 0.5 {
            let is_second = self.odd * error > 0.0;
            self.odd = error;
            if is_second { Found::Changed } else { Found::Odd }
        } else {
            self.odd = 0.0;
            self.noise = (self.noise + 0.05 * ((error * error).min(0.25) - self.noise)).max(LEAST_NOISE);
            Found::Agrees
        }
    }
}

impl Knee {
    pub(super) fn track(&mut self, mut track: Track, point: Point, in_use: f64, is_told: bool, now: Instant) {
        // A window of an outage must not outweigh all others.
        let highest = if track.slope.weight > 0.0 { track.slope.mean_y + HIGHEST } else { point.y };
        let point = Point { y: point.y.min(highest), ..point };
        let mut step = None;
        match track.compare(point) {
            Found::Agrees => {}
            Found::Odd => return self.next(track, now),
            Found::Edge => {
                (track.edge, track.since) = (in_use, 0);
                self.center = self.bounds.clamp(self.center.min(exp(track.slope.mean_x)));
                self.step = Step::RememberedPlace;
                return self.next(track, now);
            }
            Found::Changed => {
                track.forget();
                self.counts.changes = self.counts.changes.wrapping_add(1);
                step = Some(Step::WorldChanged);
            }
        }
        track.learn(point);
        self.estimate(&track);
        let gain = self.slope - STAR;
        if self.note_fall(&mut track, point, gain) {
            return self.next(track, now);
        }
        let streak = track.count(gain > 0.0);
        let hurry =
            if magnitude(gain) > 0.2 { 1.0 + (0.35 * f64::from(streak.saturating_sub(2))).min(2.0) } else { 1.0 };
        let mut power = RATE * gain * hurry;
        if gain < 0.0 && self.inflation > 1.5 {
            power = power.min(-0.5 * ln(self.inflation / 1.3));
        }
        let before = self.center;
        self.center = self.bounds.clamp(before * exp(power.clamp(-0.5, 0.5)));
        if self.center > before {
            // Not far beyond what was ever filled.
            self.center = self.center.min((2.0 * in_use).max(before));
        }
        let because = if gain > 0.0 { Step::MoreHelps } else { Step::EnoughIsBusy };
        self.step = step.unwrap_or(if is_told && gain <= 0.0 { Step::WasTold } else { because });
        self.next(track, now);
    }

    /// Estimates the slope and the inflation at the limit, and corrects how long a call takes
    /// alone.
    fn estimate(&mut self, track: &Track) {
        let Track { slope, noise, .. } = track;
        let away = (ln(self.center) - slope.mean_x).clamp(-0.3, 0.3);
        let here = slope.mean_y + slope.rise(0.1 * pull(*noise), -0.5, 3.0) * away;
        self.inflation = (exp(here) / self.alone.max(1e-12)).min(MOST_INFLATION);
        let prior = prior(self.inflation);
        let (raw, trust) = (slope.raw().unwrap_or(prior), slope.trust(*noise));
        self.slope = (trust * raw + (1.0 - trust) * prior).clamp(-1.0, 1.2);
        // Faster downward: a limit that is too high hurts, one that is too low only costs.
        let error = raw.clamp(0.0, 1.0) - prior;
        let repaired = self.alone * exp(REPAIR * trust * if error < 0.0 { 2.0 * error } else { error });
        self.alone = repaired.clamp(1e-12, 1e12);
    }

    /// Follows a fall of the limit. If calls become no faster, it was not the slots: the limit goes
    /// back to where the fall began. Returns whether it does.
    fn note_fall(&mut self, track: &mut Track, point: Point, gain: f64) -> bool {
        let smooth = track.smooth.map_or(point, |smooth| smooth.middle(point));
        track.smooth = Some(smooth);
        let top = track.top.filter(|top| gain <= 0.0 && smooth.y <= top.y).unwrap_or(smooth);
        track.top = Some(top);
        let fallen = top.x - smooth.x;
        if fallen <= FALL {
            return false;
        }
        if top.y - smooth.y >= PAID * fallen {
            track.top = Some(smooth);
            return false;
        }
        // This is how long calls take, and not because of each other.
        self.alone = exp(smooth.y) / 1.05;
        self.center = self.bounds.clamp(exp(top.x));
        track.forget();
        self.counts.unpaid_falls = self.counts.unpaid_falls.wrapping_add(1);
        self.step = Step::FallDidNotPay;
        true
    }

    /// Moves the limit up or down a little, to see, and opens the next window.
    fn next(&mut self, mut track: Track, now: Instant) {
        track.steps = track.steps.wrapping_add(1);
        if track.edge.is_finite() {
            let below = 0.95 * track.edge / (1.0 + track.dither(self.center));
            self.center = self.bounds.clamp(self.center.min(below));
            // It is tried again, after the longer the further it was.
            track.since = track.since.wrapping_add(1);
            track.edge *= 1.0 + FORGOTTEN * f64::from(track.since);
        }
        let away = (self.center * track.dither(self.center)).max(0.75);
        // By Thue and Morse: so no drift looks like a slope.
        let is_up = track.steps.count_ones() % 2 == 0;
        let limit = if is_up { self.center + away } else { self.center - away };
        self.mode = Mode::Track(track);
        let before = self.current;
        self.current = nearest(self.bounds.clamp(limit));
        if before == self.current { self.open(now) } else { self.settle(now) }
    }
}

/// The slope that the inflation of calls suggests, before any is measured.
fn prior(inflation: f64) -> f64 {
    if inflation <= 1.05 {
        1.0
    } else if inflation <= 1.25 {
        1.0 - (inflation - 1.05) / 0.2 * (1.0 - STAR)
    } else {
        (STAR * (1.0 - (inflation - 1.25) / 0.35)).max(0.0)
    }
}

/// No inflation means more than this.
const MOST_INFLATION: f64 = 1e6;
/// How far the limit is moved up and down, as a share: in general, and near an edge.
const DITHER: f64 = 0.12;
const NEAR_EDGE: f64 = 0.06;
/// How much of the gain a step is.
const RATE: f64 = 0.2;
/// How much of what the slope contradicts corrects the length of calls.
const REPAIR: f64 = 0.25;
/// How far a fall goes before it must have paid, and how much of it.
const FALL: f64 = 0.6;
const PAID: f64 = 0.35;
/// From how many standard deviations on a point disagrees, and at least from which error on.
const SIGMAS: f64 = 3.5;
const LEAST_ERROR: f64 = 0.25;
const LEAST_NOISE: f64 = 0.0005;
/// How far above the mean a point counts at most.
const HIGHEST: f64 = 1.0;
/// How fast an edge is forgotten: by so much more in each window.
const FORGOTTEN: f64 = 0.0005;
