//! Controllers of partitions: each new one begins with a ceiling of zero for each of them.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};

use bulklink::testing::FakeClock;
use bulklink::{Ceiling, Partitions, Reason};

use super::{Tenants, builder, call, counts, occupancy, tenants, touch};
use crate::{Log, executor, taken};

/// The ceilings of keys, as a controller keeps them.
type Kept = Log<(String, Ceiling)>;

/// Adds a controller that keeps its ceilings as they are.
fn control(tenants: &Tenants, by: &'static str) -> Kept {
    let kept = Kept::default();
    let inside = Arc::clone(&kept);
    let begin = move |key: &String, _: &_, ceiling| inside.lock().unwrap().push((key.clone(), ceiling));
    tenants.control(by, begin).expect("no partition exists");
    kept
}

fn ceilings(tenants: &Tenants, key: &str) -> Vec<(&'static str, usize)> {
    tenants.partition(key).expect("kept").ceilings().iter().map(|it| (it.by, it.units)).collect()
}

#[test]
fn a_new_partition_admits_nothing_until_its_controllers_raise_their_ceilings() {
    let mut executor = executor();
    let tenants = tenants(&executor, 3);
    let (one, two) = (control(&tenants, "one"), control(&tenants, "two"));
    let waiting = call(&mut executor, &tenants, "ann");
    let rejection = tenants.key("bob").try_slot().expect_err("its ceilings are zero");
    assert_eq!((rejection.reason(), rejection.restriction().map(|it| it.units)), (Reason::Saturated, Some(0)));
    assert_eq!(ceilings(&tenants, "ann"), [("one", 0), ("two", 0)]);

    let (one, mut two) = (taken(&one), taken(&two));
    let keys = |kept: &[(String, Ceiling)]| kept.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!((keys(&one), keys(&two)), (vec!["ann".into(), "bob".into()], vec!["ann".into(), "bob".into()]));
    one[0].1.set(1);
    executor.run_until_idle();
    assert!(!waiting.is_finished());
    drop(two.remove(0));
    executor.run_until_idle();
    drop(waiting.output().expect("one is not zero, two is lifted").expect("admitted"));
    assert_eq!(ceilings(&tenants, "bob"), [("one", 0), ("two", 0)]);
}

#[test]
fn a_partition_that_comes_again_begins_anew() {
    let executor = executor();
    let tenants = tenants(&executor, 1);
    let kept = control(&tenants, "test");
    for key in ["ann", "bob", "ann"] {
        drop(tenants.key(key).try_slot().expect_err("its ceiling is zero"));
        let [(of, ceiling)] = <[_; 1]>::try_from(taken(&kept)).expect("one partition is new");
        assert_eq!((of.as_str(), ceiling.units(), ceiling.is_gone()), (key, Some(0), false));
        ceiling.set(1);
        touch(&tenants, key);
        assert!(taken(&kept).is_empty(), "nothing is begun for a partition that is kept");
        assert!(tenants.discard(key));
        assert!(ceiling.is_gone());
    }
    assert_eq!(counts(&tenants.status().totals), [3, 0, 3, 0]);
}

#[test]
fn a_controller_comes_before_the_first_partition() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    touch(&tenants, "ann");
    let late = tenants.control("late", |_, _, _| unreachable!("it was refused")).unwrap_err();
    let text = "partitions tenants: partitions must not exist before they get a controller, got 1";
    assert_eq!(late.to_string(), text);
    touch(&tenants, "bob");
    // As many as there are now, not as there were.
    assert!(tenants.discard("ann") && tenants.discard("bob"));
    tenants.control("test", |_, _, ceiling| _ = ceiling.set(1)).expect("none is left");
    touch(&tenants, "ann");
}

