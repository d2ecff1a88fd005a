//! The figures of one bulkhead under one load, from batches of a long simulation.

use std::time::Duration;

use bulklink_core::{Histogram, Instant, InvalidArgument, Limits, Reason};

use crate::{Decision, Estimate, Load, Sim};

/// How many batches the figures have, while they are few: then two become one.
const BATCHES: usize = 20;

/// The least number of rejections whose interval means something.
const ENOUGH: u64 = 100;

/// The figures of a bulkhead under a load.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Figures {
    /// The calls that they are from.
    pub arrivals: u64,
    /// How many of them were rejected.
    pub rejections: u64,
    /// The part of all calls that is rejected.
    pub rejected: Estimate,
    /// The part of all calls that finds no room.
    pub no_room: f64,
    /// The part of all calls whose wait takes too long.
    pub too_late: f64,
    /// The part of all calls that ends in time, if there is a time.
    pub in_time: Option<Estimate>,
    /// The part of all calls whose hold alone is longer than this time.
    pub too_long: f64,
    /// The wait that half of all admitted calls exceed, up to 10 % too long.
    pub wait_p50: Duration,
    /// The wait that one in a hundred admitted calls exceeds, up to 10 % too long.
    pub wait_p99: Duration,
    /// The units in use, on average.
    pub in_use: f64,
}

impl Figures {
    /// Returns whether there were enough rejections for the interval of
    /// [`rejected`](Figures::rejected) to mean something: a hundred. If there were fewer, the part
    /// is below [`bound`](Figures::bound).
    #[must_use]
    pub fn has_enough(&self) -> bool {
        self.rejections >= ENOUGH
    }

    /// Returns the part that a hundred rejections would be.
    #[must_use]
    pub fn bound(&self) -> f64 {
        part(ENOUGH, self.arrivals)
    }
}

/// A simulation that can go on, and its counts since its beginning was left out.
pub(crate) struct Measurement {
    sim: Sim,
    /// The time that a call has from its arrival to its end.
    time: Option<Duration>,
    batches: Vec<Batch>,
    size: u64,
    waits: Histogram,
    begin: (Instant, u128),
}

#[derive(Clone, Copy, Default)]
struct Batch {
    arrivals: u64,
    no_room: u64,
    too_late: u64,
    in_time: u64,
    too_long: u64,
}

impl Batch {
    fn note(&mut self, decision: &Decision, time: Duration) {
        self.too_long += u64::from(decision.hold > time);
        match decision.admitted {
            Ok(()) => self.in_time += u64::from(decision.waited() + decision.hold <= time),
            Err(Reason::Expired) => self.too_late += 1,
            Err(_) => self.no_room += 1,
        }
    }

    fn and(self, other: Batch) -> Batch {
        Batch {
            arrivals: self.arrivals + other.arrivals,
            no_room: self.no_room + other.no_room,
            too_late: self.too_late + other.too_late,
            in_time: self.in_time + other.in_time,
            too_long: self.too_long + other.too_long,
        }
    }

    fn rejected(self) -> u64 {
        self.no_room + self.too_late
    }
}

impl Measurement {
    /// Begins to measure after so many calls, in batches for so many in all.
    pub(crate) fn new(
        limits: Limits,
        load: Load,
        time: Option<Duration>,
        warm_up: u64,
        calls: u64,
        seed: u64,
    ) -> Result<Self, InvalidArgument> {
        let mut sim = Sim::new(limits, load, seed)?;
        sim.run(warm_up, |_| {});
        let begin = (sim.now(), sim.unit_nanos());
        let (batches, waits) = (Vec::with_capacity(2 * BATCHES), Histogram::new());
        Ok(Measurement { sim, time, batches, size: calls.div_ceil(BATCHES as u64).max(1), waits, begin })
    }

    /// Runs one batch more. After so many that figures could be had for twice as many calls, each
    /// has two.
    pub(crate) fn run_batch(&mut self) {
        let (time, waits) = (self.time.unwrap_or(Duration::MAX), &mut self.waits);
        let mut batch = Batch { arrivals: self.size, ..Batch::default() };
        self.sim.run(self.size, |decision| {
            batch.note(decision, time);
            if decision.admitted.is_ok() {
                waits.record(decision.waited());
            }
        });
        self.batches.push(batch);
        if self.batches.len() == 2 * BATCHES {
            self.batches = self.batches.chunks_exact(2).map(|two| two[0].and(two[1])).collect();
            self.size *= 2;
        }
    }

