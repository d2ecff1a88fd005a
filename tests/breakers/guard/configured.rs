//! Guards that are built in a registry, and their run limit by its configuration.

use std::collections::BTreeMap;
use std::future::pending;
use std::time::Duration;

use bulklink::Bulkhead;
use bulklink::runtime::Clock;
use bulklink::testing::{Executor, FakeRuntime};
use bulklink_breaker::{
    Breaker, BreakerConfig, BreakerRegistry, ErrorsFail, Guard, GuardBuilder, GuardError, Outcome, Settings, State,
};

use super::by_hand::{ByHand, Treatment};
use super::{TestGuard, call, executor, limits, ms};

fn builder(executor: &Executor, label: &str) -> GuardBuilder<FakeRuntime> {
    Guard::builder(&limits(Bulkhead::builder_on(executor.runtime(), label), 2, 5))
}

/// Applies a section for each label, and returns the text of what has changed.
fn apply(registry: &BreakerRegistry, executor: &Executor, labels: &[&str], run_limit: Option<Duration>) -> String {
    let mut section = BreakerConfig::default();
    (section.failures, section.run_limit) = (Some(2), run_limit);
    let sections: BTreeMap<_, _> = labels.iter().map(|label| ((*label).to_owned(), section)).collect();
    registry.apply(&sections, &executor.clock()).expect("valid")
}

/// Returns after which time a call ends that begins now, and the limit of its error.
fn measure(executor: &mut Executor, guard: &TestGuard) -> (Duration, Duration) {
    let began = executor.clock().now();
    let slow = call::<(), _>(executor, guard, pending());
    while !slow.is_finished() {
        executor.advance(ms(1));
    }
    let Some(Err(GuardError::TimedOut(timed_out))) = slow.output() else { panic!("it did not time out") };
    (executor.clock().now().saturating_since(began), timed_out.limit)
}

#[test]
fn a_guard_is_built_around_the_breaker_of_its_label_and_takes_its_place() {
    let mut executor = executor();
    let registry = BreakerRegistry::new();
    apply(&registry, &executor, &["test", "other"], Some(ms(40)));
    let ignore = |_: &Result<(), &'static str>| Outcome::Ignore;
    let guard = builder(&executor, "test").classify(ignore).half_open_capacity(1).build_in(&registry);
    let guard = guard.expect("it has a section");
    assert_eq!((guard.run_limit(), guard.breaker().settings()), (Some(ms(40)), Settings::consecutive(2)));
    let own = guard.clone();
    assert!(executor.block_on(async move { own.execute(async { Err::<(), _>("none") }).await }).is_err());
    let status = registry.status();
    assert_eq!((registry.len(), status[1].breaker.totals.ignored, status[1].bulkhead.is_some()), (2, 1, true));
    registry.breaker("test").expect("there").force_open();
    assert_eq!(
        (guard.breaker().status().circuit.state, guard.bulkhead().status().effective_capacity()),
        (State::Open, 1)
    );
    assert_eq!(apply(&registry, &executor, &["other"], Some(ms(40))), "", "the guard is the program's");
}

#[test]
fn a_guard_without_a_breaker_in_the_registry_is_refused_by_name() {
    let executor = executor();
    let registry = BreakerRegistry::new();
    apply(&registry, &executor, &["payments", "search"], None);
    let refused = |guard: GuardBuilder<FakeRuntime>| guard.build_in(&registry).expect_err("refused").to_string();
    let text = "breakers.serach must be there (is it breakers.search, which is not required?)";
    assert_eq!(refused(builder(&executor, "serach")), text);
    assert_eq!(refused(builder(&executor, "reports")), "breakers.reports must be there");
    let search = builder(&executor, "search").build_in(&registry).expect("it has a section");
    assert_eq!(refused(builder(&executor, "search")), "breakers.search must not be used by another guard");
    assert_eq!(refused(builder(&executor, "serach")), "breakers.serach must be there", "search is used");
    assert_eq!(registry.guard::<FakeRuntime, ErrorsFail>("search").expect("added").run_limit(), search.run_limit());
    for (guard, text) in [
        (
            builder(&executor, "payments").settings(Settings::default()),
            "settings must not be set beside breaker, got both",
        ),
        (builder(&executor, "payments").breaker(search.breaker()), "breaker must not be set beside build_in, got both"),
        (builder(&executor, "payments").run_limit(ms(0)), "run_limit must be from 1ns to 100 years, got 0ns"),
    ] {
        assert_eq!(refused(guard), format!("breakers.payments has no guard: {text}"));
    }
    builder(&executor, "payments").build_in(&registry).expect("nothing was added before");
}

