//! Which partitions are kept, and for how long.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bulklink::OwnedSlot;
use bulklink::partitions::Limits;
use bulklink::{InvalidArgument, Partitions, Reason, Request};

use super::{IDLE_TIMEOUT, Tenants, builder, call, counts, is_kept, occupancy, tenants, touch, touch_each};
use crate::{executor, ms, reason, slot};

#[test]
fn the_longest_idle_partition_is_evicted_to_make_room() {
    let executor = executor();
    let tenants = tenants(&executor, 3);
    touch_each(&tenants, ["ann", "bob", "cid"]);
    touch(&tenants, "ann");
    touch(&tenants, "dan");
    assert_eq!(["ann", "bob", "cid", "dan"].map(|key| is_kept(&tenants, key)), [true, false, true, true]);
    touch(&tenants, "eve");
    assert_eq!(["ann", "cid", "dan", "eve"].map(|key| is_kept(&tenants, key)), [true, false, true, true]);
    assert_eq!(counts(&tenants.status().totals), [5, 2, 0, 0]);
}

#[test]
fn an_evicted_partition_starts_with_new_counters() {
    let executor = executor();
    let tenants = tenants(&executor, 1);
    touch(&tenants, "ann");
    tenants.partition("ann").expect("kept").resize(7).expect("open");
    touch(&tenants, "bob");
    touch(&tenants, "ann");
    let ann = tenants.partition("ann").expect("kept").status();
    assert_eq!((ann.limits.capacity, ann.totals.admitted), (1, 1));
}

#[test]
fn without_an_idle_partition_a_new_key_is_rejected() {
    let mut executor = executor();
    let tenants = tenants(&executor, 2);
    let running = ["ann", "bob"].map(|key| slot(&call(&mut executor, &tenants, key)));
    let rejection = call(&mut executor, &tenants, "cid").output().expect("completed immediately").expect_err("no room");
    assert_eq!((rejection.reason(), rejection.label()), (Reason::PartitionLimit, "tenants"));
    assert_eq!(rejection.to_string(), "bulkhead tenants: partition limit (2 of 2 partitions, 2 active, 2 operations)");
    let partitions = rejection.partitions().expect("the partitions rejected the call");
    assert_eq!((partitions.partitions(), partitions.active_partitions(), partitions.max_partitions()), (2, 2, 2));
    assert_eq!((partitions.leased_operations(), rejection.occupancy().capacity(), rejection.waited()), (2, 1, ms(0)));
    assert_eq!(counts(&tenants.status().totals), [2, 0, 0, 1]);
    assert!(tenants.status().is_full());
    drop(running);
    touch(&tenants, "cid");
}

#[test]
fn a_rejected_call_that_is_never_polled_is_not_counted() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1);
    let _running = slot(&call(&mut executor, &tenants, "ann"));
    let limit_rejected = |tenants: &Tenants| tenants.status().totals.limit_rejected;
    drop((tenants.key("bob").slot(), tenants.key("bob").execute(async {})));
    assert_eq!(limit_rejected(&tenants), 0);
    executor.block_on({
        let tenants = tenants.clone();
        async move {
            let (first, second) = (tenants.key("bob").slot(), tenants.key("bob").slot());
            let (executed, fallible) =
                (tenants.key("bob").execute(async {}), tenants.key("bob").execute_fallible(async { Ok::<_, ()>(()) }));
            assert_eq!(limit_rejected(&tenants), 0, "created, and not polled");
            first.await.expect_err("no room");
            assert_eq!(limit_rejected(&tenants), 1, "polled");
            second.await.expect_err("no room");
            executed.await.expect_err("no room");
            fallible.await.expect_err("no room");
            assert_eq!(limit_rejected(&tenants), 4);
        }
    });
    tenants.key("bob").try_slot().expect_err("no room");
    tenants.key("bob").with(Request::new()).try_slot().expect_err("no room");
    assert_eq!(limit_rejected(&tenants), 6, "returned immediately");
}

/// The call was rejected by the partition limit when it was created, and this is its result.
#[test]
fn a_rejected_call_polled_after_closing_is_counted_once() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1);
    let running = tenants.key("ann").try_slot().expect("free");
    let early = tenants.key("bob").slot();
    tenants.close();
    drop(running);
    let early = executor.spawn(early);
    executor.run_until_idle();
    assert_eq!(reason(&early), Reason::PartitionLimit);
    assert_eq!(counts(&tenants.status().totals), [1, 0, 0, 1]);
}

