//! How long a circuit lives.

use std::future::pending;

use bulklink_breaker::{Guards, Settings};

use super::{call, executor, guards, is_open, keys, ms, partitions, trip};

#[test]
fn an_open_circuit_outlives_its_partition() {
    let executor = executor();
    let hosts = partitions(executor.runtime(), 1);
    let settings = Settings::consecutive(2).cool_down(ms(10));
    let guards = Guards::builder(&hosts).settings(settings).max_keys(2).build().expect("valid settings");
    trip(&guards, 1);
    call(&guards, &2, Ok(())).expect("another host");
    assert!(hosts.partition(&1).is_none(), "its partition is evicted");
    assert!(is_open(&guards, 1));
}

#[test]
fn calm_circuits_are_evicted_first_and_open_ones_never() {
    let executor = executor();
    let guards = guards(&executor, 3);
    trip(&guards, 1);
    assert!(call(&guards, &2, Err("down")).is_err());
    for invented in 100..1_000 {
        call(&guards, &invented, Ok(())).expect("a closed circuit");
    }
    let status = keys(&guards);
    assert_eq!((status.kept, status.evicted, status.without_circuit), (3, 899, 0));
    // The failure of before still counts.
    assert!(call(&guards, &2, Err("down")).is_err());
    assert!(is_open(&guards, 1) && is_open(&guards, 2));
    assert_eq!(guards.status().totals.successes, 900, "the counts of circuits that are gone");
}

#[test]
fn of_failed_circuits_the_one_unused_for_the_longest_time_is_evicted() {
    let executor = executor();
    let guards = guards(&executor, 3);
    for key in [1, 2, 3, 1] {
        let request = guards.key(&key);
        drop(request);
        if guards.breaker(&key).expect("made").status().totals.failures == 0 {
            assert!(call(&guards, &key, Err("down")).is_err());
        }
    }
    call(&guards, &4, Ok(())).expect("a closed circuit");
    let is_kept = [1, 2, 3, 4].map(|key| guards.breaker(&key).is_some());
    assert_eq!(is_kept, [true, false, true, true]);
}

#[test]
fn an_open_circuit_that_nobody_calls_is_kept_for_its_cool_down_and_as_long_again() {
    let mut executor = executor();
    let guards = guards(&executor, 1);
    trip(&guards, 1);
    executor.advance(ms(19));
    call(&guards, &2, Ok(())).expect("let through");
    assert_eq!((keys(&guards).evicted, keys(&guards).without_circuit), (0, 1));
    executor.advance(ms(1));
    call(&guards, &2, Ok(())).expect("let through");
    assert_eq!((keys(&guards).evicted, keys(&guards).without_circuit), (1, 1));
    assert!(guards.breaker(&1).is_none());
}

#[test]
fn a_half_open_circuit_is_kept_for_as_long_after_its_last_probe() {
    let mut executor = executor();
    let guards = guards(&executor, 1);
    guards.reconfigure(guards.settings().close_after(2)).expect("valid settings");
    trip(&guards, 1);
    executor.advance(ms(18));
    call(&guards, &1, Ok(())).expect("a probe");
    executor.advance(ms(19));
    call(&guards, &2, Ok(())).expect("let through");
    assert_eq!((keys(&guards).half_open, keys(&guards).evicted), (1, 0));
    executor.advance(ms(1));
    call(&guards, &2, Ok(())).expect("let through");
    assert_eq!((keys(&guards).half_open, keys(&guards).evicted), (0, 1));
}

#[test]
fn a_circuit_stays_while_something_holds_it() {
    let mut executor = executor();
    let guards = guards(&executor, 3);
    let request = guards.key(&1);
    let own = guards.clone();
    let running = executor.spawn(async move { own.key(&2).execute(pending::<Result<(), ()>>()).await });
    executor.run_until_idle();
    call(&guards, &3, Ok(())).expect("a closed circuit");
    let breaker = guards.breaker(&3).expect("made");
    call(&guards, &4, Ok(())).expect("let through");
    assert_eq!((keys(&guards).evicted, keys(&guards).without_circuit), (0, 1));
    drop((request, breaker));
    running.cancel();
    executor.run_until_idle();
    for key in 5..8 {
        call(&guards, &key, Ok(())).expect("let through");
    }
    assert_eq!((keys(&guards).evicted, keys(&guards).without_circuit), (3, 1));
    assert!([1, 2, 3].iter().all(|key| guards.breaker(key).is_none()));
}

#[test]
fn a_circuit_that_was_opened_by_hand_stays() {
    let mut executor = executor();
    let guards = guards(&executor, 1);
    call(&guards, &1, Ok(())).expect("a closed circuit");
    guards.breaker(&1).expect("made").force_open();
    executor.advance(ms(1_000_000));
    call(&guards, &2, Ok(())).expect("let through");
    assert!(is_open(&guards, 1));
}

#[test]
fn a_key_without_room_is_not_rejected_and_shares_nothing() {
    let executor = executor();
    let guards = guards(&executor, 2);
    trip(&guards, 1);
    trip(&guards, 2);
    for _ in 0..3 {
        trip(&guards, 3);
    }
    assert_eq!((keys(&guards).without_circuit, keys(&guards).kept), (6, 2));
    assert_eq!(guards.status().totals.failures, 4);
    // It gets one as soon as there is room.
    guards.reset();
    trip(&guards, 3);
    assert!(is_open(&guards, 3));
}

/// What it looks at and keeps, it does not look at again, so that an open circuit is no obstacle
/// to finding a closed one behind it.
#[test]
fn many_open_circuits_do_not_hide_a_closed_one_for_long() {
    let executor = executor();
    let guards = guards(&executor, 100);
    for key in 0..99 {
        trip(&guards, key);
    }
    call(&guards, &99, Ok(())).expect("a closed circuit");
    for key in 200..204 {
        call(&guards, &key, Ok(())).expect("let through");
    }
    assert_eq!((keys(&guards).without_circuit, keys(&guards).evicted), (3, 1));
    assert!(keys(&guards).open == 99 && guards.breaker(&203).is_some());
}
