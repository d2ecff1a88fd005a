//! Calls by key: they do what those of a guard do.

use std::cell::RefCell;
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bulklink::{Partitions, Reason, Request};
use bulklink_breaker::{GuardError, Guards, Health, Outcome, Settings, State};
use bulklink_tokio::Tokio;

use super::{builder, call, executor, guards, is_open, keys, ms, partitions, trip};

#[test]
fn each_key_has_its_circuit() {
    let mut executor = executor();
    let guards = guards(&executor, 10);
    trip(&guards, 1);
    assert!(is_open(&guards, 1) && !is_open(&guards, 2));
    assert_eq!((guards.health(), keys(&guards).open, keys(&guards).kept), (Health::Isolated, 1, 2));
    executor.advance(ms(10));
    assert_eq!((guards.health(), keys(&guards).half_open), (Health::Degraded, 1));
    call(&guards, &1, Ok(())).expect("the probe");
    assert_eq!(guards.health(), Health::Healthy);
    let totals = guards.status().totals;
    assert_eq!((totals.failures, totals.rejected, totals.successes, totals.opened), (2, 1, 2, 1));
}

#[test]
fn a_waiting_call_is_rejected_when_the_circuit_of_its_key_opens() {
    let mut executor = executor();
    let guards = guards(&executor, 10);
    let spawn = |executor: &mut bulklink::testing::Executor, key: u32| {
        let guards = guards.clone();
        executor.spawn(async move { guards.key(&key).execute(pending::<Result<(), ()>>()).await })
    };
    let calls = [1, 1, 1, 2].map(|key| spawn(&mut executor, key));
    executor.run_until_idle();
    guards.breaker(&1).expect("made").force_open();
    executor.run_until_idle();
    assert!(matches!(calls[2].output(), Some(Err(GuardError::Open(_)))));
    assert!(calls[3].output().is_none());
}

#[test]
fn the_run_limit_and_limits_of_requests_apply() {
    let mut executor = executor();
    let guards = builder::<u32, _>(executor.runtime(), 10).run_limit(ms(5)).build().expect("valid settings");
    let own = guards.clone();
    let limited = executor.spawn(async move { own.key(&1).execute(pending::<Result<(), ()>>()).await });
    executor.run_until_idle();
    let slots = [guards.partitions().key(&1).try_slot().expect("the second slot")];
    let (own, costly) = (guards.clone(), guards.clone());
    let waits = executor.spawn(async move { own.key(&1).within(ms(2)).execute(async { Ok::<_, ()>(()) }).await });
    let heavy = Request::new().cost(3);
    let heavy = executor.spawn(async move { costly.key(&1).with(heavy).execute(async { Ok::<_, ()>(()) }).await });
    executor.run_until_idle();
    executor.advance(ms(2));
    executor.run_until_idle();
    assert!(
        matches!(waits.output(), Some(Err(GuardError::Rejected(rejection))) if rejection.reason() == Reason::Expired)
    );
    assert!(matches!(heavy.output(), Some(Err(GuardError::Rejected(_)))));
    executor.advance(ms(3));
    executor.run_until_idle();
    let Some(Err(GuardError::TimedOut(timed_out))) = limited.output() else { panic!("it did not time out") };
    assert_eq!(timed_out.to_string(), "guard hosts: the operation ran for longer than 5ms");
    assert_eq!(guards.status().totals.timed_out, 1);
    assert_eq!(guards.partitions().partition(&1).expect("kept").status().in_flight, slots.len());
}

#[test]
fn a_key_without_a_partition_is_rejected_and_its_circuit_is_not_touched() {
    let executor = executor();
    let hosts = partitions(executor.runtime(), 1);
    let guards = Guards::builder(&hosts).build().expect("valid settings");
    let _slot = hosts.key(&1).try_slot().expect("free");
    let rejected = call(&guards, &2, Ok(()));
    assert!(matches!(rejected, Err(GuardError::Rejected(rejection)) if rejection.reason() == Reason::PartitionLimit));
    assert_eq!((guards.status().totals.ended(), keys(&guards).max), (0, 1));
}

/// Notes when it is dropped.
struct Noting(Rc<RefCell<Vec<usize>>>, Box<dyn Fn() -> usize>);

impl Future for Noting {
    type Output = Result<(), ()>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Pending
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.0.borrow_mut().push((self.1)());
    }
}

#[test]
fn an_operation_is_dropped_before_its_slot_is_free() {
    let mut executor = executor();
    let guards = guards(&executor, 10);
    let in_flight = |guards: &super::TestGuards| {
        guards.partitions().partition(&1).map_or(0, |partition| partition.status().in_flight)
    };
    let noted = Rc::new(RefCell::new(Vec::new()));
    let (looks, own) = (guards.clone(), guards.clone());
    let operation = Noting(Rc::clone(&noted), Box::new(move || in_flight(&looks)));
    let running = executor.spawn(async move { own.key(&1).execute(operation).await });
    executor.run_until_idle();
    running.cancel();
    executor.run_until_idle();
    assert_eq!((noted.borrow().clone(), in_flight(&guards)), (vec![1], 0));
    assert_eq!(guards.status().totals.cancelled, 1);
}

