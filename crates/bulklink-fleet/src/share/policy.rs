//! When a process states its condition, and how much of its share it keeps and uses.
//!
//! The limit does not depend on it: [`Share`] and [`Allocator`](super::Allocator) keep the limit
//! whatever a process decides.

use std::time::Duration;

use bulklink::Load;
use bulklink::runtime::Instant;

use super::{Demand, Share};

/// How a process uses its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Tuning {
    /// The time from one statement to the next, if nothing else is to be stated: 1 s.
    pub beat: Duration,
    /// How long units stay idle before they are given back, while other processes wait: 2 ms.
    pub linger: Duration,
    /// How long new units above the level can be used again and again, while other processes wait:
    /// 5 ms. With zero, they are used once.
    pub turn: Duration,
    /// The idle units to have for each 100 in use, while no process waits: 25. At least one, unless
    /// this is zero.
    pub headroom: u32,
}

impl Default for Tuning {
    fn default() -> Self {
        let (beat, linger, turn) = (Duration::from_secs(1), Duration::from_millis(2), Duration::from_millis(5));
        Self { beat, linger, turn, headroom: 25 }
    }
}

impl Tuning {
    /// Returns this tuning with another [`beat`](Tuning::beat).
    #[must_use]
    pub fn with_beat(self, beat: Duration) -> Self {
        Self { beat, ..self }
    }

    /// Returns this tuning with another [`linger`](Tuning::linger).
    #[must_use]
    pub fn with_linger(self, linger: Duration) -> Self {
        Self { linger, ..self }
    }

    /// Returns this tuning with another [`turn`](Tuning::turn).
    #[must_use]
    pub fn with_turn(self, turn: Duration) -> Self {
        Self { turn, ..self }
    }

    /// Returns this tuning with another [`headroom`](Tuning::headroom).
    #[must_use]
    pub fn with_headroom(self, headroom: u32) -> Self {
        Self { headroom, ..self }
    }

    /// Returns the tuning for mutual exclusion: a unit serves one call at a time, and is given back
    /// immediately while other processes wait.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { linger: Duration::ZERO, turn: Duration::ZERO, headroom: 0, ..self }
    }
}

/// What to do after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The ceiling of the bulkhead.
    pub ceiling: u32,
    /// The statement to send. The ceiling must be at most `keep` by then, and `keep` must be raised
    /// to the units that are in use by then.
    pub demand: Option<Demand>,
    /// When to look again, at the latest. If that is not in the future, immediately after the
    /// ceiling has been set.
    pub next: Option<Instant>,
}

/// Decides for one process and one name.
///
/// The caller looks after each message, after each change of the load that may matter, and at
/// [`Decision::next`].
#[derive(Clone, Debug)]
pub struct Policy {
    tuning: Tuning,
    /// The highest load in this window and in the last one, and when this one began.
    highest: u32,
    last_highest: u32,
    since: Instant,
    /// Units of calls that were rejected since the last statement.
    refused: u32,
    /// The units that were usable at the last look, less those given back then.
    seen: u32,
    /// New units above the level can be used until then.
    turn: Instant,
    beat: Instant,
    /// Whether a statement can be sent.
    is_connected: bool,
    /// A new connection is owed a statement.
    must_state: bool,
    /// Until then, nothing is granted: units that go back would serve no other process.
    fixed: Instant,
    /// The latest statement was refused.
    is_owed: bool,
}

/// The numbers of one look.
struct Look {
    now: Instant,
    /// The most units that the process can use at once.
    capacity: u32,
    in_use: u32,
    /// Units of the call that waits first.
    first: u32,
    load: u32,
    recent: u32,
    headroom: u32,
    usable: u32,
    ceiling: u32,
    is_tight: bool,
    /// Units do not move between processes now.
    are_fixed: bool,
    is_beat: bool,
}

impl Policy {
    /// Makes the policy of a process.
    pub fn new(tuning: Tuning) -> Self {
        Self {
            tuning,
            highest: 0,
            last_highest: 0,
            since: Instant::EPOCH,
            refused: 0,
            seen: 0,
            turn: Instant::EPOCH,
            beat: Instant::EPOCH,
            is_connected: true,
            must_state: true,
            fixed: Instant::EPOCH,
            is_owed: false,
        }
    }

