//! The effect on the learnt reserve of a bad past, of other tenants, and of hostile calls: the real
//! gate in virtual time.

#[path = "reserve/random.rs"]
mod random;
mod simulation;

use bulklink_core::Reserve;
use simulation::{Fate, MS, Random, Run, Upstream, count, nanos, whole};

const SECOND: u64 = 1_000 * MS;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// A call that comes.
#[derive(Clone, Copy)]
struct Arrival {
    at: u64,
    /// The time in which the whole call is to be over, if it has a deadline.
    budget: Option<u64>,
    /// How long its operation takes.
    hold: u64,
}

fn call(at: u64, budget: u64, hold: u64) -> Arrival {
    Arrival { at, budget: Some(budget), hold }
}

/// Returns what becomes of the later calls, at an upstream with so many slots.
fn fates(slots: usize, past: &[Arrival], then: &[Arrival]) -> Vec<Fate> {
    let arrivals = [past, then].concat();
    let upstream = Upstream { slots, waiting_room: 400, reserve: Reserve::Learnt, is_cut: false };
    let mut run = Run::new(&upstream, |call| arrivals[call].hold);
    for arrival in &arrivals {
        run.enter(arrival.at, arrival.budget);
    }
    run.pass_until(u64::MAX);
    run.fates[past.len()..].iter().map(|&(fate, _)| fate).collect()
}

fn failed(fates: &[Fate]) -> usize {
    fates.iter().filter(|&&fate| fate != Fate::InTime).count()
}

/// Returns what becomes of the calls with this budget.
fn fates_of(budget: u64, calls: &[Arrival], fates: &[Fate]) -> Vec<Fate> {
    calls.iter().zip(fates).filter(|(call, _)| call.budget == Some(budget)).map(|(_, &fate)| fate).collect()
}

/// Returns bursts of these calls.
fn bursts(from: u64, number: u64, period: u64, calls: &[Arrival]) -> Vec<Arrival> {
    let at = |burst| calls.iter().map(move |call| Arrival { at: from + burst * period, ..*call });
    (0..number).flat_map(at).collect()
}

/// Returns calls that come at random, with this mean interval, their budgets and holds.
fn at_random(from: u64, until: u64, interval: f64, mut call: impl FnMut(&mut Random) -> (u64, f64)) -> Vec<Arrival> {
    let (mut random, mut arrivals, mut next) = (Random::new(), vec![], nanos(from));
    while next < nanos(until) {
        let (budget, hold) = call(&mut random);
        arrivals.push(self::call(whole(next), budget, whole(hold)));
        next += interval * random.exponential();
    }
    arrivals
}

/// Returns calls that are late, after two that are quicker: each waits for one without a deadline.
fn late(number: u64, period: u64, wait: u64, late: Arrival) -> Vec<Arrival> {
    let before = bursts(0, 2, SECOND, &[Arrival { hold: late.hold / 4, ..late }]);
    [before, bursts(2 * SECOND, number, period, &[Arrival { at: 0, budget: None, hold: wait }, late])].concat()
}

#[test]
fn a_first_call_with_an_hour_rejects_nobody() {
    let then = bursts(MINUTE, 1_000, 600 * MS, &[call(0, SECOND, 100 * MS); 3]);
    assert_eq!(failed(&fates(1, &[call(0, HOUR, MS)], &then)), 0, "of 3,000");
}

#[test]
fn after_a_slow_minute_bursts_are_served_again() {
    let past = late(53, 1_080 * MS, 60 * MS, call(0, SECOND, 945 * MS));
    let then = bursts(MINUTE, 1_000, 600 * MS, &[call(0, SECOND, 150 * MS); 3]);
    let last = fates(1, &past, &then).chunks(3).rposition(|burst| failed(burst) > 0);
    println!("the last burst of three: {last:?}");
    assert!(last < Some(25), "{last:?}");
}

#[test]
fn after_a_slow_minute_tight_bursts_are_served_again() {
    let past = late(290, 200 * MS, 15 * MS, call(0, 110 * MS, 96 * MS));
    let then = bursts(MINUTE, 1_000, 200 * MS, &[call(0, 110 * MS, 50 * MS); 2]);
    let last = fates(1, &past, &then).chunks(2).rposition(|burst| failed(burst) > 0);
    println!("the last burst of two: {last:?}");
    assert!(last < Some(40), "{last:?}");
}

