//! The machines that find a limit, by hand and by random samples. `cargo xtask overload --sim` has
//! them on whole dependencies.

use core::time::Duration;
use std::collections::{BTreeSet, BinaryHeap};

use bulklink_core::Instant;
use bulklink_core::limit::{Fixed, Knee, Limit, Outcome, Sample, Slo, Step};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A dependency with so many workers, each of which takes so long for a call. Always as many calls
/// are in it as the limit allows, and others wait.
struct Workers {
    count: usize,
    takes: u64,
    now: u64,
    /// When calls began, in the order in which they end, and when each worker is free again.
    running: Vec<(u64, u64)>,
    free: BinaryHeap<std::cmp::Reverse<u64>>,
    noise: u64,
}

impl Workers {
    fn new(count: usize, takes: u64) -> Self {
        Workers { count, takes, now: 0, running: Vec::new(), free: BinaryHeap::new(), noise: 1 }
    }

    /// Between 80 % and 120 % of the time that a call takes.
    fn time(&mut self) -> u64 {
        self.noise = self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.takes * (80 + (self.noise >> 33) % 41) / 100
    }

    /// Has so many calls end under the limit.
    fn run(&mut self, limit: &mut impl Limit, calls: usize) {
        for _ in 0..calls {
            while self.running.len() < limit.limit() {
                if self.free.len() < self.count {
                    self.free.push(std::cmp::Reverse(self.now));
                }
                let std::cmp::Reverse(free) = self.free.pop().expect("there are workers");
                let end = free.max(self.now) + self.time();
                self.free.push(std::cmp::Reverse(end));
                self.running.push((end, self.now));
            }
            let next = (0..self.running.len()).min_by_key(|&at| self.running[at].0).expect("calls run");
            let in_flight = self.running.len();
            let (end, begin) = self.running.remove(next);
            self.now = end;
            let hold = Duration::from_nanos(end - begin);
            limit.sample(&Sample::new(Instant::from_nanos(end), hold).in_flight(in_flight).pressed(true));
        }
    }

    /// Has so many calls end, and returns the limit then.
    fn run_to(&mut self, limit: &mut impl Limit, calls: usize) -> usize {
        self.run(limit, calls);
        limit.limit()
    }
}

#[test]
fn a_knee_finds_the_workers_of_a_dependency_and_follows_them() {
    let mut knee = Knee::between(1, 400);
    let mut workers = Workers::new(32, 20 * MS);
    workers.run(&mut knee, 6_000);
    assert!((26..=56).contains(&knee.limit()), "{:?}", knee.state());
    assert!((15..=30).contains(&knee.state().baseline.as_millis()), "{:?}", knee.state());
    assert!(knee.state().windows > 20, "{:?}", knee.state());

    let mut fewer = Workers { now: workers.now, ..Workers::new(8, 20 * MS) };
    fewer.run(&mut knee, 6_000);
    assert!((6..=16).contains(&knee.limit()), "{:?}", knee.state());
    let mut more = Workers { now: fewer.now, ..Workers::new(100, 20 * MS) };
    more.run(&mut knee, 12_000);
    assert!((80..=250).contains(&knee.limit()), "{:?}", knee.state());
}

/// All that it sees at first are calls that wait for each other.
#[test]
fn a_knee_that_starts_far_too_high_comes_down() {
    let mut knee = Knee::between(1, 400).starting_at(200);
    Workers::new(8, 20 * MS).run(&mut knee, 8_000);
    assert!((6..=16).contains(&knee.limit()), "{:?}", knee.state());
}

#[test]
fn a_knee_that_starts_at_one_comes_up() {
    let mut knee = Knee::between(1, 400).starting_at(1);
    let mut workers = Workers::new(100, 20 * MS);
    workers.run(&mut knee, 5_000);
    assert!(knee.limit() >= 80, "{:?}", knee.state());
    assert!(workers.now < 4_000 * MS, "{} ms", workers.now / MS);
}

#[test]
fn a_knee_goes_back_where_the_dependency_refuses() {
    let mut knee = Knee::between(1, 400);
    let mut now = 0;
    for call in 0..20_000_u64 {
        let in_flight = knee.limit();
        now += 20 * MS / in_flight as u64;
        // Beyond 30 calls at once, the rest is refused.
        let is_refused = call % in_flight as u64 >= 30;
        let outcome = if is_refused { Outcome::Overload } else { Outcome::Success };
        let hold = Duration::from_millis(if is_refused { 1 } else { 20 });
        let sample = Sample::new(Instant::from_nanos(now), hold).in_flight(in_flight).pressed(true);
        knee.sample(&sample.outcome(outcome));
    }
    assert!((20..=36).contains(&knee.limit()), "{:?}", knee.state());
}

