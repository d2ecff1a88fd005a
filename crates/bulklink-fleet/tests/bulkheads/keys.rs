//! A limit for each key of partitions.

use std::error::Error as _;

use bulklink::testing::{FakeRuntime, Task};
use bulklink::{OwnedSlot, Partitions, Reason, Rejection, Request};
use bulklink_fleet::{Fleet, JoinError, StoreError, ceiling};

use crate::scene::{Scene, texts};

type Tenants = Partitions<String, FakeRuntime>;
type Call = Task<Result<OwnedSlot, Rejection>>;

fn tenants(scene: &Scene, max: usize) -> Tenants {
    let builder = Partitions::builder_on(scene.executor.runtime(), "tenants").parallelism(10).waiting_room(100);
    builder.max_partitions(max).build().expect("valid")
}

/// Partitions with a limit of 3 for each key, 1 for `small`, and none for `none`.
fn shared(scene: &Scene, max: usize) -> (Fleet<FakeRuntime>, Tenants) {
    let (fleet, tenants) = (scene.fleet(), tenants(scene, max));
    let limit = |tenant: &String| match tenant.as_str() {
        "none" => 0,
        "small" => 1,
        _ => 3,
    };
    fleet.share_partitions(&tenants, move |tenant, share| share.limit(limit(tenant))).expect("no partition exists");
    (fleet, tenants)
}

fn call(scene: &mut Scene, tenants: &Tenants, key: &str) -> Call {
    let call = scene.executor.spawn(tenants.key(key).slot());
    scene.executor.run_until_idle();
    call
}

fn slot(call: &Call) -> OwnedSlot {
    call.output().expect("it is over").expect("it is admitted")
}

#[test]
fn processes_have_the_limit_of_each_key_together() {
    let mut scene = Scene::new();
    let ((_one, here), (_two, there)) = (shared(&scene, 10), shared(&scene, 10));
    assert!(here.key("ann").try_slot().is_err(), "the first call of a key waits for the store");
    let slots: Vec<_> = [&here, &there, &here].map(|tenants| slot(&call(&mut scene, tenants, "ann"))).into();
    let fourth = call(&mut scene, &there, "ann");
    let (small, second) = (slot(&call(&mut scene, &here, "small")), call(&mut scene, &there, "small"));
    scene.advance(50);
    assert!(!fourth.is_finished() && !second.is_finished());
    drop((slots, small));
    scene.advance(50);
    drop((slot(&fourth), slot(&second)));
}

#[test]
fn the_share_of_a_key_has_its_figures_and_tokens_and_changes_its_limit() {
    let mut scene = Scene::new();
    let ((one, here), (two, there)) = (shared(&scene, 10), shared(&scene, 10));
    assert!(one.share_of(&here, "ann").is_none(), "it has no partition");
    let slots = [&here, &there].map(|tenants| slot(&call(&mut scene, tenants, "ann")));
    assert!(one.share_of(&here, "bob").is_none());
    let shares = [one.share_of(&here, "ann"), two.share_of(&there, "ann")].map(|share| share.expect("it is in use"));
    let tokens = shares.each_ref().map(bulklink_fleet::FleetShare::token);
    assert!(tokens[0].is_some() && tokens[0] != tokens[1], "{tokens:?}");
    let resized = scene.executor.spawn(shares[0].resize(1));
    scene.advance(2_000);
    resized.output().expect("it is answered").expect("no other has changed it");
    assert_eq!(shares.each_ref().map(|share| share.status().limit), [1, 1]);
    drop(slots);
    assert!(here.discard("ann"));
    scene.advance(100);
    assert!(one.share_of(&here, "ann").is_none(), "it has left with its partition");
}

#[test]
fn a_store_that_cannot_be_reached_says_why() {
    let mut scene = Scene::new();
    let (fleet, tenants) = shared(&scene, 10);
    assert_eq!(fleet.error(), None, "nothing was asked of it");
    scene.store.stop();
    let waiting = call(&mut scene, &tenants, "ann");
    scene.advance(1_000);
    let share = fleet.share_of(&tenants, "ann").expect("it is in use");
    assert_eq!([fleet.error(), share.status().error], [(); 2].map(|()| Some(StoreError::UNREACHABLE)));
    scene.store.start();
    scene.advance(20_000);
    drop(slot(&waiting));
    assert_eq!([fleet.error(), share.status().error], [None, None]);
    // Nothing needs it any more.
    scene.store.stop();
    scene.advance(1_000);
    assert!(fleet.error().is_some() && tenants.discard("ann"));
    drop(share);
    scene.advance(30_000);
    assert_eq!(fleet.error(), None);
}