#[test]
fn a_call_in_any_state_keeps_its_partition() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1);
    let refused =
        |tenants: &Tenants| tenants.key("bob").try_slot().expect_err("no room").reason() == Reason::PartitionLimit;
    let running = slot(&call(&mut executor, &tenants, "ann"));
    assert!(refused(&tenants) && !tenants.discard("ann"));
    let waiting = call(&mut executor, &tenants, "ann");
    assert_eq!(tenants.status().leased_operations, 2);
    drop(running);
    assert!(refused(&tenants), "the call was granted the slot and has not collected it");
    waiting.cancel();
    let unpolled = tenants.key("ann").slot();
    assert!(refused(&tenants) && !tenants.discard("ann"));
    drop(unpolled);
    touch(&tenants, "bob");
    assert_eq!(counts(&tenants.status().totals), [2, 1, 0, 3]);
}

/// Every state of a call, each ended by a drop.
#[test]
fn a_call_dropped_in_any_state_leaves_its_partition() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1);
    let left = |tenants: &Tenants| occupancy(&tenants.status()) == (1, 0, 0);
    drop((tenants.key("ann").slot(), tenants.key("ann").execute(async {})));
    assert!(left(&tenants), "before the first poll");
    let running = slot(&call(&mut executor, &tenants, "ann"));
    call(&mut executor, &tenants, "ann").cancel();
    let handed = call(&mut executor, &tenants, "ann");
    drop(running);
    handed.cancel();
    assert!(left(&tenants), "while the call waits, and with a slot that it has not collected");
    let executing = executor.spawn({
        let tenants = tenants.clone();
        async move { tenants.key("ann").execute(pending::<()>()).await }
    });
    executor.run_until_idle();
    assert_eq!(occupancy(&tenants.status()), (1, 1, 1));
    executing.cancel();
    assert!(left(&tenants), "while the operation runs");
    let refused = [tenants.key("ann").try_slot(), tenants.key("ann").try_slot()];
    drop(refused);
    assert!(left(&tenants), "rejected");
    assert_eq!(tenants.partition("ann").expect("kept").status().in_flight, 0);
}

/// A slot or a future keeps its own bulkhead alive, but no other partition and no key.
#[test]
fn slots_and_futures_outlive_the_partitions_and_their_keys() {
    let mut executor = executor();
    let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
    let builder = Partitions::builder_on(executor.clock(), "tenants").parallelism(1).waiting_room(1);
    let tenants: Partitions<Arc<str>, _> = builder.max_partitions(1).build().expect("valid");
    let running = tenants.key(&ann).try_slot().expect("free");
    let waiting = executor.spawn(tenants.key(&ann).slot());
    executor.run_until_idle();
    let refused = tenants.key(&bob).slot();
    drop(tenants);
    assert_eq!(Arc::strong_count(&ann), 1, "the key is dropped");
    drop(running);
    executor.run_until_idle();
    assert_eq!(slot(&waiting).cost(), 1, "the slot was handed over");
    let rejection = executor.block_on(refused).expect_err("it got no partition");
    assert_eq!(rejection.reason(), Reason::PartitionLimit);
}

#[test]
fn a_call_whose_operation_panics_leaves_its_partition() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1);
    let held: Vec<OwnedSlot> = vec![slot(&call(&mut executor, &tenants, "ann"))];
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _held = held;
        panic!("on purpose");
    }));
    assert!(unwound.is_err());
    let failing = executor.spawn({
        let tenants = tenants.clone();
        async move { tenants.key("ann").execute(async { panic!("on purpose") }).await }
    });
    assert!(catch_unwind(AssertUnwindSafe(|| executor.run_until_idle())).is_err());
    drop(failing);
    assert_eq!(occupancy(&tenants.status()), (1, 0, 0));
}

#[test]
fn a_cleanup_evicts_partitions_that_were_idle_for_the_timeout() {
    let mut executor = executor();
    let tenants = tenants(&executor, 9);
    touch(&tenants, "ann");
    executor.advance(ms(1));
    touch(&tenants, "bob");
    let _running = tenants.key("cid").try_slot().expect("free");
    executor.advance(ms(98));
    assert_eq!(tenants.handle().cleanup_idle(), 0, "Ann's has been idle for 99 ms");
    executor.advance(ms(1));
    assert_eq!((tenants.handle().cleanup_idle(), is_kept(&tenants, "ann")), (1, false));
    executor.advance(ms(500));
    assert_eq!(
        (tenants.handle().cleanup_idle(), tenants.handle().cleanup_idle()),
        (1, 0),
        "Bob's is evicted, and not Cid's, which is in use"
    );
    assert_eq!((occupancy(&tenants.status()), counts(&tenants.status().totals)), ((1, 1, 1), [3, 2, 0, 0]));
}

