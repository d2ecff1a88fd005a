//! Changing the limits of all partitions, those that are kept and those to come.

use bulklink::testing::Task;
use bulklink::{EventFilter, Limits, Reason, ReconfigureError, Request};

use super::{builder, call, tenants, touch, touch_each};
use crate::{executor, ms, recorder, slot, taken};

#[test]
fn kept_and_new_partitions_get_the_limits() {
    let mut executor = executor();
    let tenants = tenants(&executor, 3);
    touch(&tenants, "ann");
    let _running = slot(&call(&mut executor, &tenants, "ann"));
    let waiting = call(&mut executor, &tenants, "ann");
    let before = tenants.status().each;
    let limits = Limits::new(2).with_waiting_room(3).with_waiting_room_units(Some(2)).with_wait_limit(Some(ms(50)));
    let answer = tenants.reconfigure(limits).expect("valid");
    assert_eq!((answer.previous, answer.limits, answer.admitted), (before, limits, 1));
    executor.run_until_idle();
    assert!(waiting.is_finished());
    touch(&tenants, "bob");
    assert_eq!(["ann", "bob"].map(|key| tenants.partition(key).expect("kept").limits()), [limits; 2]);
    assert_eq!(tenants.status().each, limits);
    let again = tenants.reconfigure(limits).expect("valid");
    assert!(!again.has_changed() && again.admitted == 0);
}

#[test]
fn a_partition_with_limits_of_its_own_gets_the_common_ones() {
    let executor = executor();
    let tenants = tenants(&executor, 3);
    touch_each(&tenants, ["ann", "bob"]);
    tenants.partition("ann").expect("kept").resize(7).expect("open");
    tenants.partition("bob").expect("kept").close();
    let limits = tenants.status().each.with_capacity(2);
    tenants.reconfigure(limits).expect("valid");
    assert_eq!(tenants.partition("ann").expect("kept").limits(), limits);
    assert_eq!(tenants.partition("bob").expect("kept").limits().capacity, 1, "closed");
}

#[test]
fn a_refusal_changes_no_partition() {
    let mut executor = executor();
    let tenants = builder(&executor).parallelism(4).waiting_room(5).max_partitions(9).build().expect("valid");
    let others = ["ann", "cid", "dan", "eve", "fay", "gus", "hal", "ida"];
    touch_each(&tenants, others);
    let _running = tenants.key("bob").with(Request::new().cost(4)).try_slot().expect("free");
    let _waiting = executor.spawn(tenants.key("bob").with(Request::new().cost(3)).slot());
    executor.run_until_idle();
    let before = tenants.status().each;
    let (log, handler) = recorder(|event| event.kind);
    tenants.handle().add_event_handler(EventFilter::ALL, handler);
    tenants.reconfigure(before.with_capacity(2)).expect_err("a waiter asks for three");
    assert_eq!(taken(&log), [], "not even for a moment");
    let error = tenants.reconfigure(before.with_capacity(2).with_wait_limit(Some(ms(0)))).expect_err("invalid");
    assert_eq!(
        error.to_string(),
        "partitions tenants: parallelism must be at least 3, which a waiter asks for, got 2; \
         partitions tenants: wait_limit must be longer than zero, got 0 s"
    );
    assert!(others.iter().chain(&["bob"]).all(|key| tenants.partition(*key).expect("kept").limits() == before));
    assert_eq!(tenants.status().each, before);
}

#[test]
fn closed_partitions_cannot_be_reconfigured() {
    let executor = executor();
    let tenants = tenants(&executor, 3);
    tenants.close();
    assert_eq!(tenants.reconfigure(tenants.status().each), Err(ReconfigureError::Closed { label: "tenants".into() }));
}

#[test]
fn a_call_without_a_partition_sees_the_new_limits() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1);
    tenants.reconfigure(tenants.status().each.with_capacity(5).with_waiting_room(4)).expect("valid");
    let invalid = tenants.key("ann").with(Request::new().cost(6)).try_slot().expect_err("impossible");
    assert_eq!((invalid.reason(), invalid.occupancy().capacity()), (Reason::InvalidCost, 5));
    let _running = tenants.key("ann").with(Request::new().cost(5)).try_slot().expect("free");
    let waiting = call(&mut executor, &tenants, "ann");
    assert!(!Task::is_finished(&waiting));
    let rejection = tenants.key("bob").try_slot().expect_err("no partition");
    let occupancy = rejection.occupancy();
    assert_eq!((rejection.reason(), occupancy.capacity()), (Reason::PartitionLimit, 5));
    assert_eq!((occupancy.in_use(), occupancy.waiting_room()), (0, 4));
}
