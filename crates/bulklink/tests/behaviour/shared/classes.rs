//! Calls of several classes, within a key and among all.

use std::time::Duration;

use bulklink::partitions::{Builder, Class, Share};
use bulklink::{Bound, Reason, Request};

use super::{Models, builder, call, ended, load, models, shared};
use crate::{Call, executor, reason, slot};

const CLASSES: [Class; 4] = Class::ALL;

/// Returns a call of each class of a key, the lowest first.
fn of_each(executor: &mut bulklink::testing::Executor, models: &Models, key: &str) -> Vec<Call> {
    CLASSES.into_iter().rev().map(|class| call(executor, &models.class(class), key)).collect()
}

#[test]
fn a_better_class_comes_first_within_a_key_and_among_all() {
    for keys in [["ann"; 4], ["ann", "bob", "cid", "dan"]] {
        let mut executor = executor();
        let models = models(&executor, 1);
        let mut running = Some(slot(&call(&mut executor, &models, "eve")));
        let mut waiting: Vec<_> = (CLASSES.into_iter().rev().zip(keys))
            .map(|(class, key)| call(&mut executor, &models.class(class), key))
            .collect();
        assert_eq!(load(&models), [(1, 4); 2]);
        while let Some(last) = waiting.pop() {
            drop(running.take());
            executor.run_until_idle();
            running = Some(slot(&last));
            assert!(waiting.iter().all(|call| !call.is_finished()), "{keys:?}");
        }
    }
}

#[test]
fn a_call_that_comes_passes_waiters_of_lower_classes_only() {
    let mut executor = executor();
    let models = builder(&executor).shared_capacity(2).shared_waiting_room(9).build().expect("valid");
    let running = ["ann", "bob"].map(|key| models.key(key).try_slot().expect("free"));
    models.set_share("cid", Share::new().ceiling(1)).expect("valid");
    let batch = call(&mut executor, &models.class(Class::Background), "dan");
    let normal = call(&mut executor, &models, "eve");
    let [first, second] = running;
    drop(first);
    executor.run_until_idle();
    assert_eq!([batch.is_finished(), normal.is_finished()], [false, true]);
    assert!(models.key("fay").try_slot().is_err(), "nothing is free");
    drop(second);
    executor.run_until_idle();
    assert!(batch.is_finished());
}