#[test]
fn a_limit_does_not_move_without_need() {
    let mut knee = Knee::between(1, 400);
    let mut slo = Slo::between(1, 400, Duration::from_millis(100));
    for call in 0..10_000 {
        let sample = Sample::new(Instant::from_nanos(call * MS), Duration::from_millis(10)).in_flight(10);
        knee.sample(&sample);
        slo.sample(&sample);
        assert_eq!((knee.limit(), slo.limit()), (20, 20));
    }
    assert_eq!((knee.state().step, slo.state().step), (Step::NotPressed, Step::NotPressed));
}

#[test]
fn a_call_that_is_ignored_changes_nothing() {
    let mut knee = Knee::between(1, 400);
    Workers::new(32, 20 * MS).run(&mut knee, 1_000);
    let before = knee;
    for hold in [0, 1, 10_000] {
        let end = Instant::from_nanos(u64::MAX / 2);
        knee.sample(&Sample::new(end, Duration::from_secs(hold)).outcome(Outcome::Ignore).pressed(true));
    }
    assert_eq!(knee, before);
}

#[test]
fn a_clock_that_stands_still_or_is_set_back_moves_nothing() {
    for start in [0, 3_600_000 * MS] {
        let mut knee = Knee::between(1, 400);
        let mut workers = Workers { now: start, ..Workers::new(32, 20 * MS) };
        workers.run(&mut knee, if start > 0 { 3_000 } else { 0 });
        let before = knee.limit();
        for _ in 0..5_000 {
            knee.sample(&Sample::new(Instant::from_nanos(0), Duration::ZERO).in_flight(before).pressed(true));
        }
        assert_eq!(knee.limit(), before);
    }
}

#[test]
fn a_clock_that_jumps_forward_moves_nothing() {
    for spans in [true, false] {
        let mut knee = Knee::between(1, 400);
        let mut workers = Workers::new(32, 20 * MS);
        workers.run(&mut knee, 5_000);
        let (before, mut after) = (knee.limit(), workers.now + 3_600_000 * MS);
        // All that ran, or none of it, seems to have run for an hour.
        for _ in 0..before {
            after += MS / 4;
            let hold = if spans { Duration::from_secs(3_600) } else { Duration::from_millis(20) };
            knee.sample(&Sample::new(Instant::from_nanos(after), hold).in_flight(before).pressed(true));
            assert_eq!(knee.limit(), before, "{:?}", knee.state());
        }
        assert_eq!(knee.state().stalls, u64::from(spans));
    }
}

#[test]
fn a_pause_of_the_dependency_is_a_stall_and_moves_nothing() {
    let mut knee = Knee::between(1, 400);
    let mut workers = Workers::new(32, 20 * MS);
    workers.run(&mut knee, 5_000);
    let limit = knee.limit();
    // Each call that runs takes a second more.
    let pause = 1_000 * MS;
    workers.running.iter_mut().for_each(|call| call.0 += pause);
    workers.free = workers.free.iter().map(|free| std::cmp::Reverse(free.0 + pause)).collect();
    workers.run(&mut knee, limit);
    assert_eq!((knee.state().stalls, knee.limit()), (1, limit));
    workers.run(&mut knee, 2_000);
    let mut later: Vec<_> = (0..80).map(|_| workers.run_to(&mut knee, 100)).collect();
    later.sort_unstable();
    // It goes on to wander, so one look is not enough.
    assert!((28..=45).contains(&later[40]) && later[79] <= 66, "{later:?}, {:?}", knee.state());
}

/// So many that none is done in its time.
#[test]
fn a_limit_at_which_hardly_a_call_succeeds_is_quartered() {
    let mut knee = Knee::between(2, 400).starting_at(160);
    let timeout = Duration::from_millis(200);
    let fail = |knee: &mut Knee, from: u64, calls: u64| {
        (0..calls).for_each(|call| {
            let now = Instant::from_nanos((from + call) * MS);
            let sample = Sample::new(now, timeout).in_flight(knee.limit()).pressed(true);
            knee.sample(&sample.outcome(if call % 20 == 0 { Outcome::Success } else { Outcome::Overload }));
        });
    };
    fail(&mut knee, 1_000, 120);
    assert_eq!((knee.limit(), knee.state().step), (40, Step::WasTold), "{:?}", knee.state());
    fail(&mut knee, 2_000, 2_000);
    assert_eq!(knee.limit(), 2, "{:?}", knee.state());
    // Then it grows again from where it is.
    let mut workers = Workers { now: 5_000 * MS, ..Workers::new(32, 20 * MS) };
    workers.run(&mut knee, 4_000);
    assert!((26..=70).contains(&knee.limit()), "{:?}", knee.state());
}