    /// Notes that there is a new connection, or none, which it assumes that there is: the next look
    /// at a new one returns a statement, and without one none does.
    pub fn set_connected(&mut self, is_connected: bool) {
        (self.is_connected, self.must_state) = (is_connected, is_connected);
    }

    /// Nothing is granted until then.
    pub fn set_fixed(&mut self, until: Instant) {
        self.fixed = until;
    }

    /// Returns when the next statement is due in any case.
    pub(crate) fn next_beat(&self) -> Instant {
        self.beat
    }

    /// Notes a statement that was not of this policy.
    pub(crate) fn note_statement(&mut self, now: Instant, share: &Share) {
        let beat = share.longest_beat().map_or(self.tuning.beat, |longest| longest.min(self.tuning.beat));
        self.beat = now.saturating_add(beat);
    }

    /// The next look returns a statement.
    pub(crate) fn state_at_once(&mut self) {
        self.must_state = self.is_connected;
    }

    /// The latest statement has had no effect: the next beat states again, whatever the load is.
    pub(crate) fn set_owed(&mut self, is_owed: bool) {
        self.is_owed = is_owed;
    }

    /// Returns whether idle units are given back after a time. Otherwise, the caller looks at each
    /// end of an operation.
    pub fn lingers(&self) -> bool {
        !self.tuning.linger.is_zero()
    }

    /// Returns the ceiling, and whether to send a statement. `load` is that of the bulkhead.
    ///
    /// A process without units and without calls sends nothing.
    pub fn look(&mut self, now: Instant, load: &Load, share: &Share) -> Decision {
        let usable = share.usable(now);
        let has_grown = usable > self.seen;
        if has_grown {
            self.turn = now.saturating_add(self.tuning.turn);
        }
        self.seen = usable;
        let look = self.observe(now, load, share);
        if has_grown {
            // Admits waiting calls to all new units first: each is used once at least.
            return Decision { ceiling: usable, demand: None, next: Some(now) };
        }
        let keep = look.keep();
        let demand = self.is_due(&look, share, keep).then(|| self.state(&look, keep));
        if demand.is_some() {
            self.note_statement(now, share);
        }
        let ceiling = demand.map_or(look.ceiling, |demand| look.ceiling.min(demand.keep));
        Decision { ceiling, demand, next: self.next(&look, share) }
    }

    fn observe(&mut self, now: Instant, load: &Load, share: &Share) -> Look {
        let (capacity, in_use) = (units(load.capacity), units(load.in_use));
        self.refused = self.refused.saturating_add(units(load.refused));
        let current = in_use.saturating_add(units(load.waiting));
        let sum = current.saturating_add(self.refused).min(capacity);
        let are_fixed = now < self.fixed || !self.is_connected || self.must_state;
        let is_tight = share.firm().is_some() && !are_fixed;
        let window = if is_tight { self.tuning.linger } else { self.tuning.beat };
        let elapsed = now.saturating_since(self.since);
        if elapsed >= window {
            self.last_highest = if elapsed >= window.saturating_mul(2) { sum } else { self.highest };
            (self.highest, self.since) = (sum, now);
        }
        // Without a window, only the load of now counts: no later look would give units back.
        let peak = units(load.peak_in_use).saturating_add(units(load.peak_waiting)).min(capacity);
        let peak = if window.is_zero() { 0 } else { peak };
        self.highest = self.highest.max(sum).max(peak);
        let recent = self.highest.max(self.last_highest);
        let usable = share.usable(now);
        let firm = share.firm().filter(|_| is_tight && now >= self.turn).unwrap_or(u32::MAX);
        Look {
            now,
            capacity,
            in_use,
            first: units(load.first),
            load: sum,
            recent,
            headroom: self.headroom(recent),
            usable,
            ceiling: usable.min(firm),
            is_tight,
            are_fixed,
            is_beat: now >= self.beat,
        }
    }

    /// Returns the idle units to have. A process that had no call in two windows has none.
    fn headroom(&self, recent: u32) -> u32 {
        let part = (u64::from(recent) * u64::from(self.tuning.headroom)).div_ceil(100);
        u32::try_from(part).unwrap_or(u32::MAX)
    }