#[test]
fn a_breaker_of_the_program_serves_as_well() {
    let executor = executor();
    let registry = BreakerRegistry::new();
    let breaker = Breaker::builder_on(executor.clock(), "test").build().expect("valid");
    registry.add_breaker(&breaker).expect("a new label");
    let guard = builder(&executor, "test").build_in(&registry).expect("it has a breaker");
    breaker.force_open();
    assert_eq!(guard.breaker().status().circuit.state, State::Open);
}

#[test]
fn the_run_limit_changes_live_for_the_operations_that_begin_then() {
    let mut executor = executor();
    let registry = BreakerRegistry::new();
    let added = "breaker test: added, of_last 2, failures 2, run_limit 100ms";
    assert_eq!(apply(&registry, &executor, &["test"], Some(ms(100))), added);
    let guard = builder(&executor, "test").run_limit(ms(300)).build_in(&registry).expect("it has a section");
    let earlier = call::<(), _>(&mut executor, &guard, pending());
    assert_eq!(apply(&registry, &executor, &["test"], Some(ms(40))), "breaker test: run_limit 100ms -> 40ms");
    assert_eq!(measure(&mut executor, &guard), (ms(40), ms(40)));
    executor.advance(Duration::from_nanos(59_999_999));
    assert!(!earlier.is_finished());
    executor.advance(Duration::from_nanos(1));
    let Some(Err(GuardError::TimedOut(timed_out))) = earlier.output() else { panic!("it did not time out") };
    assert_eq!(timed_out.limit, ms(100), "that with which it began");
    registry.reset_all();
    assert_eq!(apply(&registry, &executor, &["test"], None), "breaker test: run_limit 40ms -> none");
    assert_eq!((guard.run_limit(), measure(&mut executor, &guard)), (Some(ms(300)), (ms(300), ms(300))));
    assert_eq!(apply(&registry, &executor, &["test"], Some(ms(7))), "breaker test: run_limit none -> 7ms");
    assert_eq!(measure(&mut executor, &guard), (ms(7), ms(7)));
}

#[test]
fn a_closure_has_the_limit_of_when_it_is_given_to_the_runtime() {
    let mut executor = executor();
    let registry = BreakerRegistry::new();
    apply(&registry, &executor, &["test"], Some(ms(100)));
    let runtime = ByHand::new(&executor, Treatment::Keep);
    let guard = Guard::builder(&limits(Bulkhead::builder_on(runtime.clone(), "test"), 1, 5)).build_in(&registry);
    let guard = guard.expect("it has a section");
    let slot = guard.bulkhead().owned().try_slot().expect("free");
    let waiting = guard.clone();
    let waiting = executor.spawn(async move { waiting.execute_blocking(|| Ok::<_, &str>(())).await });
    executor.run_until_idle();
    apply(&registry, &executor, &["test"], Some(ms(40)));
    drop(slot);
    executor.run_until_idle();
    executor.advance(ms(40));
    assert!(matches!(waiting.output(), Some(Err(GuardError::Refused(_)))), "no thread was free in time");
    drop(runtime);
}

/// Two threads build the guard of one breaker: the bulkhead of the one refused stays as it was.
#[test]
fn a_guard_that_is_refused_leaves_its_bulkhead_as_it_was() {
    for round in 0..3_000 {
        let executor = executor();
        let registry = BreakerRegistry::new();
        apply(&registry, &executor, &["test"], None);
        let bulkheads = [(); 2].map(|()| limits(Bulkhead::builder_on(executor.runtime(), "test"), 10, 5));
        let barrier = std::sync::Barrier::new(2);
        let built: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> = bulkheads
                .iter()
                .map(|bulkhead| {
                    let (registry, barrier) = (&registry, &barrier);
                    scope.spawn(move || {
                        let builder = Guard::builder(bulkhead).half_open_capacity(1);
                        barrier.wait();
                        builder.build_in(registry).is_ok()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(built.iter().filter(|built| **built).count(), 1);
        registry.breaker("test").expect("there").force_open();
        for (bulkhead, built) in bulkheads.iter().zip(built) {
            let capacity = bulkhead.status().effective_capacity();
            assert_eq!(capacity, if built { 1 } else { 10 }, "round {round}, built {built}");
        }
    }
}
