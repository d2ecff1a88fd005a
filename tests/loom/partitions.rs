//! Partitions are created, evicted and closed while calls arrive and leave.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Future;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Waker};

use bulklink::{Event, EventFilter, Partitions, Reason, Rejection, Request};
use loom::future::block_on;
use loom::thread;

use crate::model::{ByHand, in_every_order, on_a_thread};

type TestPartitions = Partitions<u8, ByHand, BuildHasherDefault<DefaultHasher>>;

const ANN: u8 = 1;
const BOB: u8 = 2;

/// Runs the scene in every order, on partitions with one slot and one place to wait each, and
/// returns all its outcomes.
fn explore<O>(max_partitions: usize, scene: impl Fn(&TestPartitions) -> O + Send + Sync + 'static) -> BTreeSet<O>
where
    O: Ord + Debug + Send + 'static,
{
    explore_up_to(None, max_partitions, scene)
}

/// Leaves out executions with more preemptions than this, for scenes too large for a complete
/// search.
fn explore_up_to<O>(
    preemptions: Option<usize>,
    max_partitions: usize,
    scene: impl Fn(&TestPartitions) -> O + Send + Sync + 'static,
) -> BTreeSet<O>
where
    O: Ord + Debug + Send + 'static,
{
    in_every_order(preemptions, move || {
        let builder = Partitions::builder_on(ByHand::new(), "loom").parallelism(1).waiting_room(1);
        let builder = builder.max_partitions(max_partitions).hasher(BuildHasherDefault::default());
        let partitions = builder.build().expect("sound limits");
        let outcome = scene(&partitions);
        check_settled(&partitions, max_partitions);
        outcome
    })
}

/// Checks what holds when all calls have left.
fn check_settled(partitions: &TestPartitions, max_partitions: usize) {
    let status = partitions.status();
    let totals = &status.totals;
    assert_eq!((status.active_partitions, status.leased_operations), (0, 0), "a partition is active or leased");
    let kept = totals.created - totals.evicted - totals.discarded;
    assert!(status.partitions as u64 == kept || (status.is_closed && status.partitions == 0));
    assert!(status.peak_partitions <= max_partitions);
    assert_eq!([ANN, BOB].iter().filter(|key| partitions.partition(*key).is_some()).count(), status.partitions);
    if !status.is_closed {
        drop(partitions.key(&ANN).try_slot().expect("all calls have left"));
    }
}

fn outcome<T>(answer: Result<T, Rejection>) -> &'static str {
    match answer.map(drop).map_err(|rejection| rejection.reason()) {
        Ok(()) => "admitted",
        Err(Reason::Saturated) => "saturated",
        Err(Reason::PartitionLimit) => "no partition",
        Err(Reason::Closed) => "closed",
        Err(other) => panic!("{other}"),
    }
}

fn try_once(partitions: &TestPartitions, key: u8) -> &'static str {
    outcome(partitions.key(&key).try_slot())
}

#[test]
fn two_first_calls_for_one_key_make_one_partition() {
    let outcomes = explore(2, |partitions| {
        let other = on_a_thread(partitions, |partitions| partitions.key(&ANN).try_slot());
        let slots = [partitions.key(&ANN).try_slot(), other.join().unwrap()];
        assert_eq!(partitions.status().totals.created, 1);
        slots.map(outcome)
    });
    assert_eq!(outcomes, BTreeSet::from([["admitted", "saturated"], ["saturated", "admitted"]]));
}

