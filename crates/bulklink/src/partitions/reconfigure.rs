//! Changing the limits of all partitions, under their lock.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bulklink_core::{Instant, InvalidArgument, Limits, Occupancy};

use super::state::{Changed, LimitsFor, PartitionsState};
use crate::Reconfigured;
use crate::gate::outputs::Undelivered;
use crate::gate::shared::{LimitsRefused, Shared};
use crate::gate::state::GateState;
use crate::reconfigure::{Refused, invalid};

/// A partition and the limits that it gets.
struct Target {
    shared: Arc<Shared>,
    limits: Limits,
}

/// Limits that partitions cannot have, with the largest cost of a waiter of such a partition. Those
/// of a key differ from the common ones.
struct Faults {
    common: Limits,
    found: Vec<(Limits, usize)>,
}

impl<K> PartitionsState<K> {
    /// Changes the limits of all partitions, present and future. `before` are those of a new one.
    /// Returns what changed, or the reason why nothing did, and the outputs to deliver.
    pub(super) fn reconfigure(
        &mut self,
        before: &Changed,
        limits: &Limits,
        limits_for: Option<&LimitsFor<K>>,
        now: Instant,
    ) -> (Result<Reconfigured, Refused>, Vec<Undelivered>) {
        let (judged, mut deliveries) = self.judge(limits, limits_for, now);
        let changed = judged.and_then(|(unused, targets)| {
            let (admitted, keys_changed) = change(limits, &targets, now, &mut deliveries)?;
            let identity = Arc::new(before.identity.with_unused(unused));
            self.changed = Some(Changed { each: *limits, identity });
            Ok(Reconfigured { previous: before.each, limits: *limits, admitted, keys_changed })
        });
        (changed, deliveries)
    }

    /// Returns the reason why the limits could not be changed so, if there is one, and the outputs
    /// to deliver.
    pub(super) fn check(
        &mut self,
        limits: &Limits,
        limits_for: Option<&LimitsFor<K>>,
        now: Instant,
    ) -> (Result<(), Refused>, Vec<Undelivered>) {
        let (judged, deliveries) = self.judge(limits, limits_for, now);
        (judged.map(drop), deliveries)
    }

    /// Returns the occupancy of a new partition, and the limits that each of the others gets, if
    /// all are valid.
    #[expect(clippy::type_complexity, reason = "an answer, and the outputs that all inputs have")]
    fn judge(
        &mut self,
        limits: &Limits,
        limits_for: Option<&LimitsFor<K>>,
        now: Instant,
    ) -> (Result<(Occupancy, Vec<Target>), Refused>, Vec<Undelivered>) {
        if self.account.is_closed() {
            return (Err(Refused::Closed), Vec::new());
        }
        let (unused, mut faults) = (limits.validate(), Faults::new(limits));
        faults.find(limits, 0);
        // Foreign code, so before anything changes. It gets valid limits only.
        let limits_for = limits_for.filter(|_| unused.is_ok());
        let of = |key| limits_for.map_or(*limits, |limits_for| limits_for(key, *limits));
        let targets: Vec<_> =
            self.partitions().map(|kept| Target { shared: Arc::clone(&kept.shared), limits: of(&kept.key) }).collect();
        // All are checked before the first is changed.
        let deliveries = give_all(&targets, now, |target, state| {
            state.advance(Some(now));
            faults.find(&target.limits, state.gate.largest_waiting_cost());
        });
        match unused {
            Ok(unused) if faults.found.is_empty() => (Ok((unused, targets)), deliveries),
            _ => (Err(Refused::Invalid(faults.reasons())), deliveries),
        }
    }
}

/// Returns the number of waiters that this admits, and whether it changed any limits. A call that
/// has its lease can begin to wait meanwhile. So it can ask for more units than a partition has
/// after shrinking: these shrink first, and if one cannot, the others get their limits back, which
/// no waiter prevents.
fn change(
    common: &Limits,
    targets: &[Target],
    now: Instant,
    deliveries: &mut Vec<Undelivered>,
) -> Result<(usize, bool), Refused> {
    let (mut changed, mut shrunk, mut faults) = ((0, false), Vec::new(), Faults::new(common));
    deliveries.extend(give_all(targets, now, |Target { shared, limits }, state| {
        if !faults.found.is_empty() || state.gate.limits().capacity <= limits.capacity {
            return;
        }
        match shared.set_limits(state, limits, now) {
            Ok(changed) => shrunk.push(Target { shared: Arc::clone(shared), limits: changed.previous }),
            Err(LimitsRefused::Closed) => {}
            Err(LimitsRefused::Invalid { largest_cost }) => faults.find(limits, largest_cost),
        }
    }));
    if !faults.found.is_empty() {
        deliveries.extend(give_all(&shrunk, now, |Target { shared, limits }, state| {
            // Not refused: these were the limits until now.
            let _ = shared.set_limits(state, limits, now);
        }));
        return Err(Refused::Invalid(faults.reasons()));
    }
    deliveries.extend(give_all(targets, now, |Target { shared, limits }, state| {
        if let Ok(set) = shared.set_limits(state, limits, now) {
            changed = (changed.0 + set.admitted, changed.1 || set.has_changed());
        }
    }));
    // Those that shrank had others before.
    changed.1 |= !shrunk.is_empty();
    Ok(changed)
}

/// Gives an input to all these partitions. Returns the outputs to deliver.
fn give_all(targets: &[Target], now: Instant, mut input: impl FnMut(&Target, &mut GateState)) -> Vec<Undelivered> {
    targets.iter().flat_map(|target| target.shared.input_undelivered(now, |state| input(target, state))).collect()
}

impl Faults {
    fn new(common: &Limits) -> Self {
        Faults { common: *common, found: Vec::new() }
    }

    /// Adds the limits if a partition with a waiter of this cost cannot have them.
    fn find(&mut self, limits: &Limits, largest_cost: usize) {
        if invalid(limits, largest_cost).next().is_none() {
            return;
        }
        match self.found.iter_mut().find(|(known, _)| known == limits) {
            Some((_, cost)) => *cost = largest_cost.max(*cost),
            None => self.found.push((*limits, largest_cost)),
        }
    }

    /// Returns each reason once.
    fn reasons(&self) -> Vec<InvalidArgument> {
        let mut reasons = Vec::new();
        for (limits, cost) in &self.found {
            for reason in invalid(limits, *cost) {
                let reason = if *limits == self.common { reason } else { reason.of("limits of a key") };
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
        reasons
    }
}
