//! How shares begin and end.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bulklink::Bulkhead;
use bulklink::testing::FakeRuntime;
use bulklink::testing::Task;
use bulklink_fleet::share::{Notice, Tuning};
use bulklink_fleet::{
    FleetShare, JoinError, LeaseStore, Link, Name, Namespace, ProcessId, Receiver, Session, ShareBuilder, ShareConfig,
    StoreError,
};

use crate::log;
use crate::scene::{Process, Scene, texts};

#[test]
fn processes_that_declare_other_values_are_refused_and_their_bulkhead_is_as_before() {
    let mut scene = Scene::new();
    let _first = scene.process();
    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let refused = scene.join(&fleet, &bulkhead, |builder| builder.limit(5)).output().expect("the store answers");
    let text = texts(&refused.unwrap_err());
    let reasons = [
        "the fleet refuses the values that this process declares",
        "another process has declared other values",
        "limit 5 differs from 4 of process ",
    ];
    assert!(text.starts_with(&reasons.join(": ")), "{text}");
    scene.advance(100);
    assert_eq!((bulkhead.handle().ceilings().len(), bulkhead.status().free()), (0, 100));

    let changed = scene.join(&fleet, &bulkhead, |builder| builder.limit(5).config(2));
    let share = changed.output().expect("the store answers").expect("a higher number replaces the limit");
    assert_eq!(share.status().limit, 5);
}

#[test]
fn a_section_of_a_configuration_declares_its_values_and_leaves_the_others() {
    let mut scene = Scene::new();
    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let mut section = ShareConfig::default();
    (section.limit, section.weight, section.lease) = (Some(9), Some(0), Some(Duration::from_secs(20)));
    let refused = scene.join(&fleet, &bulkhead, |builder| builder.configured(&section)).output().unwrap().unwrap_err();
    let JoinError::Invalid(invalid) = refused else { panic!("{refused}") };
    assert_eq!((invalid.field(), invalid.value().to_string()), ("weight", "0".to_owned()));

    section.weight = Some(3);
    let share = scene.join(&fleet, &bulkhead, |builder| builder.configured(&section)).output().unwrap().unwrap();
    assert_eq!(share.status().limit, 9);
    // The lease was declared too: another one is refused, and the same is not.
    let (fleet, other) = (scene.fleet(), scene.bulkhead());
    let join = |builder: ShareBuilder<_>| builder.limit(9).lease(Duration::from_secs(10));
    let refused = scene.join(&fleet, &other, join).output().unwrap().unwrap_err();
    assert!(matches!(refused, JoinError::Refused(_)), "{refused}");
    let join = |builder: ShareBuilder<_>| builder.limit(1).configured(&section);
    scene.join(&fleet, &other, join).output().unwrap().expect("a section replaces what was set before");
}

#[test]
fn a_fleet_has_its_shares_by_label_until_they_end() {
    let mut scene = Scene::new();
    let (fleet, second, first) = (scene.fleet(), scene.named("search"), scene.bulkhead());
    let join = |scene: &mut Scene, bulkhead| scene.join(&fleet, bulkhead, |builder| builder).output().unwrap().unwrap();
    let labels = || fleet.shares().iter().map(FleetShare::label).collect::<Vec<_>>();
    let _search = join(&mut scene, &second);
    let payments = join(&mut scene, &first);
    assert_eq!(labels(), ["payments", "search"]);
    assert_eq!(fleet.shares()[0].status(), payments.status());
    drop(payments.leave());
    scene.advance(100);
    assert_eq!(labels(), ["search"]);
    drop(second);
    assert_eq!(labels(), [""; 0]);
}

/// So no call is admitted beside the fleet, however late a task polls the future.
#[test]
fn no_call_is_admitted_from_the_call_of_connect_on() {
    let mut scene = Scene::new();
    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let connecting = fleet.share(&bulkhead).limit(4).connect();
    assert_eq!(bulkhead.try_slot().unwrap_err().restriction().map(|restriction| restriction.units), Some(0));
    drop(connecting);
    drop(bulkhead.try_slot().expect("it is as before"));
    scene.advance(100);
    scene.join(&fleet, &bulkhead, |builder| builder).output().unwrap().expect("the name is free again");
}

#[test]
fn a_share_without_an_end_of_its_patience_begins_when_the_store_is_there() {
    let mut scene = Scene::new();
    scene.store.stall(true);
    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let connecting = scene.join(&fleet, &bulkhead, |builder| builder.connect_within(Duration::MAX));
    scene.advance(60_000);
    assert!(connecting.output().is_none() && bulkhead.try_slot().is_err());
    scene.store.stall(false);
    scene.advance(10_000);
    connecting.output().expect("the store answers").expect("it has begun");
}

