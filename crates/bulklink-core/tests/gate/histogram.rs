//! Histograms of waits and holds, and the use of units over time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink_core::plumbing::{self, CountBuckets};
use bulklink_core::{Answer, Calls, Gate, Grant, Histogram, Instant, Limits, Request, Reserve, Snapshot};

type TestGate = Gate<()>;

const MICROSECOND: Duration = Duration::from_micros(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// Returns an instant far from the epoch, as those of clocks are.
fn at(nanos: u64) -> Instant {
    Instant::from_nanos((1 << 63) + nanos)
}

fn of(durations: &[Duration]) -> Histogram {
    let mut histogram = Histogram::new();
    for &duration in durations {
        histogram.record(duration);
    }
    histogram
}

/// Durations of many orders of magnitude.
fn random_durations(number: usize) -> Vec<Duration> {
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 16
    };
    let mut duration = || Duration::from_nanos(random() % 10_u64.pow(4 + u32::try_from(random() % 8).expect("small")));
    (0..number).map(|_| duration()).collect()
}

#[test]
fn durations_up_to_an_edge_are_counted_exactly() {
    let durations = [1, 2, 3, 5, 10, 100].map(|millis| MICROSECOND * 1_000 * millis);
    let histogram = of(&durations);
    for (edge, expected) in [(1, 1), (2, 2), (3, 3), (5, 4), (9, 4), (10, 5), (99, 5), (100, 6), (1_000, 6)] {
        assert_eq!(histogram.count_up_to(Duration::from_millis(edge)), expected, "up to {edge} ms");
    }
    assert_eq!(histogram.count_up_to(Duration::from_micros(1_999)), 1, "rounded down to the edge 1.9 ms");
    assert_eq!((histogram.count(), histogram.count_up_to(Duration::ZERO)), (6, 0));
}

#[test]
fn both_ends_have_a_bucket() {
    let histogram = of(&[Duration::ZERO, MICROSECOND, HOUR, HOUR + Duration::from_nanos(1), Duration::MAX]);
    assert_eq!(histogram.buckets().len(), Histogram::BUCKETS);
    let found: Vec<_> = histogram.buckets().filter(|&(_, count)| count > 0).collect();
    assert_eq!(found, [(MICROSECOND, 2), (HOUR, 1), (Duration::MAX, 2)]);
    assert_eq!(histogram.quantile(1.0), Some(Duration::MAX));
    assert_eq!(format!("{histogram:?}").matches(": ").count(), 3);
}

#[test]
fn quantiles_are_at_most_a_tenth_above_the_exact_ones() {
    let mut durations = random_durations(10_000);
    let histogram = of(&durations);
    durations.sort();
    for permille in 0..=1_000_u32 {
        let rank = usize::try_from(permille).expect("small") * durations.len() / 1_000;
        let exact = durations[rank.max(1) - 1];
        let found = histogram.quantile(f64::from(permille) / 1_000.0).expect("not empty");
        let longest = exact.max(MICROSECOND) * 11 / 10;
        assert!(exact <= found && found <= longest.max(MICROSECOND), "{permille} ‰: {exact:?}, found {found:?}");
    }
}

#[test]
fn a_part_out_of_range_is_the_nearest_in_it() {
    let histogram = of(&[Duration::from_secs(1), Duration::from_secs(2)]);
    for (part, seconds) in [(-1.0, 1), (f64::NAN, 1), (0.5, 1), (0.500_001, 2), (9.0, 2), (f64::INFINITY, 2)] {
        assert_eq!(histogram.quantile(part), Some(Duration::from_secs(seconds)), "{part}");
    }
    let empty = Histogram::default();
    assert!(empty.quantile(0.5).is_none() && empty.is_empty() && !histogram.is_empty());
}

#[test]
fn histograms_are_added_and_subtracted() {
    let (early, late) = (of(&[MICROSECOND * 3]), of(&[MICROSECOND * 3, HOUR]));
    assert_eq!(late.since(&early), of(&[HOUR]));
    assert_eq!(early.since(&late), Histogram::new(), "in the wrong order");
    let mut sum = early.clone();
    sum += &late;
    assert_eq!(sum, of(&[MICROSECOND * 3, MICROSECOND * 3, HOUR]));
    sum.clear();
    assert!(sum.is_empty());
}

fn enter(gate: &mut TestGate, now: u64) -> Answer {
    gate.enter(&Request::new(), Some(at(now))).expect("valid")
}

