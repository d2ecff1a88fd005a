//! Keys are foreign code: their methods run outside the lock, and their panics lose nothing.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bulklink::Partitions;
use bulklink::testing::FakeClock;

use super::{counts, occupancy};

type Keyed = Partitions<Key, FakeClock>;

thread_local! {
    /// The partitions that keys use while they are hashed, cloned and dropped.
    static CALLED: RefCell<Option<Keyed>> = const { RefCell::new(None) };
    static CLONES: Cell<usize> = const { Cell::new(0) };
    static DROPS: Cell<usize> = const { Cell::new(0) };
    static PANICS: Cell<Option<What>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Hash,
    Eq,
    Clone,
    Drop,
}

fn happens(what: What) {
    let called = CALLED.with_borrow(Option::clone);
    if let Some(keyed) = called.filter(|_| what != What::Eq) {
        assert!(keyed.status().partitions <= 2, "this would deadlock if the lock were held");
    }
    assert!(PANICS.get() != Some(what), "on purpose");
}

#[derive(Debug)]
struct Key(u32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        happens(What::Hash);
        self.0.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        happens(What::Eq);
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Clone for Key {
    fn clone(&self) -> Self {
        happens(What::Clone);
        CLONES.set(CLONES.get() + 1);
        Key(self.0)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        DROPS.set(DROPS.get() + 1);
        happens(What::Drop);
    }
}

fn keyed() -> Keyed {
    let builder = Partitions::builder_on(FakeClock::new(), "keyed").parallelism(1).max_partitions(2);
    builder.idle_timeout(std::time::Duration::ZERO).build().expect("valid")
}

#[test]
fn keys_are_hashed_cloned_and_dropped_outside_the_lock() {
    let keyed = keyed();
    CALLED.set(Some(keyed.clone()));
    for number in 0..5 {
        drop(keyed.key(&Key(number)).try_slot().expect("free"));
    }
    assert!(keyed.discard(&Key(4)));
    assert_eq!(keyed.handle().cleanup_idle(), 1);
    CALLED.set(None);
    assert_eq!(counts(&keyed.status().totals), [5, 4, 1, 0]);
}

/// Keys that remain at the end are dropped outside the lock too, and a panic of one stops nothing.
#[test]
fn close_and_wait_drops_all_keys_outside_the_lock() {
    let mut executor = crate::executor();
    for panics in [None, Some(What::Drop)] {
        let keyed = keyed();
        let (one, two) = (Key(1), Key(2));
        drop((keyed.key(&one).try_slot(), keyed.key(&two).try_slot()));
        CALLED.set(Some(keyed.clone()));
        DROPS.set(0);
        PANICS.set(panics);
        let inside = keyed.clone();
        executor.block_on(async move { inside.close_and_wait().await });
        PANICS.set(None);
        CALLED.set(None);
        assert_eq!((DROPS.get(), occupancy(&keyed.status())), (2, (0, 0, 0)), "{panics:?}");
    }
}

#[test]
fn a_key_that_has_a_partition_is_not_cloned() {
    let keyed = keyed();
    let key = Key(1);
    CLONES.set(0);
    for _ in 0..3 {
        drop(keyed.key(&key).try_slot().expect("free"));
    }
    assert_eq!(CLONES.get(), 1);
    let _running = [keyed.key(&key).try_slot().expect("free"), keyed.key(&Key(2)).try_slot().expect("free")];
    keyed.key(&Key(3)).try_slot().expect_err("no room");
    assert_eq!(CLONES.get(), 2, "nor is a key that is rejected for lack of room");
}

#[test]
fn a_panic_of_any_method_of_a_key_loses_nothing() {
    let keyed = keyed();
    let (one, two, three) = (Key(1), Key(2), Key(3));
    let panicking = |what, work: &dyn Fn()| {
        PANICS.set(Some(what));
        let panicked = catch_unwind(AssertUnwindSafe(work)).is_err();
        PANICS.set(None);
        panicked
    };
    let enter = |key: &Key| drop(keyed.key(key).try_slot());
    assert!(panicking(What::Hash, &|| enter(&one)));
    assert!(panicking(What::Clone, &|| enter(&one)));
    assert_eq!(occupancy(&keyed.status()), (0, 0, 0));
    for key in [&one, &two] {
        enter(key);
    }
    assert!(panicking(What::Eq, &|| enter(&one)));
    assert!(panicking(What::Eq, &|| _ = keyed.discard(&two)));
    assert!(!panicking(What::Drop, &|| enter(&three)), "the panic of an evicted key is contained");
    assert!(
        !panicking(What::Drop, &|| _ = keyed.handle().cleanup_idle()),
        "the panic of a key removed by a cleanup is contained too"
    );
    assert_eq!((occupancy(&keyed.status()), counts(&keyed.status().totals)), ((0, 0, 0), [3, 3, 0, 0]));
    for key in [&one, &two, &three] {
        enter(key);
    }
    assert_eq!(occupancy(&keyed.status()), (2, 0, 0));
}

/// A hasher that gives every key the same hash.
#[derive(Default)]
struct Constant;

impl Hasher for Constant {
    fn finish(&self) -> u64 {
        7
    }

    fn write(&mut self, _bytes: &[u8]) {}
}

#[test]
fn keys_with_the_same_hash_have_different_partitions() {
    let hasher = BuildHasherDefault::<Constant>::default();
    let builder = Partitions::builder_on(FakeClock::new(), "keyed").parallelism(1).max_partitions(50);
    let keyed: Partitions<u32, _, _> = builder.hasher(hasher).build().expect("valid");
    let running: Vec<_> = (0..50).map(|key| keyed.key(&key).try_slot().expect("free")).collect();
    assert!((0..50).all(|key| keyed.key(&key).try_slot().is_err()));
    drop(running);
    (50..80).for_each(|key| drop(keyed.key(&key).try_slot().expect("free")));
    assert!((0..30).all(|key| keyed.partition(&key).is_none()) && (30..80).all(|key| keyed.partition(&key).is_some()));
    assert!((30..80).all(|key| keyed.discard(&key)));
    assert_eq!(keyed.status().partitions, 0);
}