struct Deaf;

impl Receiver for Deaf {
    fn notice(&self, _: &Name, _: Notice) {}

    fn ended(&self) {}
}

#[test]
fn a_store_has_the_names_of_all_limits_that_were_declared() {
    let mut scene = Scene::new();
    let _processes = [scene.process(), scene.process()];
    let (fleet, store) = (scene.fleet(), scene.store.clone());
    for label in ["zeta", "alpha"] {
        let bulkhead = scene.named(label);
        scene.join(&fleet, &bulkhead, |builder| builder).output().unwrap().unwrap();
    }
    // A look declares nothing.
    let session = Session::new(ProcessId::from(9), "looker");
    let (link, typo) = (store.clone(), "test:typo".parse().unwrap());
    let looked = scene.executor.spawn(async move { link.connect(&session, Arc::new(Deaf)).await?.look(&typo).await });
    scene.executor.run_until_idle();
    assert_eq!(looked.output().expect("the store answers"), Ok(None));
    let mut names = |namespace: Option<&str>| {
        let namespace = namespace.map(|text| Namespace::new(text).unwrap());
        let store = store.clone();
        let listed = scene.executor.spawn(async move { store.names(namespace.as_ref()).await });
        scene.executor.run_until_idle();
        let listed = listed.output().expect("the store answers").expect("it is in reach");
        listed.iter().map(Name::label).collect::<Vec<_>>()
    };
    assert_eq!(names(None), ["alpha", "payments", "zeta"]);
    assert_eq!(names(Some("test")), ["alpha", "payments", "zeta"]);
    assert_eq!(names(Some("tes")), [""; 0]);
}

#[test]
fn bad_values_are_errors_and_change_nothing() {
    type Options = fn(ShareBuilder<FakeRuntime>) -> ShareBuilder<FakeRuntime>;
    let mut scene = Scene::new();
    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let cases: [(Options, &str); 8] = [
        (|builder| builder.limit(0), "limit must be 1 to 4,294,967,295 units, got 0"),
        (|builder| builder.weight(0), "weight must be between 1 and 1099511627776, got 0"),
        (|builder| builder.config(1 << 53), "config must be between 1 and 1099511627776, got 9007199254740992"),
        (|builder| builder.lease(Duration::ZERO), "lease must be at least the claim, 3s, and at most a day, got 0ns"),
        (
            |builder| builder.lease(Duration::MAX),
            "lease must be at least the claim, 3s, and at most a day, got \
            18446744073709551615.999999999s",
        ),
        (|builder| builder.claim(Duration::ZERO), "claim must be at least two beats, 2s, got 0ns"),
        (|builder| builder.tuning(Tuning::default().with_beat(Duration::ZERO)), "beat must be at least 1 ms, got 0ns"),
        (
            |builder| builder.tuning(Tuning::default().with_beat(Duration::MAX)),
            "claim must be at least two beats, 18446744073709551615.999999999s, got 3s",
        ),
    ];
    for (options, text) in cases {
        let error = scene.join(&fleet, &bulkhead, options).output().expect("at once").unwrap_err();
        assert_eq!(texts(&error), format!("a value of the share is invalid: {text}"));
        assert_eq!(bulkhead.handle().ceilings().len(), 0);
    }
    let narrow = Bulkhead::builder_on(scene.executor.runtime(), "narrow").parallelism(1).build().unwrap();
    let error =
        scene.join(&fleet, &narrow, |builder| builder.fetch(Duration::ZERO)).output().expect("at once").unwrap_err();
    let text = "fetch must be more than zero without a waiting room: a call waits until a unit is granted, got 0 ms";
    assert_eq!(error.source().expect("it is kept").to_string(), text);
    let share = scene.join(&fleet, &bulkhead, |builder| builder).output().unwrap().unwrap();
    let again = scene.join(&fleet, &bulkhead, |builder| builder).output().expect("at once");
    assert_eq!(again.unwrap_err(), JoinError::Taken);
    assert_eq!((bulkhead.handle().ceilings().len(), share.status().limit), (1, 4));
}

