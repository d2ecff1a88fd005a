//! How many units were certainly held at the same time.

use super::{Call, Nanos};

/// The instant at which most units were certainly held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// How many.
    pub units: u64,
    /// When that began.
    pub at: Nanos,
    /// The places of the calls that held them.
    pub calls: Vec<usize>,
}

/// Returns the largest number of units that were certainly held at the same time.
pub fn peak(calls: &[Call]) -> Peak {
    let mut steps = Vec::new();
    for call in calls {
        let Some((hold, end)) = call.admitted() else { continue };
        // A permit that its holder never found valid certainly overlaps nothing.
        if hold.valid_until > end {
            steps.push((end, i64::from(call.cost)));
            steps.push((hold.valid_until, -i64::from(call.cost)));
        }
    }
    // Of one instant, ends come first: one that begins where another ends does not overlap it.
    steps.sort_unstable();
    let (mut units, mut best, mut at) = (0, 0, 0);
    for (time, change) in steps {
        units += change;
        if units > best {
            (best, at) = (units, time);
        }
    }
    let holds = |call: &Call| call.admitted().is_some_and(|(hold, end)| end <= at && at < hold.valid_until);
    let calls = (0..calls.len()).filter(|place| holds(&calls[*place])).collect();
    Peak { units: best.unsigned_abs(), at, calls }
}

#[cfg(test)]
mod tests {
    use super::super::tests::admitted;
    use super::super::{Outcome, tests::call};
    use super::*;

    #[test]
    fn what_overlaps_is_counted_with_its_cost() {
        let mut calls = vec![admitted(1, [0, 10, 30, 40]), admitted(2, [0, 20, 50, 60]), admitted(3, [0, 29, 31, 40])];
        assert_eq!(peak(&calls), Peak { units: 3, at: 29, calls: vec![0, 1, 2] });
        calls[2].cost = 4;
        assert_eq!(peak(&calls).units, 6);
    }

    #[test]
    fn what_only_may_overlap_is_not_counted() {
        // The second was granted while the first released, and that one's command was on its way.
        let calls = [admitted(1, [0, 10, 30, 90]), admitted(2, [0, 30, 50, 60])];
        assert_eq!(peak(&calls).units, 1);
        // Both asked, and none had its answer while the other held.
        assert_eq!(peak(&[admitted(1, [0, 10, 20, 21]), admitted(2, [5, 25, 30, 31])]).units, 1);
    }

    #[test]
    fn a_permit_that_was_never_seen_valid_and_a_rejection_hold_nothing() {
        let calls = [admitted(1, [0, 10, 10, 90]), call(2, 0, 10, Outcome::Saturated)];
        assert_eq!(peak(&calls), Peak::default());
    }
}