/// The content of the store from partitions with so many keys, of which 100 are busy: the names
/// that it is listened to for, and the commands of ten seconds.
fn load(keys: usize) -> (usize, u64) {
    let mut scene = Scene::new();
    let (_fleet, tenants) = shared(&scene, keys);
    let mut held = vec![];
    for number in 0..keys {
        let slot = slot(&call(&mut scene, &tenants, &format!("t{number}")));
        if number % (keys / 100) == 0 {
            held.push(slot);
        }
    }
    assert_eq!((tenants.status().partitions, scene.store.listeners()), (keys, keys));
    scene.advance(20_000);
    let before = scene.store.commands();
    scene.advance(10_000);
    (scene.store.listeners(), scene.store.commands() - before)
}

#[test]
fn of_10_000_keys_the_store_has_what_the_100_busy_ones_cost() {
    // A beat each.
    assert_eq!((load(10_000), load(100)), ((100, 1_000), (100, 1_000)));
}

#[test]
fn idle_keys_are_looked_after_when_the_connection_ends() {
    let mut scene = Scene::new();
    let (_fleet, tenants) = shared(&scene, 500);
    for number in 0..500 {
        drop(slot(&call(&mut scene, &tenants, &format!("t{number}"))));
    }
    let busy: Vec<_> = (0..5).map(|number| slot(&call(&mut scene, &tenants, &format!("t{number}")))).collect();
    scene.advance(20_000);
    assert_eq!(scene.store.listeners(), 5);
    // A connection that is made again listens only for those in use, if the server is the same.
    scene.store.cut();
    scene.advance(1_000);
    assert_eq!(scene.store.listeners(), 5);
    let idle = slot(&call(&mut scene, &tenants, "t400"));
    assert_eq!(scene.store.listeners(), 6);
    // With another, each name has its quarantine immediately, and not with its next call.
    scene.store.stop();
    scene.advance(1_000);
    scene.store.start();
    scene.advance(5_000);
    assert_eq!(scene.store.listeners(), 500);
    scene.advance(20_000);
    assert_eq!(scene.store.listeners(), 6);
    drop(slot(&call(&mut scene, &tenants, "t300")));
    drop((busy, idle));
}

#[test]
fn an_idle_share_that_rests_is_there_again_with_its_next_call() {
    let mut scene = Scene::new();
    let process = scene.process();
    drop(scene.slots(&process, 1));
    scene.advance(20_000);
    assert_eq!(scene.store.listeners(), 0);
    assert_eq!(process.bulkhead.try_slot().unwrap_err().restriction().map(|it| it.by), Some(ceiling::SHARE));
    scene.advance(1);
    assert_eq!(scene.store.listeners(), 1, "a rejected call counts");
    scene.advance(20_000);
    assert_eq!(scene.store.listeners(), 0);
    // A command to the store has it listen again.
    let look = scene.executor.spawn(process.share.look());
    scene.advance(1);
    assert!(look.output().expect("it is answered").is_ok());
    scene.advance(20_000);
    scene.store.stop();
    scene.advance(1);
    assert_eq!(process.bulkhead.try_slot().unwrap_err().restriction().map(|it| it.by), Some(ceiling::UNAVAILABLE));
    scene.store.start();
    scene.advance(20_000);
    drop(scene.slots(&process, 4));
}

#[test]
fn an_evicted_key_gives_its_units_back_and_comes_again() {
    let mut scene = Scene::new();
    let ((_one, here), (_two, there)) = (shared(&scene, 1), shared(&scene, 10));
    let held = slot(&call(&mut scene, &here, "ann"));
    // A handle outlives its partition.
    let handle = here.partition("ann").expect("it is in use");
    drop(held);
    drop(slot(&call(&mut scene, &here, "bob")));
    assert_eq!(here.status().totals.evicted, 1);
    for _ in 0..20 {
        drop(slot(&call(&mut scene, &here, "ann")));
        drop(slot(&call(&mut scene, &here, "bob")));
    }
    scene.advance(20_000);
    let all: Vec<_> = (0..3).map(|_| slot(&call(&mut scene, &there, "ann"))).collect();
    let waiting = call(&mut scene, &here, "ann");
    scene.advance(50);
    assert!(!waiting.is_finished());
    assert_eq!((handle.ceilings()[0].by, handle.ceilings()[0].units), (ceiling::LEFT, 0));
    drop(all);
    scene.advance(50);
    drop(slot(&waiting));
}

