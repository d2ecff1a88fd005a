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
    assert_eq!(tenants.key("ann").try_slot().expect_err("taken").reason(), Reason::Saturated);
    drop(tenants.key("bob").try_slot().expect("Ann's calls take no slot of Bob's"));
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
    let running = [tenants.key("ann").try_slot().expect("free"), tenants.key("bob").try_slot().expect("free")];
    for number in 0..6 {
        let (tenants, order) = (tenants.clone(), Rc::clone(&order));
        let key = if number % 2 == 0 { "ann" } else { "bob" };
        executor.spawn(async move { tenants.key(key).execute(async { order.borrow_mut().push((key, number)) }).await });
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
            assert_eq!(tenants.key("ann").execute(async { 7 }).await, Ok(7));
            assert_eq!(tenants.key("ann").with(Request::new().now()).execute(async { 8 }).await, Ok(8));
            assert_eq!(tenants.key("ann").execute_fallible(async { Ok::<_, String>(9) }).await, Ok(9));
            let failed = tenants.key("ann").execute_fallible(async { Err::<(), _>("its own") }).await;
            assert_eq!(failed, Err(ExecuteError::Operation("its own")));
            let _running = tenants.key("ann").slot().await.expect("free");
            assert_eq!(
                tenants.key("ann").with(Request::new().now()).execute(async {}).await.expect_err("taken").reason(),
                Reason::Saturated
            );
            let rejected = tenants.key("bob").execute_fallible(async { Ok::<_, String>(9) }).await;
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
    assert_eq!(tenants.key("ann").with(two).try_slot().expect("free").cost(), 2);
    let in_use = executor.block_on(async move {
        let observe = || async { Ok::<_, String>(tenants.partition("ann").expect("in use").status().in_use) };
        let slot = tenants.key("ann").with(two).slot().await.expect("free").cost();
        let executed =
            tenants.key("ann").with(two).execute(observe()).await.expect("free").expect("the operation cannot fail");
        let fallible = tenants.key("ann").with(two).execute_fallible(observe()).await.expect("free");
        [slot, executed, fallible]
    });
    assert_eq!(in_use, [2; 3]);
}

#[test]
fn the_wait_limit_applies_in_each_partition() {
    let mut executor = executor();
    let builder = builder(&executor).parallelism(1).waiting_room(1).max_partitions(1);
    let tenants = builder.wait_limit(ms(30)).build().expect("valid");
    let _running = tenants.key("ann").try_slot().expect("free");
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
    assert_eq!(tenants.key("ann").with(past).try_slot().expect_err("too late").reason(), Reason::Expired);
    let status = tenants.status();
    assert_eq!((occupancy(&status), status.peak_leased_operations), ((1, 0, 0), 1));
}

#[test]
fn an_invalid_cost_is_rejected_in_its_partition_and_leaves_no_lease() {
    let executor = executor();
    let tenants = tenants(&executor, 1);
    for cost in [0, 2, Limits::MAX + 1] {
        let rejection = tenants.key("bob").with(Request::new().cost(cost)).try_slot().expect_err("impossible");
        assert_eq!(rejection.reason(), Reason::InvalidCost);
        assert_eq!(
            rejection.to_string(),
            format!("bulkhead tenants: cost must be from 1 to the capacity, 1, got {cost}")
        );
        assert_eq!((rejection.occupancy().capacity(), rejection.cost()), (1, cost.min(u32::MAX as usize)));
    }
    let status = tenants.status();
    assert_eq!((occupancy(&status), status.totals.created), ((1, 0, 0), 1));
    tenants.partition("bob").expect("it was created").resize(2).expect("open");
    let two = tenants.key("bob").with(Request::new().cost(2)).try_slot();
    assert_eq!(two.expect("the partition was resized").cost(), 2);
    assert_eq!(counts(&tenants.status().totals), [1, 0, 0, 0]);
}

#[test]
fn a_request_that_never_asks_leaves_its_partition_and_is_counted_nowhere() {
    let executor = executor();
    let tenants = tenants(&executor, 1);
    let bound = tenants.key("ann");
    assert_eq!(occupancy(&tenants.status()), (1, 1, 1));
    let refused = tenants.key("bob").with(Request::new().cost(2));
    drop(refused.clone());
    assert_eq!(counts(&tenants.status().totals), [1, 0, 0, 0], "the key got no partition, and no call was made");
    assert_eq!(refused.try_slot().expect_err("it got none").cost(), 2);
    assert_eq!(counts(&tenants.status().totals), [1, 0, 0, 1]);
    drop(bound);
    assert_eq!(occupancy(&tenants.status()), (1, 0, 0));
    assert!(tenants.key("bob").try_slot().is_ok(), "the partition of the other key is idle");
}