#[test]
fn settings_change_for_circuits_that_are_there_and_those_to_come() {
    let executor = executor();
    let guards = guards(&executor, 10);
    assert!(call(&guards, &1, Err("down")).is_err());
    let before = guards.reconfigure(Settings::consecutive(3)).expect("valid settings");
    assert_eq!((before, guards.settings()), (Settings::consecutive(2).cool_down(ms(10)), Settings::consecutive(3)));
    for key in [1, 2] {
        assert!(call(&guards, &key, Err("down")).is_err());
        assert!(call(&guards, &key, Err("down")).is_err());
    }
    assert!(is_open(&guards, 1) && !is_open(&guards, 2));
    let refused = guards.reconfigure(Settings::consecutive(0)).expect_err("impossible");
    assert_eq!(refused.to_string(), "guards hosts: window must be from 1 to 10000, got 0");
    assert_eq!(guards.settings(), Settings::consecutive(3));
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let executor = executor();
    let refused = |builder: super::Builder<u32, _>| builder.build().expect_err("impossible").to_string();
    let text = refused(builder(executor.runtime(), 0));
    assert_eq!(text, "guards hosts: max_keys must be at least 1, got 0");
    let text = refused(builder(executor.runtime(), 1).run_limit(ms(0)));
    assert!(text.starts_with("guards hosts: run_limit must be"), "{text}");
}

#[test]
fn keys_are_shown_only_if_asked_for_and_of_open_circuits_ten() {
    let executor = executor();
    let hidden = guards(&executor, 100);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let shown = builder::<u32, _>(executor.runtime(), 100)
        .show_keys(|key| format!("host\n{key}{}", "x".repeat(200)))
        .on_transition(move |transition| {
            notes.lock().expect("no panic").push((transition.to, transition.label.to_string()));
        })
        .build()
        .expect("valid settings");
    for key in 0..12 {
        trip(&hidden, key);
        trip(&shown, key);
    }
    assert_eq!((keys(&hidden).open, keys(&hidden).worst.len()), (12, 0));
    let Err(GuardError::Open(open)) = call(&hidden, &0, Ok(())) else { panic!("it ran") };
    assert_eq!(&*open.label, "hosts");
    let status = keys(&shown);
    assert_eq!((status.open, status.worst.len()), (12, 10));
    let label = format!("hosts/host\u{fffd}11{}", "x".repeat(93));
    assert_eq!(&*status.worst[0].label, label);
    assert_eq!(seen.lock().expect("no panic").last(), Some(&(State::Open, label)));
    assert_eq!((&*shown.status().label, shown.status().circuit.state), ("hosts", State::Open));
}

#[test]
fn the_worst_keys_are_open_before_half_open_and_have_rejected_the_most_calls() {
    let mut executor = executor();
    let shown = builder::<u32, _>(executor.runtime(), 100).show_keys(u32::to_string).build().expect("valid settings");
    trip(&shown, 1);
    assert!((0..5).all(|_| is_open(&shown, 1)));
    executor.advance(ms(10));
    for key in 2..5 {
        trip(&shown, key);
        assert!((0..=key % 3).all(|_| is_open(&shown, key)));
    }
    call(&shown, &9, Ok(())).expect("a closed circuit");
    executor.advance(ms(2));
    let status = shown.status();
    let worst = &status.keys.as_ref().expect("of guards by key").worst;
    let seen: Vec<_> = worst.iter().map(|status| (&*status.label, status.totals.rejected)).collect();
    assert_eq!(seen, [("hosts/2", 3), ("hosts/4", 2), ("hosts/3", 1), ("hosts/1", 5)]);
    assert_eq!((worst[0].state_age, worst[3].state_age, worst[3].unhealthy_for), (ms(2), ms(2), Some(ms(12))));
    let first = (worst[0].circuit, worst[0].unhealthy_for, worst[0].tripped);
    assert_eq!((status.circuit, status.unhealthy_for, status.tripped), first);
}

#[tokio::test]
async fn closures_and_classifiers_work_by_key() {
    let hosts: Partitions<String, Tokio> =
        Partitions::builder("hosts").parallelism(1).max_partitions(10).build().expect("valid limits");
    let lenient = |result: &Result<(), &'static str>| match result {
        Err("down") => Outcome::Failure,
        _ => Outcome::Success,
    };
    let settings = Settings::consecutive(1);
    let guards = Guards::builder(&hosts).settings(settings).classify(lenient).build().expect("valid settings");
    assert!(guards.key("a").execute_blocking(|| Err("not found")).await.is_err());
    guards.key("a").execute_blocking(|| Ok(())).await.expect("closed");
    assert!(guards.key("a").execute(async { Err("down") }).await.is_err());
    assert!(matches!(guards.key("a").execute_blocking(|| Ok(())).await, Err(GuardError::Open(_))));
}
