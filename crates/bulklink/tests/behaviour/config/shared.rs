//! A shared capacity in a configuration, and the shares of keys.

use bulklink::config::{Action, Config, KeyConfig};
use bulklink::partitions::{Class, RandomState, Share};
use bulklink::testing::FakeClock;
use bulklink::{Bound, Partitions, Request};

use super::World;
use crate::{Call, ms, slot};

/// Twenty units that all keys share.
fn world() -> World {
    let mut world = World::new();
    let models = world.partitions_section("models");
    (models.shared_capacity, models.shared_waiting_room, models.max_partitions) = (Some(20), Some(100), Some(10));
    world
}

fn set_key(world: &mut World, name: &str, set: impl FnOnce(&mut KeyConfig)) {
    set(world.partitions_section("models").keys.entry(name.to_owned()).or_default());
}

fn shares<const N: usize>(world: &World, keys: [&str; N]) -> [Share; N] {
    let models = world.partitions("models");
    keys.map(|key| models.share(key).expect("shared"))
}

fn call(world: &mut World, key: &str) -> Call {
    let call = world.executor.spawn(world.partitions("models").key(key).slot());
    world.executor.run_until_idle();
    call
}

fn capacity(world: &World) -> (usize, Option<usize>) {
    let shared = world.partitions("models").status().shared.expect("shared");
    (shared.capacity, shared.waiting_room)
}

#[test]
fn partitions_are_built_with_all_settings() {
    let mut world = world();
    let models = world.partitions_section("models");
    (models.weight, models.floor, models.ceiling) = (Some(2), Some(3), Some(15));
    models.wait_limit = Some(ms(250));
    set_key(&mut world, "ann", |ann| (ann.weight, ann.floor, ann.keep_floor) = (Some(4), Some(8), Some(true)));
    set_key(&mut world, "bob", |bob| (bob.ceiling, bob.paused) = (Some(10), Some(true)));
    set_key(&mut world, "cid", |cid| (cid.waiting_room, cid.floor) = (Some(1), Some(0)));
    set_key(&mut world, "dan", |_| ());
    assert_eq!(
        world.applied(),
        "models: added, shared_capacity 20, shared_waiting_room 100, wait_limit 250ms, weight 2, floor 3, ceiling 15, \
         limits of 1 key, shares of 3 keys"
    );
    let all = Share::new().weight(2).floor(3).ceiling(15);
    let expected = [all, all.weight(4).floor(8).kept(), all.ceiling(10).paused(true), all.floor(0)];
    assert_eq!(shares(&world, ["eve", "ann", "bob", "cid"]), expected, "what is left out is as in all");
    let each = world.partitions("models").status().each;
    assert_eq!((capacity(&world), each.capacity, each.waiting_room), ((20, Some(100)), 20, 100));
    assert_eq!(world.applied(), "");
}

#[test]
fn limits_of_each_partition_bound_it_beside_the_shared_ones() {
    let mut world = world();
    let models = world.partitions_section("models");
    (models.shared_waiting_room, models.parallelism, models.waiting_room) = (None, Some(2), Some(5));
    assert_eq!(world.applied(), "models: added, shared_capacity 20, parallelism 2, waiting_room 5");
    let models = world.partitions("models");
    let _two = [(); 2].map(|()| models.key("ann").try_slot().expect("free"));
    assert_eq!(models.key("ann").try_slot().expect_err("two of two").bound(), Some(Bound::Key));
    let models = world.partitions_section("models");
    (models.parallelism, models.waiting_room, models.shared_waiting_room) = (None, None, Some(7));
    assert_eq!(world.applied(), "models: shared_waiting_room none -> 7, parallelism 2 -> none, waiting_room 5 -> none");
    let each = world.partitions("models").status().each;
    assert_eq!((each.capacity, each.waiting_room), (20, 7));
    let models = world.partitions_section("models");
    (models.capacity, models.waiting_room, models.shared_waiting_room) = (Some(3), Some(4), None);
    assert_eq!(world.applied(), "models: shared_waiting_room 7 -> none, capacity none -> 3, waiting_room none -> 4");
    assert_eq!(capacity(&world), (20, None));
}

