//! Which rejections were certainly false.

use super::{Call, Nanos, Outcome};

/// What may have been on the server from an instant on.
#[derive(Clone, Copy, Default)]
struct Level {
    units: i64,
    waiters: i64,
}

/// Returns the places of the calls that were refused because no unit is free, although there
/// certainly was one, and certainly no call waited.
pub fn false_rejections(calls: &[Call], limit: u64) -> Vec<usize> {
    let levels = levels(calls);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let is_false = |call: &Call| {
        let (Outcome::Saturated, Some(end)) = (&call.outcome, call.end) else { return false };
        if call.waits {
            return false;
        }
        let cost = i64::from(call.cost);
        let first = levels.partition_point(|(time, _)| *time <= call.start).saturating_sub(1);
        let during = levels[first..].iter().take_while(|(time, _)| *time <= end);
        during.into_iter().all(|(_, level)| level.units + cost <= limit && level.waiters == 0)
    };
    (0..calls.len()).filter(|place| is_false(&calls[*place])).collect()
}

/// The most that can have been there, as steps. The first step is before all calls.
fn levels(calls: &[Call]) -> Vec<(Nanos, Level)> {
    let mut changes = Vec::new();
    let mut add = |from: Nanos, until: Option<Nanos>, units: i64, waiters: i64| {
        changes.push((from, units, waiters));
        // The last instant counts.
        changes.extend(until.map(|until| (until + 1, -units, -waiters)));
    };
    for call in calls {
        if call.outcome != Outcome::Saturated {
            add(call.start, call.gone, i64::from(call.cost), 0);
        }
        if call.waits {
            add(call.start, call.end.or(call.gone), 0, 1);
        }
    }
    changes.sort_unstable_by_key(|(time, ..)| *time);
    let mut levels = vec![(0, Level::default())];
    for (time, units, waiters) in changes {
        let last = levels[levels.len() - 1];
        let level = Level { units: last.1.units + units, waiters: last.1.waiters + waiters };
        if last.0 == time {
            levels.pop();
        }
        levels.push((time, level));
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NONE, admitted, call, waiting};
    use super::*;

    fn found(calls: &[Call], limit: u64) -> Vec<usize> {
        false_rejections(calls, limit)
    }

    #[test]
    fn a_rejection_with_room_throughout_is_false() {
        let rejected = call(9, 100, 110, Outcome::Saturated);
        assert_eq!(found(std::slice::from_ref(&rejected), 1), [0]);
        let before = admitted(1, [0, 10, 20, 99]);
        let after = admitted(2, [111, 120, 130, 140]);
        assert_eq!(found(&[before, after, rejected.clone()], 1), [2]);
        // Another rejection takes no room.
        assert_eq!(found(&[call(8, 90, 120, Outcome::Saturated), rejected], 1), [0, 1]);
    }

    #[test]
    fn a_lease_that_may_be_there_for_a_moment_of_the_attempt_excuses_it() {
        let rejected = call(9, 100, 110, Outcome::Saturated);
        for other in [[0, 10, 20, 100], [110, 120, 130, 140], [0, 10, 105, 120], [102, 103, 104, 105]] {
            let calls = [admitted(1, other), rejected.clone()];
            assert_eq!(found(&calls, 1), NONE, "{other:?}");
            // With one unit more it is no excuse.
            assert_eq!(found(&calls, 2), [1], "{other:?}");
        }
        // Two that follow each other are one at a time.
        let calls = [admitted(1, [0, 10, 20, 104]), admitted(1, [105, 106, 107, 120]), rejected];
        assert_eq!((found(&calls, 1), found(&calls, 2)), (vec![], vec![2]));
    }

    #[test]
    fn costs_count() {
        let large = Call { cost: 3, ..call(9, 100, 110, Outcome::Saturated) };
        let calls = [admitted(1, [0, 10, 200, 210]), large];
        assert_eq!((found(&calls, 3), found(&calls, 4)), (vec![], vec![1]));
    }

    #[test]
    fn what_is_unknown_may_be_there_for_ever() {
        let rejected = call(9, 100, 110, Outcome::Saturated);
        let unknown = Call { end: None, gone: None, ..call(1, 0, 0, Outcome::Unknown) };
        let refused = Call { gone: None, ..call(1, 0, 10, Outcome::Refused) };
        for other in [unknown, refused] {
            assert_eq!(found(&[other.clone(), rejected.clone()], 1), NONE);
            let gone = Call { gone: Some(99), ..other };
            assert_eq!(found(&[gone, rejected.clone()], 1), [1]);
        }
    }

    #[test]
    fn a_waiter_excuses_it_and_a_call_that_waited_is_not_judged() {
        let rejected = call(9, 100, 110, Outcome::Saturated);
        let waiter = waiting(admitted(1, [90, 105, 106, 107]));
        assert_eq!(found(&[waiter.clone(), rejected.clone()], 5), NONE);
        let admitted_before = waiting(admitted(1, [90, 99, 106, 107]));
        assert_eq!(found(&[admitted_before, rejected.clone()], 5), [1]);
        assert_eq!(found(&[waiting(rejected)], 5), NONE);
    }
}