#[test]
fn a_controller_that_panics_is_counted_and_costs_no_lease() {
    let mut executor = executor();
    let tenants = builder(&executor).parallelism(1).waiting_room(2).max_partitions(2).build().expect("valid");
    tenants.control("panics", |_, _, _| panic!("on purpose")).expect("no partition exists");
    let kept = control(&tenants, "keeps");
    assert_eq!(reason_now(&tenants), Reason::Saturated, "the other controller is not passed over");
    let waiting = call(&mut executor, &tenants, "ann");
    taken(&kept).remove(0).1.set(1);
    executor.run_until_idle();
    assert_eq!(tenants.status().handler_panics, 1);
    drop(waiting.output().expect("it was raised").expect("admitted"));
    assert_eq!(occupancy(&tenants.status()), (1, 0, 0));
}

fn reason_now(tenants: &Tenants) -> Reason {
    tenants.key("ann").try_slot().expect_err("a ceiling is zero").reason()
}

thread_local! {
    /// Called once, while a key is cloned for its new partition.
    static MEANWHILE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    static BEGUN: Cell<usize> = const { Cell::new(0) };
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key(u8);

impl Clone for Key {
    fn clone(&self) -> Self {
        if let Some(meanwhile) = MEANWHILE.take() {
            meanwhile();
        }
        Key(self.0)
    }
}

fn keyed() -> Partitions<Key, FakeClock> {
    Partitions::builder_on(FakeClock::new(), "keyed").parallelism(1).max_partitions(2).build().expect("valid")
}

#[test]
fn of_two_calls_that_create_one_partition_one_begins_it() {
    let keyed = keyed();
    let kept: Log<Ceiling> = Log::default();
    let inside = Arc::clone(&kept);
    let begin = move |_: &Key, _: &_, ceiling: Ceiling| {
        BEGUN.set(BEGUN.get() + 1);
        inside.lock().unwrap().push(ceiling);
    };
    keyed.control("test", begin).expect("no partition exists");
    let other = keyed.clone();
    MEANWHILE.set(Some(Box::new(move || drop(other.key(&Key(1)).try_slot().expect_err("its ceiling is zero")))));
    drop(keyed.key(&Key(1)).try_slot().expect_err("its ceiling is zero"));
    assert_eq!((MEANWHILE.take().is_none(), BEGUN.get(), keyed.status().partitions), (true, 1, 1));
    // The held slot is that of the partition.
    taken(&kept)[0].set(1);
    drop(keyed.key(&Key(1)).try_slot().expect("it was raised"));
}

#[test]
fn no_partition_escapes_a_controller_that_comes_meanwhile() {
    let keyed = keyed();
    let kept: Log<Ceiling> = Log::default();
    let (other, inside) = (keyed.clone(), Arc::clone(&kept));
    MEANWHILE.set(Some(Box::new(move || {
        let begin = move |_: &Key, _: &_, ceiling| inside.lock().unwrap().push(ceiling);
        other.control("late", begin).expect("no partition exists yet");
    })));
    let rejection = keyed.key(&Key(1)).try_slot().expect_err("its ceiling is zero");
    assert_eq!(rejection.restriction().map(|it| it.by), Some("late"));
    assert_eq!(taken(&kept).len(), 1);
    assert_eq!(occupancy(&keyed.status()), (1, 0, 0));
}

/// A controller has the same methods of the partitions as a caller: no lock is held.
#[test]
fn a_controller_can_use_the_partitions() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    let (other, seen) = (tenants.clone(), Arc::new(Mutex::new(vec![])));
    let inside = Arc::clone(&seen);
    let begin = move |key: &String, handle: &bulklink::Handle, _: Ceiling| {
        let nested = if key == "ann" { other.key("bob").try_slot().is_ok() } else { other.status().partitions == 2 };
        inside.lock().unwrap().push((key.clone(), nested, handle.ceilings().len()));
    };
    tenants.control("test", begin).expect("no partition exists");
    touch(&tenants, "ann");
    assert_eq!(*seen.lock().unwrap(), [("bob".to_owned(), true, 1), ("ann".to_owned(), true, 1)]);
}