#[test]
fn connecting_is_tried_again_until_its_time_is_over_and_says_why() {
    let mut scene = Scene::new();
    scene.store.stop();
    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let joining = scene.join(&fleet, &bulkhead, |builder| builder);
    scene.advance(4_900);
    assert!(bulkhead.try_slot().is_err(), "no call is admitted before the store has answered");
    scene.advance(200);
    assert_eq!(joining.output().unwrap().unwrap_err(), JoinError::Store(StoreError::UNREACHABLE));
    assert_eq!((bulkhead.handle().ceilings().len(), bulkhead.status().free()), (0, 100));

    let joining = scene.join(&fleet, &bulkhead, |builder| builder.connect_within(Duration::from_secs(60)));
    scene.store.start();
    scene.advance(5_000);
    assert!(joining.output().expect("it has connected").is_ok());

    let other = Bulkhead::builder_on(scene.executor.runtime(), "other").parallelism(1).waiting_room(1).build().unwrap();
    scene.store.stop();
    let joining = scene.join(&fleet, &other, |builder| builder);
    assert_eq!(other.handle().ceilings().len(), 1);
    joining.cancel();
    scene.advance(1_000);
    assert_eq!(other.handle().ceilings().len(), 0, "a dropped future leaves the bulkhead as it was");
}

#[test]
fn the_units_of_a_process_are_free_when_it_leaves_or_its_bulkhead_is_dropped() {
    let mut scene = Scene::new();
    let (first, second, third) = (scene.process(), scene.process(), scene.process());
    let slots = scene.slots(&first, 4);
    let leaving = scene.executor.spawn(first.share.leave());
    scene.advance(10);
    assert!(first.bulkhead.try_slot().is_err() && !leaving.is_finished(), "its operations run");
    let waiting: Vec<_> = (0..4).map(|_| scene.call(&second)).collect();
    drop(slots);
    scene.advance(10);
    assert!(leaving.is_finished());
    let slots: Vec<_> = waiting.iter().map(|call| call.output().expect("it is admitted").unwrap()).collect();

    drop((slots, second.bulkhead, second.share));
    let waiting: Vec<_> = (0..4).map(|_| scene.call(&third)).collect();
    scene.advance(10);
    assert!(waiting.iter().all(Task::is_finished));
}

#[test]
fn a_fleet_that_closes_leaves_with_all_shares() {
    let mut scene = Scene::new();
    let (first, second) = (scene.process(), scene.process());
    let slots = scene.slots(&first, 4);
    let closing = scene.executor.spawn(first.fleet.close());
    let waiting = scene.call(&second);
    scene.advance(10);
    assert!(!closing.is_finished() && !waiting.is_finished());
    drop(slots);
    scene.advance(10);
    assert!(closing.is_finished() && waiting.is_finished());
    let again = scene.join(&first.fleet, &scene.bulkhead(), |builder| builder).output();
    assert_eq!(again.expect("at once").unwrap_err(), JoinError::Closed);
}

#[test]
fn no_call_is_admitted_after_the_share_has_ended() {
    let mut scene = Scene::new();
    let Process { fleet, bulkhead, share } = scene.process();
    let leaving = scene.executor.spawn(share.leave());
    scene.advance(10);
    assert!(leaving.is_finished());
    drop((fleet, share, leaving));
    scene.advance(60_000);
    assert!(bulkhead.try_slot().is_err(), "nothing of the share is left, but its ceiling");
    assert_eq!(bulkhead.handle().ceilings().len(), 1);
}

/// As a process does that has a lower configuration. Its operator reads so.
#[test]
fn a_process_that_the_fleet_contradicts_later_goes_on_with_the_values_of_the_fleet() {
    for is_idle in [false, true] {
        let mut scene = Scene::new();
        let process = scene.process();
        let slots = scene.slots(&process, usize::from(!is_idle));
        if is_idle {
            // Nothing keeps the declaration of a fleet that is idle.
            scene.advance(60_000);
        } else {
            scene.store.forget();
        }
        let other = scene.process_with(|builder| builder.limit(7));
        let log = log::of(|| {
            let call = scene.call(&process);
            scene.advance(25_000);
            drop(call.output().expect("the quarantine is over").expect("the fleet has units"));
        });
        let status = process.share.status();
        assert_eq!((status.limit, status.refusal), (7, None), "{is_idle}");
        let text = texts(&status.declined.expect("the other was first"));
        assert!(text.starts_with("another process has declared other values: limit 4 differs from 7 of "), "{text}");
        let expected = format!(
            " WARN bulklink_fleet::trouble: a share goes on with the values of its fleet \
             namespace=\"test\" share=\"payments\" error={text:?}"
        );
        assert_eq!(log, [expected]);
        drop((slots, other));
    }
}
