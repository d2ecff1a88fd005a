//! Why a share cannot be used, as its calls and its fleet say it.

use std::error::Error as _;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use bulklink_fleet::{Fleet, StoreError};

use crate::scene::{Process, Scene};

#[test]
fn rejections_have_the_error_of_the_store_while_it_is_out_of_reach() {
    let mut scene = Scene::new();
    let heard = Arc::<Mutex<Vec<_>>>::default();
    let builder = Fleet::builder(scene.store.clone(), scene.executor.runtime()).namespace("test");
    let fleet = builder.on_store_change({
        let heard = Arc::clone(&heard);
        move |error| {
            heard.lock().expect("no panic").push(error.cloned());
            panic!("it must not end the fleet");
        }
    });
    let (fleet, bulkhead) = (fleet.build().expect("valid"), scene.bulkhead());
    let share = scene.join(&fleet, &bulkhead, |builder| builder).output().expect("it answers").expect("valid");
    let process = Process { fleet, bulkhead, share };
    let slots = scene.slots(&process, 2);
    scene.store.stop();
    scene.advance(500);
    let cause = || {
        let _all = std::iter::from_fn(|| process.bulkhead.try_slot().ok()).collect::<Vec<_>>();
        let rejection = process.bulkhead.try_slot().expect_err("no more than the share");
        (StoreError::of(&rejection).cloned(), rejection.source().is_some())
    };
    assert_eq!(cause(), (Some(StoreError::UNREACHABLE), true), "beside its share");
    drop(slots);
    scene.advance(15_000);
    assert_eq!(cause(), (Some(StoreError::UNREACHABLE), true), "after its lease");
    assert_eq!(*heard.lock().expect("no panic"), [Some(StoreError::UNREACHABLE)]);

    scene.store.start();
    scene.advance(20_000);
    assert_eq!(cause(), (None, false));
    assert_eq!((process.fleet.error(), process.share.status().error), (None, None));
    assert_eq!(*heard.lock().expect("no panic"), [Some(StoreError::UNREACHABLE), None]);
}

/// A refusal that comes when its share has been given up.
#[test]
fn a_share_that_is_gone_leaves_no_error() {
    let mut scene = Scene::new();
    let store = scene.slow(100);
    let weather = Arc::clone(&store.weather);
    let fleet = scene.fleet_on(store);
    let [good, bad] = ["good", "bad"].map(|label| scene.named(label));
    let joined = scene.join(&fleet, &good, |share| share);
    scene.advance(1_000);
    joined.output().expect("it answers").expect("valid");
    weather.refusals.store(1_000, SeqCst);
    let joining = scene.join(&fleet, &bad, |share| share);
    scene.advance(50);
    joining.cancel();
    scene.advance(1_000);
    weather.refusals.store(0, SeqCst);
    let slot = scene.executor.spawn(good.owned().slot());
    scene.advance(20_000);
    drop(slot.output().expect("it is served").expect("a unit"));
    assert_eq!((bad.handle().ceilings().len(), fleet.error()), (0, None));
}

#[test]
fn a_look_that_is_refused_is_an_error_of_that_look_alone() {
    let mut scene = Scene::new();
    let store = scene.slow(0);
    let weather = Arc::clone(&store.weather);
    let (fleet, bulkhead) = (scene.fleet_on(store), scene.bulkhead());
    let share = scene.join(&fleet, &bulkhead, |share| share).output().expect("it answers").expect("valid");
    weather.refuses.store(true, SeqCst);
    let look = scene.executor.spawn(share.look());
    scene.executor.run_until_idle();
    assert_eq!(look.output(), Some(Err(StoreError::refused("NOPERM"))));
    assert_eq!((fleet.error(), share.status().error), (None, None));
}