/// A peak of calls is over, and its last calls are given up in the time after it.
#[test]
fn calls_that_are_given_up_late_do_not_tell_of_the_time_after_a_peak() {
    for (hold, moves) in [(300, false), (5, true)] {
        let mut knee = Knee::between(2, 400).starting_at(40);
        for call in 0..60 {
            let outcome = if call % 10 == 0 { Outcome::Overload } else { Outcome::Success };
            let hold = Duration::from_millis(if outcome == Outcome::Overload { hold } else { 20 });
            let now = Instant::from_nanos((1_000 + 4 * call) * MS);
            knee.sample(&Sample::new(now, hold).in_flight(8).outcome(outcome));
        }
        assert_eq!(knee.limit() < 20, moves, "{:?}", knee.state());
    }
}

/// It falls at first, because calls take longer at once.
#[test]
fn a_fall_that_makes_calls_no_faster_is_taken_back() {
    let mut knee = Knee::between(1, 400);
    let mut workers = Workers::new(40, 10 * MS);
    workers.run(&mut knee, 5_000);
    workers.takes = 60 * MS;
    workers.run(&mut knee, 10_000);
    let state = knee.state();
    assert!(state.unpaid_falls + state.changes > 0, "{state:?}");
    assert!((30..=60).contains(&knee.limit()), "{state:?}");
}

#[test]
fn a_target_is_kept() {
    let mut slo = Slo::between(2, 400, Duration::from_millis(60));
    let mut workers = Workers::new(10, 20 * MS);
    workers.run(&mut slo, 20_000);
    // Thirty calls wait for ten workers: the last of them takes three times as long.
    assert!((20..=32).contains(&slo.limit()), "{:?}", slo.state());
}

#[test]
fn a_target_falls_when_it_is_told() {
    let mut slo = Slo::between(2, 400, Duration::from_millis(60)).starting_at(40);
    for call in 0..300 {
        let sample = Sample::new(Instant::from_nanos(call * 10 * MS), Duration::from_millis(10));
        let outcome = if call % 10 == 0 { Outcome::Overload } else { Outcome::Success };
        slo.sample(&sample.outcome(outcome));
    }
    assert!(slo.limit() < 20);
    assert_eq!(slo.state().step, Step::WasTold);
}

#[test]
fn a_fixed_limit_stays() {
    let mut fixed = Fixed::new(7);
    Workers::new(100, MS).run(&mut fixed, 1_000);
    assert_eq!((fixed.limit(), fixed.bounds(), fixed.state().step), (7, (7, 7), Step::Set));
}

/// The same on each platform, to the last bit.
#[test]
fn a_long_run_ends_in_these_bits() {
    let mut knee = Knee::between(1, 400);
    let mut workers = Workers::new(32, 20 * MS);
    let mut limits = 0_u64;
    for _ in 0..200 {
        workers.run(&mut knee, 50);
        limits = limits.wrapping_mul(31).wrapping_add(knee.limit() as u64);
    }
    let state = knee.state();
    assert_eq!((limits, state.slope.to_bits(), state.inflation.to_bits()), BITS);
}

const BITS: (u64, u64, u64) = (82_255_471_290_061_984, 4_592_788_179_523_843_180, 4_608_647_677_079_076_999);

#[test]
fn each_step_has_a_name_and_an_explanation_of_its_own() {
    let names: BTreeSet<_> = Step::ALL.iter().map(|step| step.as_str()).collect();
    let explanations: BTreeSet<_> = Step::ALL.iter().map(|step| step.explanation()).collect();
    assert_eq!((names.len(), explanations.len()), (Step::ALL.len(), Step::ALL.len()));
    assert!(explanations.iter().all(|text| !text.ends_with('.') && text.len() <= 60));
}

#[test]
fn machines_are_small() {
    assert!(size_of::<Knee>() <= 320, "{} bytes", size_of::<Knee>());
    assert!(size_of::<Slo>() <= 80, "{} bytes", size_of::<Slo>());
}