    /// Returns whether there are enough batches for an interval.
    pub(crate) fn is_whole(&self) -> bool {
        self.batches.len() == BATCHES
    }

    /// Returns the calls that were measured.
    pub(crate) fn arrivals(&self) -> u64 {
        self.size * self.batches.len() as u64
    }

    pub(crate) fn rejected(&self) -> Estimate {
        self.estimate(Batch::rejected)
    }

    fn estimate(&self, count: impl Fn(Batch) -> u64) -> Estimate {
        let parts: Vec<_> = self.batches.iter().map(|batch| part(count(*batch), batch.arrivals)).collect();
        Estimate::of(&parts)
    }

    #[expect(clippy::cast_precision_loss, reason = "nearly exact")]
    pub(crate) fn figures(&self) -> Figures {
        let all = self.batches.iter().fold(Batch::default(), |all, batch| all.and(*batch));
        let of_all = |count| part(count, all.arrivals);
        let (begin, unit_nanos) = self.begin;
        let nanos = self.sim.now().saturating_since(begin).as_nanos();
        let quantile = |part| match self.waits.quantile(part) {
            // The first bucket has all that did not wait.
            Some(wait) if wait > Duration::from_micros(1) => wait,
            _ => Duration::ZERO,
        };
        Figures {
            arrivals: all.arrivals,
            rejections: all.rejected(),
            rejected: self.rejected(),
            no_room: of_all(all.no_room),
            too_late: of_all(all.too_late),
            in_time: self.time.map(|_| self.estimate(|batch| batch.in_time)),
            too_long: of_all(all.too_long),
            wait_p50: quantile(0.5),
            wait_p99: quantile(0.99),
            in_use: (self.sim.unit_nanos() - unit_nanos) as f64 / nanos as f64,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 calls")]
fn part(count: u64, of: u64) -> f64 {
    count as f64 / of as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Distribution};

    const TIME: Duration = Duration::from_millis(10);

    /// Of ten units, 80 % of which the calls would use.
    fn measured(calls: u64, seed: u64) -> Measurement {
        let load = Load::new(Arrivals::poisson(800.0), Distribution::exponential(TIME));
        let mut measurement = Measurement::new(Limits::new(10), load, Some(TIME), 1_000, calls, seed).unwrap();
        (0..BATCHES).for_each(|_| measurement.run_batch());
        measurement
    }

    #[test]
    fn intervals_have_the_true_part_as_often_as_they_say() {
        const ERLANG: f64 = 0.121_661;
        let has = |seed: &u64| {
            let rejected = measured(50_000, *seed).rejected();
            (rejected.mean - ERLANG).abs() <= rejected.half
        };
        // 99 % of 200 are 198.
        let times = (0..200).filter(has).count();
        assert!((194..200).contains(&times), "{times}");
    }

    #[test]
    fn twice_as_many_calls_are_as_many_batches() {
        let mut measurement = measured(20_000, 1);
        assert!(measurement.is_whole() && measurement.arrivals() == 20_000);
        let before = measurement.figures();
        measurement.run_batch();
        assert!(!measurement.is_whole() && measurement.arrivals() == 21_000);
        (1..BATCHES).for_each(|_| measurement.run_batch());
        let after = measurement.figures();
        assert!(measurement.is_whole() && after.rejections > before.rejections);
        assert_eq!((after.arrivals, measurement.arrivals()), (40_000, 40_000));
        assert!(after.rejected.half < before.rejected.half);
    }

    #[test]
    fn figures_are_parts_of_all_calls() {
        let figures = measured(100_000, 1).figures();
        let in_time = figures.in_time.unwrap().mean;
        // Without a room, a call that is admitted is in time if its hold is: 63.2 % are.
        assert!((in_time - (1.0 - figures.rejected.mean) * 0.632).abs() < 0.01, "{in_time}");
        assert!((figures.too_long - 0.368).abs() < 0.01, "{}", figures.too_long);
        assert!((figures.in_use - 8.0 * (1.0 - figures.rejected.mean)).abs() < 0.1, "{}", figures.in_use);
        assert_eq!((figures.wait_p99, figures.has_enough()), (Duration::ZERO, true));
        let few = measured(20, 1).figures();
        assert!(!few.has_enough() && few.bound() > 1.0);
    }
}
