//! How occupancy and errors are presented: ratios, flags, texts.

use std::time::Duration;

use bulklink_core::partitions::{self, Partitions};
use bulklink_core::plumbing::{self, Word};
use bulklink_core::{Answer, EventFilter, Gate, Grant, Instant, Interval, Limits, Request, Snapshot};

type TestGate = Gate<()>;

fn gate(capacity: usize, waiting_room: usize) -> TestGate {
    Gate::new(Limits::new(capacity).with_waiting_room(waiting_room)).expect("valid")
}

fn grant(gate: &mut TestGate) -> Grant {
    match gate.enter(&Request::new(), Some(Instant::EPOCH)) {
        Ok(Answer::Granted(grant)) => grant,
        other => panic!("{other:?}"),
    }
}

fn queue(gate: &mut TestGate) {
    assert!(matches!(gate.enter(&Request::new(), Some(Instant::EPOCH)), Ok(Answer::Queued(_))));
}

/// Returns the utilization of the capacity and that of the waiting room.
fn utilizations(snapshot: &Snapshot) -> String {
    format!("{:.3}, {:.3}", snapshot.utilization(), snapshot.queue_utilization())
}

#[test]
fn utilization_is_units_in_use_divided_by_capacity() {
    let mut gate = gate(4, 8);
    assert_eq!(utilizations(&gate.snapshot(None)), "0.000, 0.000");
    let _running: Vec<_> = (0..4).map(|_| grant(&mut gate)).collect();
    (0..3).for_each(|_| queue(&mut gate));
    assert_eq!(utilizations(&gate.snapshot(None)), "1.000, 0.375");
    gate.resize(3, Instant::EPOCH).expect("open");
    assert_eq!(utilizations(&gate.snapshot(None)), "1.333, 0.375", "more than the capacity, after shrinking");
}

#[test]
fn a_grant_says_whether_the_word_issued_it() {
    let mut gate = gate(1, 0);
    let by_gate = grant(&mut gate);
    assert!(!by_gate.is_by_word());
    gate.release(by_gate);
    let (word, by_word) = gate.publish().acquire().expect("a call has been here before");
    assert!(by_word.is_by_word() && by_word.cost() == Some(1));
    gate.fold(word);
    gate.release(by_word);
}

#[test]
fn a_gate_says_whether_it_measures_waits_and_is_observed() {
    let mut gate = gate(1, 0);
    assert!(gate.measures_waits() && gate.observed() == EventFilter::NONE);
    gate.measure_waits(false);
    gate.observe(EventFilter::ALL);
    assert!(!gate.measures_waits() && gate.observed() == EventFilter::ALL);
}

#[test]
fn waiting_units_and_totals_are_those_of_a_snapshot_without_its_number() {
    let mut gate = gate(3, 2);
    let running = grant(&mut gate);
    let large = Request::new().cost(3);
    assert!(matches!(gate.enter(&large, Some(Instant::EPOCH)), Ok(Answer::Queued(_))));
    queue(&mut gate);
    gate.release(running);
    let _ = gate.advance(Some(Instant::EPOCH));
    queue(&mut gate);
    assert_eq!(
        (
            plumbing::waiting_units(&gate),
            plumbing::totals(&gate).finished_units,
            plumbing::totals(&gate).admitted_units
        ),
        (2, 1, 4)
    );
    let snapshot = gate.snapshot(None);
    assert_eq!((snapshot.number, snapshot.waiting_units, snapshot.totals), (1, 2, plumbing::totals(&gate)));
}

#[test]
fn an_interval_has_activity_if_a_counter_changed() {
    let mut gate = gate(1, 0);
    let before = gate.snapshot(None);
    let running = grant(&mut gate);
    assert!(gate.snapshot(None).since(&before).expect("in order").has_activity());
    gate.release(running);
}

/// Returns two snapshots' interval, with these numbers in flight and this number of operations that
/// ended in 100 ns.
fn interval(before: usize, after: usize, ended: usize) -> Interval {
    let mut gate = gate(32, 0);
    let mut running: Vec<_> = (0..before).map(|_| grant(&mut gate)).collect();
    let earlier = gate.snapshot(Some(Instant::from_nanos(50)));
    for _ in 0..ended {
        running.push(grant(&mut gate));
        gate.release(running.remove(0));
    }
    running.extend((before..after).map(|_| grant(&mut gate)));
    running.drain(after..).for_each(|grant| gate.release(grant));
    gate.snapshot(Some(Instant::from_nanos(150))).since(&earlier).expect("in order")
}

#[test]
fn the_mean_hold_is_estimated_where_the_numbers_in_flight_are_close_and_operations_ended() {
    let estimate = |before, after, ended| interval(before, after, ended).estimated_hold();
    assert_eq!(estimate(4, 4, 20), Some(Duration::from_nanos(20)));
    assert_eq!(estimate(7, 9, 5), Some(Duration::from_nanos(160)), "they differ by a quarter of their mean");
    assert_eq!(estimate(9, 7, 3), Some(Duration::from_nanos(160)), "two more operations ended");
    assert_eq!(estimate(7, 10, 5), None, "they differ by more");
    assert_eq!((estimate(0, 0, 5), estimate(4, 4, 0)), (None, None));
    let interval = interval(4, 4, 20);
    assert_eq!((interval.elapsed(), interval.mean_hold()), (Duration::from_nanos(100), None));
}

