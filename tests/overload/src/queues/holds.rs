//! What a queue learns of the holds of its calls.

use super::discipline::Reserve;
use super::plant::Plant;

/// The holds that a quantile is of.
const KEPT: usize = 128;

/// They are sorted after so many.
const FRESH: usize = 16;

/// The step by which a reserve moves, times the share of late calls that it is to have.
const STEP: f64 = 0.1;

/// A call that has ended, or will end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Served {
    pub(super) arrived: f64,
    pub(super) deadline: f64,
    pub(super) hold: f64,
}

pub(super) struct Holds {
    reserve: Reserve,
    known_mean: f64,
    last: Vec<f64>,
    next: usize,
    sorted: Vec<f64>,
    fresh: usize,
    /// An average of the holds.
    pub(super) mean: f64,
    by_lateness: f64,
}

impl Holds {
    pub(super) fn new(reserve: Reserve, plant: &Plant) -> Self {
        Holds {
            reserve,
            known_mean: plant.mean(),
            last: vec![],
            next: 0,
            sorted: vec![],
            fresh: 0,
            mean: plant.service,
            by_lateness: plant.service,
        }
    }

    /// Returns how much of a time is kept for a call itself.
    pub(super) fn reserve(&self, time: f64) -> f64 {
        let reserve = match self.reserve {
            Reserve::None => 0.0,
            Reserve::Share(share) => time * share,
            Reserve::Mean(factor) => self.known_mean * factor,
            Reserve::Quantile(quantile) => self.quantile(quantile),
            Reserve::Lateness(_) => self.by_lateness,
        };
        reserve.min(time * 0.95)
    }

    fn quantile(&self, quantile: f64) -> f64 {
        let rank = (self.sorted.len() as f64 * quantile) as usize;
        self.sorted.get(rank.min(self.sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
    }

    /// Learns of a call that ended.
    pub(super) fn learn(&mut self, call: &Served, now: f64) {
        if let Reserve::Lateness(share) = self.reserve {
            self.learn_lateness(call, now, share);
        }
        self.mean += 0.02 * (call.hold - self.mean);
        if self.last.len() < KEPT {
            self.last.push(call.hold);
        } else {
            self.last[self.next] = call.hold;
            self.next = (self.next + 1) % KEPT;
        }
        self.fresh += 1;
        if self.fresh >= FRESH || self.sorted.len() < FRESH {
            self.sorted.clone_from(&self.last);
            self.sorted.sort_by(f64::total_cmp);
            self.fresh = 0;
        }
    }

    fn learn_lateness(&mut self, call: &Served, now: f64, share: f64) {
        let time = call.deadline - call.arrived;
        if call.hold >= time {
            return;
        }
        let (reserve, waited) = (self.by_lateness, now - call.hold - call.arrived);
        if now > call.deadline {
            self.by_lateness = (reserve * (1.0 + STEP * (1.0 - share))).min(0.9 * time);
        } else if waited > 0.5 * (time - reserve) {
            self.by_lateness = reserve * (1.0 - STEP * share);
        }
    }
}
