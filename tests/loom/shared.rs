//! Keys that share one capacity: units are lent to the word of a key and taken back, while other
//! keys wait, displace, come and go.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::task::Poll;

use bulklink::partitions::Share;
use bulklink::{OwnedSlot, OwnedSlotFuture, Partitions, Reason, Rejection};
use loom::future::block_on;
use loom::thread;

use crate::call::CountingWaker;
use crate::model::{ByHand, in_every_order, on_a_thread};

type Models = Partitions<u8, ByHand, BuildHasherDefault<DefaultHasher>>;

const ANN: u8 = 1;
const BOB: u8 = 2;

/// The keys of a scene, and how far the search goes.
struct Model {
    capacity: usize,
    waiting_room: usize,
    max_partitions: usize,
    preemptions: Option<usize>,
}

/// Returns a model of two keys with this capacity, and room for two waiters.
fn model(capacity: usize) -> Model {
    Model { capacity, waiting_room: 2, max_partitions: 2, preemptions: None }
}

impl Model {
    /// Leaves out executions with more preemptions than this, for scenes too large for a complete
    /// search; or with one more by the lock alone, where there are fewer steps.
    fn preemptions(self, most: usize) -> Self {
        Model { preemptions: Some(most + usize::from(cfg!(bulklink_lock_only))), ..self }
    }

    /// Runs the scene in every order, and returns all its outcomes.
    fn explore<O>(self, scene: impl Fn(&Models) -> O + Send + Sync + 'static) -> BTreeSet<O>
    where
        O: Ord + Debug + Send + 'static,
    {
        in_every_order(self.preemptions, move || {
            let builder = Partitions::builder_on(ByHand::new(), "loom").shared_capacity(self.capacity);
            let builder = builder.shared_waiting_room(self.waiting_room).max_partitions(self.max_partitions);
            let models: Models = builder.hasher(BuildHasherDefault::default()).build().expect("sound limits");
            let outcome = scene(&models);
            check_settled(&models);
            outcome
        })
    }
}

/// Checks what holds when all calls have left: no unit is lost, and there is none too many.
fn check_settled(models: &Models) {
    check_settled_calls(models);
    let capacity = models.status().shared.expect("a capacity is shared").capacity;
    for key in [ANN, BOB] {
        let most = models.share(&key).expect("a capacity is shared").ceiling.unwrap_or(capacity).min(capacity);
        let slots: Vec<_> = (0..most).map(|_| models.key(&key).try_slot().expect("a unit was lost")).collect();
        assert!(models.key(&key).try_slot().is_err(), "there is one unit too many");
        assert_eq!(models.status().shared.expect("a capacity is shared").in_use, slots.len());
    }
    check_settled_calls(models);
}

fn check_settled_calls(models: &Models) {
    let shared = models.status().shared.expect("a capacity is shared");
    assert_eq!((shared.in_use, shared.waiting), (0, 0), "the pool counts an operation or a waiter that is gone");
    let sums = models.handle().sums();
    assert_eq!((sums.in_use, sums.waiting, sums.in_flight), (0, 0, 0), "a key does");
    let (totals, displaced) = (&sums.totals, shared.displaced);
    let settled = totals.admitted_from_queue + totals.cancelled + totals.expired + totals.closed_while_waiting;
    assert_eq!(totals.queued, settled + displaced);
    assert_eq!(totals.admitted, totals.finished + totals.abandoned);
}

/// Uses as many units at once, and gives them back: they stay with the word of this key.
fn lend(models: &Models, key: u8, units: usize) {
    drop((0..units).map(|_| slot(models, key)).collect::<Vec<_>>());
}

fn slot(models: &Models, key: u8) -> OwnedSlot {
    models.key(&key).try_slot().expect("a unit is free")
}

fn outcome<T>(answer: Result<T, Rejection>) -> &'static str {
    match answer.map(drop).map_err(|rejection| rejection.reason()) {
        Ok(()) => "admitted",
        Err(Reason::Saturated) => "saturated",
        Err(Reason::Displaced) => "displaced",
        Err(Reason::PartitionLimit) => "no partition",
        Err(other) => panic!("{other}"),
    }
}