#[test]
fn an_interval_error_says_what_differs_between_the_snapshots() {
    let of =
        |waiting_room, instance| Gate::<()>::with_instance(Limits::new(1).with_waiting_room(waiting_room), instance);
    let snapshot = |waiting_room, instance| of(waiting_room, instance).expect("valid").snapshot(None);
    let refused = |later: &Snapshot, earlier: &Snapshot| later.since(earlier).expect_err("not comparable").to_string();
    assert_eq!(
        refused(&snapshot(2, 7), &snapshot(2, 6)),
        "the snapshots are not of the same bulkhead: instances 6 and 7"
    );
    let mut gate = gate(1, 0);
    let (first, second) = (gate.snapshot(None), gate.snapshot(None));
    assert_eq!(
        refused(&first, &second),
        "the snapshots are in reverse order: number 2 is given as the earlier one, and 1 as the later"
    );
}

#[test]
fn a_rejected_resize_has_its_reason() {
    let mut gate = gate(1, 0);
    let refused = gate.resize(0, Instant::EPOCH).expect_err("a capacity of zero").to_string();
    assert_eq!(refused, "capacity must be at least 1, got 0");
    gate.close(Instant::EPOCH);
    assert_eq!(gate.resize(2, Instant::EPOCH).expect_err("too late").to_string(), "closed, and cannot be resized");
}

#[test]
fn occupancies_and_words_have_a_readable_debug_output() {
    let mut gate = gate(3, 5);
    let [running, ended] = [grant(&mut gate), grant(&mut gate)];
    let occupancy = "Occupancy { in_flight: 2, in_use: 2, waiting: 0, capacity: 3, waiting_room: 5 }";
    assert_eq!(format!("{:?}", gate.occupancy()), occupancy);
    gate.release(ended);
    let shown = |word: Word| format!("{word:?}");
    let counts = "in_flight: 1, offered: 1, admitted: 0, rejected: 0";
    let flags = "is_held: false, is_closed: false, is_timed: true, is_complete: false, is_restricted: false";
    assert_eq!(shown(gate.publish()), format!("Word {{ {flags}, {counts} }}"), "no more than were in use before");
    gate.close(Instant::EPOCH);
    let flags = "is_held: true, is_closed: true, is_timed: false, is_complete: true, is_restricted: false";
    let counts = "in_flight: 1, offered: 2, admitted: 0, rejected: 0";
    assert_eq!(shown(gate.publish()), format!("Word {{ {flags}, {counts} }}"));
    gate.release(running);
}

#[test]
fn debug_output_of_partitions_shows_the_occupancy_but_no_values() {
    let limits = partitions::Limits::new(1);
    let mut partitions = Partitions::new(limits).expect("valid");
    let _created = partitions.create("secret").expect("there is room");
    let occupancy = "Occupancy { partitions: 1, active_partitions: 1, leased_operations: 1, max_partitions: 1 }";
    assert_eq!(format!("{:?}", partitions.occupancy()), occupancy);
    assert_eq!(format!("{partitions:?}"), format!("Partitions {{ occupancy: {occupancy}, is_closed: false, .. }}"));
    let occupancy = "1 of 1 partitions, 1 active, 1 operations";
    assert_eq!(partitions.occupancy().to_string(), occupancy);
    let refused = |partitions: &Partitions<_>| partitions.may_create().expect_err("full, or closed").to_string();
    assert_eq!(refused(&partitions), format!("partition limit ({occupancy})"));
    partitions.close();
    assert_eq!(refused(&partitions), format!("closed ({occupancy})"));
}

#[test]
fn the_value_of_a_partition_can_be_changed() {
    let limits = partitions::Limits::new(1);
    let mut partitions = Partitions::new(limits).expect("valid");
    let id = partitions.create(1).expect("there is room").id;
    *partitions.get_mut(id) += 1;
    assert_eq!(*partitions.get(id), 2);
}

#[test]
fn an_id_is_stored_as_a_number_that_is_not_zero() {
    let limits = partitions::Limits::new(2);
    let mut partitions = Partitions::new(limits).expect("valid");
    let ids = [1, 2].map(|content| partitions.create(content).expect("there is room").id);
    assert_eq!(ids.map(|id| partitions::Id::from_bits(id.to_bits())), ids.map(Some));
    assert_eq!(partitions::Id::from_bits(0), None);
}

#[test]
#[should_panic(expected = "the end of a lease that had not begun")]
fn ending_a_lease_that_had_not_begun_panics() {
    let limits = partitions::Limits::new(1);
    let mut partitions = Partitions::new(limits).expect("valid");
    let id = partitions.create(1).expect("there is room").id;
    partitions.end(id, Instant::EPOCH);
    partitions.end(id, Instant::EPOCH);
}

#[test]
fn a_partition_that_is_leased_again_is_idle_once_both_leases_end() {
    let limits = partitions::Limits::new(1);
    let mut partitions = Partitions::new(limits).expect("valid");
    let id = partitions.create(1).expect("there is room").id;
    partitions.close();
    partitions.lease_again(id);
    let snapshot = partitions.snapshot();
    assert_eq!((snapshot.leased_operations, snapshot.peak_leased_operations, snapshot.active_partitions), (2, 2, 1));
    assert_eq!([(); 2].map(|()| partitions.end(id, Instant::EPOCH)), [false, true]);
    assert!(partitions.snapshot().is_drained());
}
