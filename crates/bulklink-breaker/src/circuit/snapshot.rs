//! A circuit as plain values, for stores that keep it outside of the process.

use alloc::vec::Vec;

use bulklink::runtime::Instant;

use super::window::{Counts, Mark, PARTS, Window, index};
use super::{Circuit, Phase, Probe, ProbeId, Settings, State};

/// More calls than a part of a window ever has, and far from the largest number.
const MOST: u64 = 1 << 53;

/// All that decides in a circuit, beside its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The state, without the time: open until the first call after the cool-down.
    pub state: State,
    /// The number of transitions.
    pub generation: u64,
    /// The end of the cool-down. `None` if the circuit is not open, or was opened by hand.
    pub until: Option<Instant>,
    /// How often in a row the probes have failed.
    pub reopened: u32,
    /// The outcomes in a window of calls, the oldest first.
    pub marks: Vec<Mark>,
    /// The number of the newest part of a window of time.
    pub newest: u64,
    /// The parts of a window of time, the newest first.
    pub parts: Vec<Counts>,
    /// The probes that have succeeded.
    pub successes: u32,
    /// The probes that have failed.
    pub failures: u32,
    /// The probes that have not ended, and the end of their leases.
    pub probes: Vec<(Instant, ProbeId)>,
}

impl Circuit {
    /// Returns the circuit as values.
    #[doc(hidden)]
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot {
            state: self.phase_state(),
            generation: self.generation,
            until: None,
            reopened: self.reopened,
            marks: Vec::new(),
            newest: 0,
            parts: Vec::new(),
            successes: 0,
            failures: 0,
            probes: Vec::new(),
        };
        match &self.phase {
            Phase::Closed => {}
            Phase::Open { until } => snapshot.until = *until,
            Phase::HalfOpen { successes, failures, probes } => {
                (snapshot.successes, snapshot.failures) = (*successes, *failures);
                snapshot.probes = probes.iter().map(|probe| (probe.until, probe.id)).collect();
            }
        }
        match &self.window {
            Window::Calls { ended, spoilt, counts, .. } => {
                snapshot.marks.resize(usize::try_from(counts.calls).unwrap_or(0), Mark::default());
                for (before, mark) in spoilt {
                    let place = usize::try_from(before + counts.calls - ended);
                    if let Some(known) = place.ok().and_then(|place| snapshot.marks.get_mut(place)) {
                        *known = *mark;
                    }
                }
            }
            Window::Time { newest, parts, .. } => {
                snapshot.newest = *newest;
                snapshot.parts = (0..PARTS as u64).map(|age| parts[of_age(*newest, age)]).collect();
            }
        }
        snapshot
    }

    /// Makes a circuit of values. `None` if no circuit has these.
    #[doc(hidden)]
    #[must_use]
    pub fn restore(settings: Settings, snapshot: &Snapshot) -> Option<Self> {
        let Snapshot { state, generation, until, reopened, newest, successes, failures, .. } = *snapshot;
        let Snapshot { marks, parts, probes, .. } = snapshot;
        let has_probed = !probes.is_empty() || successes.max(failures) > 0;
        let phase = match state {
            State::Closed if until.is_none() && !has_probed => Phase::Closed,
            State::Open if !has_probed => Phase::Open { until },
            State::HalfOpen if until.is_none() && successes.max(failures) < u32::MAX => {
                let probes = probes.iter().map(|(until, id)| Probe { id: *id, until: *until }).collect();
                Phase::HalfOpen { successes, failures, probes }
            }
            _ => return None,
        };
        let mut window = Window::new(&settings);
        match &mut window {
            Window::Calls { size, ended, spoilt, counts } => {
                if marks.len() as u64 > *size || !parts.is_empty() {
                    return None;
                }
                for mark in marks {
                    if *mark != Mark::default() {
                        spoilt.push_back((*ended, *mark));
                    }
                    *counts += (*mark).into();
                    *ended += 1;
                }
            }
            Window::Time { newest: last, parts: kept, .. } => {
                let is_small = |part: &Counts| part.calls.max(part.failures).max(part.slow) <= MOST;
                if parts.len() != PARTS || !parts.iter().all(is_small) || !marks.is_empty() || newest > MOST {
                    return None;
                }
                *last = newest;
                for (age, part) in parts.iter().enumerate() {
                    kept[of_age(newest, age as u64)] = *part;
                }
            }
        }
        let circuit = Self::in_generation(settings, generation).ok()?;
        (generation <= MOST).then_some(Circuit { phase, reopened, window, ..circuit })
    }
}

/// The place of the part that is so much older than the newest.
fn of_age(newest: u64, age: u64) -> usize {
    index(newest + PARTS as u64 - age)
}