    fn is_due(&self, look: &Look, share: &Share, keep: u32) -> bool {
        if share.is_pending() || !self.is_connected {
            return false;
        }
        let stated = share.stated();
        let is_idle = look.usable == 0 && look.load == 0 && stated.is_empty() && !self.is_owed;
        let needs_more = look.load > look.usable
            && (stated.need <= look.usable || look.load >= stated.need.saturating_add((stated.need / 4).max(1)));
        let gives_back = look.is_tight && keep < look.usable;
        let is_free = stated.need > look.usable && share.due().is_some_and(|due| due <= look.now);
        // With the call that waits first now, fewer units may be enough than are stated.
        let needs_less = stated.least > look.usable && look.least() < stated.least;
        self.must_state || needs_less || look.is_beat && !is_idle || needs_more || gives_back || is_free
    }

    fn state(&mut self, look: &Look, keep: u32) -> Demand {
        let spare = if look.is_tight { 0 } else { look.recent.saturating_add(look.headroom).min(look.capacity) };
        (self.refused, self.must_state, self.seen) = (0, false, keep);
        Demand { keep, need: look.load, least: look.least(), spare: spare.saturating_sub(look.load) }
    }

    /// Returns the time after which something changes without any input.
    fn next(&self, look: &Look, share: &Share) -> Option<Instant> {
        let stated = share.stated();
        let is_idle = look.usable == 0 && look.load == 0 && stated.is_empty() && !self.is_owed;
        let lingers = look.is_tight && look.usable > look.in_use;
        let times = [
            (!is_idle).then_some(self.beat),
            lingers.then(|| self.since.saturating_add(self.tuning.linger)),
            look.is_tight.then_some(self.turn),
            share.firm().map(|_| self.fixed),
            share.due().filter(|_| stated.need > look.usable),
            share.deadline(),
        ];
        times.into_iter().flatten().filter(|time| *time > look.now).min()
    }
}

impl Look {
    /// Returns the units with which the process can go on.
    fn least(&self) -> u32 {
        // Any unit helps while operations run whose units were lost.
        let is_lost = self.in_use > self.usable;
        if self.first == 0 || is_lost { 0 } else { self.in_use.saturating_add(self.first).min(self.load) }
    }

    /// Returns the units to keep if a statement is sent now.
    fn keep(&self) -> u32 {
        let target = if self.are_fixed {
            self.usable
        } else if self.is_tight {
            self.ceiling.min(self.recent)
        } else if self.is_beat {
            self.recent.saturating_add(self.headroom)
        } else {
            self.usable
        };
        target.max(self.in_use).min(self.usable)
    }
}

/// A number of units: more are beyond any limit.
pub(crate) fn units(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProcessId;
    use crate::share::{Conflict, Declaration, Difference, Refusal, Terms};

    fn at(seconds: u64) -> Instant {
        Instant::EPOCH.saturating_add(Duration::from_secs(seconds))
    }

    #[test]
    fn a_statement_that_is_not_of_the_policy_puts_the_beat_off() {
        let mut share = Share::new(ProcessId::from(1), 1, Declaration::default()).yielding(true);
        let mut policy = Policy::new(Tuning::default());
        policy.note_statement(at(5), &share);
        assert_eq!(policy.next_beat(), at(6));
        // The fleet has a shorter claim, so that it would take a beat for silence.
        for (claim, beat) in [(1_000, 500), (1, 100)] {
            let terms = Terms { claim: Duration::from_millis(claim), ..Terms::default() };
            let fleet = Declaration { terms, ..share.declaration() };
            let difference = Difference::Claim { own: Terms::default().claim, fleet: terms.claim };
            let conflict = Conflict { fleet: fleet.into(), declarer: ProcessId::from(2), difference };
            assert!(share.refuse(&Refusal::Conflict(conflict)));
            policy.note_statement(at(5), &share);
            assert_eq!(policy.next_beat(), at(5).saturating_add(Duration::from_millis(beat)));
        }
    }

    #[test]
    fn a_statement_without_an_effect_is_owed_with_each_beat() {
        let share = Share::new(ProcessId::from(1), 1, Declaration::default());
        let mut policy = Policy::new(Tuning::default());
        let mut states = |seconds, is_owed| {
            policy.set_owed(is_owed);
            policy.look(at(seconds), &Load::default(), &share).demand.is_some()
        };
        assert!(states(0, false) && !states(1, false), "an idle process states nothing");
        assert!(states(2, true) && states(3, true) && !states(4, false));
    }
}
