//! The reserve: the part of a call's time that its wait must leave to the operation.

use core::time::Duration;

use crate::fork::Fork;
use crate::instant::nanos;
use crate::limit::Outcome;
use crate::{Grant, Instant};

/// How much time the wait of a call with a [deadline](crate::Request::deadline) must leave to the
/// operation itself.
///
/// A call that is admitted a millisecond before its deadline only wastes the slot. So its wait ends
/// earlier: by the reserve, but never before 5 % of the call's time have passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reserve {
    /// Learns from the calls without a reserve of their own how long operations take, so that about
    /// one in a hundred ends late.
    ///
    /// Until it has learnt, each call leaves a quarter of its time; from then on, a sixteenth at
    /// least. An operation that takes less than that teaches nothing, unless the reserve is longer,
    /// nor does one that takes 95 % of its call's time. The first one that teaches is the reserve,
    /// and the second one if it is shorter; but no operation that takes less than a sixteenth of
    /// its call's time is counted as either, it only makes the reserve this sixteenth.
    ///
    /// Then an operation that takes as long or longer increases the reserve by 9.9 %, or by 9.9 %
    /// of itself, up to 39 %. One that ends late after more than half of it increases it, too. Any
    /// other reduces it: by 1.6 %, but not by more than an eighth of the time it took; if its call
    /// has waited, by 0.1 %, but not by more than a 128th.
    ///
    /// A call that it rejects reduces it by an eighth if others have been admitted since it has
    /// rejected another one, at least 32 times its length before. Of that time, 32 times the length
    /// of each operation that has taught it meanwhile is subtracted. So it comes down too where
    /// calls that teach nothing leave those with a deadline no slot.
    ///
    /// # What others can do to it
    ///
    /// It takes time in slots to reduce the reserve. Calls that are quick, or dropped at once, do
    /// not make others late, however many they are and whatever their deadlines; only with the
    /// first few calls of a bulkhead, of which it knows nothing yet, they can. Where calls wait,
    /// others that take a tenth as much time in slots, steadily or without deadlines, make at most
    /// one more in a hundred late. But where calls come rarely, or in bursts, others that have used
    /// slots since reduce it by up to an eighth of that time, and the first calls then can be late.
    ///
    /// It takes operations as long as the reserve to increase it. The time of a call that has more
    /// than 16 times the reserve and 16 times the time of its operation makes no difference. But
    /// where others come in bursts and hardly in between, a single client whose operations are
    /// always long can keep it at their length; calls with less time than that wait for only 5 % of
    /// it.
    ///
    /// It is one number. Where operations are of two kinds and come in bursts, up to four of a
    /// hundred calls end late, mostly those of the slower kind: two bulkheads, or
    /// [`Request::leaving`](crate::Request::leaving), serve both better.
    ///
    /// After a bad time, the reserve halves with each 45 calls that do not wait, or, if these are
    /// quick, once they have used slots for four times its length.
    #[default]
    Learnt,
    /// Always this much.
    Fixed(Duration),
    /// Nothing: calls are admitted up to their deadline.
    None,
}

/// The reserve of one gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReserveState {
    /// In nanoseconds. If it is learnt, the highest bit is set; it is zero then until a call
    /// teaches it, and while only one has, the next bit is set.
    bits: u64,
    /// Since when calls have been rejected for its sake while none has taught it. A call that
    /// teaches moves it forward.
    untaught: Instant,
    /// How many calls had been admitted then.
    admitted: u64,
}

/// A call that is accounted for by itself.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) entered: Instant,
    /// When the whole call is to be over: a call that ends then or later is late. The far future
    /// for a call without a deadline.
    pub(crate) end: Instant,
    pub(crate) waited_nanos: u64,
    /// The time that was kept for the operation, if its wait ends that long before its end; else
    /// [`NOT_KEPT`](Call::NOT_KEPT).
    pub(crate) kept_nanos: u64,
    /// Whether the gate's reserve applied, and not the request's own.
    pub(crate) by_gate: bool,
    /// How its operation ended; `None` if it can be cancelled, and its caller has not set it.
    pub(crate) outcome: Option<Outcome>,
    /// The gate's grant, once there is one.
    pub(crate) grant: Option<Grant>,
}

