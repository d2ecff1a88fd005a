//! How long calls waited for their slots, and how long they hold them.

use std::time::Duration;

use bulklink::runtime::Clock;
use bulklink::testing::{Executor, FakeClock};
use bulklink::{EventFilter, EventKind, Partitions, Reason, Request};

use crate::{TestBulkhead, builder, call, executor, ms, recorder, slot, taken};

fn measured(executor: &Executor) -> TestBulkhead {
    builder(executor).parallelism(1).waiting_room(3).measure_holds(true).build().expect("valid")
}

/// The number of measured holds, and their mean.
fn holds(bulkhead: &TestBulkhead, since: &bulklink::Status) -> (u64, Option<Duration>) {
    let interval = bulkhead.status().since(since).expect("in order");
    (interval.holds, interval.mean_hold())
}

#[test]
fn a_slot_knows_how_long_its_call_waited() {
    let mut executor = executor();
    let bulkhead = crate::bulkhead(&executor, 1, 2);
    let running = bulkhead.try_slot().expect("free");
    assert_eq!(running.waited(), Duration::ZERO);
    let waiting = call(&mut executor, &bulkhead);
    executor.clock().advance(ms(1_500));
    drop(running);
    executor.clock().advance(ms(10));
    executor.run_until_idle();
    let owned = slot(&waiting);
    assert_eq!(owned.waited(), ms(1_500), "up to the moment when it was handed the slot");
    drop(owned);
    assert_eq!(bulkhead.try_slot().expect("free").waited(), Duration::ZERO);
}

#[test]
fn a_wait_is_rounded_down_by_little() {
    let mut executor = executor();
    let bulkhead = crate::bulkhead(&executor, 1, 2);
    let exact = Duration::from_nanos(987_654_321_987);
    let running = bulkhead.try_slot().expect("free");
    let waiting = call(&mut executor, &bulkhead);
    executor.clock().advance(exact);
    drop(running);
    executor.run_until_idle();
    let waited = slot(&waiting).waited();
    assert!(waited <= exact && exact.saturating_sub(waited) < exact / 60_000_000, "{waited:?}");
    assert_eq!(bulkhead.status().totals.cumulative_wait(), exact, "the totals are exact");
}

#[test]
fn a_wait_that_is_not_measured_is_zero_unless_it_has_a_limit() {
    let mut executor = executor();
    let builder = builder(&executor).parallelism(1).waiting_room(2).measure_waits(false);
    let bulkhead = builder.build().expect("valid");
    for (request, waited) in [(Request::new(), Duration::ZERO), (Request::new().within(ms(9)), ms(5))] {
        let running = bulkhead.try_slot().expect("free");
        let waiting = executor.spawn(bulkhead.with(request).slot());
        executor.run_until_idle();
        executor.clock().advance(ms(5));
        drop(running);
        executor.run_until_idle();
        assert_eq!(slot(&waiting).waited(), waited);
    }
}

#[test]
fn a_slot_of_a_call_with_a_deadline_knows_its_wait_and_cost() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(2).waiting_room(2).build().expect("valid");
    let running = bulkhead.try_slot().expect("free");
    let deadline = executor.clock().now() + ms(100);
    let waiting = executor.spawn(bulkhead.with(Request::new().cost(2).deadline(deadline)).slot());
    executor.run_until_idle();
    executor.clock().advance(ms(20));
    drop(running);
    executor.run_until_idle();
    let slot = slot(&waiting);
    assert_eq!((slot.waited(), slot.cost()), (ms(20), 2));
}

#[test]
fn a_blocked_thread_and_a_partition_know_the_wait_as_well() {
    let mut executor = executor();
    let builder = Partitions::<&str, FakeClock>::builder_on(executor.clock(), "tenants").max_partitions(2);
    let tenants = builder.parallelism(1).waiting_room(2).build().expect("valid");
    let running = tenants.key(&"ann").try_slot().expect("free");
    let waiting = executor.spawn(tenants.key(&"ann").slot());
    executor.run_until_idle();
    executor.clock().advance(ms(20));
    drop(running);
    executor.run_until_idle();
    assert_eq!(slot(&waiting).waited(), ms(20));
    let bulkhead = crate::bulkhead(&executor, 1, 2);
    assert_eq!(bulkhead.blocking_slot().expect("free").waited(), Duration::ZERO);
}

