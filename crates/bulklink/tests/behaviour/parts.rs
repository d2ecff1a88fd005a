//! Slots that are split, merged and written off.

use bulklink::{EventFilter, EventKind, Reason, Request};

use crate::{bulkhead, call, executor, ms, recorder, slot, taken};

#[test]
fn a_slot_is_split_and_each_part_is_given_back_by_itself() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 5, 1);
    let mut whole = bulkhead.with(Request::new().cost(5)).try_slot().expect("free");
    let waiting = call(&mut executor, &bulkhead);
    let part = whole.split(2).expect("it has more");
    assert_eq!((whole.cost(), part.cost()), (3, 2));
    let status = bulkhead.status();
    assert_eq!((status.in_flight, status.in_use, status.totals.admitted, status.split), (2, 5, 1, 1));
    drop(part);
    executor.run_until_idle();
    drop(slot(&waiting));
    drop(whole);
    let status = bulkhead.status();
    assert_eq!((status.in_flight, status.in_use, status.totals.finished, status.totals.finished_units), (0, 0, 3, 6));
}

#[test]
fn a_slot_that_has_no_more_is_not_split() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 3, 0);
    let mut slot = bulkhead.with(Request::new().cost(2)).try_slot().expect("free");
    assert!([0, 2, 3, usize::MAX].iter().all(|&units| slot.split(units).is_none()));
    assert_eq!((slot.cost(), bulkhead.status().in_flight), (2, 1));
    drop((slot, bulkhead.try_slot()));
    let mut single = bulkhead.try_slot().expect("free");
    assert!(single.split(1).is_none());
}

#[test]
fn slots_of_one_bulkhead_are_merged_and_others_returned() {
    let executor = executor();
    let (bulkhead, other) = (bulkhead(&executor, 3, 0), crate::bulkhead(&executor, 1, 0));
    let mut slot = bulkhead.owned().try_slot().expect("free");
    slot.merge(bulkhead.with(Request::new().cost(2)).try_slot().expect("free")).expect("of the same bulkhead");
    let status = bulkhead.status();
    assert_eq!((slot.cost(), status.in_flight, status.in_use, status.totals.finished, status.merged), (3, 1, 3, 0, 1));
    let foreign = slot.merge(other.owned().try_slot().expect("free")).expect_err("of another bulkhead");
    assert_eq!((slot.cost(), other.status().in_flight), (3, 1));
    drop((slot, foreign));
    assert_eq!((bulkhead.status().in_use, other.status().in_use), (0, 0));
}

#[test]
fn parts_have_the_wait_of_the_whole_and_a_merged_slot_that_of_the_first() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 4, 1);
    let running = bulkhead.with(Request::new().cost(4)).try_slot().expect("free");
    let waiting = executor.spawn(bulkhead.with(Request::new().cost(3)).slot());
    executor.run_until_idle();
    executor.advance(ms(30));
    drop(running);
    executor.run_until_idle();
    let mut whole = waiting.output().expect("ready").expect("admitted");
    let part = whole.split(1).expect("it has more");
    assert_eq!((whole.waited(), part.waited()), (ms(30), ms(30)));
    whole.merge(bulkhead.owned().try_slot().expect("free")).expect("of the same bulkhead");
    assert_eq!((whole.cost(), whole.waited()), (3, ms(30)));
}

#[test]
fn a_slot_that_is_written_off_stays_in_use_and_closing_ends() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 0);
    bulkhead.try_slot().expect("free").forget();
    let status = bulkhead.status();
    assert_eq!((status.in_flight, status.in_use, status.written_off, status.free()), (0, 1, 1, 1));
    let running = bulkhead.try_slot().expect("one is left");
    let rejection = bulkhead.try_slot().expect_err("none is left");
    assert_eq!((rejection.reason(), rejection.occupancy().in_use()), (Reason::Saturated, 2));
    bulkhead.resize(3).expect("more than before");
    drop((bulkhead.try_slot().expect("the capacity makes up for it"), running));
    let closed = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move { bulkhead.close_and_wait().await }
    });
    executor.run_until_idle();
    assert!(closed.output().is_some());
}