impl Clone for Call {
    fn clone(&self) -> Self {
        Call { grant: self.grant.as_ref().map(Fork::fork), ..*self }
    }
}

impl Call {
    /// No deadline ends its wait.
    pub(crate) const NOT_KEPT: u64 = u64::MAX;

    /// Returns whether the call has used up its time at `now`, or nearly so: its client, which
    /// began to count earlier, has given it up.
    pub(crate) fn is_given_up(&self, now: Instant) -> bool {
        let budget = self.end.nanos_since(self.entered);
        self.end != Instant::FAR_FUTURE && now.nanos_since(self.entered) >= share(budget, MOST_KEPT)
    }

    /// Returns how long the call has had its slot at `now`.
    pub(crate) fn hold_nanos(&self, now: Instant) -> u64 {
        now.nanos_since(self.entered.saturating_add_nanos(self.waited_nanos))
    }
}

const LEARNT: u64 = 1 << 63;
const BY_ONE: u64 = 1 << 62;

impl ReserveState {
    pub(crate) const fn new(reserve: Reserve) -> Self {
        ReserveState::of(match reserve {
            Reserve::Learnt => LEARNT,
            Reserve::Fixed(fixed) if nanos(fixed) < BY_ONE => nanos(fixed),
            Reserve::Fixed(_) => BY_ONE - 1,
            Reserve::None => 0,
        })
    }

    const fn of(bits: u64) -> Self {
        ReserveState { bits, untaught: Instant::FAR_FUTURE, admitted: 0 }
    }

    pub(crate) const fn nanos(&self) -> u64 {
        self.bits & !(LEARNT | BY_ONE)
    }

    const fn is_learnt(&self) -> bool {
        self.bits & LEARNT != 0
    }

    /// Returns the time kept for the operation, of a call that has `budget` nanoseconds in all.
    pub(crate) fn keep(&self, own: Option<u64>, budget: u64) -> u64 {
        let least = if self.bits == LEARNT { (budget / 4).max(1) } else { least_kept(budget) };
        let present = if self.is_learnt() { self.nanos().max(least) } else { self.nanos() };
        own.unwrap_or(present).min(share(budget, MOST_KEPT))
    }

    /// Learns from the end of a call, or from its drop. Returns whether the call ended late.
    pub(crate) fn learn(&mut self, call: &Call, now: Instant) -> bool {
        let is_late = now >= call.end;
        let (budget, hold, present) = (call.end.nanos_since(call.entered), call.hold_nanos(now), self.nanos());
        // A longer hold means nothing for the wait, which may always take the rest. To a call with
        // much more time, neither the reserve nor its hold makes a difference.
        let says_something = hold < share(budget, MOST_KEPT) && hold.max(present) >= least_kept(budget);
        if self.is_learnt() && call.by_gate && says_something {
            let next = if present == 0 {
                hold.max(1) | BY_ONE
            } else if self.bits & BY_ONE > 0 && hold < present {
                // A first hold of minutes must not be the reserve until it has come down. Nor must
                // that of a call that is dropped at once: to one like it, a sixteenth is as little.
                let least = least_kept(budget);
                if hold < least { least | BY_ONE } else { hold }
            } else if hold >= present || is_late && hold > present / 2 {
                // A hold that ends late may have been cut there.
                present + share(hold.clamp(present, present.saturating_mul(MOST_WEIGHED)), GROWTH).max(1)
            } else {
                // By the hold, so that slots must be used in order to reduce it.
                let decay = if call.waited_nanos > 0 { DECAY } else { DECAY_AT_REST };
                present - share(present.min(hold.saturating_mul(WEIGHT)), decay)
            };
            self.bits = LEARNT | next.max(1);
            // By the hold: if any call ended that time, a trivial one now and then would keep a
            // reserve for ever.
            let untaught = self.untaught.saturating_add_nanos(hold.saturating_mul(UNTAUGHT));
            self.untaught = if untaught < now { untaught } else { Instant::FAR_FUTURE };
        }
        is_late
    }

