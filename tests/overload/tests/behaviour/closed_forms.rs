//! Where queueing theory has a formula, the simulation has its result.

use bulklink_overload::backend::{Backend, Kind};
use bulklink_overload::plant::Plant;
use bulklink_overload::random::Distribution::{Constant, Exponential, LogNormal};
use bulklink_overload::simulation::{MAX_LIMIT, Run};

use crate::run_fixed;

/// A mean hold of 100 ms, whatever is in flight.
const FREE: Kind = Kind::Curve(&[(1.0, 0.1)]);

/// A plant without a deadline or a wait limit.
fn plant(backend: Backend, rate: f64) -> Plant {
    Plant::new("test", backend).load(rate).deadline(1e9, 0.0).measured(100.0, 100.0 + 150_000.0 / rate)
}

fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected, "{found} is not {expected}");
}

fn mean_latency(run: &Run) -> f64 {
    run.latencies.iter().copied().map(f64::from).sum::<f64>() / run.good as f64
}

/// The probabilities of each number of calls in a system with Poisson arrivals and `servers`
/// exponential servers, in terms of the arrivals in a mean service.
fn states(arrivals: f64, servers: u32, places: u32) -> Vec<f64> {
    let mut states = vec![1.0];
    for calls in 1..=servers + places {
        let last = states[states.len() - 1];
        states.push(last * arrivals / f64::from(calls.min(servers)));
    }
    let sum: f64 = states.iter().sum();
    states.into_iter().map(|state| state / sum).collect()
}

#[test]
fn calls_without_a_slot_are_as_many_as_erlang_says() {
    let full = run_fixed(&plant(Backend::new(FREE, 1.0, 1.0, Exponential), 110.0).room(0), 10);
    assert_near(full.refused_share(), states(11.0, 10, 0)[10], 0.02);
    // The formula holds for each distribution of the hold.
    let full = run_fixed(&plant(Backend::new(FREE, 1.0, 1.0, LogNormal(1.0)), 110.0).room(0), 10);
    assert_near(full.refused_share(), states(11.0, 10, 0)[10], 0.02);
}

#[test]
fn calls_without_a_place_in_the_waiting_room_and_the_wait_of_others_are_as_erlang_says() {
    let run = run_fixed(&plant(Backend::new(FREE, 1.0, 1.0, Exponential), 95.0).room(8), 10);
    let states = states(9.5, 10, 8);
    assert_near(run.refused_share(), states[18], 0.06);
    let calls: f64 = states.iter().enumerate().map(|(calls, state)| calls as f64 * state).sum();
    assert_near(mean_latency(&run), calls / (95.0 * (1.0 - states[18])), 0.02);
}

#[test]
fn waits_expire_as_often_as_in_a_queue_with_one_server_and_impatient_calls() {
    for rate in [8.0, 12.0] {
        let (service, wait) = (10.0_f64, 0.3_f64);
        let patient = Plant { wait, ..plant(Backend::new(FREE, 1.0, 1.0, Exponential), rate).room(1000) };
        let run = run_fixed(&patient, 1);
        // The density of the wait that a call would have: rate e^((rate - service) x) up to the
        // limit of the wait, and then e^(-service x).
        let at_limit = ((rate - service) * wait).exp();
        let (below, above) = (rate * (at_limit - 1.0) / (rate - service), rate / service * at_limit);
        assert_near(run.refused_share(), above / (1.0 + below + above), 0.03);
    }
}

#[test]
fn a_hidden_queue_makes_calls_as_slow_as_erlang_says() {
    let run = run_fixed(&plant(Backend::new(Kind::Workers, 8.0, 0.1, Exponential), 68.0), MAX_LIMIT);
    let states = states(6.8, 8, 2_000);
    let queued: f64 = states[8..].iter().sum();
    assert_near(mean_latency(&run), 0.1 + queued / (80.0 - 68.0), 0.03);
}

#[test]
fn shared_processors_make_calls_as_slow_whatever_the_distribution_of_their_work() {
    for work in [Exponential, LogNormal(0.8)] {
        let run = run_fixed(&plant(Backend::new(Kind::Sharing, 1.0, 0.01, work), 70.0), MAX_LIMIT);
        assert_near(mean_latency(&run), 0.01 / (1.0 - 0.7), 0.03);
    }
    let run = run_fixed(&plant(Backend::new(Kind::Sharing, 1.0, 0.01, Exponential), 130.0).room(0), 5);
    assert_near(run.refused_share(), states(1.3, 1, 4)[5], 0.03);
}

#[test]
fn throughput_scales_by_the_universal_law_and_a_pool_bounds_the_calls_that_slow_each_other_down() {
    let law = |calls: f64| calls / (1.0 + 0.05 * (calls - 1.0) + 0.001 * calls * (calls - 1.0)) / 0.02;
    let scaling = Backend::new(Kind::Scaling { contention: 0.05, crosstalk: 0.001 }, 1.0, 0.02, Exponential);
    for limit in [5, 40] {
        let run = run_fixed(&plant(scaling.clone(), 2_000.0), limit);
        assert_near(run.good as f64 / 75.0, law(f64::from(limit)), 0.02);
    }
    let pool = Backend::new(Kind::Pool { contention: 0.05, crosstalk: 0.001 }, 12.0, 0.02, Exponential);
    let run = run_fixed(&plant(pool, 2_000.0), 60);
    assert_near(run.good as f64 / 75.0, law(12.0), 0.02);
}

#[test]
fn a_hold_is_that_of_the_curve_at_the_calls_in_flight() {
    let curve = Backend::new(Kind::Curve(&[(0.0, 0.1), (100.0, 0.6)]), 1.0, 1.0, Exponential);
    for limit in [20, 150] {
        // There are always more calls than slots.
        let run = run_fixed(&plant(curve.clone(), 1_000.0), limit);
        let hold = (0.1 + f64::from(limit) * 0.005).min(0.6);
        assert_near(run.good as f64 / 150.0, f64::from(limit) / hold, 0.03);
    }
}

#[test]
fn a_bucket_gives_as_many_tokens_as_come_and_a_cap_as_many_calls_as_it_has_places() {
    let bucket = Kind::Metered { rate: 50.0, burst: 10.0, penalty: 0.0 };
    let run = run_fixed(&plant(Backend::new(bucket, 1.0, 0.1, Constant), 500.0), MAX_LIMIT);
    assert_near(run.good as f64 / 300.0, 50.0, 0.01);
    assert_eq!(run.good + run.failed + run.unfinished, run.offered, "a refused call fails");
    let capped = Backend::new(Kind::Capped { drops: false }, 10.0, 0.1, Exponential);
    let run = run_fixed(&plant(capped, 500.0).room(0), 10);
    assert_eq!(run.failed, 0, "the limit is the cap");
}
