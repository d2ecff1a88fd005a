//! Why a share cannot be used, as its calls and its fleet say it.

use std::error::Error as _;
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
