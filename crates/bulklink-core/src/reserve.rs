//! The reserve: the part of a call's time that its wait must leave to the operation.

use core::time::Duration;

use crate::Instant;
use crate::calls::Call;
use crate::instant::nanos;

/// How much time the wait of a call with a [deadline](crate::Request::deadline) must leave to the
/// operation itself.
///
/// A call that is admitted a millisecond before its deadline only wastes the slot. So its wait ends
/// earlier: by the reserve, but never before 5 % of the call's time have passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reserve {
    /// Learns from the calls without a reserve of their own how long operations take, so that about
    /// one in a hundred ends late. Until the first of them ends, each leaves a quarter of its time;
    /// then the reserve is the time of that operation. From then on, an operation that takes as
    /// long or longer increases it by 9.9 %, and so does one that ends late after more than half of
    /// it. Any other reduces it: by 0.1 % after a long wait, by 1.6 % after a short one. A wait is
    /// long that exceeds the reserve, or half of what it may be. So the reserve is what all
    /// operations but one in a hundred need where calls wait long, and less where they hardly wait.
    ///
    /// After a bad time it comes down within some fifty calls that hardly wait. No deadline changes
    /// it, however far away. An operation that takes 95 % of its call's time teaches nothing.
    #[default]
    Learnt,
    /// Always this much.
    Fixed(Duration),
    /// Nothing: calls are admitted up to their deadline.
    None,
}

/// The reserve of one gate, in nanoseconds. If it is learnt, the highest bit is set; it is zero
/// then before the first end of a call with a deadline.
#[derive(Debug)]
pub(crate) struct ReserveState(u64);

const LEARNT: u64 = 1 << 63;

impl ReserveState {
    pub(crate) const fn new(reserve: Reserve) -> Self {
        ReserveState(match reserve {
            Reserve::Learnt => LEARNT,
            Reserve::Fixed(fixed) if nanos(fixed) < LEARNT => nanos(fixed),
            Reserve::Fixed(_) => LEARNT - 1,
            Reserve::None => 0,
        })
    }

    pub(crate) const fn nanos(&self) -> u64 {
        self.0 & !LEARNT
    }

    const fn is_learnt(&self) -> bool {
        self.0 & LEARNT != 0
    }

    /// Returns what is kept for the operation, of a call that has `budget` nanoseconds in all.
    pub(crate) fn keep(&self, own: Option<u64>, budget: u64) -> u64 {
        let present = if self.0 == LEARNT { (budget / 4).max(1) } else { self.nanos() };
        own.unwrap_or(present).min(share(budget, MOST_KEPT))
    }

    /// Learns from the end of a call. Returns whether the call ended late.
    pub(crate) fn learn(&mut self, call: &Call, now: Instant) -> bool {
        let is_late = now >= call.end;
        let (budget, hold) = (call.end.nanos_since(call.entered), call.hold_nanos(now));
        // A longer hold says nothing about the wait, which may always take the rest.
        if self.is_learnt() && call.by_gate && hold < share(budget, MOST_KEPT) {
            let present = self.nanos();
            let next = if present == 0 {
                hold
            } else if hold >= present || is_late && hold > present / 2 {
                // A hold that ends late may have been cut there.
                present + share(present, GROWTH).max(1)
            } else {
                // Else those with much time would say of any wait that it was short.
                let long = present.min(call.wait_end.nanos_since(call.entered) / 2);
                present - share(present, if call.waited_nanos > long { DECAY } else { DECAY_AT_REST })
            };
            self.0 = LEARNT | next.max(1);
        }
        is_late
    }
}

/// Parts of 1,024: about 95 %, 9.9 %, 0.1 % and 1.6 %.
const MOST_KEPT: u64 = 972;
const GROWTH: u64 = 101;
const DECAY: u64 = 1;
const DECAY_AT_REST: u64 = 16;

