//! Building, resizing, and settings that are refused.

use bulklink::partitions::{Class, Share};

use super::{builder, call, load, models, shared};
use crate::{executor, slot};

#[test]
fn a_larger_capacity_admits_waiters_in_their_turns() {
    let mut executor = executor();
    let models = models(&executor, 1);
    let running = slot(&call(&mut executor, &models, "ann"));
    let waiting = ["ann", "bob", "cid"].map(|key| call(&mut executor, &models, key));
    models.resize_shared(3).expect("valid");
    executor.run_until_idle();
    assert_eq!(super::ended(&waiting), [false, true, true], "Ann has one already");
    assert_eq!((shared(&models).capacity, models.status().each.capacity), (3, 3));
    drop(running);
}

#[test]
fn a_smaller_capacity_cancels_nothing_and_takes_lent_units_back() {
    let mut executor = executor();
    let models = models(&executor, 3);
    let running: Vec<_> = (0..2).map(|_| slot(&call(&mut executor, &models, "ann"))).collect();
    drop(slot(&call(&mut executor, &models, "bob")));
    models.resize_shared(1).expect("valid");
    assert_eq!(load(&models), [(2, 0); 2]);
    for key in ["ann", "bob"] {
        assert!(models.key(key).try_slot().is_err(), "one unit too much is in use");
    }
    drop(running);
    let _ann = models.key("ann").try_slot().expect("free");
    assert!(models.key("bob").try_slot().is_err());
}

#[test]
fn invalid_settings_are_named() {
    let executor = executor();
    let of = |builder: super::Builder<_, _>| builder.build().map(drop).expect_err("invalid").to_string();
    let shared = || builder(&executor).shared_capacity(2);
    let refused = [
        of(builder(&executor).shared_capacity(0)),
        of(builder(&executor).shared_waiting_room(5).parallelism(1)),
        of(builder(&executor).share(Share::new().weight(2)).parallelism(1)),
        of(shared().share(Share::new().weight(0))),
        of(shared().share(Share::new().floor(3))),
        of(shared().share(Share::new().floor(1).kept())),
        of(shared().label("")),
        of(shared().class_headroom(Class::Background, 2)),
        of(shared().class_headroom(Class::Background, usize::MAX)),
        of(shared().class_headroom(Class::Critical, 1)),
        of(builder(&executor).shared_capacity(usize::MAX)),
        of(shared().class_relief(0)),
        of(builder(&executor).class_relief(3).parallelism(1)),
        of(builder(&executor).class_headroom(Class::Normal, 1).parallelism(1)),
    ];
    let models = shared().build().expect("valid");
    let invalid = |share| models.set_share("ann", share).expect_err("invalid").to_string();
    let set = [invalid(Share::new().floor(2).ceiling(1)), models.resize_shared(0).expect_err("invalid").to_string()];
    let unshared = builder(&executor).parallelism(1).build().expect("valid");
    let unset = unshared.set_share("ann", Share::new()).expect_err("nothing is shared").to_string();
    let unresized = unshared.resize_shared(2).expect_err("nothing is shared").to_string();
    assert_eq!(
        refused.iter().chain(&set).chain([&unset, &unresized]).map(String::as_str).collect::<Vec<_>>(),
        [
            "partitions models: shared_capacity must be at least 1 and at most 2147483647, got 0",
            "partitions models: shared_waiting_room needs a shared_capacity, which is not set, got 5",
            "partitions models: share needs a shared_capacity, which is not set, got 2",
            "partitions models: weight must be at least 1 and at most 2147483647, got 0",
            "partitions models: floor must be at most 2, the capacity or the ceiling of the key, got 3",
            "partitions models: floor must not be kept: a key needs a share of its own for that, got 1",
            "label must not be blank, got \"\"",
            "partitions models: class_headroom must be less than the capacity, 2, got 2",
            &format!("partitions models: class_headroom must be less than the capacity, 2, got {}", usize::MAX),
            "partitions models: class_headroom must be 0 for the class critical, the best one, got 1",
            &format!(
                "partitions models: shared_capacity must be at least 1 and at most 2147483647, got {}",
                usize::MAX
            ),
            "partitions models: class_relief must be at least 1, got 0",
            "partitions models: class_relief needs a shared_capacity, which is not set, got 3",
            "partitions models: class_headroom needs a shared_capacity, which is not set, got 1",
            "partitions models: floor must be at most 1, the capacity or the ceiling of the key, got 2",
            "partitions models: shared_capacity must be at least 1 and at most 2147483647, got 0",
            "partitions models: shared_capacity must be set by the builder, got nothing",
            "partitions models: shared_capacity must be set by the builder, got nothing",
        ]
    );
}

#[test]
fn a_resize_that_a_key_refuses_changes_nothing() {
    let executor = executor();
    let builder = builder(&executor).shared_capacity(8).shared_waiting_room(9);
    let halves = builder.limits_for(|_: &String, limits| limits.with_capacity(limits.capacity / 2));
    let models = halves.build().expect("valid");
    drop(models.key("ann").try_slot().expect("free"));
    models.resize_shared(1).expect_err("half of one is nothing");
    assert_eq!((shared(&models).capacity, models.status().each.capacity), (8, 8));
    models.resize_shared(6).expect("half of six is three");
    let capacity = models.partition("ann").map(|ann| ann.limits().capacity);
    assert_eq!((shared(&models).capacity, models.status().each.capacity, capacity), (6, 6, Some(3)));
}

#[test]
fn a_capacity_of_each_key_that_was_set_stays_when_the_shared_one_changes() {
    let executor = executor();
    let models = models(&executor, 4);
    models.reconfigure(models.status().each.with_capacity(2)).expect("valid");
    models.resize_shared(8).expect("valid");
    let _running = [(); 2].map(|()| models.key("ann").try_slot().expect("free"));
    assert_eq!(models.key("ann").try_slot().expect_err("two of two").bound(), Some(bulklink::Bound::Key));
    assert_eq!((shared(&models).capacity, models.status().each.capacity), (8, 2));
}