    /// Learns from a call that was rejected `at` a time so that its operation would have had time,
    /// and collects that at `now`, when so many calls had been `admitted`: if others without a
    /// deadline leave no slot to such calls, none of these teaches. Where none is admitted, as
    /// during a pause, rejections mean nothing.
    pub(crate) fn note_rejected(&mut self, call: &Call, at: Instant, now: Instant, admitted: u64) {
        let present = self.nanos();
        // Else it was not the reserve that ended the wait.
        let is_why = call.by_gate && call.kept_nanos > least_kept(call.end.nanos_since(call.entered));
        if !self.is_learnt() || present == 0 || !is_why {
            return;
        }
        let is_first = self.untaught > now;
        let is_due = at.nanos_since(self.untaught) >= present.saturating_mul(UNTAUGHT) && admitted != self.admitted;
        if is_first || is_due {
            self.bits -= if is_first { 0 } else { present / 8 };
            (self.untaught, self.admitted) = (now, admitted);
        }
    }
}

/// Parts of 1,024: about 95 %, 9.9 %, 0.1 % and 1.6 %.
const MOST_KEPT: u64 = 972;
const GROWTH: u64 = 101;
const DECAY: u64 = 1;
const DECAY_AT_REST: u64 = 16;
/// How many times a hold counts that reduces the reserve, and how many times the reserve a longer
/// one counts at most.
const WEIGHT: u64 = 8;
const MOST_WEIGHED: u64 = 4;
/// For how many times the reserve no call must have taught it before one that it rejects does. A
/// hold that teaches takes so many times its length off that time.
const UNTAUGHT: u64 = 32;

