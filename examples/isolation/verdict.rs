//! The condition for a successful run: with bulkheads, the healthy route stays healthy.

use std::time::Duration;

use crate::tally::Tally;

/// A p99 up to this bound counts as undisturbed even if the unloaded p99 is tiny, because a shared
/// machine is noisier than that.
const FLOOR: Duration = Duration::from_millis(50);

/// Compares the healthy route unloaded with the same route protected under overload.
pub(crate) fn check(unloaded: &Tally, protected: &Tally) -> Result<(), String> {
    check_success(protected.successes(), protected.requests())?;
    check_p99(unloaded.percentile(99), protected.percentile(99))
}

fn check_success(successes: usize, requests: usize) -> Result<(), String> {
    if requests > 0 && successes * 100 >= requests * 99 {
        return Ok(());
    }
    Err(format!("with bulkheads, only {successes} of {requests} requests on the healthy route succeeded: under 99 %"))
}

fn check_p99(unloaded: Duration, protected: Duration) -> Result<(), String> {
    let bound = FLOOR.max(3 * unloaded);
    if protected <= bound {
        return Ok(());
    }
    Err(format!(
        "with bulkheads, the healthy route's p99 was {protected:.1?}: over {bound:.1?}, the larger of {FLOOR:?} and \
         3 times its unloaded {unloaded:.1?}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn success_must_reach_99_percent() {
        assert!(check_success(1_000, 1_000).is_ok());
        assert!(check_success(990, 1_000).is_ok());
        assert!(check_success(989, 1_000).is_err());
        assert!(check_success(0, 0).is_err());
    }

    #[test]
    fn p99_may_reach_the_floor_or_three_times_unloaded() {
        assert!(check_p99(millis(1), millis(50)).is_ok());
        assert!(check_p99(millis(1), millis(51)).is_err());
        assert!(check_p99(millis(20), millis(60)).is_ok());
        assert!(check_p99(millis(20), millis(61)).is_err());
    }

    #[test]
    fn a_refusal_says_the_numbers() {
        let why = check_p99(millis(20), millis(61)).unwrap_err();
        assert!(why.contains("61.0ms") && why.contains("60.0ms"), "{why}");
    }
}
