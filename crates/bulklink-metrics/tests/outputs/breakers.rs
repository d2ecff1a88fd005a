//! Circuit breakers.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bulklink::testing::{Executor, FakeClock};
use bulklink::{Bulkhead, Partitions};
use bulklink_breaker::{Breaker, BreakerRegistry, Guard, Guards, Settings};
use bulklink_fleet::MemoryStore;
use bulklink_fleet::circuits::Circuits;
use bulklink_metrics::Exporter;

use crate::scene::SECOND;
use crate::series::{Series, outputs};

fn of(series: &Series, name: &str, label: &str) -> Option<i64> {
    let label = if label.is_empty() { String::new() } else { format!(",{label}") };
    series.count(&format!("bulklink_breaker_{name}{{bulkhead=\"payments\",kind=\"breaker\"{label}}}"))
}

fn state(series: &Series) -> [Option<i64>; 3] {
    ["closed", "open", "half_open"].map(|state| of(series, "state", &format!("state=\"{state}\"")))
}

fn outcomes(series: &Series) -> [Option<i64>; 6] {
    ["success", "failure", "timed_out", "panicked", "ignored", "cancelled"]
        .map(|outcome| of(series, "calls_total", &format!("outcome=\"{outcome}\"")))
}

fn exporter(registry: &BreakerRegistry) -> Exporter {
    Exporter::default().breakers(registry)
}

fn breaker(clock: FakeClock) -> Breaker {
    Breaker::builder_on(clock, "payments").settings(Settings::consecutive(3).cool_down(SECOND)).build().unwrap()
}

#[test]
fn each_call_is_in_one_outcome_and_the_state_is_that_of_the_moment() {
    let mut executor = Executor::new(FakeClock::new());
    let bulkhead = Bulkhead::builder_on(executor.runtime(), "payments").parallelism(9).build().unwrap();
    let settings = Settings::of_last(100).failures(4).slow_calls(SECOND, 100).cool_down(SECOND);
    let guard = Guard::builder(&bulkhead).settings(settings).run_limit(2 * SECOND).build().unwrap();
    let (breaker, registry) = (guard.breaker(), BreakerRegistry::new());
    registry.add(&guard).unwrap();
    let outputs = outputs(&exporter(&registry));
    let check =
        |expected: &dyn Fn(&str, &Series)| outputs.iter().for_each(|(name, output)| expected(name, &output.read()));
    check(&|name, series| {
        assert_eq!(state(series), [Some(1), Some(0), Some(0)], "{name}");
        assert_eq!(outcomes(series), [Some(0); 6], "{name}");
        assert_eq!(of(series, "store_connected", ""), None, "{name}");
    });

    (0..7).for_each(|_| breaker.admit().unwrap().succeed());
    (0..6).for_each(|_| breaker.admit().unwrap().ignore());
    (0..5).for_each(|_| drop(breaker.admit().unwrap()));
    let stale = breaker.admit().unwrap();
    let panicked = || breaker.blocking_execute(|| -> Result<(), ()> { resume_unwind(Box::new(())) });
    catch_unwind(AssertUnwindSafe(panicked)).unwrap_err();
    breaker.admit().unwrap().fail();
    let late = guard.clone();
    executor.spawn(async move { late.execute(pending::<Result<(), ()>>()).await });
    executor.advance(2 * SECOND);
    breaker.admit().unwrap().fail();
    stale.fail();
    (0..4).for_each(|_| drop(breaker.admit().unwrap_err()));
    check(&|name, series| {
        assert_eq!(state(series), [Some(0), Some(1), Some(0)], "{name}");
        assert_eq!(outcomes(series), [7, 3, 1, 1, 6, 5].map(Some), "{name}");
        let others = ["rejected_total", "slow_total", "stale_total", "opened_total", "probes_total", "forced_open"];
        assert_eq!(others.map(|other| of(series, other, "")), [4, 2, 1, 1, 0, 0].map(Some), "{name}");
    });

    executor.advance(SECOND);
    check(&|name, series| assert_eq!(state(series), [Some(0), Some(0), Some(1)], "{name}: without a call"));
    breaker.admit().unwrap().succeed();
    breaker.force_open();
    check(&|name, series| {
        assert_eq!(state(series), [Some(0), Some(1), Some(0)], "{name}");
        let others = ["opened_total", "probes_total", "forced_open"];
        assert_eq!(others.map(|other| of(series, other, "")), [2, 1, 1].map(Some), "{name}");
    });
}

