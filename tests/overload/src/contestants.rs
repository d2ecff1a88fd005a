//! The controllers of the table: what each follows and what it knows.

use std::time::Duration;

use bulklink_core::Instant;
use bulklink_core::limit::{self, Fixed, Knee, Limit, Slo};

use crate::peers::envoy::Envoy;
use crate::peers::failsafe::FailsafeGo;
use crate::peers::netflix::{Aimd, Gradient2, Vegas, Windowed};
use crate::peers::opensearch::OpenSearch;
use crate::peers::tower_resilience::Tower;
use crate::peers::vector::Vector;
use crate::peers::{Controller, Outcome, Sample, draws};
use crate::plant::Plant;

/// A controller of the table.
#[derive(Clone, Copy, Debug)]
pub struct Contestant {
    /// Its name.
    pub name: &'static str,
    /// The source that it follows.
    pub follows: &'static str,
    /// What it knows of the plant.
    pub knows: &'static str,
    /// Whether it belongs to a quick run.
    pub is_quick: bool,
    /// Makes it for a run.
    pub make: fn(&Plant, u64) -> Box<dyn Controller>,
}

const NETFLIX: &str = "Netflix concurrency-limits at 78a74b98";
const TOWER: &str = "tower-resilience-adaptive 0.14: the crate itself";
const NOTHING: &str = "nothing";

/// The greatest limit. The least one is 1.
const MOST: u32 = 400;

/// All controllers, ours last.
pub const CONTESTANTS: [Contestant; 15] = [
    Contestant { name: "fixed 20", follows: "a limit of 20", knows: NOTHING, is_quick: true, make: |_, _| fixed(20) },
    Contestant {
        name: "AIMD",
        follows: NETFLIX,
        knows: "the deadline, as its timeout",
        is_quick: false,
        make: |plant, _| Box::new(Aimd::new(plant.start, 1..=MOST, plant.deadline)),
    },
    Contestant {
        name: "Vegas",
        follows: NETFLIX,
        knows: NOTHING,
        is_quick: false,
        make: |plant, seed| Box::new(Vegas::new(plant.start, MOST, draws(seed))),
    },
    Contestant {
        name: "Vegas 1 s",
        follows: NETFLIX,
        knows: NOTHING,
        is_quick: false,
        make: |plant, seed| Box::new(Windowed::new(Vegas::new(plant.start, MOST, draws(seed)))),
    },
    Contestant {
        name: "OpenSearch",
        follows: "OpenSearch at 00e85853: Vegas with guards",
        knows: NOTHING,
        is_quick: false,
        make: |plant, seed| Box::new(OpenSearch::new(plant.start, MOST, draws(seed))),
    },
    Contestant {
        name: "Gradient2",
        follows: NETFLIX,
        knows: NOTHING,
        is_quick: false,
        make: |plant, _| Box::new(Gradient2::new(plant.start, 1..=MOST)),
    },
    Contestant {
        name: "Gradient2 1 s",
        follows: NETFLIX,
        knows: NOTHING,
        is_quick: true,
        make: |plant, _| Box::new(Windowed::new(Gradient2::new(plant.start, 1..=MOST))),
    },
    Contestant {
        name: "Envoy",
        follows: "Envoy's gradient controller at 149521d8",
        knows: NOTHING,
        is_quick: true,
        make: |_, seed| Box::new(Envoy::new(MOST, draws(seed))),
    },
    Contestant {
        name: "failsafe-go",
        follows: "failsafe-go 0.9.7, its adaptive limiter",
        knows: NOTHING,
        is_quick: true,
        make: |plant, _| Box::new(FailsafeGo::new(plant.start, 1..=MOST)),
    },
    Contestant {
        name: "ARC",
        follows: "Vector at c3445d42, its adaptive request concurrency",
        knows: NOTHING,
        is_quick: false,
        make: |plant, _| Box::new(Vector::new(plant.start, MOST)),
    },
    Contestant {
        name: "tower AIMD",
        follows: TOWER,
        knows: "the deadline, as its threshold",
        is_quick: false,
        make: |plant, _| Box::new(Tower::aimd(plant.start, 1..=MOST, plant.deadline)),
    },
    Contestant {
        name: "tower Vegas",
        follows: TOWER,
        knows: NOTHING,
        is_quick: false,
        make: |plant, _| Box::new(Tower::vegas(plant.start, 1..=MOST)),
    },
    Contestant {
        name: "tower Gradient2",
        follows: TOWER,
        knows: NOTHING,
        is_quick: false,
        make: |plant, _| Box::new(Tower::gradient2(plant.start, 1..=MOST)),
    },
    Contestant {
        name: "Slo",
        follows: "ours",
        knows: "the deadline: its target is half of it",
        is_quick: false,
        make: |plant, _| {
            let target = Duration::from_secs_f64(plant.deadline / 2.0);
            Box::new(Ours(Slo::between(1, MOST as usize, target).starting_at(plant.start as usize)))
        },
    },
    Contestant {
        name: "Knee",
        follows: "ours",
        knows: NOTHING,
        is_quick: true,
        make: |plant, _| Box::new(Ours(Knee::between(1, MOST as usize).starting_at(plant.start as usize))),
    },
];

/// A machine of the core, which counts in nanoseconds.
struct Ours<L>(L);

impl<L: Limit> Controller for Ours<L> {
    fn sample(&mut self, sample: &Sample) {
        let now = Instant::from_nanos((sample.now * 1e9) as u64);
        let outcome = match sample.outcome {
            Outcome::Success => limit::Outcome::Success,
            Outcome::Overload => limit::Outcome::Overload,
            Outcome::Ignore => limit::Outcome::Ignore,
        };
        let own = limit::Sample::new(now, Duration::from_secs_f64(sample.hold.max(0.0)));
        let pressed = sample.pressed || sample.waiting > 0;
        self.0.sample(&own.in_flight(sample.in_flight_end as usize).pressed(pressed).outcome(outcome));
    }

    fn limit(&self) -> u32 {
        self.0.limit() as u32
    }
}

/// Makes a limit that never changes.
pub fn fixed(limit: u32) -> Box<dyn Controller> {
    Box::new(Ours(Fixed::new(limit as usize)))
}