fn granted(answer: Answer) -> Grant {
    let Answer::Granted(grant) = answer else { panic!("not granted: {answer:?}") };
    grant
}

#[test]
fn only_a_wait_that_ends_in_admission_is_counted() {
    let limits = Limits::new(1).with_waiting_room(3).with_wait_limit(Some(Duration::from_micros(3)));
    let mut gate = TestGate::new(limits).expect("valid");
    let mut waits = of(&[HOUR]);
    gate.read_waits(&mut waits);
    assert!(waits.is_empty(), "what was in it is replaced");
    let running = granted(enter(&mut gate, 0));
    let Answer::Queued(admitted) = enter(&mut gate, 0) else { panic!("not queued") };
    let Answer::Queued(cancelled) = enter(&mut gate, 0) else { panic!("not queued") };
    let Answer::Queued(expired) = enter(&mut gate, 0) else { panic!("not queued") };
    assert!(matches!(enter(&mut gate, 0), Answer::Rejected(_)));
    gate.cancel(cancelled, Some(at(1))).expect("the time is known");
    gate.release(running);
    let _ = gate.advance(Some(at(2_000)));
    let _ = gate.advance(Some(at(5_000)));
    assert!(matches!(gate.collect(expired), Answer::Rejected(_)));
    gate.read_waits(&mut waits);
    assert_eq!(waits, of(&[Duration::from_micros(2)]));
    assert_eq!(gate.snapshot(None).totals.admitted_from_queue, 1);
    // Its slot is given back unused; the wait has ended in admission all the same.
    gate.cancel(admitted, Some(at(5_000))).expect("the time is known");
    gate.read_waits(&mut waits);
    assert_eq!(waits.count(), 1);
}

#[test]
fn a_wait_that_is_not_measured_counts_as_zero_long() {
    let mut gate = TestGate::new(Limits::new(1).with_waiting_room(1)).expect("valid");
    gate.measure_waits(false);
    let running = granted(enter(&mut gate, 0));
    let Answer::Queued(ticket) = enter(&mut gate, 0) else { panic!("not queued") };
    gate.release(running);
    let _ = gate.advance(Some(at(1_000_000)));
    let _admitted = granted(gate.collect(ticket));
    let mut waits = Histogram::new();
    gate.read_waits(&mut waits);
    assert_eq!(waits, of(&[Duration::ZERO]));
}

/// A gate of four units with measured holds.
struct Measured {
    gate: TestGate,
    calls: Calls,
}

impl Measured {
    fn new() -> Self {
        let gate = TestGate::new(Limits::new(4).with_waiting_room(4)).expect("valid");
        let mut measured = Measured { gate, calls: Calls::new(Reserve::Learnt).measure_holds(true) };
        measured.calls.note_use(&measured.gate, at(0));
        measured
    }

    fn enter(&mut self, cost: usize, now: u64) -> Answer {
        self.calls.enter(&mut self.gate, &Request::new().cost(cost), at(now)).expect("valid")
    }

    fn release(&mut self, grant: Grant, now: u64) {
        self.gate.release(self.calls.end(grant, at(now)));
        self.calls.advance(&mut self.gate, at(now));
    }

    fn snapshot(&mut self, now: u64) -> Snapshot {
        let mut snapshot = self.gate.snapshot(Some(at(now)));
        self.calls.complete(&mut snapshot);
        snapshot
    }

    /// Returns the unit-nanoseconds in use until then.
    fn busy(&mut self, now: u64) -> u128 {
        self.snapshot(now).busy().as_nanos()
    }
}

#[test]
fn holds_are_counted_by_their_length() {
    let mut measured = Measured::new();
    for hold in [2_000, 3_000] {
        let grant = granted(measured.enter(1, 10));
        measured.release(grant, 10 + hold);
    }
    let mut holds = Histogram::new();
    measured.calls.read_holds(&mut holds);
    assert_eq!(holds, of(&[Duration::from_micros(2), Duration::from_micros(3)]));
    assert_eq!(measured.snapshot(5_000).holds, 2);
    let grant = granted(measured.enter(1, 5_000));
    let unused = measured.calls.abandon(grant, at(9_000));
    measured.gate.abandon(unused);
    measured.calls.read_holds(&mut holds);
    assert_eq!(holds.count(), 2, "its operation never began");
}