#[test]
fn partitions_of_one_label_take_no_key_from_each_other() {
    let mut scene = Scene::new();
    let (fleet, here) = shared(&scene, 10);
    let there = tenants(&scene, 10);
    fleet.share_partitions(&there, |_, share| share.limit(3)).expect("no partition exists");
    let held = slot(&call(&mut scene, &here, "ann"));
    let by =
        |tenants: &Tenants| tenants.key("ann").try_slot().map_err(|rejection| rejection.restriction().map(|it| it.by));
    assert_eq!(by(&there).err(), Some(Some(ceiling::REFUSED)));
    let slots = [0, 1].map(|_| slot(&call(&mut scene, &here, "ann")));
    assert_eq!(by(&here).err(), Some(Some(ceiling::SHARE)), "its share is as it was");
    drop((held, slots));
    // They can have it when the others are gone.
    drop(here);
    assert!(there.discard("ann"));
    drop(slot(&call(&mut scene, &there, "ann")));
}

#[test]
fn keys_leave_with_their_fleet() {
    let mut scene = Scene::new();
    let (fleet, tenants) = shared(&scene, 10);
    let held = slot(&call(&mut scene, &tenants, "ann"));
    let closing = scene.executor.spawn(async move { fleet.close().await });
    scene.advance(10);
    for key in ["ann", "bob"] {
        let rejection = tenants.key(key).try_slot().expect_err("the fleet is closed");
        assert_eq!(rejection.restriction().map(|it| (it.by, it.units)), Some((ceiling::LEFT, 0)), "{key}");
    }
    assert!(!closing.is_finished());
    drop(held);
    scene.advance(10);
    assert!(closing.is_finished());
}

#[test]
fn a_key_without_valid_options_admits_no_call() {
    let mut scene = Scene::new();
    let (fleet, tenants) = shared(&scene, 10);
    let long = "x".repeat(300);
    for key in ["none", &long] {
        let call = scene.executor.spawn(tenants.key(key).with(Request::new().now()).slot());
        scene.executor.run_until_idle();
        let rejection = call.output().expect("it does not wait").expect_err("no share was made");
        let restriction = rejection.restriction().expect("its ceiling is zero");
        assert_eq!((rejection.reason(), restriction.by), (Reason::Saturated, ceiling::REFUSED));
        assert!(!rejection.to_string().contains(key), "{rejection}");
        let cause = rejection.source().expect("the options are invalid");
        assert!(matches!(cause.downcast_ref(), Some(JoinError::Invalid(_))), "{cause}");
    }
    let other = self::tenants(&scene, 10);
    let panics = fleet.share_partitions(&other, |_, _| panic!("options"));
    assert_eq!((panics, other.key("ann").try_slot().is_err()), (Ok(()), true));
    assert!(other.key("ann").try_slot().is_err(), "not even after the panic");

    let fresh = self::tenants(&scene, 10);
    let share = |partitions| fleet.share_partitions(partitions, |_, share| share.limit(1));
    assert_eq!(share(&fresh), Ok(()));
    let text = "partitions tenants: controller must be one of each name, got fleet";
    assert_eq!(texts(&share(&fresh).unwrap_err()), format!("a value of the share is invalid: {text}"));
    let builder = Partitions::<String, _>::builder_on(scene.executor.runtime(), "a:b").parallelism(1);
    let text = "label must have no colon, got \"a:b\"";
    let invalid = share(&builder.max_partitions(1).build().expect("valid")).unwrap_err();
    assert_eq!(texts(&invalid), format!("a value of the share is invalid: {text}"));

    let late = self::tenants(&scene, 10);
    drop(late.key("ann").try_slot());
    let error = fleet.share_partitions(&late, |_, share| share.limit(1)).unwrap_err();
    let text = "partitions tenants: partitions must not exist before they get a controller, got 1";
    assert_eq!(texts(&error), format!("a value of the share is invalid: {text}"));
}
