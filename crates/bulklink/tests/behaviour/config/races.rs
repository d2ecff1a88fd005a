//! What comes between the check of a configuration and its changes: they are changed back.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bulklink::config::{ApplyError, Config};
use bulklink::partitions::{RandomState, Share};
use bulklink::runtime::{Clock, Instant, Spawn, SpawnError, Timer};
use bulklink::testing::{FakeClock, FakeSleep};
use bulklink::{Bulkhead, EventFilter, EventKind, Handle, Request};

use super::World;

/// A timeout that only a failing test reaches.
const LONG: Duration = Duration::from_secs(10);

/// Calls `act` in the middle of a change: when the capacity of this bulkhead has shrunk.
fn when_resized(bulkhead: &impl AsRef<Handle>, act: impl Fn() + Send + Sync + 'static) {
    bulkhead.as_ref().add_event_handler(EventFilter::ALL, move |event| {
        if matches!(event.kind, EventKind::Resized) {
            act();
        }
    });
}

/// Bulkheads `a` and `b` with a capacity of 5, and a configuration that makes `a` smaller, and then
/// `b`, adds `new`, and removes `old`.
fn world() -> World {
    let mut world = World::new();
    for label in ["a", "b"] {
        let section = world.section(label);
        (section.capacity, section.waiting_room) = (Some(5), Some(5));
    }
    world.section("old").parallelism = Some(1);
    world.applied();
    world.config.bulkheads.remove("old");
    world.section("new").parallelism = Some(1);
    for label in ["a", "b"] {
        world.section(label).capacity = Some(3);
    }
    world
}

#[test]
fn a_costlier_waiter_that_comes_meanwhile_has_all_changed_back() {
    let world = world();
    let b = world.bulkhead("b");
    let running = b.owned().try_slot().expect("free");
    let waiting = Arc::new(Mutex::new(None));
    let place = Arc::clone(&waiting);
    when_resized(world.bulkhead("a").handle(), move || {
        let mut future = Box::pin(b.with(Request::new().cost(5)).slot());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        place.lock().expect("no panic").get_or_insert(future);
    });
    let error = world.apply().expect_err("a waiter came");
    assert_eq!(
        crate::chain(&error),
        "the configuration could not be applied to its end, and all was changed back: bulkheads.b.capacity must be at \
         least 5, which a waiter asks for, got 3"
    );
    assert!(matches!(error, ApplyError::RolledBack { not_restored, .. } if not_restored.is_empty()));
    assert_eq!(["a", "b"].map(|label| world.bulkhead(label).limits().capacity), [5, 5]);
    assert!(world.registry.get("new").is_none() && !world.bulkhead("old").is_closed());
    drop(running);
    drop(waiting);
}

#[test]
fn a_bulkhead_that_is_closed_meanwhile_has_all_changed_back() {
    let world = world();
    let b = world.bulkhead("b");
    when_resized(world.bulkhead("a").handle(), move || _ = b.close());
    assert_eq!(
        crate::chain(&world.apply().expect_err("closed")),
        "the configuration could not be applied to its end, and all was changed back: bulkheads.b is closed, and \
         cannot be changed"
    );
    assert_eq!(world.bulkhead("a").limits().capacity, 5);
    assert!(world.registry.get("new").is_none() && !world.bulkhead("old").is_closed());
}

#[test]
fn a_label_that_is_taken_meanwhile_has_all_changed_back() {
    let world = world();
    let (registry, clock) = (world.registry.clone(), world.clock.clone());
    when_resized(world.bulkhead("a").handle(), move || {
        let _ = registry.create(Bulkhead::builder_on(clock.clone(), "new").parallelism(9));
    });
    let error = crate::chain(&world.apply().expect_err("taken"));
    assert!(error.contains("all was changed back: the registry has changed: label must be new"), "{error}");
    assert_eq!(["a", "b"].map(|label| world.bulkhead(label).limits().capacity), [5, 5]);
    assert_eq!(world.bulkhead("new").limits().capacity, 9);
}