#[test]
fn units_in_use_are_summed_over_time() {
    let mut measured = Measured::new();
    assert_eq!(measured.busy(50), 0);
    let (one, three) = (granted(measured.enter(1, 100)), granted(measured.enter(3, 200)));
    assert_eq!(measured.busy(200), 100);
    // Waits from 300 to 400, and then holds two units.
    let Answer::Queued(ticket) = measured.enter(2, 300) else { panic!("not queued") };
    assert_eq!(measured.busy(300), 100 + 400);
    measured.release(three, 400);
    assert_eq!(measured.busy(400), 100 + 800);
    let two = granted(measured.calls.collect(&mut measured.gate, ticket));
    assert_eq!(measured.busy(500), 100 + 800 + 300);
    measured.release(one, 600);
    measured.release(two, 700);
    assert_eq!(measured.busy(1_000), 100 + 800 + 600 + 200);
}

#[test]
fn use_is_exact_though_the_gate_advances_later() {
    let mut measured = Measured::new();
    let (one, two) = (granted(measured.enter(1, 0)), granted(measured.enter(2, 0)));
    measured.gate.release(measured.calls.end(one, at(100)));
    assert_eq!(measured.busy(200), 300 + 200);
    measured.calls.write_off(&mut measured.gate, two, at(200));
    assert_eq!(measured.busy(300), 300 + 400, "its units stay in use");
}

#[test]
fn use_is_exact_where_a_rejected_request_advances_the_gate() {
    let mut measured = Measured::new();
    let four = granted(measured.enter(4, 0));
    let Answer::Queued(_waiting) = measured.enter(3, 0) else { panic!("not queued") };
    measured.gate.release(measured.calls.end(four, at(100)));
    let late = Request::new().deadline(at(150));
    let Ok(Answer::Rejected(_)) = measured.calls.enter(&mut measured.gate, &late, at(150)) else { panic!("late") };
    assert_eq!(measured.busy(200), 400 + 3 * 50, "the one that waited has its slot since 150");
}

#[test]
fn use_is_exact_though_a_resize_a_split_and_a_merge_come_in_between() {
    let mut measured = Measured::new();
    let before = measured.snapshot(0);
    let four = granted(measured.enter(4, 0));
    let Answer::Queued(waiting) = measured.enter(2, 0) else { panic!("not queued") };
    let (three, one) = measured.calls.split(&mut measured.gate, four, 1).expect("parts have units");
    let four = measured.calls.merge(&mut measured.gate, three, one, at(100));
    assert_eq!(measured.busy(100), 400);
    measured.gate.resize(8, at(200)).expect("open");
    measured.calls.note_use(&measured.gate, at(200));
    assert_eq!(measured.busy(200), 800);
    let interval = measured.snapshot(300).since(&before).expect("in order");
    // Four of four for 200 ns, and six of eight for 100.
    assert_eq!((interval.mean_in_use(), interval.utilization()), (Some(1_400.0 / 300.0), Some(1_400.0 / 1_600.0)));
    let two = granted(measured.calls.collect(&mut measured.gate, waiting));
    measured.calls.write_off(&mut measured.gate, two, at(300));
    measured.release(four, 300);
    assert_eq!((measured.busy(400), measured.snapshot(400).in_use), (1_400 + 200, 2), "written off, so still in use");
}

#[test]
fn a_clock_that_steps_back_adds_nothing_until_it_is_where_it_was() {
    let mut measured = Measured::new();
    let grant = granted(measured.enter(2, 100));
    assert_eq!(measured.busy(200), 200);
    let late = granted(measured.enter(1, 200));
    let before = measured.snapshot(150);
    measured.release(late, 50);
    assert_eq!(measured.busy(60), 200);
    assert_eq!(measured.busy(300), 400, "the other unit was given back at 200 at the latest");
    let interval = measured.snapshot(300).since(&before).expect("in order");
    assert_eq!((interval.mean_in_use(), interval.utilization()), (Some(2.0), Some(0.5)));
    measured.release(grant, 300);
}

#[test]
fn a_slot_that_is_given_up_before_it_was_collected_was_in_use_until_then() {
    let mut measured = Measured::new();
    let four = granted(measured.enter(4, 0));
    let Answer::Queued(ticket) = measured.enter(2, 0) else { panic!("not queued") };
    measured.release(four, 100);
    let ticket = measured.calls.cancel(&mut measured.gate, ticket, None).expect_err("the time is needed");
    measured.calls.cancel(&mut measured.gate, ticket, Some(at(150))).expect("the time is known");
    assert_eq!(measured.busy(900), 400 + 100);
}