fn samples() -> impl Strategy<Value = Vec<(u64, u64, usize, usize, bool, u8)>> {
    let times = prop_oneof![0..2_u64, 0..100_000_u64, 0..50 * MS, Just(u64::MAX / 4)];
    let holds = prop_oneof![Just(0_u64), 0..10_000_u64, 0..100 * MS, Just(u64::MAX)];
    let units = prop_oneof![Just(1_usize), 0..4_usize, Just(usize::MAX)];
    let sample = (times, holds, units, prop_oneof![0..50_usize, Just(usize::MAX)], any::<bool>(), 0..3_u8);
    prop::collection::vec(sample, 1..800)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_limit_stays_within_its_bounds(samples in samples(), least in 1..50_usize, more in 0..400_usize) {
        let mut knee = Knee::between(least, least + more);
        let mut slo = Slo::between(least, least + more, Duration::from_millis(20));
        let mut now = 0_u64;
        for (after, hold, units, in_flight, pressed, outcome) in samples {
            // A time that wraps is a clock that is set back.
            now = now.wrapping_add(after);
            let outcome = [Outcome::Success, Outcome::Overload, Outcome::Ignore][usize::from(outcome)];
            let sample = Sample::new(Instant::from_nanos(now), Duration::from_nanos(hold));
            let sample = sample.units(units).in_flight(in_flight).pressed(pressed).outcome(outcome);
            knee.sample(&sample);
            slo.sample(&sample);
            for limit in [knee.limit(), slo.limit()] {
                prop_assert!((least..=least + more).contains(&limit), "{limit}");
            }
            let state = knee.state();
            for figure in [state.slope, state.inflation, state.useful] {
                prop_assert!(figure.is_finite(), "{state:?}");
            }
        }
    }
}

/// Calls of equal length that begin together time out together, with nothing between.
#[test]
fn a_dependency_that_hangs_is_no_standstill() {
    for healthy in [0, 3_000] {
        let mut knee = Knee::between(2, 400).starting_at(100);
        let mut workers = Workers::new(20, 40 * MS);
        workers.run(&mut knee, healthy);
        let before = knee.limit();
        for batch in 1..60 {
            let now = Instant::from_nanos(workers.now + batch * 200 * MS);
            let sample = Sample::new(now, Duration::from_millis(200)).pressed(true).outcome(Outcome::Overload);
            let in_flight = knee.limit();
            (0..in_flight).for_each(|_| knee.sample(&sample.in_flight(in_flight)));
        }
        assert_eq!(knee.limit(), 2, "from {before}: {:?}", knee.state());
    }
}

#[test]
fn a_limit_that_is_not_applied_goes_on_judging() {
    let (mut knee, mut applied) = (Knee::between(4, 200), Fixed::new(60));
    let mut workers = Workers::new(20, 40 * MS);
    let mut windows = Vec::new();
    for _ in 0..20 {
        // As many calls run as another limit lets in.
        for _ in 0..500 {
            workers.run(&mut applied, 1);
            let hold = Duration::from_millis(120);
            knee.sample(&Sample::new(Instant::from_nanos(workers.now), hold).in_flight(60).pressed(true));
        }
        windows.push(knee.state().windows);
    }
    assert!(windows[19] > windows[10] && windows[10] > windows[5], "{windows:?}, {:?}", knee.state());
}

/// Nine of ten calls are quick, as those of a cache, and no call disturbs another.
#[test]
fn a_mix_of_quick_and_slow_calls_is_no_standstill() {
    let mut knee = Knee::between(4, 200);
    let (mut ends, mut now, mut number) = (BinaryHeap::new(), 0, 0_u64);
    for _ in 0..100_000 {
        while ends.len() < knee.limit() {
            let takes = if number % 10 == 9 { 200 * MS } else { MS / 100 };
            ends.push(std::cmp::Reverse((now + takes, takes)));
            number += 1;
        }
        let in_flight = ends.len();
        let std::cmp::Reverse((end, takes)) = ends.pop().expect("calls run");
        now = end;
        let sample = Sample::new(Instant::from_nanos(now), Duration::from_nanos(takes));
        knee.sample(&sample.in_flight(in_flight).pressed(true));
    }
    let state = knee.state();
    assert!(state.windows > 50 && state.stalls < 10, "{state:?}");
}

#[test]
fn calls_wider_than_the_limit_are_judged() {
    let mut knee = Knee::between(4, 200);
    let mut now = 0;
    for call in 0..2_000 {
        // Alone, if it is wider than the limit.
        let calls = (knee.limit() / 25).max(1);
        now += 20 * MS / calls.min(8) as u64;
        let hold = Duration::from_millis(20 * calls.div_ceil(8) as u64 + call % 3);
        let sample = Sample::new(Instant::from_nanos(now), hold).units(25).in_flight(25 * calls);
        knee.sample(&sample.pressed(true));
    }
    let state = knee.state();
    assert!(state.windows > 20 && state.limit > 50, "{state:?}");
}

#[test]
fn a_target_is_kept_after_the_clock_is_set_back() {
    let mut slo = Slo::between(2, 400, Duration::from_millis(60)).starting_at(100);
    let mut call = |now: u64, outcome| {
        let sample = Sample::new(Instant::from_nanos(now * MS), Duration::from_millis(20));
        slo.sample(&sample.outcome(outcome));
        slo.limit()
    };
    (0..100).for_each(|number| _ = call(86_400_000 + number * 10, Outcome::Success));
    let limit = (0..200).map(|number| call(1_000 + number * 10, Outcome::Overload)).last();
    assert!(limit < Some(80), "{limit:?}");
}