#[test]
fn all_classes_of_a_key_follow_the_settings() {
    let mut world = world();
    world.applied();
    let models = world.partitions("models");
    let both = [Class::Normal, Class::Background].map(|class| models.class(class));
    let mut running: Vec<_> = both.iter().map(|models| models.key("ann").try_slot().expect("free")).collect();
    let is_free = || both.each_ref().map(|models| models.key("ann").try_slot().is_ok());
    assert_eq!(is_free(), [true; 2]);
    // First by that of all, and then by one of its own.
    for is_own in [false, true] {
        let set = |world: &mut World, ceiling| {
            if is_own {
                set_key(world, "ann", |ann| ann.ceiling = ceiling);
            } else {
                world.partitions_section("models").ceiling = ceiling;
            }
            world.applied();
        };
        set(&mut world, Some(2));
        assert_eq!(is_free(), [false; 2], "two of two");
        set(&mut world, Some(3));
        assert_eq!(is_free(), [true; 2]);
        set(&mut world, None);
        running.push(both[1].key("ann").try_slot().expect("free"));
        drop(running.remove(0));
    }
    set_key(&mut world, "ann", |ann| (ann.floor, ann.keep_floor) = (Some(4), Some(true)));
    world.applied();
    drop(running);
    let others = [(); 16].map(|()| both[1].key("bob").try_slot().expect("all but four"));
    assert!(both[0].key("bob").try_slot().is_err());
    drop(others);
}

#[test]
fn all_changes_live() {
    let mut world = world();
    world.partitions_section("models").shared_capacity = Some(2);
    set_key(&mut world, "ann", |ann| ann.ceiling = Some(1));
    set_key(&mut world, "bob", |bob| bob.paused = Some(true));
    world.applied();
    let calls = ["ann", "ann", "bob", "cid", "cid", "cid"].map(|key| call(&mut world, key));
    let done = |calls: &[Call]| calls.iter().map(Call::is_finished).collect::<Vec<_>>();
    assert_eq!(done(&calls), [true, false, false, true, false, false]);

    let models = world.partitions_section("models");
    (models.shared_capacity, models.ceiling) = (Some(10), Some(2));
    models.keys.remove("ann");
    set_key(&mut world, "bob", |bob| (bob.paused, bob.weight) = (None, Some(3)));
    let applied = world.apply().expect("valid");
    assert_eq!(applied.to_string(), "models: shared_capacity 2 -> 10, ceiling none -> 2, shares of 2 keys; admitted 3");
    assert!(matches!(applied.changes[0].action, Action::Changed { keys: 0, shares: 2, admitted: 3, .. }));
    world.executor.run_until_idle();
    assert_eq!(done(&calls), [true, true, true, true, true, false], "at the ceiling of all");
    let all = Share::new().ceiling(2);
    assert_eq!(shares(&world, ["ann", "bob", "eve"]), [all, all.weight(3), all]);
    assert_eq!((capacity(&world).0, world.partitions("models").status().each.capacity), (10, 10));
    assert!(!world.partitions("models").remove_share("ann"), "it has that of all");
    world.partitions_section("models").ceiling = None;
    assert_eq!(world.applied(), "models: ceiling 2 -> none, shares of 1 key; admitted 1");
    drop(calls);
}

#[test]
fn waiting_calls_are_admitted_in_the_turns_of_the_new_weights() {
    let mut world = world();
    world.partitions_section("models").shared_capacity = Some(1);
    world.applied();
    let mut running = Some(slot(&call(&mut world, "other")));
    let mut lines = ["heavy", "light"].map(|key| (key, (0..40).map(|_| call(&mut world, key)).collect::<Vec<_>>()));
    let mut serve = |world: &mut World, count: usize| {
        let mut served = vec![];
        for _ in 0..count {
            drop(running.take());
            world.executor.run_until_idle();
            for (key, calls) in &mut lines {
                if calls[0].is_finished() {
                    running = Some(slot(&calls.remove(0)));
                    served.push(*key);
                }
            }
        }
        served.iter().filter(|&&key| key == "heavy").count()
    };
    assert_eq!(serve(&mut world, 20), 10);
    set_key(&mut world, "heavy", |heavy| heavy.weight = Some(4));
    assert_eq!(world.applied(), "models: shares of 1 key");
    assert_eq!(serve(&mut world, 20), 16);
    world.partitions_section("models").keys.clear();
    assert_eq!(world.applied(), "models: shares of 1 key");
    assert_eq!(serve(&mut world, 20), 10);
}

