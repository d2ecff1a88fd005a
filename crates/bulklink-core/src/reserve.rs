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
    /// Follows the calls without a reserve of their own. One that ends at or after its deadline
    /// increases the reserve by 9.9 %, up to 90 % of its own time and unless it has run for all of
    /// that; one that ends in time after a long wait reduces it by 0.1 %, and to 90 % of its own
    /// time at most. So about one such call in a hundred ends late. It begins with a quarter of the
    /// first call's time.
    #[default]
    ByLateness,
    /// Always this much.
    Fixed(Duration),
    /// Nothing: calls are admitted up to their deadline.
    None,
}

/// The reserve of one gate, in nanoseconds. If it follows lateness, the highest bit is set; it is
/// zero then before the first call with a deadline.
#[derive(Debug)]
pub(crate) struct ReserveState(u64);

const FOLLOWS: u64 = 1 << 63;

impl ReserveState {
    pub(crate) const fn new(reserve: Reserve) -> Self {
        ReserveState(match reserve {
            Reserve::ByLateness => FOLLOWS,
            Reserve::Fixed(fixed) if nanos(fixed) < FOLLOWS => nanos(fixed),
            Reserve::Fixed(_) => FOLLOWS - 1,
            Reserve::None => 0,
        })
    }

    pub(crate) const fn nanos(&self) -> u64 {
        self.0 & !FOLLOWS
    }

    const fn follows(&self) -> bool {
        self.0 & FOLLOWS != 0
    }

    /// Returns what is kept for the operation, of a call that has `budget` nanoseconds in all.
    pub(crate) fn keep(&self, own: Option<u64>, budget: u64) -> u64 {
        let present = if self.0 == FOLLOWS { first(budget) } else { self.nanos() };
        own.unwrap_or(present).min(share(budget, MOST_KEPT))
    }

    /// Begins with the first call that is admitted or queued, if the reserve follows lateness.
    pub(crate) fn begin(&mut self, budget: u64) {
        if self.0 == FOLLOWS {
            self.0 |= first(budget);
        }
    }

    /// Learns from the end of a call. Returns whether the call ended late.
    pub(crate) fn learn(&mut self, call: &Call, now: Instant) -> bool {
        let is_late = now >= call.end;
        let budget = call.end.nanos_since(call.entered);
        // A hold longer than the whole budget says nothing about the wait.
        if self.follows() && call.by_gate && call.hold_nanos(now) < budget {
            let present = self.nanos();
            if is_late {
                let more = present + share(present, GROWTH).max(1);
                self.0 = FOLLOWS | more.min(share(budget, MOST_LEARNT)).max(present);
            } else if call.waited_nanos > call.wait_end.nanos_since(call.entered) / 2 {
                // This call shows that no more than its own time is needed.
                let present = present.min(share(budget, MOST_LEARNT).max(1));
                self.0 = FOLLOWS | (present - share(present, DECAY)).max(1);
            }
        }
        is_late
    }
}

/// Returns the reserve that a first call begins with.
fn first(budget: u64) -> u64 {
    (budget / 4).max(1)
}

/// Parts of 1,024: about 95 %, 90 %, 9.9 % and 0.1 %.
const MOST_KEPT: u64 = 972;
const MOST_LEARNT: u64 = 921;
const GROWTH: u64 = 101;
const DECAY: u64 = 1;

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
        ReserveState(FOLLOWS | nanos)
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
    fn the_reserve_follows_lateness() {
        assert_eq!(learnt(CALL, 1_099_999), (false, 19_981), "in time, after a long wait");
        assert_eq!(learnt(Call { waited_nanos: 40_000, ..CALL }, 1_099_999), (false, 20_000), "after a short wait");
        assert_eq!(learnt(CALL, 1_100_000), (true, 21_972), "late");
        assert_eq!(learnt(CALL, 1_159_999).1, 21_972, "late by much");
        assert_eq!(learnt(CALL, 1_160_000), (true, 20_000), "a hold as long as the whole budget");
        assert_eq!(learnt(Call { by_gate: false, ..CALL }, 1_100_000), (true, 20_000), "the call's own reserve");
    }

    #[test]
    fn the_reserve_grows_up_to_nine_tenths_of_the_budget() {
        let mut reserve = following(85_000);
        for _ in 0..3 {
            reserve.learn(&CALL, Instant::from_nanos(1_100_000));
            assert_eq!(reserve.nanos(), share(100_000, MOST_LEARNT));
        }
        let mut reserve = following(95_000);
        reserve.learn(&CALL, Instant::from_nanos(1_100_000));
        assert_eq!(reserve.nanos(), 95_000, "a call with less time does not reduce it");
    }

    #[test]
    fn what_is_kept_is_limited_by_the_budget() {
        let mut reserve = ReserveState::new(Reserve::ByLateness);
        assert_eq!(reserve.keep(Some(7), 100), 7);
        assert_eq!(reserve.keep(None, 100), 25, "a quarter at first");
        assert_eq!(reserve.nanos(), 0, "the call may still be rejected");
        reserve.begin(100);
        reserve.begin(1_000);
        assert_eq!(reserve.keep(None, 20), share(20, MOST_KEPT));
        assert_eq!(reserve.nanos(), 25);
        assert_eq!(ReserveState::new(Reserve::Fixed(Duration::from_nanos(9))).keep(None, 100), 9);
        assert_eq!(ReserveState::new(Reserve::None).keep(None, 100), 0);
        assert_eq!(ReserveState::new(Reserve::Fixed(Duration::MAX)).nanos(), FOLLOWS - 1);
    }

    #[test]
    fn a_call_in_time_shows_that_no_more_than_its_time_is_needed() {
        let mut reserve = following(1 << 50);
        reserve.learn(&CALL, Instant::from_nanos(1_099_999));
        let most = share(100_000, MOST_LEARNT);
        assert_eq!(reserve.nanos(), most - share(most, DECAY));
    }
}