#[test]
fn two_calls_for_one_key_share_one_partition() {
    // Two calls that come and go are too many steps by the word: 5 preemptions need 92 000
    // executions, all 1 600 000.
    let preemptions = if cfg!(bulklink_lock_only) { None } else { Some(5) };
    let outcomes = explore_up_to(preemptions, 2, |partitions| {
        let other = on_a_thread(partitions, |partitions| try_once(partitions, ANN));
        let outcomes = [try_once(partitions, ANN), other.join().unwrap()];
        assert_eq!(partitions.status().totals.created, 1);
        outcomes
    });
    let expected = [["admitted", "admitted"], ["admitted", "saturated"], ["saturated", "admitted"]];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn two_keys_take_turns_if_one_partition_is_allowed() {
    let outcomes = explore(1, |partitions| {
        let other = on_a_thread(partitions, |partitions| try_once(partitions, BOB));
        [try_once(partitions, ANN), other.join().unwrap()]
    });
    let expected = [["admitted", "admitted"], ["admitted", "no partition"], ["no partition", "admitted"]];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn a_partition_that_is_entered_is_not_evicted() {
    let outcomes = explore(1, |partitions| {
        drop(partitions.key(&ANN).try_slot().unwrap());
        let other = on_a_thread(partitions, |partitions| try_once(partitions, BOB));
        let again = partitions.key(&ANN).try_slot();
        let seen =
            again.is_ok().then(|| partitions.partition(&ANN).expect("a call keeps its partition").status().in_flight);
        assert!(seen.is_none_or(|in_flight| in_flight == 1));
        [outcome(again), other.join().unwrap()]
    });
    let expected = [["admitted", "admitted"], ["admitted", "no partition"], ["no partition", "admitted"]];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn a_partition_that_is_entered_is_not_discarded() {
    let outcomes = explore(1, |partitions| {
        drop(partitions.key(&ANN).try_slot().unwrap());
        let discard = on_a_thread(partitions, |partitions| partitions.discard(&ANN));
        let entered = partitions.key(&ANN).try_slot().expect("the partition has room in both orders");
        assert_eq!(partitions.partition(&ANN).expect("the partition is in use").status().in_flight, 1);
        drop(entered);
        discard.join().unwrap()
    });
    assert_eq!(outcomes, BTreeSet::from([false, true]));
}

#[test]
fn a_partition_is_created_only_before_the_close() {
    let outcomes = explore(1, |partitions| {
        let close = on_a_thread(partitions, Partitions::close);
        let entered = partitions.key(&ANN).try_slot();
        let is_in = entered.is_ok();
        assert!(close.join().unwrap());
        assert_eq!(partitions.status().is_drained(), !is_in);
        assert_eq!(try_once(partitions, ANN), "closed");
        outcome(entered)
    });
    assert_eq!(outcomes, BTreeSet::from(["admitted", "closed"]));
}

/// A call takes its lease first and joins the queue of its partition later.
#[test]
fn a_call_with_a_lease_is_rejected_by_the_close() {
    explore(1, |partitions| {
        let held = partitions.key(&ANN).try_slot().unwrap();
        let close = on_a_thread(partitions, Partitions::close);
        assert_eq!(block_on(partitions.key(&ANN).slot()).unwrap_err().reason(), Reason::Closed);
        assert!(close.join().unwrap());
        drop(held);
    });
}

#[test]
fn a_task_that_begins_to_wait_sees_the_end() {
    explore(2, |partitions| {
        let (ann, bob) = (partitions.key(&ANN).try_slot().unwrap(), partitions.key(&BOB).try_slot().unwrap());
        let end = on_a_thread(partitions, move |partitions| {
            drop(ann);
            partitions.close();
        });
        drop(bob);
        block_on(partitions.handle().closed());
        assert!(partitions.status().is_drained());
        end.join().unwrap();
    });
}

#[test]
fn the_drain_ends_with_the_last_of_two_calls() {
    let preemptions = if cfg!(bulklink_lock_only) { 3 } else { 1 };
    explore_up_to(Some(preemptions), 1, |partitions| {
        let held = partitions.key(&ANN).try_slot().unwrap();
        let waiting = partitions.key(&ANN).slot();
        let first = thread::spawn(move || drop(held));
        let second = thread::spawn(move || outcome(block_on(waiting)));
        block_on(partitions.close_and_wait());
        let status = partitions.status();
        assert!(status.is_drained() && status.partitions == 0);
        first.join().unwrap();
        assert!(["admitted", "closed"].contains(&second.join().unwrap()));
    });
}

/// A partition is created while the others are resumed: it must not begin paused and stay so.
#[test]
fn a_new_partition_that_meets_a_resumption_admits() {
    let created = explore(2, |partitions| {
        assert!(partitions.pause());
        let resume = on_a_thread(partitions, |partitions| {
            let created = partitions.status().partitions;
            assert!(partitions.resume());
            created
        });
        drop(block_on(partitions.key(&ANN).slot()).unwrap());
        resume.join().unwrap()
    });
    assert_eq!(created, BTreeSet::from([0, 1]));
}

#[test]
fn a_pause_and_a_resumption_leave_partitions_alike() {
    let paused = explore(2, |partitions| {
        [ANN, BOB].iter().for_each(|key| drop(partitions.key(key).try_slot().unwrap()));
        let pause = on_a_thread(partitions, |partitions| partitions.pause());
        partitions.resume();
        pause.join().unwrap();
        let paused = partitions.status().is_paused;
        assert!([ANN, BOB].iter().all(|key| partitions.partition(key).unwrap().status().is_paused == paused));
        partitions.resume();
        paused
    });
    assert_eq!(paused, BTreeSet::from([false, true]));
}

/// The pause has come to one partition and not to the other: that holds back no call.
#[test]
fn calls_enter_while_a_pause_goes_from_partition_to_partition() {
    let is_entered = [(ANN, BOB), (BOB, ANN)].map(|(one, other)| {
        explore_up_to(Some(2), 2, move |partitions| {
            [ANN, BOB].iter().for_each(|key| drop(partitions.key(key).try_slot().unwrap()));
            let handle = partitions.partition(&one).unwrap();
            let pause = on_a_thread(partitions, |partitions| partitions.pause());
            let is_entered = handle.status().is_paused && partitions.key(&other).try_slot().is_ok();
            assert!(pause.join().unwrap());
            assert!([ANN, BOB].iter().all(|key| partitions.partition(key).unwrap().status().is_paused));
            partitions.resume();
            is_entered
        })
    });
    assert!(is_entered.iter().any(|outcomes| outcomes.contains(&true)), "in one of the two orders");
}

/// Of two handlers that are added while a third is removed, each partition has both and no other.
#[test]
fn handlers_that_change_at_the_same_time_are_alike_in_all_partitions() {
    explore_up_to(Some(2), 2, |partitions| {
        [ANN, BOB].iter().for_each(|key| drop(partitions.key(key).try_slot().unwrap()));
        let counts = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
        let counter = |which: usize| {
            let count = Arc::clone(&counts[which]);
            move |_: &Event| {
                count.fetch_add(1, Relaxed);
            }
        };
        let [first, second, third] = [counter(0), counter(1), counter(2)];
        let gone = partitions.handle().add_event_handler(EventFilter::ALL, first);
        let change = on_a_thread(partitions, move |partitions| {
            partitions.handle().add_event_handler(EventFilter::ALL, second);
            partitions.handle().remove_event_handler(gone)
        });
        partitions.handle().add_event_handler(EventFilter::ALL, third);
        assert!(change.join().unwrap());
        [ANN, BOB].iter().for_each(|key| drop(partitions.key(key).try_slot().unwrap()));
        // A call is admitted and ends.
        assert_eq!(counts.each_ref().map(|count| count.load(Relaxed)), [0, 4, 4]);
    });
}

#[test]
fn a_new_partition_that_meets_new_limits_has_them() {
    let created = explore(2, |partitions| {
        let limits = partitions.status().each.with_capacity(2).with_waiting_room(0);
        let change = on_a_thread(partitions, move |partitions| {
            let created = partitions.status().partitions;
            partitions.reconfigure(limits).unwrap();
            created
        });
        drop(partitions.key(&ANN).try_slot().unwrap());
        let created = change.join().unwrap();
        assert_eq!(partitions.partition(&ANN).unwrap().limits(), limits);
        created
    });
    assert_eq!(created, BTreeSet::from([0, 1]));
}

/// The call has its lease, and begins to wait while the partitions shrink. Then either the change
/// is refused and undone, or the call is. One of the two partitions is the first to shrink.
#[test]
fn partitions_shrink_only_if_no_waiter_costs_more() {
    for (key, other) in [(ANN, BOB), (BOB, ANN)] {
        let outcomes = in_every_order(Some(3), move || a_call_meets_a_change(key, other));
        assert_eq!(outcomes, BTreeSet::from([false, true]));
    }
}

/// Returns whether the capacity was changed.
fn a_call_meets_a_change(key: u8, other: u8) -> bool {
    let builder = Partitions::builder_on(ByHand::new(), "loom").capacity(2).waiting_room(1).max_partitions(2);
    let partitions: TestPartitions = builder.hasher(BuildHasherDefault::default()).build().unwrap();
    drop(partitions.key(&other).try_slot().unwrap());
    let running = partitions.key(&key).with(Request::new().cost(2)).try_slot().unwrap();
    let before = partitions.status().each;
    let limits = before.with_capacity(1);
    let mut call = partitions.key(&key).with(Request::new().cost(2)).slot();
    let change = on_a_thread(&partitions, move |partitions| partitions.reconfigure(limits).is_ok());
    let waits = Pin::new(&mut call).poll(&mut Context::from_waker(Waker::noop())).is_pending();
    let changed = change.join().unwrap();
    assert_ne!(waits, changed);
    let expected = if changed { limits } else { before };
    assert!([ANN, BOB].iter().all(|key| partitions.partition(key).unwrap().limits() == expected));
    assert_eq!(partitions.status().each, expected);
    drop((call, running));
    changed
}

/// The call is counted in the partition, and, once that is evicted, among those that are gone.
#[test]
fn sums_count_a_call_once_while_its_partition_is_evicted() {
    explore_up_to(Some(3), 1, |partitions| {
        drop(partitions.key(&ANN).try_slot().unwrap());
        let other = on_a_thread(partitions, |partitions| try_once(partitions, BOB));
        let counts = [(); 2].map(|()| partitions.handle().sums().totals.admitted);
        assert!(matches!(counts, [1, 1 | 2] | [2, 2]), "{counts:?}");
        assert_eq!(other.join().unwrap(), "admitted");
        assert_eq!((partitions.handle().sums().totals.admitted, partitions.handle().sums().totals.finished), (2, 2));
    });
}
