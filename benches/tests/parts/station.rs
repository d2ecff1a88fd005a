//! The models of upstreams whose capacity changes, in virtual time.

use bulklink_benches::overload::adaptive::station::{Mark, Plan, Station};

const WORK: f64 = 0.04;

fn plain(workers: usize) -> Plan {
    Plan { workers: vec![(f64::INFINITY, workers)], sigma: 0.0, kappa: 0.0 }
}

fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
}

/// Returns how many calls are done in a time.
fn count(done: &[Mark], from: f64, until: f64) -> usize {
    done.iter().filter(|done| from < done.at && done.at <= until).count()
}

#[test]
fn workers_take_calls_in_turn() {
    let mut station = Station::new(plain(2));
    for call in 0..6 {
        station.arrive(0.0, call, 0.5);
    }
    let done = station.advance(10.0);
    let expected = [(0, 0.5), (1, 0.5), (2, 1.0), (3, 1.0), (4, 1.5), (5, 1.5)];
    assert_eq!(done, expected.map(|(call, at)| Mark { call, at }));
    assert_eq!(station.begun()[2..4], [(2, 0.5), (3, 0.5)].map(|(call, at)| Mark { call, at }));
}

#[test]
fn its_capacity_changes_step_by_step() {
    // The work of a call fits into a phase without a rest, but for rounding.
    let workers = vec![(1.01, 20), (2.01, 8), (f64::INFINITY, 40)];
    let mut station = Station::new(Plan { workers, sigma: 0.0, kappa: 0.0 });
    for call in 0..3_000 {
        station.arrive(0.0, call, WORK);
    }
    let done = station.advance(3.02);
    assert_eq!(count(&done, 0.0, 1.01), 500);
    // What had begun before is done, and then a third as many call at a time.
    assert_eq!(count(&done, 1.01, 1.05), 20);
    assert_eq!(count(&done, 1.05, 2.01), 8 * 24);
    // Eight are in the middle of their work, and 32 begin at once.
    assert_eq!(count(&done, 2.01, 3.02), 8 * 25 + 32 * 25);
}

#[test]
fn its_throughput_follows_the_scalability_law() {
    let (sigma, kappa) = (0.02, 0.0153);
    for calls in [1, 2, 8, 20, 64] {
        let plan = Plan { sigma, kappa, ..plain(64) };
        let n = f64::from(u32::try_from(calls).unwrap());
        let law = n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0)) / WORK;
        assert_near(plan.throughput(calls, WORK), law);

        // As many calls as ever: each that is done is followed by another.
        let mut station = Station::new(plan);
        for call in 0..calls {
            station.arrive(0.0, call, WORK * f64::from(u32::try_from(call + 1).unwrap()) / n);
        }
        let (mut served, mut last) = (0, 0.0);
        while served < 10 * calls {
            last = station.next().unwrap();
            for done in station.advance(last) {
                served += 1;
                station.arrive(last, done.call, WORK);
            }
        }
        assert_eq!(station.in_work(), calls);
        assert_near(f64::from(u32::try_from(served).unwrap()) / last, law);
    }
}

#[test]
fn its_throughput_is_greatest_where_the_law_says_so() {
    let plan = Plan { sigma: 0.02, kappa: 0.0153, ..plain(64) };
    let best = (1..64).max_by(|a, b| plan.throughput(*a, WORK).total_cmp(&plan.throughput(*b, WORK)));
    assert_eq!(best, Some(8), "√((1 − σ) / κ)");
}

#[test]
fn a_call_delays_another_only_while_both_are_in_work() {
    let plan = Plan { sigma: 0.5, kappa: 0.25, ..plain(64) };
    let mut station = Station::new(plan);
    station.arrive(0.0, 0, 1.0);
    // From now on, each takes twice as long.
    station.arrive(0.5, 1, 1.0);
    let done = station.advance(10.0);
    assert_eq!(done, [Mark { call: 0, at: 1.5 }, Mark { call: 1, at: 2.0 }]);
}

#[test]
fn late_looks_do_not_change_what_happened() {
    let plan = Plan { workers: vec![(0.3, 3), (f64::INFINITY, 5)], sigma: 0.1, kappa: 0.01 };
    let (mut early, mut late) = (Station::new(plan.clone()), Station::new(plan));
    for call in 0..20 {
        early.arrive(0.0, call, 0.1);
        late.arrive(0.0, call, 0.1);
    }
    let looks = (1..200).flat_map(|look| early.advance(0.01 * f64::from(look)));
    for (early, late) in looks.collect::<Vec<_>>().iter().zip(late.advance(2.0)) {
        assert_eq!(early.call, late.call);
        assert_near(early.at, late.at);
    }
}

#[test]
fn a_call_whose_caller_has_gone_is_forgotten_unless_it_has_begun() {
    let mut station = Station::new(plain(1));
    for call in 0..3 {
        station.arrive(0.0, call, 1.0);
    }
    station.leave(0);
    station.leave(1);
    let done = station.advance(5.0);
    assert_eq!(done, [Mark { call: 0, at: 1.0 }, Mark { call: 2, at: 2.0 }]);
}
