//! Rejections under a ceiling have its name, what it allows, and its cause.

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use super::*;

/// All that is the same, whether the word or the gate has rejected.
fn told(rejection: &Rejection) -> (Reason, Option<(&'static str, usize)>, [usize; 5]) {
    let occupancy = rejection.occupancy();
    let counts = [
        occupancy.in_flight(),
        occupancy.in_use(),
        occupancy.capacity(),
        occupancy.waiting(),
        occupancy.waiting_room(),
    ];
    (rejection.reason(), shown(rejection.restriction()), counts)
}

/// Rejects a call by the word, if there is one, and one by the gate: a cost of two keeps it
/// from the word. Asserts that they say the same, and returns that.
fn both(bulkhead: &TestBulkhead) -> (Reason, Option<(&'static str, usize)>, [usize; 5]) {
    let before = bulkhead.status().totals.saturated;
    let by_word = bulkhead.try_slot().expect_err("the word");
    let by_gate = bulkhead.with(Request::new().cost(2)).try_slot().expect_err("the gate");
    assert_eq!(told(&by_word), told(&by_gate));
    assert_eq!(bulkhead.status().totals.saturated, before + 2, "each is counted once");
    told(&by_word)
}

#[test]
fn the_word_and_the_gate_say_the_same() {
    let mut executor = executor();
    for room in [0, 1] {
        let bulkhead = builder(&executor).capacity(10).waiting_room(room).build().expect("valid");
        let [fleet, adaptive] = ["fleet", "adaptive"].map(|by| bulkhead.handle().ceiling(by));
        fleet.set(0);
        assert_eq!(both(&bulkhead), (Reason::Saturated, Some(("fleet", 0)), [0, 0, 10, 0, room]));
        fleet.set(2);
        let mut running = vec![bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
        assert_eq!(both(&bulkhead), (Reason::Saturated, Some(("fleet", 2)), [2, 2, 10, 0, room]));
        for (capacity, binding) in [(20, Some(("fleet", 2))), (3, Some(("fleet", 2))), (2, None)] {
            bulkhead.resize(capacity).expect("valid");
            assert_eq!(both(&bulkhead), (Reason::Saturated, binding, [2, 2, capacity, 0, room]));
        }
        bulkhead.resize(5).expect("valid");
        adaptive.set(1);
        assert_eq!(both(&bulkhead), (Reason::Saturated, Some(("adaptive", 1)), [2, 2, 5, 0, room]), "above it");
        running.pop();
        assert_eq!(both(&bulkhead), (Reason::Saturated, Some(("adaptive", 1)), [1, 1, 5, 0, room]));
        let waiting: Vec<_> = (0..room).map(|_| call(&mut executor, &bulkhead)).collect();
        assert_eq!(both(&bulkhead), (Reason::Saturated, Some(("adaptive", 1)), [1, 1, 5, room, room]), "full");
        bulkhead.resize(4).expect("valid");
        assert_eq!(both(&bulkhead), (Reason::Saturated, Some(("adaptive", 1)), [1, 1, 4, room, room]));
        waiting.iter().for_each(Task::cancel);
        executor.run_until_idle();
        fleet.lift();
        adaptive.lift();
        running.extend((0..3).map(|_| bulkhead.try_slot().expect("free")));
        assert_eq!(both(&bulkhead), (Reason::Saturated, None, [4, 4, 4, 0, room]));
    }
}

#[test]
fn all_ways_to_call_say_the_same() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 10, 0);
    let ceiling = bulkhead.handle().ceiling("fleet");
    ceiling.set(1);
    let _running = bulkhead.try_slot().expect("free");
    let mut rejections = vec![
        bulkhead.try_slot().map(drop).expect_err("full"),
        bulkhead.owned().try_slot().map(drop).expect_err("full"),
        bulkhead.blocking_slot().map(drop).expect_err("no room"),
        call(&mut executor, &bulkhead).output().expect("rejected").map(drop).expect_err("no room"),
    ];
    let now = executor.spawn(bulkhead.with(Request::new().now()).slot());
    executor.run_until_idle();
    rejections.push(now.output().expect("rejected").map(drop).expect_err("full"));
    for rejection in &rejections {
        assert_eq!(told(rejection), (Reason::Saturated, Some(("fleet", 1)), [1, 1, 10, 0, 0]), "{rejection:?}");
        assert_eq!(rejection, &rejections[0]);
    }
    ceiling.set(0);
    let other = bulkhead.try_slot().expect_err("full");
    assert_ne!(&other, &rejections[0], "another ceiling is another rejection");
    assert_eq!(other.to_string(), "bulkhead test: saturated (1 of 10 in use, 0 allowed by fleet, 0 of 0 waiting)");
    assert!(format!("{other:?}").contains(r#"restriction: Some(Restriction { by: "fleet", units: 0"#));
}

#[test]
fn a_call_that_has_waited_has_the_ceiling_at_its_end() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(4).waiting_room(2).wait_limit(ms(50)).build().expect("valid");
    let ceiling = bulkhead.handle().ceiling("fleet");
    ceiling.set(0);
    let expired = call(&mut executor, &bulkhead);
    executor.advance(ms(50));
    let rejection = expired.output().expect("it is late").expect_err("expired");
    assert_eq!(told(&rejection), (Reason::Expired, Some(("fleet", 0)), [0, 0, 4, 0, 2]));
    assert_eq!(
        rejection.to_string(),
        "bulkhead test: expired after 50 ms of 50 ms (0 of 4 in use, 0 allowed by fleet, 0 of 2 waiting)"
    );
}

#[test]
fn a_ceiling_at_or_above_the_capacity_is_not_in_a_rejection() {
    let bulkhead = bulkhead(&executor(), 2, 0);
    let ceiling = bulkhead.handle().ceiling("fleet");
    let _running = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    for units in [2, 3, usize::MAX] {
        ceiling.set(units);
        assert_eq!(bulkhead.try_slot().expect_err("full").restriction(), None);
    }
}

/// A word has no room for a name.
#[test]
fn the_names_of_many_controllers_are_kept_apart() {
    let bulkhead: Bulkhead<_> = bulkhead(&executor(), 2, 0);
    let seen = (0..300).map(|number| {
        let name: &'static str = format!("controller {number}").leak();
        let ceiling = bulkhead.handle().ceiling(name);
        ceiling.set(0);
        assert_eq!(shown(bulkhead.status().restriction), Some((name, 0)));
        (name, bulkhead.try_slot().expect_err("none"))
    });
    for (name, rejection) in seen.collect::<Vec<_>>() {
        assert_eq!(shown(rejection.restriction()), Some((name, 0)));
    }
}

/// Whether the word, the gate or the end of a wait has rejected the call.
#[test]
fn a_rejection_has_the_cause_of_the_ceiling_that_binds() {
    fn cause(rejection: &Rejection) -> Option<String> {
        rejection.source().map(ToString::to_string)
    }
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(4).waiting_room(1).wait_limit(ms(10)).build().expect("valid");
    let [fleet, adaptive] = ["fleet", "adaptive"].map(|by| bulkhead.handle().ceiling(by));
    fleet.set(1);
    fleet.set_cause(Some(Arc::new(io::Error::other("no route"))));
    let running = bulkhead.try_slot().expect("one is allowed");
    let waits = call(&mut executor, &bulkhead);
    let rejections = || {
        let by_word = bulkhead.try_slot().expect_err("none is left");
        let by_gate = bulkhead.with(Request::new().cost(2)).try_slot().expect_err("none is left");
        [by_word, by_gate].map(|rejection| cause(&rejection))
    };
    assert_eq!(rejections(), [Some("no route".into()), Some("no route".into())]);
    let rejection = bulkhead.try_slot().expect_err("none is left");
    assert!(rejection.source().expect("its cause").is::<io::Error>());
    assert!(!rejection.to_string().contains("no route"), "{rejection}");

    adaptive.set(0);
    assert_eq!(rejections(), [None, None], "another ceiling binds");
    adaptive.lift();
    executor.advance(ms(10));
    let expired = waits.output().expect("it is late").expect_err("expired");
    assert_eq!((expired.reason(), cause(&expired)), (Reason::Expired, Some("no route".into())));

    fleet.set_cause(Some(Arc::new(io::Error::other("no answer"))));
    assert_eq!(rejections(), [Some("no answer".into()), Some("no answer".into())]);
    fleet.set_cause(None);
    assert_eq!(rejections(), [None, None]);
    fleet.set_cause(Some(Arc::new(io::Error::other("no route"))));
    fleet.lift();
    let _others = [0; 3].map(|_| bulkhead.try_slot().expect("free"));
    assert_eq!(rejections(), [None, None], "it binds no more");
    drop(running);
}