#[test]
fn a_shared_capacity_and_the_shares_of_keys_are_changed_back() {
    let mut world = world();
    let changed = world.config.clone();
    world.config = Config::default();
    world.section("a").capacity = Some(5);
    let models = world.partitions_section("models");
    (models.shared_capacity, models.max_partitions, models.weight) = (Some(20), Some(9), Some(3));
    let ann = models.keys.entry("ann".into()).or_default();
    (ann.floor, ann.keep_floor) = (Some(8), Some(true));
    models.keys.entry("bob".into()).or_default().weight = Some(2);
    world.applied();
    let before = world.config.partitions.clone();
    let models = world.partitions("models");
    models.set_share("eve", Share::new().weight(9)).expect("valid");
    let seen = || {
        let shares = ["ann", "bob", "cid", "eve"].map(|key| models.share(key).expect("shared"));
        (shares, models.status().shared.map(|shared| shared.capacity), models.status().each.capacity)
    };
    let expected = seen();

    world.config.bulkheads = changed.bulkheads;
    let section = world.partitions_section("models");
    (section.shared_capacity, section.weight, section.ceiling) = (Some(5), None, Some(4));
    section.keys.remove("bob");
    section.keys.entry("ann".into()).or_default().floor = Some(3);
    let cid = section.keys.entry("cid".into()).or_default();
    (cid.floor, cid.keep_floor) = (Some(2), Some(true));
    section.keys.entry("eve".into()).or_default().weight = Some(1);
    let (registry, clock) = (world.registry.clone(), world.clock.clone());
    when_resized(world.bulkhead("a").handle(), move || {
        let _ = registry.create(Bulkhead::builder_on(clock.clone(), "new").parallelism(9));
    });
    assert!(matches!(world.apply(), Err(ApplyError::RolledBack { not_restored, .. }) if not_restored.is_empty()));
    assert_eq!(seen(), expected);
    assert!(!models.remove_share("cid"));

    world.config.bulkheads.clear();
    world.config.bulkheads.entry("a".into()).or_default().capacity = Some(5);
    let changed = std::mem::replace(&mut world.config.partitions, before);
    assert_eq!(world.applied(), "");
    world.config.partitions = changed;
    assert_eq!(
        world.applied(),
        "models: shared_capacity 20 -> 5, weight 3 -> 1, ceiling none -> 4, shares of 4 keys",
        "without the race"
    );
}

#[test]
fn nothing_grows_before_all_that_shrinks_has_shrunk() {
    let mut world = world();
    world.section("0").capacity = Some(5);
    world.config.bulkheads.remove("new");
    for label in ["a", "b"] {
        world.section(label).capacity = Some(5);
    }
    world.applied();
    world.section("0").capacity = Some(4);
    world.section("a").capacity = Some(9);
    world.section("b").capacity = Some(4);
    let b = world.bulkhead("b");
    when_resized(world.bulkhead("0").handle(), move || _ = b.close());
    let (resized, recorder) = crate::recorder(|event| event.kind);
    world.bulkhead("a").handle().add_event_handler(EventFilter::ALL, recorder);
    assert!(matches!(world.apply(), Err(ApplyError::RolledBack { .. })));
    assert!(crate::taken(&resized).is_empty(), "a call could have needed what has grown");
}

#[test]
fn what_grows_is_refused_by_no_waiter_and_needs_no_way_back() {
    let mut world = world();
    for label in ["a", "b"] {
        world.section(label).capacity = Some(7);
    }
    let b = world.bulkhead("b");
    when_resized(world.bulkhead("a").handle(), move || _ = b.close());
    let applied = world.applied();
    assert_eq!(applied, "a: capacity 5 -> 7\nb: capacity 5 -> 7\nnew: added, parallelism 1\nold: removed");
    assert_eq!(world.bulkhead("a").limits().capacity, 7, "as if the other had been closed right after");
}