#[test]
fn the_share_of_a_key_is_for_all_its_classes() {
    let executor = executor();
    let models = models(&executor, 8);
    let (chat, batch) = (models.class(Class::Critical), models.class(Class::Background));
    let first = batch.key("ann").try_slot().expect("free");
    models.set_share("ann", Share::new().ceiling(2)).expect("valid");
    let second = chat.key("ann").try_slot().expect("free");
    for class in CLASSES {
        let rejection = models.class(class).key("ann").try_slot().expect_err("two of two");
        assert_eq!((rejection.reason(), rejection.bound()), (Reason::Saturated, Some(Bound::Key)), "{class}");
    }
    assert_eq!(
        [&chat, &batch, &models].map(|models| models.share("ann").map(|share| share.ceiling)),
        [Some(Some(2)); 3]
    );
    models.set_share("ann", Share::new().ceiling(3)).expect("valid");
    let third = models.key("ann").try_slot().expect("three of three");
    drop((first, second));
    models.set_share("ann", Share::new().ceiling(1)).expect("valid");
    assert!(chat.key("ann").try_slot().is_err(), "units that were lent to the class are not beyond the ceiling");
    drop(third);
    let last = batch.key("ann").try_slot().expect("one of one");
    models.set_share("ann", Share::new().paused(true)).expect("valid");
    drop(last);
    assert!(CLASSES.iter().all(|&class| models.class(class).key("ann").try_slot().is_err()));
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn a_share_is_known_to_a_class_that_comes_later() {
    let executor = executor();
    let models = models(&executor, 8);
    models.set_share("ann", Share::new().ceiling(1)).expect("valid");
    for class in CLASSES {
        let models = models.class(class);
        let _running = models.key("ann").try_slot().expect("free");
        assert!(CLASSES.iter().all(|&class| models.class(class).key("ann").try_slot().is_err()), "{class}");
        assert!(models.class(Class::Critical).key("bob").try_slot().is_ok());
    }
}

#[test]
fn classes_of_a_key_without_a_share_of_its_own_have_one_together() {
    let executor = executor();
    let builder = builder(&executor).shared_capacity(8).share(Share::new().ceiling(2)).max_partitions(3);
    let models = builder.build().expect("valid");
    let batch = models.class(Class::Background);
    let running = [&models, &batch].map(|models| models.key("ann").try_slot().expect("two of two"));
    assert!(models.key("ann").try_slot().is_err() && batch.key("ann").try_slot().is_err());
    let [first, second] = running;
    drop(first);
    assert!(models.discard("ann"));
    // The other class goes on with the same key, and so does one that comes again.
    let again = models.key("ann").try_slot().expect("two of two");
    assert!(models.class(Class::Critical).key("ann").try_slot().is_err());
    drop((again, second));
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn a_class_takes_the_place_of_the_only_partition_of_its_key() {
    let executor = executor();
    let models = builder(&executor).shared_capacity(2).max_partitions(1).build().expect("valid");
    for class in [CLASSES, CLASSES].concat() {
        let both = [(); 2].map(|()| models.class(class).key("ann").try_slot().expect("free"));
        assert_eq!((models.status().partitions, load(&models)), (1, [(2, 0); 2]));
        drop(both);
    }
    assert_eq!((models.status().totals.evicted, load(&models)), (7, [(0, 0); 2]));
}

#[test]
fn waiters_of_a_key_are_bounded_in_all_classes_together() {
    let mut executor = executor();
    let models = models(&executor, 1);
    models.set_share("ann", Share::new().waiting_room(2)).expect("valid");
    let _running = slot(&call(&mut executor, &models, "bob"));
    let waiting = of_each(&mut executor, &models, "ann");
    let turned_away: Vec<_> = waiting.iter().filter(|call| call.is_finished()).map(reason).collect();
    assert_eq!(turned_away.len(), 2, "{:?}", ended(&waiting));
    assert_eq!(shared(&models).waiting, 2);
}

#[test]
fn the_limits_of_a_class_hold_up_no_other_class_of_its_key() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(8).shared_waiting_room(9).parallelism(2);
    let models = builder.build().expect("valid");
    let [chat, batch] = [Class::Critical, Class::Background].map(|class| models.class(class));
    let running = [(); 2].map(|()| chat.key("ann").try_slot().expect("two of two"));
    let third = call(&mut executor, &chat, "ann");
    drop(models.key("ann").try_slot().expect("its partition has none of two"));
    assert!(models.partition("ann").expect("kept").pause());
    let paused = call(&mut executor, &models, "ann");
    let low = call(&mut executor, &batch, "ann");
    assert_eq!([third.is_finished(), paused.is_finished(), low.is_finished()], [false, false, true]);
    // The ceiling is that of the key: there the better class comes first again.
    models.set_share("ann", Share::new().ceiling(3)).expect("valid");
    let behind = call(&mut executor, &batch, "ann");
    models.partition("ann").expect("kept").resume();
    drop(slot(&low));
    executor.run_until_idle();
    assert_eq!([third.is_finished(), paused.is_finished(), behind.is_finished()], [false, true, false]);
    drop(running);
    executor.run_until_idle();
    assert_eq!([third.is_finished(), behind.is_finished()], [true; 2]);
}

#[test]
fn a_call_within_the_floor_of_its_key_comes_before_better_classes() {
    let mut executor = executor();
    let models = models(&executor, 1);
    models.set_share("ann", Share::new().floor(1)).expect("valid");
    let running = slot(&call(&mut executor, &models, "bob"));
    let chat = call(&mut executor, &models.class(Class::Critical), "cid");
    let ann = call(&mut executor, &models.class(Class::Sheddable), "ann");
    drop(running);
    executor.run_until_idle();
    assert_eq!([ann.is_finished(), chat.is_finished()], [true, false]);
}

#[test]
fn a_class_leaves_its_headroom_to_better_ones() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(4).shared_waiting_room(9);
    let builder = builder.class_headroom(Class::Background, 2).class_headroom(Class::Sheddable, 1);
    let models = builder.build().expect("valid");
    let [batch, bulk] = [Class::Background, Class::Sheddable].map(|class| models.class(class));
    models.set_share("eve", Share::new().floor(1)).expect("valid");
    let mut running = Vec::from([(); 2].map(|()| batch.key("ann").try_slot().expect("two are free")));
    let rejection = batch.key("bob").try_slot().expect_err("two are left to others");
    assert_eq!((rejection.reason(), rejection.bound()), (Reason::Saturated, Some(Bound::Headroom)));
    running.push(bulk.key("ann").try_slot().expect("one is free"));
    assert!(bulk.key("bob").try_slot().is_err());
    let waiting = call(&mut executor, &batch, "bob");
    let eve = batch.key("eve").try_slot().expect("within the floor");
    assert!(models.key("ann").try_slot().is_err(), "none is free");
    drop(eve);
    running.push(models.key("dan").try_slot().expect("one is free"));
    for left in (0..4).rev() {
        drop(running.remove(0));
        executor.run_until_idle();
        assert_eq!(waiting.is_finished(), left < 2, "{left} in use");
    }
    models.resize_shared(2).expect_err("the headroom must be less");
    assert_eq!(shared(&models).capacity, 4);
}