/// The epoch stands for no time: a gate with limits that are set before any clock was read offers
/// nothing from then on.
#[test]
fn use_counts_from_the_first_known_time_on() {
    let gate = TestGate::new(Limits::new(4)).expect("valid");
    let mut measured = Measured { gate, calls: Calls::new(Reserve::Learnt).measure_holds(true) };
    measured.gate.resize(2, Instant::EPOCH).expect("open");
    measured.calls.note_use(&measured.gate, Instant::EPOCH);
    let mut before = measured.gate.snapshot(None);
    measured.calls.complete(&mut before);
    let one = granted(measured.enter(1, 100));
    measured.release(one, 150);
    let after = measured.snapshot(200);
    assert_eq!((after.busy().as_nanos(), after.offered().as_nanos()), (50, 2 * 100));
    let interval = after.since(&before).expect("in order");
    assert_eq!((interval.mean_in_use(), interval.utilization()), (Some(0.5), Some(0.25)));
}

#[test]
fn without_measured_holds_nothing_is_said_about_use() {
    let mut gate = TestGate::new(Limits::new(1)).expect("valid");
    let before = gate.snapshot(Some(at(0)));
    let _running = granted(enter(&mut gate, 0));
    let interval = gate.snapshot(Some(at(100))).since(&before).expect("in order");
    assert_eq!((interval.mean_in_use(), interval.utilization()), (None, None));
}

#[test]
fn counts_that_are_added_up_saturate() {
    let mut histogram = Histogram::new();
    histogram.record(Duration::from_millis(1));
    histogram.record(Duration::from_secs(1));
    for _ in 0..64 {
        let same = histogram.clone();
        histogram += &same;
    }
    assert_eq!((histogram.count(), histogram.is_empty()), (u64::MAX, false));
    assert_eq!(histogram.count_up_to(Duration::MAX), u64::MAX);
    assert_eq!(histogram.quantile(0.25), Some(Duration::from_millis(1)));
    assert!(histogram.quantile(1.0).is_some());
}

#[derive(Clone, Debug, Default)]
struct Counted(Arc<Mutex<Vec<usize>>>);

impl CountBuckets for Counted {
    fn count(&self, bucket: usize) {
        self.0.lock().expect("nothing panics").push(bucket);
    }
}

#[test]
fn shared_counters_replace_those_of_the_gate() {
    let mut gate = TestGate::new(Limits::new(1).with_waiting_room(1)).expect("valid");
    let shared = Counted::default();
    plumbing::share_waits(&mut gate, Arc::new(Box::new(shared.clone())));
    let first = granted(enter(&mut gate, 0));
    let Answer::Queued(ticket) = enter(&mut gate, 0) else { panic!("it waits") };
    gate.release(first);
    gate.advance(Some(at(1_500)));
    let second = granted(gate.collect(ticket));
    gate.release(second);
    let bucket = of(&[Duration::from_nanos(1_500)]).buckets().position(|(_, count)| count == 1);
    assert_eq!(*shared.0.lock().expect("nothing panics"), [bucket.expect("one is counted")]);
    let mut own = of(&[HOUR]);
    gate.read_waits(&mut own);
    assert!(own.is_empty(), "{own:?}");
    assert!(format!("{gate:?}").contains("Tally { is_begun: false, shared: Some(Counted("), "{gate:?}");
}

#[test]
fn shared_counters_replace_those_of_the_holds() {
    let mut measured = Measured::new();
    let shared = Counted::default();
    plumbing::share_holds(&mut measured.calls, Arc::new(Box::new(shared.clone())));
    let grant = granted(measured.enter(1, 0));
    measured.release(grant, 1_500);
    assert_eq!(shared.0.lock().expect("nothing panics").len(), 1);
    let mut own = of(&[HOUR]);
    measured.calls.read_holds(&mut own);
    assert!(own.is_empty(), "{own:?}");
}

#[test]
fn all_counts_of_a_histogram_can_be_replaced() {
    let mut histogram = of(&[HOUR]);
    plumbing::fill(&mut histogram, |bucket| bucket as u64);
    let counts: Vec<_> = histogram.buckets().map(|(_, count)| count).collect();
    assert_eq!(counts, (0..Histogram::BUCKETS as u64).collect::<Vec<_>>());
}