#[test]
fn a_shared_circuit_says_whether_its_store_is_in_reach() {
    let mut executor = Executor::new(FakeClock::new());
    let store = MemoryStore::new(executor.clock());
    let circuits = Circuits::builder(store.clone(), executor.runtime()).namespace("test").build().unwrap();
    let breaker = circuits.share(Breaker::builder_on(executor.clock(), "payments")).unwrap();
    let exporter = Exporter::default();
    exporter.add_breaker(&breaker);
    let outputs = outputs(&exporter);
    for is_down in [false, true, false] {
        if is_down {
            store.stop();
        } else {
            store.start();
        }
        executor.advance(5 * SECOND);
        for (name, output) in &outputs {
            assert_eq!(of(&output.read(), "store_connected", ""), Some(i64::from(!is_down)), "{name}");
        }
    }
    assert!(exporter.remove("payments") && !exporter.remove("payments"));
    assert_eq!(of(&outputs[0].1.read(), "store_connected", ""), None);
}

#[test]
fn a_new_breaker_under_an_old_label_begins_again_or_goes_on_as_the_output_needs() {
    let registry = BreakerRegistry::new();
    let outputs = outputs(&exporter(&registry));
    for expected in [[3, 3, 3], [2, 5, 5], [4, 9, 9]] {
        let breaker = breaker(FakeClock::new());
        registry.add_breaker(&breaker).unwrap();
        (0..expected[0]).for_each(|_| breaker.admit().unwrap().succeed());
        for ((name, output), expected) in outputs.iter().zip(expected) {
            for reading in 1..=2 {
                assert_eq!(outcomes(&output.read())[0], Some(expected), "{name}, reading {reading}");
            }
        }
        // No output sees that it is gone.
        assert!(registry.remove("payments"));
    }
    let forgotten = outputs.iter().map(|(_, output)| state(&output.read())[0]);
    assert_eq!(forgotten.collect::<Vec<_>>(), [None, Some(0), None], "the facade cannot forget");
}

#[test]
fn a_breaker_has_the_label_of_its_guard_and_of_two_with_one_label_the_first_is_exported() {
    let bulkhead = Bulkhead::builder_on(Executor::new(FakeClock::new()).runtime(), "payments").parallelism(1);
    let (bulkhead, other) =
        (bulkhead.build().unwrap(), Breaker::builder_on(FakeClock::new(), "other").build().unwrap());
    let guard = Guard::builder(&bulkhead).breaker(&other).build().unwrap();
    let registry = BreakerRegistry::new();
    registry.add(&guard).unwrap();
    other.force_open();
    let exporter = exporter(&registry);
    exporter.add(&bulkhead);
    exporter.add_breaker(&breaker(FakeClock::new()));
    for (name, output) in outputs(&exporter) {
        let series = output.read();
        assert_eq!(state(&series), [Some(0), Some(1), Some(0)], "{name}");
        assert_eq!(series.count("bulklink_capacity{bulkhead=\"payments\",kind=\"bulkhead\"}"), Some(1), "{name}");
        assert_eq!(series.count("bulklink_left_out"), Some(1), "{name}");
    }
    assert!(format!("{exporter:?}").contains("payments"));
}

#[test]
fn guards_by_key_have_the_sums_and_the_numbers_of_keys_by_state() {
    let mut executor = Executor::new(FakeClock::new());
    let partitions = Partitions::builder_on(executor.runtime(), "payments").parallelism(1).max_partitions(9);
    let settings = Settings::consecutive(1).cool_down(SECOND);
    let builder = Guards::<u32, _>::builder(&partitions.build().unwrap()).settings(settings);
    let (guards, registry) = (builder.max_keys(4).build().unwrap(), BreakerRegistry::new());
    registry.add_guards(&guards).unwrap();
    let call = |key, result: Result<(), ()>| _ = guards.key(&key).blocking_execute(|| result);
    call(1, Err(()));
    executor.advance(SECOND);
    for key in [2, 3, 4] {
        call(key, Err(()));
    }
    call(5, Ok(()));
    guards.breaker(&4).unwrap().force_closed();
    for (name, output) in outputs(&exporter(&registry)) {
        let series = output.read();
        assert_eq!(state(&series), [Some(0), Some(1), Some(0)], "{name}");
        assert_eq!(of(&series, "opened_total", ""), Some(4), "{name}");
        let keys = ["closed", "open", "half_open"].map(|state| of(&series, "keys", &format!("state=\"{state}\"")));
        assert_eq!(keys, [Some(1), Some(2), Some(1)], "{name}");
        assert_eq!(of(&series, "without_circuit_total", ""), Some(1), "{name}");
    }
}