#[test]
fn keys_without_shares_of_their_own_follow_that_of_all() {
    let mut world = world();
    for key in ["ann", "bob"] {
        set_key(&mut world, key, |own| own.ceiling = Some(3));
    }
    set_key(&mut world, "own", |own| own.ceiling = Some(2));
    world.applied();
    let models = world.partitions("models");
    models.set_share("cid", Share::new().ceiling(3)).expect("valid");
    models.set_share("mine", Share::new().ceiling(2)).expect("valid");
    let keys = ["ann", "bob", "cid", "dan", "own", "mine", "new"];
    for key in &keys[..6] {
        drop(models.key(*key).try_slot().expect("free"));
    }
    // By the program, and by the file.
    assert!(models.remove_share("ann") && models.remove_share("cid"));
    for key in ["ann", "bob"] {
        world.partitions_section("models").keys.remove(key);
    }
    world.applied();
    world.partitions_section("models").ceiling = Some(1);
    set_key(&mut world, "dan", |dan| dan.ceiling = Some(4));
    assert_eq!(world.applied(), "models: ceiling none -> 1, shares of 1 key");
    let most = |key: &str| {
        let slots: Vec<_> = (0..20).map_while(|_| models.key(key).try_slot().ok()).collect();
        slots.len()
    };
    assert_eq!(keys.map(most), [1, 1, 1, 4, 2, 2, 1]);
}

#[test]
fn a_kept_floor_and_the_capacity_change_together() {
    let mut world = world();
    for (units, ann, bob) in [(10, 8, 2), (4, 1, 3), (30, 20, 10), (5, 0, 5), (20, 20, 0)] {
        world.partitions_section("models").shared_capacity = Some(units);
        set_key(&mut world, "ann", |key| (key.floor, key.keep_floor) = (Some(ann), Some(ann > 0)));
        set_key(&mut world, "bob", |key| (key.floor, key.keep_floor) = (Some(bob), Some(bob > 0)));
        world.applied();
        let models = world.partitions("models");
        let full = models.key("eve").try_slot().expect_err("all is kept");
        assert_eq!((full.bound(), capacity(&world).0), (Some(Bound::Headroom), units));
        drop(models.key("ann").with(Request::new().cost(ann.max(1))).try_slot());
    }
}

#[test]
fn a_program_sets_the_shares_of_keys_that_no_section_names() {
    let mut world = world();
    set_key(&mut world, "ann", |ann| ann.weight = Some(2));
    set_key(&mut world, "bob", |bob| bob.waiting_room = Some(3));
    world.applied();
    let models = world.partitions("models");
    for key in ["bob", "cid"] {
        models.set_share(key, Share::new().weight(9).floor(2).kept()).expect("valid");
    }
    set_key(&mut world, "ann", |ann| ann.weight = Some(3));
    world.partitions_section("models").ceiling = Some(7);
    assert_eq!(world.applied(), "models: ceiling none -> 7, shares of 1 key");
    let own = Share::new().weight(9).floor(2).kept();
    assert_eq!(shares(&world, ["ann", "bob", "cid"]), [Share::new().weight(3).ceiling(7), own, own]);
    world.partitions_section("models").shared_capacity = Some(3);
    assert_eq!(
        world.refused(),
        "partitions.models.shared_capacity must be at least 4 and at most 2147483647, got 3",
        "its floors count"
    );
    world.partitions_section("models").shared_capacity = Some(4);
    world.partitions_section("models").ceiling = None;
    world.partitions_section("models").keys.clear();
    assert_eq!(world.applied(), "models: shared_capacity 20 -> 4, ceiling 7 -> none, limits of 1 key, shares of 1 key");
    assert_eq!(shares(&world, ["ann", "bob", "cid"]), [Share::new(), own, own]);
}

#[test]
fn a_change_by_hand_is_changed_back() {
    let mut world = world();
    set_key(&mut world, "ann", |ann| ann.weight = Some(2));
    set_key(&mut world, "bob", |bob| bob.weight = Some(2));
    world.applied();
    let models = world.partitions("models");
    models.resize_shared(5).expect("valid");
    models.set_share("ann", Share::new().weight(7)).expect("valid");
    assert!(models.remove_share("bob"));
    assert_eq!(world.applied(), "models: shared_capacity 5 -> 20, shares of 2 keys");
    assert_eq!(shares(&world, ["ann", "bob"]), [Share::new().weight(2); 2]);
    assert!(models.remove_share("bob"));
    world.partitions_section("models").keys.clear();
    assert_eq!(world.applied(), "models: shares of 1 key");
    assert_eq!(shares(&world, ["ann", "bob"]), [Share::new(); 2]);
    assert_eq!(world.applied(), "");
}