#[test]
fn a_change_by_hand_in_the_middle_can_leave_a_bulkhead_that_is_not_changed_back() {
    let mut world = World::new();
    for label in ["a", "b"] {
        let section = world.section(label);
        (section.capacity, section.waiting_room) = (Some(5), Some(5));
    }
    world.applied();
    for label in ["a", "b"] {
        world.section(label).capacity = Some(6);
    }
    // Between the growth of `a` and that of `b`, both become larger, and get costly waiters.
    let both = ["a", "b"].map(|label| world.bulkhead(label));
    let kept = Arc::new(Mutex::new(Vec::new()));
    let place = Arc::clone(&kept);
    when_resized(world.bulkhead("a").handle(), move || {
        let mut kept = place.lock().expect("no panic");
        if !kept.is_empty() {
            return;
        }
        for bulkhead in &both {
            let mut running = Box::pin(bulkhead.owned().slot());
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(running.as_mut().poll(&mut context).is_ready());
            kept.push(running);
        }
        drop(kept);
        let costs = [6, 9];
        for (bulkhead, cost) in both.iter().zip(costs) {
            if cost == 9 {
                bulkhead.resize(9).expect("it grows");
            }
            let running = bulkhead.owned().try_slot().expect("free");
            let mut waiting = Box::pin(bulkhead.with(Request::new().cost(cost)).slot());
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(waiting.as_mut().poll(&mut context).is_pending());
            place.lock().expect("no panic").push(waiting);
            std::mem::forget(running);
        }
    });
    let error = crate::chain(&world.apply().expect_err("two waiters came"));
    assert_eq!(
        error,
        "the configuration could not be applied to its end, and all was changed back but for b, a: bulkheads.b.capacity \
         must be at least 9, which a waiter asks for, got 6"
    );
}

#[test]
fn a_handler_cannot_apply_another_configuration_meanwhile() {
    let mut world = world();
    let (registry, clock, results) = (world.registry.clone(), world.clock.clone(), mpsc::channel());
    let sender = results.0;
    when_resized(world.bulkhead("a").handle(), move || {
        let _ = sender.send(registry.apply(&Config::default(), &clock));
    });
    assert!(world.apply().is_ok());
    assert_eq!(results.1.recv().expect("it was called"), Err(ApplyError::Busy));
    world.section("a").capacity = Some(1);
    assert!(world.apply().is_ok(), "the turn is over");
}

/// The thread that applies may wait for the handler.
#[test]
fn a_handler_on_another_thread_does_not_wait_for_its_turn() {
    let mut world = world();
    let ((begins, begun), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel::<()>());
    let goes_on = Mutex::new(goes_on);
    when_resized(world.bulkhead("a").handle(), move || {
        _ = begins.send(());
        _ = goes_on.lock().expect("no panic").recv_timeout(LONG);
    });
    let (registry, clock) = (world.registry.clone(), world.clock.clone());
    let results = Arc::new(Mutex::new(vec![]));
    let inside = Arc::clone(&results);
    let other = Bulkhead::builder_on(clock.clone(), "other").parallelism(1).build().expect("valid");
    other.handle().add_event_handler(EventFilter::ALL, move |_| {
        let applied = registry.apply(&Config::default(), &clock);
        inside.lock().expect("no panic").push(applied);
    });
    thread::scope(|scope| {
        let World { registry, config, clock, .. } = &world;
        let applied = scope.spawn(move || registry.apply(config, clock));
        begun.recv_timeout(LONG).expect("the configuration is applied");
        other.close();
        assert_eq!(*results.lock().expect("no panic"), [Err(ApplyError::Busy), Err(ApplyError::Busy)]);
        drop(go_on);
        assert!(applied.join().expect("no panic").is_ok());
    });
    world.section("a").capacity = Some(1);
    assert!(world.apply().is_ok(), "the turn is over");
}

#[test]
fn threads_apply_one_after_the_other() {
    let registry = bulklink::Registry::new();
    let clock = bulklink::testing::FakeClock::new();
    let config = |capacity: usize| {
        let mut config = Config::default();
        for label in 0..20 {
            config.bulkheads.entry(format!("b{label}")).or_default().parallelism = Some(capacity);
        }
        config
    };
    registry.apply(&config(1), &clock).expect("valid");
    thread::scope(|scope| {
        for thread in 0..4 {
            let (registry, clock) = (&registry, &clock);
            scope.spawn(move || {
                for round in 0..50 {
                    let applied = registry.apply(&config(1 + thread * 50 + round), clock).expect("valid");
                    let limits: Vec<_> = applied.changes.iter().map(|change| change.action.clone()).collect();
                    assert!(limits.iter().all(|action| *action == limits[0]), "each starts where another has ended");
                    assert!(limits.is_empty() || limits.len() == 20);
                }
            });
        }
    });
    let handles = registry.handles();
    assert!(handles.iter().all(|handle| handle.limits() == handles[0].limits()));
}

