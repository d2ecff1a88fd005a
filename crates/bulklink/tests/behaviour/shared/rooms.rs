//! The waiting room that all keys share.

use bulklink::{Bound, EventFilter, EventKind, Reason};

use super::{builder, call, ended, load, shared};
use crate::{Call, executor, slot};

#[test]
fn the_newest_waiter_of_the_longest_line_makes_room() {
    let mut executor = executor();
    let models = builder(&executor).shared_capacity(1).shared_waiting_room(3).build().expect("valid");
    let mut events = models.handle().subscribe(EventFilter::of(EventKind::Displaced), 10).expect("valid");
    let running = slot(&call(&mut executor, &models, "loud"));
    let loud: Vec<Call> = (0..3).map(|_| call(&mut executor, &models, "loud")).collect();
    let quiet = call(&mut executor, &models, "quiet");
    executor.run_until_idle();
    assert_eq!(ended(&loud), [false, false, true], "the newest one");
    let rejection = loud[2].output().expect("ended").expect_err("displaced");
    assert_eq!((rejection.reason(), quiet.is_finished()), (Reason::Displaced, false));
    assert_eq!((rejection.bound(), rejection.reason().as_str()), (Some(Bound::Shared), "displaced"));
    assert_eq!((load(&models), shared(&models).displaced), ([(1, 3); 2], 1));
    let handle = models.partition("loud").expect("in use");
    assert_eq!(
        (handle.status().totals.displaced, events.try_recv().expect("an event").kind),
        (1, EventKind::Displaced)
    );
    drop(running);
    executor.run_until_idle();
    assert!(quiet.is_finished());
}

#[test]
fn a_key_displaces_no_waiter_of_a_line_as_short_as_its_own() {
    let mut executor = executor();
    let models = builder(&executor).shared_capacity(1).shared_waiting_room(2).build().expect("valid");
    let _running = slot(&call(&mut executor, &models, "ann"));
    let waiting = ["bob", "cid"].map(|key| call(&mut executor, &models, key));
    let dan = call(&mut executor, &models, "dan");
    let rejection = dan.output().expect("ended").expect_err("full");
    assert_eq!((rejection.reason(), rejection.bound()), (Reason::Saturated, Some(Bound::Shared)));
    assert_eq!(ended(&waiting), [false; 2]);
}

#[test]
fn a_key_without_a_room_is_rejected_by_the_limit_that_keeps_it_waiting() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(2).shared_waiting_room(9).parallelism(1);
    let models = builder.limits_for(|_: &String, limits| limits.with_waiting_room(0)).build().expect("valid");
    let _ann = slot(&call(&mut executor, &models, "ann"));
    let bounds = |executor: &mut _, key: &str| {
        let waits = call(executor, &models, key).output().expect("ended").expect_err("no room").bound();
        [waits, models.key(key).try_slot().expect_err("none is free").bound()]
    };
    assert_eq!(bounds(&mut executor, "ann"), [Some(Bound::Key); 2], "one of one");
    let _bob = slot(&call(&mut executor, &models, "bob"));
    assert_eq!(bounds(&mut executor, "cid"), [Some(Bound::Shared); 2], "two of two, and none of its own");
}

#[test]
fn the_room_of_a_key_is_its_own_limit() {
    let mut executor = executor();
    let builder = builder(&executor).shared_capacity(1).shared_waiting_room(10).waiting_room(1);
    let models = builder.build().expect("valid");
    let _running = slot(&call(&mut executor, &models, "ann"));
    let _waiting = call(&mut executor, &models, "ann");
    let second = call(&mut executor, &models, "ann");
    let rejection = second.output().expect("ended").expect_err("full");
    assert_eq!((rejection.reason(), rejection.bound()), (Reason::Saturated, Some(Bound::Key)));
    assert!(!call(&mut executor, &models, "bob").is_finished());
}
