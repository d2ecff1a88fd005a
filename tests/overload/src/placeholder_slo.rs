//! A placeholder: the rule of the prototype for `Slo`, until that of `bulklink_core::limit`
//! replaces it.

#![allow(clippy::all, clippy::pedantic, missing_docs, missing_debug_implementations, reason = "a placeholder")]

use crate::peers::{Controller, Outcome, Sample};

pub const MAX: f64 = 400.0;

/// Latency target: window p90 of hold above it: x.9; else, if in use, +max(1, 2 %).
pub struct Slo {
    pub l: f64,
    pub target: f64,
    pub win: Vec<f64>,
    pub next: f64,
    pub over: u32,
    pub pressed: bool,
}
impl Slo {
    pub fn new(l0: u32, target: f64) -> Self {
        Slo { l: l0 as f64, target, win: vec![], next: 0.0, over: 0, pressed: false }
    }
}
impl Controller for Slo {
    fn sample(&mut self, s: &Sample) {
        match s.outcome {
            Outcome::Ignore => return,
            Outcome::Overload => self.over += 1,
            Outcome::Success => self.win.push(s.hold),
        }
        self.pressed |= s.pressed;
        if s.now < self.next || self.win.len() + (self.over as usize) < 30 {
            return;
        }
        let n = self.win.len();
        let p90 = if n == 0 {
            f64::MAX
        } else {
            *self.win.select_nth_unstable_by((n * 9 / 10).min(n - 1), |a, b| a.total_cmp(b)).1
        };
        if p90 > self.target || self.over as usize * 20 > n {
            self.l = (self.l * 0.9).min(self.l - 1.0)
        } else if self.pressed {
            self.l += (self.l * 0.02).max(1.0)
        }
        self.l = self.l.clamp(1.0, MAX);
        self.win.clear();
        self.over = 0;
        self.pressed = false;
        self.next = s.now + s.hold.max(0.1);
    }
    fn limit(&self) -> u32 {
        self.l as u32
    }
}