#[test]
fn a_call_that_costs_more_than_its_class_can_have_holds_up_no_other() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(4).shared_waiting_room(9);
    let models = builder.class_headroom(Class::Sheddable, 2).build().expect("valid");
    let bulk = models.class(Class::Sheddable);
    let wide = executor.spawn(bulk.key("ann").with(Request::new().cost(3)).slot());
    executor.run_until_idle();
    let others = [("bob", Class::Sheddable), ("cid", Class::Background)];
    let others = others.map(|(key, class)| call(&mut executor, &models.class(class), key));
    assert_eq!((ended(&others), wide.is_finished(), load(&models)), (vec![true; 2], false, [(2, 1); 2]));
    drop(others);
    models.resize_shared(5).expect("valid");
    executor.run_until_idle();
    assert_eq!(slot(&wide).cost(), 3, "now its class can have them");
}

#[test]
fn a_class_that_is_passed_over_is_relieved() {
    let served = |relief: Option<usize>| {
        let mut executor = executor();
        let builder = builder(&executor).shared_capacity(1).shared_waiting_room(99);
        let models = relief.into_iter().fold(builder, Builder::class_relief).build();
        let models = models.expect("valid");
        let mut running = Some(slot(&call(&mut executor, &models, "eve")));
        let batch = call(&mut executor, &models.class(Class::Background), "ann");
        let mut calls: Vec<_> = (0..9).map(|_| call(&mut executor, &models, "bob")).collect();
        (0..9)
            .take_while(|_| {
                drop(running.take());
                executor.run_until_idle();
                let goes_on = !batch.is_finished();
                if goes_on {
                    running = Some(slot(&calls.remove(0)));
                }
                goes_on
            })
            .count()
    };
    assert_eq!([served(None), served(Some(3)), served(Some(1))], [9, 3, 1]);
}

#[test]
fn a_class_with_headroom_is_relieved_while_better_ones_use_everything() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(4).shared_waiting_room(99).class_relief(3);
    let models = builder.class_headroom(Class::Background, 2).build().expect("valid");
    let mut running: Vec<_> = (0..4).map(|_| slot(&call(&mut executor, &models, "eve"))).collect();
    let batch = call(&mut executor, &models.class(Class::Background), "ann");
    let mut calls: Vec<_> = (0..9).map(|_| call(&mut executor, &models, "bob")).collect();
    for passed in 0..=3 {
        assert!(!batch.is_finished(), "{passed} of three");
        drop(running.remove(0));
        executor.run_until_idle();
        running.extend(calls.iter().position(Call::is_finished).map(|place| slot(&calls.swap_remove(place))));
    }
    assert!(batch.is_finished());
}

#[test]
fn the_waiter_of_a_lower_class_makes_room() {
    let mut executor = executor();
    let models = builder(&executor).shared_capacity(1).shared_waiting_room(2).build().expect("valid");
    let _running = slot(&call(&mut executor, &models, "ann"));
    let normal = call(&mut executor, &models, "bob");
    let batch = call(&mut executor, &models.class(Class::Background), "cid");
    let chat = call(&mut executor, &models.class(Class::Critical), "bob");
    assert_eq!([normal.is_finished(), chat.is_finished()], [false; 2]);
    assert_eq!((reason(&batch), load(&models)), (Reason::Displaced, [(1, 2); 2]));
}

#[test]
fn a_class_has_no_effect_without_a_shared_capacity() {
    let executor = executor();
    let tenants = builder(&executor).parallelism(1).build().expect("valid");
    let _running = tenants.class(Class::Background).key("ann").try_slot().expect("free");
    assert!(tenants.class(Class::Critical).key("ann").try_slot().is_err());
    assert_eq!(tenants.status().partitions, 1);
}

