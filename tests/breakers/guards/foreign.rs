//! Keys and clocks are foreign: they run under no lock of the circuits, and may panic.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

use bulklink_breaker::Guards;

use super::{TestGuards, builder, call, executor, keys};

thread_local! {
    static GUARDS: RefCell<Option<TestGuards<Foreign>>> = const { RefCell::new(None) };
    static LOOKS: Cell<u32> = const { Cell::new(0) };
    static PANICS: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// A key that looks at its guards wherever it can, or panics. All have the same hash.
struct Foreign(u32);

fn look(place: &'static str) {
    if PANICS.get() == Some(place) {
        PANICS.set(None);
        panic_any("a key that panics, on purpose");
    }
    let guards = GUARDS.with(|guards| guards.try_borrow().ok().and_then(|guards| guards.clone()));
    if let Some(guards) = guards {
        assert!(guards.status().keys.is_some());
        LOOKS.set(LOOKS.get() + 1);
    }
}

impl Hash for Foreign {
    fn hash<H: Hasher>(&self, state: &mut H) {
        look("hash");
        state.write_u8(0);
    }
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        look("eq");
        self.0 == other.0
    }
}

impl Eq for Foreign {}

impl Clone for Foreign {
    fn clone(&self) -> Self {
        look("clone");
        Foreign(self.0)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        look("drop");
    }
}

fn foreign(max_keys: usize) -> TestGuards<Foreign> {
    let shown = |key: &Foreign| {
        look("show");
        key.0.to_string()
    };
    let builder = builder(executor().runtime(), max_keys).show_keys(shown);
    let guards: Guards<Foreign, _> = builder.build().expect("valid settings");
    GUARDS.with(|kept| *kept.borrow_mut() = Some(guards.clone()));
    guards
}

/// Ends the looks, so that they do not keep the guards.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let guards = GUARDS.with(|guards| guards.borrow_mut().take());
        drop(guards);
    }
}

#[test]
fn keys_may_use_the_guards_wherever_they_run() {
    let (guards, _end) = (foreign(2), End);
    for key in [1, 2, 3, 2, 3, 4, 1] {
        call(&guards, &Foreign(key), Ok(())).expect("a closed circuit");
    }
    let status = keys(&guards);
    assert_eq!((status.kept, status.evicted), (2, 3));
    assert!(LOOKS.get() > 40, "they ran");
}

#[test]
fn a_key_that_panics_changes_nothing() {
    let (guards, _end) = (foreign(1), End);
    call(&guards, &Foreign(1), Ok(())).expect("a closed circuit");
    for (place, key) in [("hash", 1), ("eq", 1), ("eq", 2), ("clone", 2), ("show", 2)] {
        PANICS.set(Some(place));
        let called = catch_unwind(AssertUnwindSafe(|| call(&guards, &Foreign(key), Ok(()))));
        assert!(called.is_err() && PANICS.take().is_none(), "{place}");
        let status = keys(&guards);
        assert_eq!((status.kept, status.evicted, status.without_circuit), (1, 0, 0), "{place}");
    }
    call(&guards, &Foreign(2), Ok(())).expect("a closed circuit");
    assert_eq!((keys(&guards).kept, keys(&guards).evicted), (1, 1));
}