#[test]
fn after_a_slow_minute_random_calls_are_served_again() {
    let calls = |hold| move |_: &mut Random| (SECOND, nanos(hold));
    let slow = at_random(0, MINUTE, nanos(250 * MS), calls(945 * MS));
    let then = at_random(MINUTE + SECOND, 31 * MINUTE, nanos(250 * MS), calls(150 * MS));
    let blocks = |past| fates(1, past, &then).chunks(50).map(failed).collect::<Vec<_>>();
    let (after, control) = (blocks(&slow), blocks(&[]));
    println!("of the first two fifties: {:?}, without the past {:?}", &after[..2], &control[..2]);
    let worse = after.iter().zip(&control).skip(1).position(|(after, control)| *after > control + 2);
    assert_eq!(worse, None, "{after:?}, without the past {control:?}");
}

/// Calls without a deadline use all slots, and some of them always wait.
#[test]
fn after_a_slow_minute_calls_behind_others_without_a_deadline_are_served_again() {
    let past = bursts(0, 55, 1_080 * MS, &[call(0, SECOND, 945 * MS)]);
    let others = [Arrival { at: 0, budget: None, hold: 150 * MS }; 7];
    let mut then = bursts(MINUTE, 6_000, 300 * MS, &others);
    then.extend(bursts(MINUTE + 10 * MS, 600, 3 * SECOND, &[call(0, SECOND, 150 * MS)]));
    // Calls that find a slot at their leisure, and so teach something, but hardly use it.
    for trivial in [None, Some(0), Some(MS), Some(10 * MS)] {
        let mut then = then.clone();
        then.extend(
            trivial
                .into_iter()
                .flat_map(|hold| bursts(MINUTE + 310 * MS, 600, 3 * SECOND, &[call(0, 10 * SECOND, hold)])),
        );
        then.sort_by_key(|call| call.at);
        let with_time = |past: &[Arrival]| fates_of(SECOND, &then, &fates(4, past, &then));
        let last = with_time(&past).iter().rposition(|&fate| fate != Fate::InTime);
        println!("beside calls of {trivial:?}, the last call that failed: {last:?}");
        assert_eq!(failed(&with_time(&[])), 0, "without the past");
        assert!(last < Some(40), "{last:?} beside {trivial:?}");
    }
}

/// A call that is dropped at once follows the first one.
#[test]
fn a_call_that_is_dropped_at_the_beginning_makes_few_late() {
    let first = [call(0, 130 * MS, 50 * MS), call(100 * MS, 130 * MS, 0)];
    let then = at_random(200 * MS, 10 * SECOND, nanos(12 * MS), |random| {
        (130 * MS, nanos(45 * MS) + random.unit() * nanos(10 * MS))
    });
    let fates = fates(1, &first, &then);
    let late = fates.iter().filter(|&&fate| fate == Fate::Late).count();
    println!("of {}: {late} late", fates.len());
    assert!(late <= 10, "{late}");
}

/// All slots hang while calls come; then a burst.
#[test]
fn after_a_hang_few_are_late() {
    let calls = |from, until, load: f64| {
        at_random(from, until, nanos(50 * MS) / 16.0 / load, |random| {
            (130 * MS, nanos(50 * MS) * (0.9 + 0.2 * random.unit()))
        })
    };
    let hang = [Arrival { at: 10 * SECOND, budget: None, hold: SECOND }; 16];
    let past = [calls(0, 10 * SECOND, 0.9), hang.to_vec(), calls(10 * SECOND + 1, 11 * SECOND, 0.9)].concat();
    let fates = fates(16, &past, &calls(11 * SECOND, 11 * SECOND + 400 * MS, 2.0));
    let [late, in_time] = [Fate::Late, Fate::InTime].map(|fate| fates.iter().filter(|&&one| one == fate).count());
    println!("after a hang: {in_time} in time, {late} late");
    assert!(late * 20 <= in_time, "{late} late, {in_time} in time");
}

/// Others without a deadline take all slots for a second of every ten.
#[test]
fn others_that_take_all_slots_at_times_make_few_late() {
    for (time, hold) in [(130, SECOND), (130, 50 * MS), (300, 50 * MS), (500, 50 * MS)] {
        let mut calls = at_random(0, 100 * SECOND, nanos(50 * MS) / 16.0 / 1.5, |random| {
            (time * MS, nanos(50 * MS) * (0.9 + 0.2 * random.unit()))
        });
        let others = (0..16 * SECOND / hold).map(|_| Arrival { at: 0, budget: None, hold });
        calls.extend(bursts(10 * SECOND, 9, 10 * SECOND, &others.collect::<Vec<_>>()));
        calls.sort_by_key(|call| call.at);
        let fates = fates_of(time * MS, &calls, &fates(16, &[], &calls));
        let [late, in_time] = [Fate::Late, Fate::InTime].map(|fate| fates.iter().filter(|&&one| one == fate).count());
        println!("beside others that take all slots at times, for {hold} ns each: {in_time} in time, {late} late");
        assert!(late * 100 <= in_time, "{late} late, {in_time} in time");
    }
}