#[test]
fn the_last_slot_that_is_written_off_ends_a_close() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let running = bulkhead.owned().try_slot().expect("free");
    let closed = executor.spawn({
        let bulkhead = bulkhead.clone();
        async move { bulkhead.close_and_wait().await }
    });
    executor.run_until_idle();
    assert!(closed.output().is_none());
    running.forget();
    executor.run_until_idle();
    assert!(closed.output().is_some());
}

#[test]
fn events_tell_of_slots_that_are_split_merged_or_written_off() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 3, 0);
    let (log, handler) = recorder(|event| (event.kind, event.cost(), event.occupancy.in_flight()));
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    let mut whole = bulkhead.with(Request::new().cost(3)).try_slot().expect("free");
    let part = whole.split(2).expect("it has more");
    whole.merge(part).expect("of the same bulkhead");
    whole.forget();
    let expected = [
        (EventKind::Admitted, Some(3), 1),
        (EventKind::Split, Some(2), 2),
        (EventKind::Merged, Some(2), 1),
        (EventKind::WrittenOff, Some(3), 0),
    ];
    assert_eq!(taken(&log), expected);
}

#[test]
fn measured_holds_and_lateness_count_for_parts_as_documented() {
    let executor = executor();
    let builder = crate::builder(&executor).capacity(4).measure_holds(true);
    let bulkhead = builder.build().expect("valid");
    let clock = executor.clock();
    let deadline = bulklink::runtime::Clock::now(&clock) + ms(10);
    let mut whole = bulkhead.with(Request::new().cost(4).deadline(deadline)).try_slot().expect("free");
    let [first, second] = [1, 2].map(|units| whole.split(units).expect("it has more"));
    clock.advance(ms(20));
    drop(first);
    assert_eq!((bulkhead.status().holds, bulkhead.status().ended_late), (1, 0), "a part is not late");
    whole.merge(second).expect("of the same bulkhead");
    drop(whole);
    let status = bulkhead.status();
    assert_eq!((status.holds, status.ended_late, status.in_use), (3, 1, 0));
}

#[test]
fn a_part_of_a_slot_of_a_partition_keeps_the_partition() {
    let executor = executor();
    let builder = bulklink::Partitions::builder_on(executor.clock(), "tenants").capacity(3).max_partitions(1);
    let tenants: bulklink::Partitions<String, _> = builder.build().expect("valid");
    let mut whole = tenants.key("ann").with(Request::new().cost(3)).try_slot().expect("free");
    let part = whole.split(1).expect("it has more");
    drop(whole);
    assert_eq!((tenants.status().leased_operations, tenants.status().active_partitions), (1, 1));
    assert_eq!(tenants.key("bob").try_slot().expect_err("ann is in use").reason(), Reason::PartitionLimit);
    tenants.close();
    let mut part = part;
    assert!(part.split(1).is_none());
    drop(part);
    assert!(tenants.status().is_drained());
}

#[test]
fn a_slot_of_a_closed_partition_can_be_split_and_merged() {
    let executor = executor();
    let builder = bulklink::Partitions::builder_on(executor.clock(), "tenants").capacity(3).max_partitions(2);
    let tenants: bulklink::Partitions<String, _> = builder.build().expect("valid");
    let mut whole = tenants.key("ann").with(Request::new().cost(3)).try_slot().expect("free");
    let other = tenants.key("bob").try_slot().expect("free");
    tenants.close();
    let part = whole.split(1).expect("it has more");
    assert_eq!(tenants.status().leased_operations, 3);
    let other = whole.merge(other).expect_err("of another partition");
    whole.merge(part).expect("of the same partition");
    assert_eq!(tenants.status().leased_operations, 2);
    whole.forget();
    assert_eq!(tenants.status().leased_operations, 1);
    drop(other);
    assert!(tenants.status().is_drained());
}

#[test]
fn units_that_were_written_off_are_gone_with_their_partition() {
    let executor = executor();
    let builder = bulklink::Partitions::builder_on(executor.clock(), "tenants").capacity(3).max_partitions(2);
    let tenants: bulklink::Partitions<String, _> = builder.build().expect("valid");
    tenants.key("ann").with(Request::new().cost(2)).try_slot().expect("free").forget();
    assert_eq!((tenants.handle().sums().in_use, tenants.handle().sums().written_off), (2, 2));
    assert!(tenants.discard("ann"));
    let sums = tenants.handle().sums();
    assert_eq!((sums.in_use, sums.written_off, sums.totals.finished), (0, 0, 1));
}