#[test]
fn each_class_of_a_key_has_a_partition_that_goes_by_itself() {
    let executor = executor();
    let models = builder(&executor).shared_capacity(2).max_partitions(2).build().expect("valid");
    let batch = models.class(Class::Background);
    let running = models.key("ann").try_slot().expect("free");
    drop(batch.key("ann").try_slot().expect("free"));
    assert_eq!(models.status().partitions, 2);
    // In place of the idle one.
    drop(models.key("bob").try_slot().expect("free"));
    assert!(batch.partition("ann").is_none() && models.partition("ann").is_some());
    assert!(models.discard("bob") && !models.discard("ann"));
    drop((batch.key("ann").try_slot().expect("free"), running));
    assert!(models.discard("ann") && !models.discard("ann") && batch.discard("ann"));
    let again = [&models, &batch].map(|models| models.key("ann").try_slot().expect("free"));
    assert_eq!(load(&models), [(2, 0); 2]);
    drop(again);
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn units_that_were_written_off_stay_in_use_when_a_class_goes() {
    let mut executor = executor();
    let models = models(&executor, 4);
    let batch = models.class(Class::Background);
    models.set_share("ann", Share::new().ceiling(2)).expect("valid");
    batch.key("ann").try_slot().expect("free").forget();
    let running = models.key("ann").try_slot().expect("two of two");
    let waiting = call(&mut executor, &models, "ann");
    assert!(batch.discard("ann"));
    executor.run_until_idle();
    // The key has them for as long as it has a partition.
    assert!(!waiting.is_finished() && models.class(Class::Critical).key("ann").try_slot().is_err());
    assert_eq!((shared(&models).in_use, shared(&models).waiting), (2, 1));
    drop(running);
    executor.run_until_idle();
    drop(slot(&waiting));
    assert!(models.discard("ann") && models.class(Class::Critical).discard("ann"));
    let both = [(); 2].map(|()| models.key("ann").try_slot().expect("two of two again"));
    assert_eq!(shared(&models).in_use, 3, "one is lost");
    drop(both);
}

#[test]
fn a_key_has_the_units_written_off_while_it_has_a_partition() {
    let executor = executor();
    let models = models(&executor, 4);
    let [batch, chat] = [Class::Background, Class::Critical].map(|class| models.class(class));
    models.set_share("ann", Share::new().ceiling(1)).expect("valid");
    // It has a partition, whose call was never made.
    let request = chat.key("ann");
    batch.key("ann").try_slot().expect("free").forget();
    assert!(batch.discard("ann"));
    assert!(request.try_slot().is_err(), "the key has one of one");
}

#[test]
fn sums_are_by_class_and_keys_show_theirs() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(2).shared_waiting_room(9).max_partitions(3);
    let models = builder.show_keys(|key: &String| key.clone()).build().expect("valid");
    let batch = models.class(Class::Background);
    drop(batch.key("bob").try_slot().expect("free"));
    let _running = [&models, &batch].map(|models| models.key("ann").try_slot().expect("free"));
    let waiting = call(&mut executor, &batch, "ann");
    assert!(batch.key("ann").try_slot().is_err());
    // That of Bob goes.
    assert!(models.class(Class::Critical).key("cid").try_slot().is_err());
    let sums = models.handle().sums();
    let of = |class: Class| {
        let of_class = &sums.classes[class as usize];
        (of_class.in_use, of_class.waiting, of_class.totals.admitted, of_class.totals.rejected())
    };
    assert_eq!(CLASSES.map(of), [(0, 0, 0, 1), (1, 0, 1, 0), (0, 0, 0, 0), (1, 1, 2, 1)]);
    assert_eq!((sums.totals.admitted, sums.rejected()), (3, 2));
    let worst = models.handle().worst_keys(9).expect("they are shown");
    let keys: Vec<_> = worst.in_use.iter().map(|load| &*load.key).collect();
    assert_eq!(keys, ["ann", "ann (background)"]);
    drop(waiting);
}

#[test]
fn classes_have_names() {
    for class in CLASSES {
        assert_eq!((class.to_string().parse(), class.to_string()), (Ok(class), class.as_str().into()));
    }
    let unknown = "urgent".parse::<Class>().expect_err("no class").to_string();
    assert_eq!(unknown, "class must be critical, normal, sheddable or background, got \"urgent\"");
}

#[test]
fn an_estimate_is_zero_for_the_calls_that_would_be_admitted_at_once() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(4).shared_waiting_room(9);
    let models = builder.class_headroom(Class::Background, 2).build().expect("valid");
    let batch = models.class(Class::Background);
    let estimate = |models: &Models, key| models.partition(key).expect("kept").estimated_wait(1);
    let running = [(); 2].map(|()| batch.key("bob").try_slot().expect("two are free"));
    assert!(batch.key("ann").try_slot().is_err());
    assert_eq!(estimate(&batch, "ann"), None, "the others are left to better classes");
    let waiting = call(&mut executor, &batch, "bob");
    drop(models.key("ann").try_slot().expect("left to it"));
    assert_eq!(estimate(&models, "ann"), Some(Duration::ZERO), "only a lower class waits");
    drop(running);
    executor.run_until_idle();
    drop(slot(&waiting));
    models.set_share("ann", Share::new().ceiling(1)).expect("valid");
    let _running = models.key("ann").try_slot().expect("one of one");
    assert!(batch.key("ann").try_slot().is_err());
    assert_eq!(estimate(&batch, "ann"), None, "another class has the unit of the key");
    assert_eq!(estimate(&batch, "bob"), Some(Duration::ZERO));
}