/// A call that the scene polls.
struct Call {
    future: OwnedSlotFuture<ByHand>,
    waker: CountingWaker,
}

impl Call {
    fn new(models: &Models, key: u8) -> Self {
        Call { future: models.key(&key).slot(), waker: CountingWaker::default() }
    }

    fn poll(&mut self) -> Poll<Result<OwnedSlot, Rejection>> {
        self.waker.poll(&mut self.future)
    }

    fn queued(models: &Models, key: u8) -> Self {
        let mut call = Call::new(models, key);
        assert!(call.poll().is_pending(), "a unit was free");
        call
    }

    /// Returns the answer of the call, which must have been woken for it exactly once.
    fn answer(mut self) -> Result<OwnedSlot, Rejection> {
        assert_eq!(self.waker.wakes(), 1, "the call must be woken exactly once");
        let Poll::Ready(answer) = self.poll() else { panic!("the call was woken without an answer") };
        answer
    }
}

#[test]
fn a_unit_that_is_given_back_by_a_word_is_taken_back_once() {
    let outcomes = model(1).explore(|models| {
        lend(models, ANN, 1);
        let held = slot(models, ANN);
        let release = thread::spawn(move || drop(held));
        let bob = models.key(&BOB).try_slot();
        release.join().unwrap();
        let ann = models.key(&ANN).try_slot();
        assert!(bob.is_ok() != ann.is_ok(), "one unit for one of two keys");
        outcome(bob)
    });
    assert_eq!(outcomes, BTreeSet::from(["admitted", "saturated"]));
}

#[test]
fn a_word_and_another_key_share_the_last_unit() {
    let outcomes = model(1).preemptions(5).explore(|models| {
        lend(models, ANN, 1);
        let ann = on_a_thread(models, |models| models.key(&ANN).try_slot());
        let bob = models.key(&BOB).try_slot();
        let ann = ann.join().unwrap();
        assert_eq!(models.status().shared.unwrap().in_use, 1);
        [outcome(ann), outcome(bob)]
    });
    assert_eq!(outcomes, BTreeSet::from([["admitted", "saturated"], ["saturated", "admitted"]]));
}

#[test]
fn units_move_between_two_words() {
    model(2).preemptions(3).explore(|models| {
        lend(models, ANN, 2);
        let other = on_a_thread(models, |models| {
            let slots = [(); 2].map(|()| models.key(&BOB).try_slot().ok());
            slots.iter().flatten().count()
        });
        let slots = [(); 2].map(|()| models.key(&ANN).try_slot().ok());
        let shared = models.status().shared.unwrap();
        assert!(shared.in_use <= 2, "{shared:?}");
        drop(slots);
        other.join().unwrap()
    });
}

#[test]
fn a_call_that_parks_while_another_key_gives_its_unit_back_is_woken() {
    let waited = model(1).preemptions(5).explore(|models| {
        lend(models, ANN, 1);
        let held = slot(models, ANN);
        let release = thread::spawn(move || drop(held));
        drop(block_on(models.key(&BOB).slot()).unwrap());
        release.join().unwrap();
        models.handle().sums().totals.queued
    });
    assert_eq!(waited, BTreeSet::from([0, 1]));
}

/// The word of each key is live at first, and each waits for the other.
#[test]
fn two_keys_that_wait_for_one_unit_both_get_it() {
    let waited = model(1).preemptions(5).explore(|models| {
        lend(models, ANN, 1);
        let other = on_a_thread(models, |models| drop(block_on(models.key(&BOB).slot()).unwrap()));
        drop(block_on(models.key(&ANN).slot()).unwrap());
        other.join().unwrap();
        models.handle().sums().totals.queued
    });
    assert_eq!(waited, BTreeSet::from([0, 1]));
}