/// Returns the least time that a call with `budget` nanoseconds in all leaves to its operation.
const fn least_kept(budget: u64) -> u64 {
    budget / 16
}

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
        ReserveState::of(LEARNT | nanos)
    }

    /// A call with 100 µs in all, which has waited for 60.
    const CALL: Call = Call {
        entered: Instant::from_nanos(1_000_000),
        end: Instant::from_nanos(1_100_000),
        waited_nanos: 60_000,
        kept_nanos: 20_000,
        by_gate: true,
        outcome: None,
        grant: None,
    };

    fn learnt(call: &Call, end: u64) -> (bool, u64) {
        let mut reserve = following(20_000);
        let is_late = reserve.learn(call, Instant::from_nanos(end));
        (is_late, reserve.nanos())
    }

    fn waited(waited_nanos: u64) -> Call {
        Call { waited_nanos, ..CALL }
    }

    #[test]
    fn the_reserve_follows_holds() {
        assert_eq!(learnt(&CALL, 1_079_999), (false, 19_981), "a shorter hold, after a wait");
        assert_eq!(learnt(&waited(1), 1_020_000), (false, 19_981), "after any wait");
        assert_eq!(learnt(&waited(0), 1_019_999), (false, 19_688), "without one");
        assert_eq!(learnt(&CALL, 1_080_000), (false, 21_972), "a hold as long as the reserve");
        assert_eq!(learnt(&waited(89_999), 1_100_000), (true, 21_972), "late after more than half of it");
        assert_eq!(learnt(&waited(90_000), 1_100_000), (true, 19_981), "late after half of it");
        assert_eq!(learnt(&waited(0), 1_040_000), (false, 23_945), "a hold of twice the reserve");
        assert_eq!(learnt(&waited(0), 1_080_000), (false, 27_890), "of four times");
        assert_eq!(learnt(&waited(0), 1_094_920), (false, 27_890), "a hold of nearly 95 % of the budget");
        assert_eq!(learnt(&waited(0), 1_094_921), (false, 20_000), "a hold of 95 %");
        assert_eq!(learnt(&CALL, 1_160_000), (true, 20_000), "a hold of more than the budget");
        assert_eq!(learnt(&Call { by_gate: false, ..CALL }, 1_100_000), (true, 20_000), "the call's own reserve");
    }

    #[test]
    fn a_quick_operation_reduces_the_reserve_by_an_eighth_of_itself() {
        for (hold, less) in [(0, 0), (7, 0), (8, 1), (800, 100), (2_500, 312), (2_501, 312)] {
            assert_eq!(learnt(&waited(0), 1_000_000 + hold), (false, 20_000 - less), "{hold} ns");
        }
        for (hold, less) in [(127, 0), (128, 1), (2_432, 19), (2_501, 19)] {
            assert_eq!(learnt(&CALL, 1_060_000 + hold), (false, 20_000 - less), "{hold} ns, after a wait");
        }
    }

    #[test]
    fn a_call_with_much_more_time_than_the_reserve_and_its_operation_teaches_nothing() {
        let with = |budget: u64| Call { end: Instant::from_nanos(1_000_000 + budget), ..waited(0) };
        assert_eq!(learnt(&with(320_015), 1_019_000), (false, 19_688), "16 times the reserve");
        assert_eq!(learnt(&with(320_016), 1_019_000), (false, 20_000), "more than that");
        assert_eq!(learnt(&with(480_015), 1_030_000), (false, 22_958), "16 times the hold");
        assert_eq!(learnt(&with(480_016), 1_030_000), (false, 20_000), "more than that");
        let mut unlearnt = ReserveState::new(Reserve::Learnt);
        unlearnt.learn(&with(480_016), Instant::from_nanos(1_030_000));
        assert_eq!(unlearnt.nanos(), 0);
    }

    #[test]
    fn the_first_hold_is_the_reserve_and_the_second_one_if_it_is_shorter() {
        for hold in [6_400, 60_000] {
            let mut first = ReserveState::new(Reserve::Learnt);
            let second = hold - 1;
            let third = second - share(second, DECAY_AT_REST);
            for (hold, reserve) in [(hold, hold), (second, second), (second - 1, third)] {
                first.learn(&waited(0), Instant::from_nanos(1_000_000 + hold));
                assert_eq!((first.nanos(), first.keep(None, 100_000)), (reserve, reserve));
            }
        }
        let mut first = ReserveState::new(Reserve::Learnt);
        for (hold, reserve) in [(10_000, 10_000), (10_000, 10_986), (0, 10_986)] {
            first.learn(&waited(0), Instant::from_nanos(1_000_000 + hold));
            assert_eq!(first.nanos(), reserve);
        }
    }

    #[test]
    fn until_a_second_one_teaches_a_call_that_is_dropped_leaves_a_sixteenth() {
        let mut reserve = ReserveState::new(Reserve::Learnt);
        for (hold, nanos) in [(50_000, 50_000), (0, 6_250), (6_249, 6_250), (6_250, 6_866), (0, 6_866)] {
            reserve.learn(&waited(0), Instant::from_nanos(1_000_000 + hold));
            assert_eq!(reserve.nanos(), nanos, "after {hold} ns");
        }
        for (hold, second) in [(6_249, 6_250), (6_250, 6_250), (49_999, 49_999)] {
            let mut reserve = ReserveState::new(Reserve::Learnt);
            reserve.learn(&waited(0), Instant::from_nanos(1_050_000));
            reserve.learn(&waited(0), Instant::from_nanos(1_000_000 + hold));
            assert_eq!(reserve.nanos(), second, "after {hold} ns");
        }
        let mut small = ReserveState::new(Reserve::Learnt);
        let call = Call { end: Instant::from_nanos(1_050_000), ..waited(0) };
        small.learn(&call, Instant::from_nanos(1_005_000));
        small.learn(&waited(0), Instant::from_nanos(1_000_000));
        assert_eq!(small.nanos(), 5_000, "a sixteenth is more, and the first one still holds");
    }

    #[test]
    fn calls_that_are_rejected_while_none_teaches_reduce_it_by_an_eighth() {
        let at = |nanos| Instant::from_nanos(nanos);
        let mut reserve = following(8_000);
        for (rejected, now, admitted, nanos) in [
            (50, 100, 0, 8_000),
            (100, 100, 1, 8_000),
            (256_099, 256_099, 1, 8_000),
            (256_100, 256_100, 0, 8_000),
            (256_099, 300_000, 1, 8_000),
            (256_100, 300_000, 1, 7_000),
            (523_999, 523_999, 2, 7_000),
            (524_000, 524_000, 2, 6_125),
            (400_000, 600_000, 3, 6_125),
            (719_999, 720_000, 3, 6_125),
            (720_000, 720_000, 3, 5_360),
        ] {
            reserve.note_rejected(&CALL, at(rejected), at(now), admitted);
            assert_eq!(reserve.nanos(), nanos, "rejected at {rejected}, collected at {now}, {admitted} admitted");
        }
        reserve.note_rejected(&CALL, at(1_000_000), at(700_000), 4);
        assert_eq!(reserve.nanos(), 5_360, "the clock was ahead at the one before, so it begins again");
        reserve.note_rejected(&CALL, at(700_000 + 32 * 5_360), at(1_000_000), 5);
        assert_eq!(reserve.nanos(), 4_690);
    }

    #[test]
    fn a_call_that_teaches_takes_32_times_its_length_off_the_time() {
        let at = |nanos| Instant::from_nanos(nanos);
        for (since, hold, due) in [
            (900_000, 3_000, Some(1_248_000)),
            (900_000, 3_225, Some(1_255_200)),
            (900_000, 3_226, None),
            (906_999, 3_000, Some(1_254_999)),
            (907_000, 3_000, None),
        ] {
            let mut reserve = following(8_000);
            reserve.note_rejected(&CALL, at(since), at(since), 0);
            reserve.learn(&waited(0), at(1_000_000 + hold));
            let mut before = ReserveState { ..reserve };
            // If none is due, that time begins with the first rejection of these.
            let due = at(due.unwrap_or(1_300_000));
            before.note_rejected(&CALL, due.saturating_sub(Duration::from_nanos(1)), due, 1);
            assert_eq!(before.nanos(), 7_875, "before it is due, after {hold} ns");
            reserve.note_rejected(&CALL, due, due, 1);
            let is_due = due < at(1_300_000);
            assert_eq!(reserve.nanos(), if is_due { 6_891 } else { 7_875 }, "when it is, after {hold} ns");
        }
    }

    #[test]
    fn a_rejection_for_another_reason_leaves_the_reserve() {
        let at = |nanos| Instant::from_nanos(nanos);
        for (call, why) in [
            (Call { by_gate: false, ..CALL }, "its own reserve"),
            (Call { kept_nanos: 6_250, ..CALL }, "its sixteenth"),
        ] {
            let mut reserve = following(8_000);
            for now in [100, 1_000_000] {
                reserve.note_rejected(&call, at(now), at(now), now);
            }
            assert_eq!(reserve.nanos(), 8_000, "{why}");
        }
        let mut reserve = following(8_000);
        for now in [100, 256_100] {
            reserve.note_rejected(&Call { kept_nanos: 6_251, ..CALL }, at(now), at(now), now);
        }
        assert_eq!(reserve.nanos(), 7_000);
        for fixed in [Reserve::Fixed(Duration::from_micros(8)), Reserve::Learnt] {
            let mut reserve = ReserveState::new(fixed);
            let before = reserve.nanos();
            for now in [100, 1_000_000] {
                reserve.note_rejected(&CALL, at(now), at(now), now);
            }
            assert_eq!(reserve.nanos(), before, "{fixed:?}");
        }
    }

    #[test]
    fn a_reserve_of_one_nanosecond_grows_and_never_becomes_none() {
        let mut reserve = ReserveState::new(Reserve::Learnt);
        for (hold, nanos) in [(0, 1), (0, 1), (1, 2)] {
            let call = Call { end: Instant::from_nanos(1_000_009), ..waited(0) };
            reserve.learn(&call, Instant::from_nanos(1_000_000 + hold));
            assert_eq!(reserve.nanos(), nanos, "after {hold} ns");
        }
    }

    #[test]
    fn what_is_kept_is_limited_by_the_budget() {
        let learning = ReserveState::new(Reserve::Learnt);
        assert_eq!(learning.keep(Some(7), 100), 7);
        assert_eq!((learning.keep(None, 100), learning.keep(None, 3)), (25, 1), "a quarter at first");
        assert_eq!(learning.nanos(), 0);
        assert_eq!(following(25).keep(None, 20), share(20, MOST_KEPT));
        assert_eq!((following(5).keep(None, 100), following(7).keep(None, 100)), (6, 7), "a sixteenth at least");
        assert_eq!(following(5).keep(Some(1), 100), 1);
        assert_eq!(ReserveState::new(Reserve::Fixed(Duration::from_nanos(2))).keep(None, 100), 2);
        assert_eq!(ReserveState::new(Reserve::None).keep(None, 100), 0);
        for fixed in [Duration::MAX, Duration::from_nanos(BY_ONE)] {
            assert_eq!(ReserveState::new(Reserve::Fixed(fixed)).nanos(), BY_ONE - 1);
        }
    }
}