#[test]
fn holds_are_measured_from_the_admission_to_the_release() {
    let mut executor = executor();
    let bulkhead = measured(&executor);
    let start = bulkhead.status();
    assert_eq!(holds(&bulkhead, &start), (0, None));
    let first = bulkhead.try_slot().expect("free");
    let waiting = call(&mut executor, &bulkhead);
    executor.clock().advance(ms(10));
    assert_eq!(holds(&bulkhead, &start), (0, None), "a slot that is still held does not count");
    drop(first);
    executor.clock().advance(ms(5));
    executor.run_until_idle();
    let second = slot(&waiting);
    executor.clock().advance(ms(15));
    drop(second);
    assert_eq!(holds(&bulkhead, &start), (2, Some(ms(15))), "10 ms, and 20 since it was handed over");
    assert_eq!(bulkhead.status().cumulative_hold(), ms(30));
}

#[test]
fn every_way_to_hold_a_slot_is_measured() {
    let mut executor = executor();
    let bulkhead = measured(&executor);
    let (start, clock) = (bulkhead.status(), executor.clock());
    let pass = |clock: &FakeClock| clock.advance(ms(10));
    executor.block_on({
        let (bulkhead, clock) = (bulkhead.clone(), clock.clone());
        async move {
            bulkhead.execute(async { pass(&clock) }).await.expect("free");
            bulkhead.with(Request::new().now()).execute(async { pass(&clock) }).await.expect("free");
        }
    });
    bulkhead.blocking_execute(|| pass(&clock)).expect("free");
    let owned = bulkhead.owned().try_slot().expect("free");
    pass(&clock);
    drop(owned);
    let deadline = Request::new().deadline(clock.now() + ms(5));
    let late = bulkhead.with(deadline).try_slot().expect("free");
    pass(&clock);
    drop(late);
    assert_eq!(holds(&bulkhead, &start), (5, Some(ms(10))));
    assert_eq!(bulkhead.status().ended_late, 1);
}

#[test]
fn a_slot_that_was_never_used_is_not_a_hold() {
    let mut executor = executor();
    let bulkhead = measured(&executor);
    let start = bulkhead.status();
    let running = bulkhead.try_slot().expect("free");
    let waiting = call(&mut executor, &bulkhead);
    drop(running);
    executor.clock().advance(ms(10));
    waiting.cancel();
    assert_eq!(holds(&bulkhead, &start), (1, Some(Duration::ZERO)));
    assert_eq!(bulkhead.status().totals.abandoned, 1);
}

#[test]
fn admission_is_the_same_with_measured_holds() {
    let mut executor = executor();
    let bulkhead = measured(&executor);
    let (log, handler) = recorder(|event| event.kind);
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    let running = bulkhead.try_slot().expect("free");
    assert_eq!(bulkhead.try_slot().expect_err("taken").reason(), Reason::Saturated);
    let waiting = [(); 3].map(|()| call(&mut executor, &bulkhead));
    assert_eq!(crate::reason(&call(&mut executor, &bulkhead)), Reason::Saturated);
    drop(running);
    executor.run_until_idle();
    bulkhead.close();
    drop(slot(&waiting[0]));
    executor.run_until_idle();
    assert_eq!([crate::reason(&waiting[1]), crate::reason(&waiting[2])], [Reason::Closed; 2]);
    assert_eq!(taken(&log).last(), Some(&EventKind::Drained));
    let totals = bulkhead.status().totals;
    assert_eq!((totals.admitted, totals.finished, totals.saturated, totals.closed()), (2, 2, 2, 2));
}

#[test]
fn the_mean_hold_is_estimated_from_two_statuses() {
    let executor = executor();
    let bulkhead = crate::bulkhead(&executor, 2, 0);
    let mut running = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    let before = bulkhead.status();
    for _ in 0..4 {
        executor.clock().advance(ms(10));
        let [first, second] = running;
        drop(first);
        running = [second, bulkhead.try_slot().expect("free")];
    }
    let interval = bulkhead.status().since(&before).expect("in order");
    assert_eq!((interval.elapsed(), interval.mean_hold()), (ms(40), None));
    assert_eq!(interval.estimated_hold(), Some(ms(20)));
}

#[test]
fn a_slot_that_is_not_collected_does_not_count_in_the_estimate() {
    let mut executor = executor();
    let bulkhead = crate::bulkhead(&executor, 2, 1);
    let [mut running, other] = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    let _forgotten = call(&mut executor, &bulkhead);
    drop(other);
    let before = bulkhead.status();
    assert_eq!((before.in_flight, before.uncollected), (2, 1));
    for _ in 0..4 {
        executor.clock().advance(ms(10));
        drop(running);
        running = bulkhead.try_slot().expect("free");
    }
    let interval = bulkhead.status().since(&before).expect("in order");
    assert_eq!(interval.estimated_hold(), Some(ms(10)));
}