#[test]
fn holds_four_times_as_long_for_a_minute() {
    let hold = |random: &mut Random| (300 * MS, nanos(50 * MS) * (0.5 + random.unit()));
    let mut past = at_random(0, 20 * MINUTE, nanos(50 * MS) / 2.0 / 0.7, hold);
    let then = past.split_off(past.partition_point(|call| call.at < 2 * MINUTE + SECOND));
    let control = failed(&fates(2, &past, &then));
    for call in past.iter_mut().filter(|call| (MINUTE..2 * MINUTE).contains(&call.at)) {
        call.hold *= 4;
    }
    let after = failed(&fates(2, &past, &then));
    println!("of {}: {after}, without the past {control}", then.len());
    assert!(count(after) <= count(control) + 0.01 * count(then.len()), "{after}, without the past {control}");
}

/// One call in twenty has an hour, and takes a second; the others have a second, for 50 ms.
#[test]
fn long_calls_of_one_tenant_do_not_reject_another() {
    let interval = nanos(975 * MS / 10) / (8.0 * 0.8);
    let calls = at_random(0, 5 * MINUTE, interval, |random| {
        let (budget, hold) = if random.unit() < 0.95 { (SECOND, 50 * MS) } else { (HOUR, SECOND) };
        (budget, nanos(hold) * (0.5 + random.unit()))
    });
    let others = fates_of(SECOND, &calls, &fates(8, &[], &calls));
    println!("of {}: {}", others.len(), failed(&others));
    assert!(failed(&others) * 100 <= others.len(), "{}", failed(&others));
}

/// The part of the admitted calls that are late, of those that are counted, at 16 slots.
fn lateness(name: &str, mut calls: Vec<Arrival>, counted: impl Fn(&Arrival) -> bool) -> f64 {
    calls.sort_by_key(|call| call.at);
    let fates = fates(16, &[], &calls);
    let number = |of| count(calls.iter().zip(&fates).filter(|(call, fate)| counted(call) && **fate == of).count());
    let (in_time, late) = (number(Fate::InTime), number(Fate::Late));
    println!("{name}: {in_time} in time, {late} late");
    late / (in_time + late)
}

/// Returns calls of 45 to 55 ms at so many times what 16 slots can do.
fn of_fifty_ms(from: u64, until: u64, load: f64, budget: u64) -> Vec<Arrival> {
    at_random(from, until, nanos(50 * MS) / 16.0 / load, |random| {
        (budget, nanos(50 * MS) * (0.9 + 0.2 * random.unit()))
    })
}

/// Returns calls that come so often in a second.
fn often(per_second: u64, until: u64, budget: u64, hold: u64) -> Vec<Arrival> {
    bursts(0, until / (SECOND / per_second), SECOND / per_second, &[call(0, budget, hold)])
}

const PERIOD: u64 = 5 * SECOND;
const BURST: u64 = 300 * MS;

/// Whether the call comes in a burst, which ends a period. Not in the first.
fn is_in_a_burst(call: &Arrival) -> bool {
    call.at > PERIOD && call.at % PERIOD >= PERIOD - BURST
}

/// Returns the lateness in bursts of three times the capacity, with 130 ms for calls of 50, beside
/// other calls.
fn lateness_in_bursts(name: &str, load_between: f64, others: &[Arrival]) -> f64 {
    let period = |begin: u64| {
        let burst = begin + PERIOD - BURST;
        [of_fifty_ms(begin, burst, load_between, 130 * MS), of_fifty_ms(burst, begin + PERIOD, 3.0, 130 * MS)].concat()
    };
    let calls = (0..8).flat_map(|number| period(number * PERIOD)).chain(others.iter().copied()).collect();
    lateness(name, calls, |call| is_in_a_burst(call) && call.hold >= 45 * MS)
}

#[test]
fn about_one_in_a_hundred_is_late_in_bursts() {
    assert!(lateness_in_bursts("alone", 0.3, &[]) <= 0.02);
}

#[test]
fn quick_calls_do_not_make_others_late_in_bursts() {
    for budget in [MS, 20 * MS, 100 * MS, 130 * MS, 10 * MINUTE] {
        let quick = often(1_000, 8 * PERIOD, budget, 10_000);
        let late = lateness_in_bursts(&format!("beside calls with {} ms", budget / MS), 0.3, &quick);
        assert!(late <= 0.02, "{late}, beside quick calls with {budget} ns");
    }
}