#[test]
fn settings_of_classes_change_live() {
    let mut world = world();
    let models = world.partitions_section("models");
    (models.shared_capacity, models.headroom_background, models.class_relief) = (Some(4), Some(3), Some(50));
    assert_eq!(
        world.applied(),
        "models: added, shared_capacity 4, shared_waiting_room 100, headroom_background 3, class_relief 50"
    );
    let [models, batch] = [Class::Normal, Class::Background].map(|class| world.partitions("models").class(class));
    let running = batch.key("ann").try_slot().expect("one of one");
    assert_eq!(batch.key("bob").try_slot().expect_err("three are left").bound(), Some(Bound::Headroom));
    let waiting = world.executor.spawn(batch.key("bob").slot());
    world.executor.run_until_idle();
    // The capacity and the headroom become smaller together.
    let section = world.partitions_section("models");
    (section.shared_capacity, section.headroom_background, section.headroom_normal) = (Some(3), Some(2), Some(1));
    assert_eq!(
        world.applied(),
        "models: shared_capacity 4 -> 3, headroom_normal none -> 1, headroom_background 3 -> 2"
    );
    assert!(!waiting.is_finished(), "one of one");
    let _two = models.key("cid").try_slot().expect("two of two");
    assert!(models.key("dan").try_slot().is_err());
    let section = world.partitions_section("models");
    (section.headroom_background, section.headroom_normal, section.class_relief) = (None, None, None);
    assert_eq!(
        world.applied(),
        "models: headroom_normal 1 -> none, headroom_background 2 -> none, class_relief 50 -> none; admitted 1"
    );
    world.executor.run_until_idle();
    assert!(waiting.is_finished());
    drop(running);
    world.partitions_section("models").headroom_sheddable = Some(3);
    let refused = "partitions.models.headroom_sheddable must be less than the shared_capacity, 3, got 3";
    assert_eq!(world.refused(), refused);
}

#[test]
fn what_does_not_fit_is_refused_with_each_reason() {
    let mut world = World::new();
    let models = world.partitions_section("models");
    models.max_partitions = Some(10);
    (models.shared_waiting_room, models.weight, models.floor, models.ceiling) = (Some(1), Some(2), Some(3), Some(4));
    (models.headroom_normal, models.class_relief) = (Some(0), Some(2));
    let reasons = |config: &Config| {
        let reasons: Vec<_> = config.check().expect_err("invalid").problems().iter().map(ToString::to_string).collect();
        reasons.iter().map(|text| text.replacen("partitions.models.", "", 1)).collect::<Vec<_>>()
    };
    set_key(&mut world, "ann", |ann| {
        (ann.weight, ann.floor, ann.keep_floor, ann.ceiling) = (Some(1), Some(2), Some(false), Some(3));
        ann.paused = Some(true);
    });
    let needs = |field: &str, value: &str| format!("{field} must not be set without a shared_capacity, got {value}");
    assert_eq!(
        reasons(&world.config),
        [
            "parallelism or capacity must be set".to_owned(),
            needs("headroom_normal", "0"),
            needs("class_relief", "2"),
            needs("shared_waiting_room", "1"),
            needs("weight", "2"),
            needs("floor", "3"),
            needs("ceiling", "4"),
            needs("keys.ann.weight", "1"),
            needs("keys.ann.floor", "2"),
            needs("keys.ann.keep_floor", "false"),
            needs("keys.ann.ceiling", "3"),
            needs("keys.ann.paused", "true"),
        ]
    );

    let mut world = self::world();
    let models = world.partitions_section("models");
    (models.shared_capacity, models.shared_waiting_room) = (Some(0), Some(usize::MAX));
    (models.weight, models.ceiling) = (Some(0), Some(0));
    set_key(&mut world, "ann", |ann| (ann.weight, ann.ceiling) = (Some(0), Some(1 << 40)));
    let range =
        |field: &str, least: usize, value: usize| format!("{field} must be from {least} to 2147483647, got {value}");
    assert_eq!(
        reasons(&world.config),
        [
            range("shared_capacity", 1, 0),
            range("shared_waiting_room", 0, usize::MAX),
            range("weight", 1, 0),
            range("ceiling", 1, 0),
            range("keys.ann.weight", 1, 0),
            range("keys.ann.ceiling", 1, 1 << 40),
        ]
    );

    let mut world = self::world();
    let models = world.partitions_section("models");
    (models.waiting_room, models.floor, models.ceiling) = (Some(0), Some(21), Some(20));
    set_key(&mut world, "ann", |ann| (ann.floor, ann.keep_floor, ann.ceiling) = (Some(15), Some(true), Some(9)));
    set_key(&mut world, "bob", |bob| (bob.floor, bob.keep_floor) = (Some(6), Some(true)));
    set_key(&mut world, "cid", |cid| cid.ceiling = Some(2));
    set_key(&mut world, "dan", |dan| (dan.floor, dan.keep_floor) = (Some(0), Some(true)));
    assert_eq!(
        reasons(&world.config),
        [
            "shared_waiting_room must not be set beside a waiting_room of 0, got 100",
            "floor must be at most 20, the shared_capacity, got 21",
            "floor must be at most 20, the ceiling, got 21",
            "keys.ann.floor must be at most 9, the ceiling, got 15",
            "keys.cid.ceiling must be at least 21, the floor, got 2",
            "keys.dan.keep_floor must not be set without a floor, got true",
            "shared_capacity must be at least 21, the floors that are kept for keys, got 20",
        ]
    );
}

