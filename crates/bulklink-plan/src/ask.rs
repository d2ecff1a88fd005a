//! The load and the goal of a plan, and the loads that follow from them.

use std::time::Duration;

use bulklink_core::{InvalidArgument, Reserve};

use crate::distribution::nanos;
use crate::random::whole;
use crate::{Arrivals, Distribution, Load};

/// The most units that a load may use on average. Beyond, a search that is long enough takes more
/// than half a minute.
const MOST_OFFERED: f64 = 2_000.0;

/// The most calls that one simulation may need.
const MOST_CALLS: f64 = 20e6;

const LEAST_BUDGET: u64 = 10_000;
const MOST_BUDGET: u64 = 20_000_000;

/// The load that a plan is made for, and its goal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ask {
    /// The calls per second.
    pub rate: f64,
    /// How long each call holds its slot.
    pub hold: Distribution,
    /// How the calls come.
    pub burst: Burst,
    /// The time that a call has from its arrival to its end, if it has one.
    pub deadline: Option<Duration>,
    /// Whether calls bring this deadline to the bulkhead, by
    /// [`Request::deadline`](bulklink_core::Request::deadline), and its reserve is learnt.
    pub brings_deadline: bool,
    /// The wait limit. Without it, the plan finds one from the deadline, and without that it is
    /// four mean holds.
    pub wait_limit: Option<Duration>,
    /// The part of all calls that may be rejected.
    pub rejected: f64,
    /// The seed of all random numbers: the same one gives the same plan.
    pub seed: u64,
    /// The most calls of one simulation.
    pub budget: u64,
}

/// How the calls of a load come.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Burst {
    /// Independently.
    None,
    /// In batches of so many on average.
    Batches(f64),
    /// In two phases of this mean length, in which the rate differs by this factor.
    Phases(f64, Duration),
}

impl Ask {
    /// Asks for the limits of a bulkhead to which independent calls come, at so many per second,
    /// and that may reject 1 %.
    #[must_use]
    pub fn new(rate: f64, hold: Distribution) -> Self {
        Ask {
            rate,
            hold,
            burst: Burst::None,
            deadline: None,
            brings_deadline: false,
            wait_limit: None,
            rejected: 0.01,
            seed: 1,
            budget: 2_000_000,
        }
    }

    /// Returns the units that the load would use on average if no call was rejected.
    #[must_use]
    pub fn offered(&self) -> f64 {
        self.rate * self.hold.mean_nanos() / 1e9
    }

    /// Checks all fields, as [`plan`](crate::plan()) does.
    ///
    /// # Errors
    ///
    /// The first field that is out of its range, with its value.
    pub fn check(&self) -> Result<(), InvalidArgument> {
        check("rate", self.rate, 0.01, 1e6, "/s")?;
        check("rejected", self.rejected, 0.0001, 0.5, "")?;
        match self.burst {
            Burst::None => {}
            Burst::Batches(size) => check("batch", size, 1.0, 1_000.0, "")?,
            Burst::Phases(ratio, stay) => {
                check("ratio of the phases", ratio, 1.0, 100.0, "")?;
                check("phase", stay.as_secs_f64(), 0.001, 3_600.0, "s")?;
            }
        }
        for (field, time) in [("deadline", self.deadline), ("wait_limit", self.wait_limit)] {
            time.map_or(Ok(()), |time| check(field, time.as_secs_f64(), 1e-6, 86_400.0, "s"))?;
        }
        check("mean hold", self.hold.mean_nanos() / 1e9, 1e-6, 86_400.0, "s")?;
        if !(LEAST_BUDGET..=MOST_BUDGET).contains(&self.budget) {
            let requirement = format!("must be from {LEAST_BUDGET} to {MOST_BUDGET}");
            return Err(InvalidArgument::new("budget", self.budget, requirement));
        }
        if self.brings_deadline && self.deadline.is_none() {
            return Err(InvalidArgument::new("deadline", "none", "must be set if calls bring it"));
        }
        check("calls in 400 phases", self.calls_in_phases(), 0.0, MOST_CALLS, "")?;
        let offered = self.offered();
        if offered > MOST_OFFERED {
            let requirement = format!("must use at most {MOST_OFFERED} units on average");
            return Err(InvalidArgument::new("rate times hold", format!("{offered:.0}"), requirement));
        }
        Ok(())
    }

    /// The load, at so many times the rate.
    pub(crate) fn load(&self, times: f64) -> Load {
        let rate = self.rate * times;
        let arrivals = match self.burst {
            Burst::None => Arrivals::poisson(rate),
            Burst::Batches(size) => Arrivals::batches(rate, size),
            Burst::Phases(ratio, stay) => Arrivals::phases(rate, ratio, stay),
        };
        let deadline = self.deadline.filter(|_| self.brings_deadline).map(|deadline| (deadline, Reserve::Learnt));
        Load { deadline, ..Load::new(arrivals, self.hold.clone()) }
    }

    /// The least number of calls from which the rejected part can be told from the one that is
    /// asked for: with enough rejections, enough holds that follow each other, and enough phases.
    pub(crate) fn least_calls(&self) -> u64 {
        let enough = (50.0 / self.rejected).max(100.0 * self.offered()).max(self.calls_in_phases());
        whole(enough.max(100_000.0))
    }

    fn calls_in_phases(&self) -> f64 {
        match self.burst {
            Burst::Phases(_, stay) => 400.0 * stay.as_secs_f64() * self.rate,
            _ => 0.0,
        }
    }

    /// The calls before the first that counts: until the longest holds of the beginning are over.
    pub(crate) fn warm_up(&self, calls: u64) -> u64 {
        (calls / 20).max(whole(10.0 * self.offered()))
    }

    /// How much burstier the calls are than independent ones: the variance of the units that they
    /// would use, by its mean.
    pub(crate) fn peakedness(&self) -> f64 {
        match self.burst {
            Burst::None => 1.0,
            Burst::Batches(size) => size,
            Burst::Phases(ratio, stay) => {
                let low = 2.0 * self.rate / (1.0 + ratio);
                let deviation = low * (ratio - 1.0) / 2.0;
                let ends = 1e9 / self.hold.mean_nanos() + 2.0 / stay.as_secs_f64();
                1.0 + deviation * deviation / self.rate / ends
            }
        }
    }

    /// The wait limit in nanoseconds, if it does not have to be found.
    pub(crate) fn given_wait_limit(&self) -> Option<f64> {
        match (self.wait_limit, self.deadline) {
            (Some(limit), _) => Some(nanos(limit)),
            (None, None) => Some(4.0 * self.hold.mean_nanos()),
            (None, Some(_)) => None,
        }
    }
}

/// Also refuses NaN.
fn check(field: &'static str, value: f64, least: f64, most: f64, unit: &str) -> Result<(), InvalidArgument> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let requirement = format!("must be from {least}{unit} to {most}{unit}");
    Err(InvalidArgument::new(field, format!("{value}{unit}"), requirement))
}