/// Returns `parts` ÷ 1,024 of `whole`, which counts as 2⁵³ ns (104 days) at most. A shift in place
/// of a division, which takes much code on a microcontroller.
fn share(whole: u64, parts: u64) -> u64 {
    (whole.min(1 << 53) * parts) >> 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_exact_to_its_parts_and_never_overflows() {
        assert_eq!((share(1 << 10, DECAY), share(1_000_000, GROWTH)), (1, 98_632));
        assert!(share(u64::MAX, MOST_KEPT) < 1 << 53);
    }

    fn following(nanos: u64) -> ReserveState {
        ReserveState(LEARNT | nanos)
    }

    /// A call with 100 µs in all, which has waited for 60 µs of 80.
    const CALL: Call = Call {
        entered: Instant::from_nanos(1_000_000),
        wait_end: Instant::from_nanos(1_080_000),
        end: Instant::from_nanos(1_100_000),
        waited_nanos: 60_000,
        kept_nanos: 20_000,
        by_gate: true,
        grant: None,
    };

    fn learnt(call: Call, end: u64) -> (bool, u64) {
        let mut reserve = following(20_000);
        let is_late = reserve.learn(&call, Instant::from_nanos(end));
        (is_late, reserve.nanos())
    }

    #[test]
    fn the_reserve_follows_holds_and_the_wait_says_how_fast() {
        let waited = |waited_nanos| Call { waited_nanos, ..CALL };
        assert_eq!(learnt(waited(60_000), 1_079_999), (false, 19_981), "a shorter hold, after a long wait");
        assert_eq!(learnt(waited(20_001), 1_040_000), (false, 19_981), "after a wait longer than the reserve");
        assert_eq!(learnt(waited(20_000), 1_039_999), (false, 19_688), "after a short wait");
        let soon = Call { wait_end: Instant::from_nanos(1_030_000), ..CALL };
        let after = |waited_nanos| learnt(Call { waited_nanos, grant: None, ..soon }, 1_030_000).1;
        assert_eq!((after(15_000), after(15_001)), (19_688, 19_981), "half of a wait of 30 µs");
        assert_eq!(learnt(waited(60_000), 1_080_000), (false, 21_972), "a hold as long as the reserve");
        assert_eq!(learnt(waited(89_999), 1_100_000), (true, 21_972), "late after more than half of it");
        assert_eq!(learnt(waited(90_000), 1_100_000), (true, 19_981), "late after half of it");
        assert_eq!(learnt(waited(0), 1_094_920), (false, 21_972), "a hold of nearly 95 % of the budget");
        assert_eq!(learnt(waited(0), 1_094_921), (false, 20_000), "a hold of 95 %");
        assert_eq!(learnt(waited(60_000), 1_160_000), (true, 20_000), "a hold of more than the budget");
        assert_eq!(learnt(Call { by_gate: false, ..CALL }, 1_100_000), (true, 20_000), "the call's own reserve");
    }

    #[test]
    fn the_first_hold_is_the_reserve() {
        for (end, reserve) in [(1_060_000, 1), (1_060_007, 7), (1_120_000, 60_000)] {
            let mut first = ReserveState::new(Reserve::Learnt);
            first.learn(&CALL, Instant::from_nanos(end));
            assert_eq!(first.nanos(), reserve);
            assert_eq!(first.keep(None, 100_000), reserve);
        }
    }

    #[test]
    fn a_reserve_of_one_nanosecond_grows_and_never_becomes_none() {
        let mut reserve = following(1);
        reserve.learn(&Call { waited_nanos: 0, ..CALL }, CALL.entered);
        assert_eq!(reserve.nanos(), 1);
        reserve.learn(&CALL, Instant::from_nanos(1_060_001));
        assert_eq!(reserve.nanos(), 2);
    }

    #[test]
    fn what_is_kept_is_limited_by_the_budget() {
        let learning = ReserveState::new(Reserve::Learnt);
        assert_eq!(learning.keep(Some(7), 100), 7);
        assert_eq!((learning.keep(None, 100), learning.keep(None, 3)), (25, 1), "a quarter at first");
        assert_eq!(learning.nanos(), 0);
        assert_eq!(following(25).keep(None, 20), share(20, MOST_KEPT));
        assert_eq!(ReserveState::new(Reserve::Fixed(Duration::from_nanos(9))).keep(None, 100), 9);
        assert_eq!(ReserveState::new(Reserve::None).keep(None, 100), 0);
        assert_eq!(ReserveState::new(Reserve::Fixed(Duration::MAX)).nanos(), LEARNT - 1);
    }
}