/// A key that waits is before a key that has just given its unit back.
#[test]
fn no_word_is_live_while_another_key_waits() {
    let admitted = model(2).preemptions(5).explore(|models| {
        let held = [(); 2].map(|()| slot(models, ANN));
        let waiting = Call::queued(models, BOB);
        let ann = on_a_thread(models, |models| models.key(&ANN).try_slot());
        let [one, other] = held;
        drop(one);
        let bob = waiting.answer().expect("the unit is for the key that waits");
        let ann = ann.join().unwrap();
        assert!(ann.is_err(), "passes one that waits");
        drop((other, bob));
        outcome(ann)
    });
    assert_eq!(admitted, BTreeSet::from(["saturated"]));
}

/// Of a loud key two calls wait, and there is room for two.
#[test]
fn a_waiter_that_is_displaced_is_woken() {
    let outcomes = model(1).explore(|models| {
        let held = slot(models, ANN);
        let [first, second] = [(); 2].map(|()| Call::queued(models, ANN));
        let release = thread::spawn(move || drop(held));
        let mut bob = Call::new(models, BOB);
        let came = bob.poll();
        release.join().unwrap();
        assert!(came.is_pending(), "a waiter is before it, or a longer line has made room");
        let calls = if first.waker.wakes() > 0 { [first, bob] } else { [bob, first] };
        calls.into_iter().for_each(|call| drop(call.answer().expect("it keeps its place")));
        outcome(second.answer())
    });
    assert_eq!(outcomes, BTreeSet::from(["admitted", "displaced"]));
}

#[test]
fn a_call_is_displaced_or_cancelled() {
    let outcomes = model(1).explore(|models| {
        let held = slot(models, ANN);
        let [first, second] = [(); 2].map(|()| Call::queued(models, ANN));
        let cancel = thread::spawn(move || drop(second));
        let bob = Call::queued(models, BOB);
        cancel.join().unwrap();
        let (displaced, cancelled) =
            (models.status().shared.unwrap().displaced, models.handle().sums().totals.cancelled);
        assert_eq!(displaced + cancelled, 1);
        assert_eq!(models.status().shared.unwrap().waiting, 2);
        drop(held);
        drop(bob.answer().unwrap());
        drop(first.answer().unwrap());
        displaced
    });
    assert_eq!(outcomes, BTreeSet::from([0, 1]));
}

/// The unit goes to a call that is dropped at that moment, or to the next.
#[test]
fn a_unit_for_a_call_that_is_dropped_goes_to_another_key() {
    model(1).explore(|models| {
        let held = slot(models, ANN);
        let bob = Call::queued(models, BOB);
        let ann = Call::queued(models, ANN);
        let cancel = thread::spawn(move || drop(bob));
        drop(held);
        cancel.join().unwrap();
        drop(ann.answer().unwrap());
    });
}

