//! Rules of other projects as limits of ours: the ports that the simulation has, which replay
//! recordings of their originals. They have the documented defaults but for the bounds.

use std::ops::RangeInclusive;

use bulklink::limit::{self, Limit};
use bulklink::runtime::Instant;
use bulklink_overload::peers::failsafe::FailsafeGo;
use bulklink_overload::peers::netflix::{Gradient2, Windowed};
use bulklink_overload::peers::{Controller, Outcome, Sample};

/// Where both begin.
const START: u32 = 20;

/// A rule as a limit of ours.
#[derive(Clone, Debug)]
pub struct Rule<C> {
    controller: C,
    bounds: (usize, usize),
}

impl Rule<FailsafeGo> {
    /// The adaptive limiter of failsafe-go.
    #[must_use]
    pub fn failsafe_go(bounds: (usize, usize)) -> Self {
        Rule { controller: FailsafeGo::new(START, range(bounds)), bounds }
    }
}

impl Rule<Windowed<Gradient2>> {
    /// Netflix' Gradient2 with a sample a second.
    #[must_use]
    pub fn gradient2(bounds: (usize, usize)) -> Self {
        Rule { controller: Windowed::new(Gradient2::new(START, range(bounds))), bounds }
    }
}

impl<C: Controller> Limit for Rule<C> {
    fn sample(&mut self, sample: &limit::Sample) {
        // The originals count the calls in flight at an admission, which a sample of ours lacks.
        let in_flight = u32::try_from(sample.in_flight).unwrap_or(u32::MAX);
        self.controller.sample(&Sample {
            now: sample.now.saturating_since(Instant::EPOCH).as_secs_f64(),
            hold: sample.hold.as_secs_f64(),
            wait: 0.0,
            in_flight,
            in_flight_end: in_flight,
            waiting: 0,
            pressed: sample.pressed,
            outcome: match sample.outcome {
                limit::Outcome::Success => Outcome::Success,
                limit::Outcome::Overload => Outcome::Overload,
                _ => Outcome::Ignore,
            },
        });
    }

    fn limit(&self) -> usize {
        self.controller.limit() as usize
    }

    fn bounds(&self) -> (usize, usize) {
        self.bounds
    }
}

fn range((least, most): (usize, usize)) -> RangeInclusive<u32> {
    u32::try_from(least).unwrap_or(u32::MAX)..=u32::try_from(most).unwrap_or(u32::MAX)
}