#[test]
fn limits_of_keys_that_are_refused_meanwhile_are_those_before() {
    let mut world = World::new();
    world.section("a").capacity = Some(5);
    let tenants = world.partitions_section("tenants");
    (tenants.parallelism, tenants.waiting_room, tenants.max_partitions) = (Some(1), Some(5), Some(9));
    for key in ["ann", "bob"] {
        tenants.keys.entry(key.to_owned()).or_default().parallelism = Some(5);
    }
    world.applied();
    let tenants = world.partitions("tenants");
    let running = tenants.key("ann").try_slot().expect("free");
    let waiting = Arc::new(Mutex::new(None));
    let (place, keyed) = (Arc::clone(&waiting), tenants.clone());
    when_resized(world.bulkhead("a").handle(), move || {
        let mut future = Box::pin(keyed.key("ann").with(Request::new().cost(5)).slot());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        place.lock().expect("no panic").get_or_insert(future);
    });
    world.section("a").capacity = Some(4);
    for own in world.partitions_section("tenants").keys.values_mut() {
        own.parallelism = Some(3);
    }
    assert!(matches!(world.apply(), Err(ApplyError::RolledBack { not_restored, .. }) if not_restored.is_empty()));
    drop(tenants.key("bob").try_slot().expect("free"));
    let capacities = ["ann", "bob"].map(|key| tenants.partition(key).expect("kept").limits().capacity);
    assert_eq!((world.bulkhead("a").limits().capacity, capacities), (5, [5, 5]));
    drop((running, waiting));
}

/// A clock that calls something when it is read.
#[derive(Clone, Default)]
struct Hooked(FakeClock, Arc<Mutex<Option<Hook>>>);

type Hook = Box<dyn FnMut() + Send>;

impl Clock for Hooked {
    type Instant = Instant;

    fn now(&self) -> Instant {
        // Taken, so that it does not call itself.
        let hook = self.1.lock().expect("no panic").take();
        if let Some(mut hook) = hook {
            hook();
            self.1.lock().expect("no panic").get_or_insert(hook);
        }
        self.0.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        self.0.instant(at)
    }
}

impl Timer for Hooked {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.0.sleep_until(deadline)
    }
}

impl Spawn for Hooked {
    fn spawn(&self, _: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        Ok(())
    }
}

#[test]
fn a_partition_that_is_created_meanwhile_has_no_limits_that_are_refused() {
    let mut refusals = 0;
    for reading in 0..12 {
        let (registry, clock, mut config) = (bulklink::Registry::new(), Hooked::default(), Config::default());
        let section = config.partitions.entry("tenants".to_owned()).or_default();
        (section.capacity, section.waiting_room, section.max_partitions) = (Some(5), Some(5), Some(9));
        section.keys.entry("ann".to_owned()).or_default().capacity = Some(9);
        registry.apply(&config, &clock).expect("valid");
        let tenants = registry.partitions::<String, Hooked, RandomState>("tenants").expect("added");
        let running = tenants.key("bob").try_slot().expect("free");
        let section = config.partitions.get_mut("tenants").expect("there");
        section.capacity = Some(3);
        section.keys.get_mut("ann").expect("there").capacity = Some(1);
        let (kept, waiting) = (tenants.clone(), Arc::new(Mutex::new(None)));
        let (place, mut readings) = (Arc::clone(&waiting), 0);
        *clock.1.lock().expect("no panic") = Some(Box::new(move || {
            if readings == reading {
                drop(kept.key("ann").try_slot().expect("free"));
                let mut future = Box::pin(kept.key("bob").with(Request::new().cost(5)).slot());
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                if future.as_mut().poll(&mut context).is_pending() {
                    *place.lock().expect("no panic") = Some(future);
                }
            }
            readings += 1;
        }));
        let applied = registry.apply(&config, &clock);
        *clock.1.lock().expect("no panic") = None;
        drop(tenants.key("ann").try_slot().expect("free"));
        let capacity = tenants.partition("ann").expect("kept").limits().capacity;
        assert_eq!(capacity, if applied.is_ok() { 1 } else { 9 }, "reading {reading}: {applied:?}");
        refusals += usize::from(applied.is_err());
        drop((running, waiting.lock().expect("no panic").take()));
    }
    assert!(refusals > 0, "some readings are in the middle");
}