#[test]
fn whether_there_is_a_shared_capacity_cannot_change() {
    let mut world = world();
    world.applied();
    let models = world.partitions_section("models");
    (models.shared_capacity, models.shared_waiting_room, models.parallelism) = (None, None, Some(1));
    assert_eq!(world.refused(), "partitions.models.shared_capacity must stay 20 while this exists, got unset");
    let mut world = World::new();
    let models = world.partitions_section("models");
    (models.parallelism, models.max_partitions) = (Some(1), Some(9));
    world.applied();
    world.partitions_section("models").shared_capacity = Some(20);
    assert_eq!(world.refused(), "partitions.models.shared_capacity must stay unset while this exists, got 20");
}

#[test]
fn a_capacity_below_the_cost_of_a_waiting_call_is_refused_and_changes_nothing() {
    let mut world = world();
    set_key(&mut world, "ann", |ann| (ann.weight, ann.parallelism) = (Some(2), Some(9)));
    world.section("a").parallelism = Some(1);
    world.applied();
    let models = world.partitions("models");
    let _running = models.key("bob").with(Request::new().cost(20)).try_slot().expect("free");
    let waiting = world.executor.spawn(models.key("ann").with(Request::new().cost(5).within(ms(100))).slot());
    world.executor.run_until_idle();
    world.partitions_section("models").shared_capacity = Some(4);
    world.section("a").parallelism = Some(2);
    set_key(&mut world, "ann", |ann| ann.weight = Some(3));
    set_key(&mut world, "cid", |cid| cid.weight = Some(3));
    assert_eq!(world.refused(), "partitions.models.shared_capacity must be at least 5 and at most 2147483647, got 4");
    assert_eq!(shares(&world, ["ann", "cid"]), [Share::new().weight(2), Share::new()]);
    assert!(!models.remove_share("cid"));
    set_key(&mut world, "ann", |ann| ann.parallelism = None);
    assert_eq!(world.refused(), "partitions.models.shared_capacity must be at least 5, which a waiter asks for, got 4");
    world.clock.advance(ms(100));
    assert_eq!(
        world.applied(),
        "a: parallelism 1 -> 2\nmodels: shared_capacity 20 -> 4, limits of 1 key, shares of 2 keys",
        "a waiter that expires is no reason"
    );
    world.executor.run_until_idle();
    assert!(waiting.output().expect("it has ended").is_err());
}

#[test]
fn partitions_of_the_program_get_the_settings_of_all() {
    let mut world = world();
    let own = Partitions::<u64, _>::builder_on(world.clock.clone(), "models").shared_capacity(2).max_partitions(10);
    let own = own.share(Share::new().weight(5).waiting_room(3)).shared_waiting_room(4);
    let own = world.registry.create_partitions(own).expect("valid");
    own.set_share(&7, Share::new().weight(8)).expect("valid");
    drop(own.key(&1).try_slot());
    world.partitions_section("models").ceiling = Some(9);
    assert_eq!(
        world.applied(),
        "models: shared_capacity 2 -> 20, shared_waiting_room 4 -> 100, weight 5 -> 1, ceiling none -> 9"
    );
    let all = Share::new().ceiling(9).waiting_room(3);
    assert_eq!([1, 7].map(|key| own.share(&key)), [Some(all), Some(Share::new().weight(8))]);
    set_key(&mut world, "7", |seven| seven.weight = Some(1));
    assert_eq!(
        world.refused(),
        "partitions.models.keys must not be set for partitions that the program has made: it sets their limits and shares"
    );
    let models = world.partitions_section("models");
    (models.keys, models.shared_waiting_room, models.ceiling) = Default::default();
    (models.shared_capacity, models.parallelism) = (None, Some(3));
    assert_eq!(world.applied(), "models: parallelism none -> 3, waiting_room none -> 0", "the section says no more");
    assert_eq!(own.status().shared.map(|shared| shared.capacity), Some(20));
    assert!(world.registry.partitions::<u64, FakeClock, RandomState>("models").is_ok());
}