#[test]
fn a_use_restarts_the_idle_time() {
    let mut executor = executor();
    let tenants = tenants(&executor, 9);
    touch(&tenants, "ann");
    executor.advance(ms(60));
    touch(&tenants, "ann");
    executor.advance(ms(60));
    assert_eq!(tenants.handle().cleanup_idle(), 0);
    executor.advance(ms(40));
    assert_eq!(tenants.handle().cleanup_idle(), 1);
}

#[test]
fn a_cleanup_evicts_many_partitions() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1_000);
    for number in 0..500 {
        touch(&tenants, &number.to_string());
    }
    executor.advance(ms(100));
    assert_eq!((tenants.handle().cleanup_idle(), tenants.status().partitions), (500, 0));
    touch(&tenants, "7");
}

#[test]
fn a_cleanup_needs_a_timeout_which_may_be_zero() {
    let mut executor = executor();
    let without_timeout = builder(&executor).parallelism(1).max_partitions(9).build().expect("valid");
    let with_timeout_zero = builder(&executor).parallelism(1).max_partitions(9).idle_timeout(Duration::ZERO).build();
    let with_timeout_zero = with_timeout_zero.expect("valid");
    touch(&without_timeout, "ann");
    touch(&with_timeout_zero, "ann");
    assert_eq!(with_timeout_zero.handle().cleanup_idle(), 1);
    executor.advance(Duration::from_secs(1 << 40));
    assert_eq!(without_timeout.handle().cleanup_idle(), 0);
}

#[test]
fn there_is_no_cleanup_in_the_background() {
    let mut executor = executor();
    let tenants = tenants(&executor, 2);
    touch(&tenants, "ann");
    assert_eq!(executor.clock().next_timer(), None, "no timer is armed");
    executor.advance(10 * IDLE_TIMEOUT);
    assert!(is_kept(&tenants, "ann"));
}

#[test]
fn discard_removes_an_idle_partition() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    assert!(!tenants.discard("ann"), "the key has no partition");
    let running = tenants.key("ann").try_slot().expect("free");
    assert!(!tenants.discard("ann"), "the partition is in use");
    drop(running);
    assert!(tenants.discard("ann"));
    assert!(!tenants.discard("ann"), "the partition is gone");
    assert_eq!((is_kept(&tenants, "ann"), counts(&tenants.status().totals)), (false, [1, 0, 1, 0]));
    touch(&tenants, "ann");
}

#[test]
fn many_keys_share_few_partitions_over_time() {
    let executor = executor();
    let tenants = tenants(&executor, 10);
    for number in 0..10_000 {
        touch(&tenants, &number.to_string());
    }
    assert!((9_990..10_000).all(|number| is_kept(&tenants, &number.to_string())));
    let status = tenants.status();
    assert_eq!((status.partitions, status.peak_partitions, counts(&status.totals)), (10, 10, [10_000, 9_990, 0, 0]));
}

#[test]
fn invalid_numbers_are_rejected() {
    let executor = executor();
    let refused = |build: Result<Tenants, InvalidArgument>| build.expect_err("the value is invalid").to_string();
    let sound = || builder(&executor).parallelism(1);
    assert_eq!(refused(sound().build()), "partitions tenants: max_partitions must be set, got nothing");
    let none = refused(sound().max_partitions(0).build());
    assert_eq!(none, "partitions tenants: max_partitions must be at least 1, got 0");
    let many = refused(sound().max_partitions(Limits::MAX + 1).build());
    assert!(many.ends_with(&format!("must be at most {}, got {}", Limits::MAX, Limits::MAX + 1)), "{many}");
    let no_room = refused(builder(&executor).parallelism(0).max_partitions(1).build());
    assert_eq!(no_room, "partitions tenants: parallelism must be at least 1, got 0");
    sound().max_partitions(Limits::MAX).idle_timeout(Duration::MAX).build().expect("valid");
}

#[test]
fn a_rejected_call_ends_its_lease() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1);
    let _running = slot(&call(&mut executor, &tenants, "ann"));
    let _waiting = [call(&mut executor, &tenants, "ann"), call(&mut executor, &tenants, "ann")];
    assert_eq!(reason(&call(&mut executor, &tenants, "ann")), Reason::Saturated);
    let status = tenants.status();
    assert_eq!((status.leased_operations, status.peak_leased_operations), (3, 4));
}