#[test]
fn a_partition_is_evicted_beside_a_call_that_enters_it() {
    let model = Model { max_partitions: 1, ..model(1) };
    let outcomes = model.explore(|models| {
        lend(models, ANN, 1);
        let other = on_a_thread(models, |models| outcome(models.key(&BOB).try_slot()));
        [outcome(models.key(&ANN).try_slot()), other.join().unwrap()]
    });
    let expected = [["admitted", "admitted"], ["admitted", "no partition"], ["no partition", "admitted"]];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

/// Ann's partition is evicted for another key, while Bob takes back the unit that was lent to it.
#[test]
fn a_partition_is_evicted_beside_a_call_that_takes_its_unit_back() {
    let outcomes = model(1).explore(|models| {
        lend(models, BOB, 1);
        lend(models, ANN, 1);
        let discard = on_a_thread(models, |models| models.discard(&ANN));
        let bob = models.key(&BOB).try_slot().expect("no call has the unit");
        assert!(discard.join().unwrap());
        assert!(models.key(&ANN).try_slot().is_err(), "Bob has it");
        drop(bob);
    });
    assert_eq!(outcomes, BTreeSet::from([()]));
}

#[test]
fn a_ceiling_of_a_key_meets_its_calls() {
    let admitted = model(2).preemptions(3).explore(|models| {
        lend(models, ANN, 2);
        let set = on_a_thread(models, |models| models.set_share(&ANN, Share::new().ceiling(1)).unwrap());
        let slots = [(); 2].map(|()| models.key(&ANN).try_slot().ok());
        set.join().unwrap();
        let admitted = slots.iter().flatten().count();
        assert!(models.key(&ANN).try_slot().is_err(), "one is in use already");
        let [one, other] = slots;
        drop(one);
        assert!(other.is_none() || models.key(&ANN).try_slot().is_err(), "one is in use still");
        assert!(models.key(&BOB).try_slot().is_ok());
        drop(other);
        admitted
    });
    assert_eq!(admitted, BTreeSet::from([1, 2]));
}

#[test]
fn a_share_that_is_set_and_removed_at_once_is_there_or_not() {
    let outcomes = model(2).preemptions(2).explore(|models| {
        models.set_share(&ANN, Share::new().ceiling(1)).unwrap();
        let set = on_a_thread(models, |models| models.set_share(&ANN, Share::new().ceiling(1)).unwrap());
        let ann = models.key(&ANN).try_slot().unwrap();
        assert!(models.remove_share(&ANN));
        set.join().unwrap();
        let is_there = models.share(&ANN) != Some(Share::new());
        let second = models.key(&ANN).try_slot();
        assert_eq!((second.is_err(), models.remove_share(&ANN)), (is_there, is_there));
        drop((ann, second));
        is_there
    });
    assert_eq!(outcomes, BTreeSet::from([false, true]));
}

#[test]
fn a_key_that_is_paused_admits_none_afterwards() {
    model(1).preemptions(4).explore(|models| {
        lend(models, ANN, 1);
        let pause = on_a_thread(models, |models| models.set_share(&ANN, Share::new().paused(true)).unwrap());
        let ann = models.key(&ANN).try_slot();
        pause.join().unwrap();
        let is_admitted = ann.is_ok();
        drop(ann);
        assert!(models.key(&ANN).try_slot().is_err());
        let waiting = Call::queued(models, ANN);
        let resume = on_a_thread(models, |models| models.set_share(&ANN, Share::new()).unwrap());
        drop(models.key(&BOB).try_slot());
        resume.join().unwrap();
        drop(waiting.answer().unwrap());
        is_admitted
    });
}

#[test]
fn a_smaller_capacity_meets_calls_of_two_keys() {
    let admitted = model(2).preemptions(4).explore(|models| {
        lend(models, ANN, 2);
        let resize = on_a_thread(models, |models| models.resize_shared(1).unwrap());
        let ann = models.key(&ANN).try_slot().ok();
        let bob = models.key(&BOB).try_slot().ok();
        resize.join().unwrap();
        let admitted = usize::from(ann.is_some()) + usize::from(bob.is_some());
        assert!(models.key(&ANN).try_slot().is_err() && models.key(&BOB).try_slot().is_err(), "one is in use");
        drop(ann);
        assert_eq!(models.key(&ANN).try_slot().is_ok(), admitted == 1);
        drop(bob);
        admitted
    });
    assert_eq!(admitted, BTreeSet::from([1, 2]));
}

#[test]
fn a_call_that_parks_while_the_capacity_grows_is_woken() {
    let waited = model(1).preemptions(4).explore(|models| {
        let held = slot(models, ANN);
        let grow = on_a_thread(models, |models| models.resize_shared(2).unwrap());
        drop(block_on(models.key(&BOB).slot()).unwrap());
        grow.join().unwrap();
        drop(held);
        models.handle().sums().totals.queued
    });
    assert_eq!(waited, BTreeSet::from([0, 1]));
}

/// The whole and each key have the same capacity afterwards.
#[test]
fn of_two_resizes_at_once_one_is_the_last() {
    let capacities = model(2).explore(|models| {
        lend(models, ANN, 1);
        let other = on_a_thread(models, |models| models.resize_shared(1).unwrap());
        models.resize_shared(3).unwrap();
        other.join().unwrap();
        let status = models.status();
        let whole = status.shared.unwrap().capacity;
        assert_eq!((status.each.capacity, models.partition(&ANN).unwrap().limits().capacity), (whole, whole));
        whole
    });
    assert_eq!(capacities, BTreeSet::from([1, 3]));
}
