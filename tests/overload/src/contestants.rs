//! The controllers of the table: what each follows and what it knows.

use crate::peers::placeholder::{Aimd, Arc, Envoy, FailsafeGo, Gradient2, Vegas, Windowed};
use crate::peers::{Controller, Sample};
use crate::placeholder_knee::{Knee, Par};
use crate::placeholder_slo::Slo;
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

const NETFLIX: &str = "Netflix concurrency-limits, as in the prototype";
const NOTHING: &str = "nothing";

/// All controllers, ours last.
pub const CONTESTANTS: [Contestant; 12] = [
    Contestant {
        name: "fixed 20",
        follows: "a limit of 20",
        knows: NOTHING,
        is_quick: true,
        make: |_, _| Box::new(Fixed(20)),
    },
    Contestant {
        name: "AIMD",
        follows: NETFLIX,
        knows: "the deadline, as its timeout",
        is_quick: false,
        make: |plant, _| Box::new(Aimd { l: plant.start, timeout: plant.deadline }),
    },
    Contestant {
        name: "Vegas",
        follows: NETFLIX,
        knows: NOTHING,
        is_quick: false,
        make: |plant, seed| Box::new(Vegas::new(plant.start, seed, false)),
    },
    Contestant {
        name: "Vegas 1 s",
        follows: NETFLIX,
        knows: NOTHING,
        is_quick: false,
        make: |plant, seed| Box::new(Windowed::new(Vegas::new(plant.start, seed, false))),
    },
    Contestant {
        name: "Vegas guarded",
        follows: "OpenSearch, as in the prototype",
        knows: NOTHING,
        is_quick: false,
        make: |plant, seed| Box::new(Vegas::new(plant.start, seed, true)),
    },
    Contestant {
        name: "Gradient2",
        follows: NETFLIX,
        knows: NOTHING,
        is_quick: false,
        make: |plant, _| Box::new(Gradient2::new(plant.start, 1.0)),
    },
    Contestant {
        name: "Gradient2 1 s",
        follows: NETFLIX,
        knows: NOTHING,
        is_quick: true,
        make: |plant, _| Box::new(Windowed::new(Gradient2::new(plant.start, 1.0))),
    },
    Contestant {
        name: "Envoy",
        follows: "Envoy's gradient controller, as in the prototype",
        knows: NOTHING,
        is_quick: true,
        make: |_, seed| Box::new(Envoy::new(seed)),
    },
    Contestant {
        name: "failsafe-go",
        follows: "failsafe-go's adaptive limiter, as in the prototype",
        knows: NOTHING,
        is_quick: true,
        make: |plant, _| Box::new(FailsafeGo::new(plant.start)),
    },
    Contestant {
        name: "ARC",
        follows: "Vector's adaptive request concurrency, as in the prototype",
        knows: NOTHING,
        is_quick: false,
        make: |plant, _| Box::new(Arc::new(plant.start)),
    },
    Contestant {
        name: "Slo",
        follows: "ours",
        knows: "the deadline: its target is half of it",
        is_quick: false,
        make: |plant, _| Box::new(Slo::new(plant.start, plant.deadline / 2.0)),
    },
    Contestant {
        name: "Knee",
        follows: "ours",
        knows: NOTHING,
        is_quick: true,
        make: |plant, _| Box::new(Knee::new(plant.start, Par::default())),
    },
];

struct Fixed(u32);

impl Controller for Fixed {
    fn sample(&mut self, _: &Sample) {}

    fn limit(&self) -> u32 {
        self.0
    }
}

/// Makes a limit that never changes.
pub fn fixed(limit: u32) -> Box<dyn Controller> {
    Box::new(Fixed(limit))
}
