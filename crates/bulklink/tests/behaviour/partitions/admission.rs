//! Admission to a partition, which has the methods of a bulkhead.

use std::cell::RefCell;
use std::rc::Rc;

use bulklink::runtime::Instant;
use bulklink::{ExecuteError, Limits, Reason, Request};

use super::{builder, call, counts, occupancy, tenants};
use crate::{executor, ms, reason, slot};

#[test]
fn each_key_has_its_own_bulkhead() {
    let mut executor = executor();
    let tenants = tenants(&executor, 2);
    let ann = slot(&call(&mut executor, &tenants, "ann"));
    let waiting = call(&mut executor, &tenants, "ann");
    assert_eq!(tenants.try_slot("ann").expect_err("taken").reason(), Reason::Saturated);
    drop(tenants.try_slot("bob").expect("Ann's calls take no slot of Bob's"));
    assert!(!waiting.is_finished());
    drop(ann);
    executor.run_until_idle();
    drop(slot(&waiting));
}

#[test]
fn waiters_are_admitted_in_fifo_order_in_each_partition() {
    let mut executor = executor();
    let tenants = builder(&executor).parallelism(1).waiting_room(9).max_partitions(2).build().expect("valid");
    let order = Rc::new(RefCell::new(vec![]));
    let running = [tenants.try_slot("ann").expect("free"), tenants.try_slot("bob").expect("free")];
    for number in 0..6 {
        let (tenants, order) = (tenants.clone(), Rc::clone(&order));
        let key = if number % 2 == 0 { "ann" } else { "bob" };
        executor.spawn(async move { tenants.execute(key, async { order.borrow_mut().push((key, number)) }).await });
    }
    executor.run_until_idle();
    drop(running);
    executor.run_until_idle();
    let of = |key| order.borrow().iter().filter(|entry| entry.0 == key).map(|entry| entry.1).collect::<Vec<_>>();
    assert_eq!((of("ann"), of("bob")), (vec![0, 2, 4], vec![1, 3, 5]));
}

#[test]
fn execute_returns_the_value_the_error_or_the_rejection() {
    let mut executor = executor();
    let tenants = tenants(&executor, 1);
    executor.block_on({
        let tenants = tenants.clone();
        async move {
            assert_eq!(tenants.execute("ann", async { 7 }).await, Ok(7));
            assert_eq!(tenants.try_execute("ann", async { 8 }).await, Ok(8));
            assert_eq!(tenants.execute_fallible("ann", async { Ok::<_, String>(9) }).await, Ok(9));
            let failed = tenants.execute_fallible("ann", async { Err::<(), _>("its own") }).await;
            assert_eq!(failed, Err(ExecuteError::Operation("its own")));
            let _running = tenants.slot("ann").await.expect("free");
            assert_eq!(tenants.try_execute("ann", async {}).await.expect_err("taken").reason(), Reason::Saturated);
            let rejected = tenants.execute_fallible("bob", async { Ok::<_, String>(9) }).await;
            assert!(matches!(rejected, Err(ExecuteError::Rejected(no)) if no.reason() == Reason::PartitionLimit));
        }
    });
    assert_eq!(occupancy(&tenants.status()), (1, 0, 0));
}

#[test]
fn every_method_applies_its_request() {
    let mut executor = executor();
    let tenants = builder(&executor).capacity(3).max_partitions(1).build().expect("valid");
    let two = Request::new().cost(2);
    assert_eq!(tenants.try_slot_with("ann", two).expect("free").cost(), 2);
    let in_use = executor.block_on(async move {
        let observe = || async { Ok::<_, String>(tenants.handle("ann").expect("in use").status().in_use) };
        let slot = tenants.slot_with("ann", two).await.expect("free").cost();
        let executed =
            tenants.execute_with("ann", two, observe()).await.expect("free").expect("the operation cannot fail");
        let fallible = tenants.execute_fallible_with("ann", two, observe()).await.expect("free");
        [slot, executed, fallible]
    });
    assert_eq!(in_use, [2; 3]);
}

#[test]
fn the_wait_limit_applies_in_each_partition() {
    let mut executor = executor();
    let builder = builder(&executor).parallelism(1).waiting_room(1).max_partitions(1);
    let tenants = builder.wait_limit(ms(30)).build().expect("valid");
    let _running = tenants.try_slot("ann").expect("free");
    let waiting = call(&mut executor, &tenants, "ann");
    executor.advance(ms(29));
    assert!(!waiting.is_finished());
    executor.advance(ms(1));
    assert_eq!(reason(&waiting), Reason::Expired);
    assert_eq!(occupancy(&tenants.status()), (1, 1, 1), "the call has left");
}

/// As in the reference: the partition rejects the call, so it must be created.
#[test]
fn a_past_deadline_is_rejected_by_the_partition() {
    let executor = executor();
    let tenants = tenants(&executor, 1);
    let past = Request::new().before(Instant::EPOCH);
    assert_eq!(tenants.try_slot_with("ann", past).expect_err("too late").reason(), Reason::Expired);
    let status = tenants.status();
    assert_eq!((occupancy(&status), status.peak_leased_operations), ((1, 0, 0), 1));
}

#[test]
fn an_invalid_cost_creates_no_partition_and_evicts_none() {
    let executor = executor();
    let tenants = tenants(&executor, 1);
    drop(tenants.try_slot("ann").expect("free"));
    let before = tenants.status();
    for cost in [0, 2, Limits::MAX + 1] {
        let rejection = tenants.try_slot_with("bob", Request::new().cost(cost)).expect_err("impossible");
        assert_eq!(rejection.reason(), Reason::InvalidCost);
        assert_eq!(
            rejection.to_string(),
            format!("bulkhead tenants: cost must be from 1 to the capacity, 1, got {cost}")
        );
        assert_eq!(rejection.occupancy().capacity(), 1);
    }
    assert!(!tenants.status().since(&before).expect("in order").has_activity());
    tenants.handle("ann").expect("still there").resize(2).expect("open");
    assert_eq!(tenants.try_slot_with("ann", Request::new().cost(2)).expect("the partition was resized").cost(), 2);
    assert_eq!(counts(&tenants.status().totals), [1, 0, 0, 0]);
}