/// As requests that are dropped as soon as they have begun.
#[test]
fn calls_that_end_at_once_do_not_make_others_late_in_bursts() {
    for budget in [MS, 130 * MS, 10 * MINUTE] {
        let cancelled = often(5_000, 8 * PERIOD, budget, 0);
        let late = lateness_in_bursts("beside calls that end at once", 0.3, &cancelled);
        assert!(late <= 0.02, "{late}, beside calls with {budget} ns");
    }
}

/// There are other calls between the bursts only. They use a hundredth of a slot.
#[test]
fn quick_calls_do_not_make_those_late_that_come_in_bursts_only() {
    for budget in [MS, 10 * MINUTE] {
        let late = lateness_in_bursts("beside quick calls", 0.001, &often(1_000, 8 * PERIOD, budget, 10_000));
        assert!(late <= 0.02, "{late}, beside quick calls with {budget} ns");
    }
}

/// Twice the capacity, with 80 ms for calls of 50, beside four times as many quick ones.
#[test]
fn quick_calls_do_not_make_others_late_under_overload() {
    for budget in [MS, 80 * MS, 10 * MINUTE] {
        let calls = [of_fifty_ms(0, 10 * SECOND, 2.0, 80 * MS), often(2_560, 10 * SECOND, budget, 1_000)].concat();
        let late = lateness("flood", calls, |call| call.at >= 2 * SECOND && call.hold >= 45 * MS);
        assert!(late <= 0.02, "{late}, beside quick calls with {budget} ns");
    }
}

/// Calls of another tenant use a sixth of all slots, and to them no wait is long.
#[test]
fn a_sixth_of_all_slots_makes_few_others_late() {
    for (per_second, hold) in [(2_560, MS), (256, 10 * MS), (64, 40 * MS)] {
        let calls =
            [of_fifty_ms(0, 20 * SECOND, 2.0, 80 * MS), often(per_second, 20 * SECOND, 500 * MS, hold)].concat();
        let late = lateness("a sixth", calls, |call| call.at >= 2 * SECOND && call.hold >= 45 * MS);
        assert!(late <= 0.03, "{late}, beside {per_second} calls of {hold} ns");
    }
}

/// Nine in ten take 1 ms and one takes 50, with 150 for each. Between bursts, little is to be done.
#[test]
fn slow_calls_of_a_service_with_bursts_are_in_time() {
    let calls = |from, until, load| {
        at_random(from, until, nanos(5_900_000) / 16.0 / load, |random| {
            (150 * MS, nanos(if random.unit() < 0.1 { 50 * MS } else { MS }))
        })
    };
    let period =
        |begin| [calls(begin, begin + PERIOD - BURST, 0.2), calls(begin + PERIOD - BURST, begin + PERIOD, 3.0)];
    let calls = (0..8).flat_map(|number| period(number * PERIOD).concat()).collect();
    let late = lateness("slow calls in bursts", calls, |call| is_in_a_burst(call) && call.hold == 50 * MS);
    assert!(late <= 0.05, "{late}");
}

#[test]
fn a_first_operation_of_minutes_rejects_nobody_for_long() {
    for (hold, slots, number) in [(10 * SECOND, 1, 3), (500 * SECOND, 1, 3), (500 * SECOND, 16, 48)] {
        let then = bursts(hold + SECOND, 200, 600 * MS, &vec![call(0, SECOND, 150 * MS); number]);
        let fates = fates(slots, &[call(0, 10 * MINUTE, hold)], &then);
        let last = fates.chunks(number).rposition(|burst| failed(burst) > 0);
        println!("the last burst with a rejection: {last:?}");
        assert!(last < Some(3), "{last:?}, after {hold} ns");
    }
}

/// Half of the calls have an hour and take no time. To them, no wait is long.
#[test]
fn far_deadlines_of_one_tenant_do_not_make_another_late() {
    let interval = nanos(25 * MS) / (16.0 * 2.0);
    let calls = at_random(0, MINUTE, interval, |random| {
        if random.unit() < 0.5 { (HOUR, 1_000.0) } else { (300 * MS, nanos(50 * MS) * (0.5 + random.unit())) }
    });
    let others = fates_of(300 * MS, &calls, &fates(16, &[], &calls));
    let number = |fate| others.iter().filter(|&&of| of == fate).count();
    let (in_time, late) = (number(Fate::InTime), number(Fate::Late));
    println!("{in_time} in time, {late} late");
    assert!(late * 50 <= in_time, "{late} late, {in_time} in time");
}
