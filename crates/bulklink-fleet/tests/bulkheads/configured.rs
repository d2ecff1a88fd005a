//! Shares whose configuration changes while they run.

use std::collections::BTreeMap;
use std::time::Duration;

use bulklink::Bulkhead;
use bulklink::config::Apply;
use bulklink_fleet::{Outage, ShareConfig};

use crate::scene::{Process, Scene, millis};

type Sections = BTreeMap<String, ShareConfig>;

/// The section of the bulkhead `payments`.
fn section(limit: usize, config: u64) -> ShareConfig {
    let mut section = ShareConfig::default();
    (section.limit, section.config) = (Some(limit), Some(config));
    section
}

fn process(scene: &mut Scene, section: &ShareConfig) -> Process {
    scene.process_with(|builder| builder.configured(section))
}

fn apply(process: &Process, section: ShareConfig) -> Result<String, String> {
    let sections = Sections::from([("payments".to_owned(), section)]);
    let status = |process: &Process| format!("{:?}", process.share.status());
    let before = status(process);
    let checked = process.fleet.check(&sections).map_err(|error| error.to_string());
    assert_eq!(status(process), before, "a check changes nothing");
    let applied = process.fleet.apply(&sections);
    let applied = applied.map_err(|error| error.to_string());
    assert_eq!(checked.err(), applied.as_ref().err().cloned());
    applied
}

#[test]
fn a_higher_config_changes_the_limit_of_the_fleet_and_those_that_apply_it_later_agree() {
    let mut scene = Scene::new();
    let [first, second] = [(); 2].map(|()| process(&mut scene, &section(4, 1)));
    let held = scene.slots(&first, 4);
    assert_eq!(apply(&first, section(4, 1)), Ok(String::new()));
    assert_eq!(apply(&first, section(6, 2)).as_deref(), Ok("share payments: changed"));
    scene.advance(1_100);
    let call = scene.call(&second);
    assert!(call.output().expect("it is over").is_ok(), "two more units are there");
    scene.advance(1_100);
    assert_eq!([&first, &second].map(|process| process.share.status().limit), [6, 6]);
    assert_eq!(apply(&second, section(6, 2)).as_deref(), Ok("share payments: changed"));
    scene.advance(1_100);
    let status = second.share.status();
    assert_eq!((status.limit, status.refusal, status.declined), (6, None, None));
    drop(held);
}

/// Units above a lower limit stay in use, and none is granted meanwhile.
#[test]
fn a_lower_limit_is_never_exceeded_by_new_calls() {
    let mut scene = Scene::new();
    let [first, second] = [(); 2].map(|()| process(&mut scene, &section(4, 1)));
    let mut held = scene.slots(&first, 4);
    assert_eq!(apply(&second, section(2, 2)).as_deref(), Ok("share payments: changed"));
    let waits = scene.call(&second);
    for left in [3, 2] {
        scene.advance(1_100);
        held.pop();
        assert!(waits.output().is_none(), "{left} operations run");
    }
    scene.advance(1_100);
    assert_eq!((held.len(), waits.output().is_none()), (2, true));
    held.pop();
    scene.advance(1_100);
    assert!(waits.output().expect("a unit has come back").is_ok());
}

#[test]
fn values_that_others_contradict_are_declined_and_the_share_goes_on() {
    let mut scene = Scene::new();
    let [first, second] = [(); 2].map(|()| process(&mut scene, &section(4, 1)));
    let held = [scene.slots(&first, 1), scene.slots(&second, 1)];
    assert!(apply(&first, section(6, 2)).is_ok());
    scene.advance(1_100);
    assert!(apply(&second, section(5, 2)).is_ok());
    scene.advance(1_100);
    let declined = second.share.status().declined.expect("the first process has declared 6");
    assert!(format!("{declined:?}").contains("Limit { own: 5, fleet: 6 }"), "{declined:?}");
    // For longer than a lease, it has its units, and new ones.
    scene.advance(30_000);
    let status = second.share.status();
    assert_eq!((status.limit, status.refusal), (6, None));
    let more = scene.slots(&second, 2);
    // What is right now can be applied under the same number.
    assert_eq!(apply(&second, section(6, 2)).as_deref(), Ok("share payments: changed"));
    scene.advance(2_200);
    assert_eq!(second.share.status().declined, None);
    drop((held, more));
}

#[test]
fn what_cannot_change_is_refused_by_name_and_nothing_has_changed() {
    let mut scene = Scene::new();
    let process = process(&mut scene, &section(4, 3));
    let with = |change: fn(&mut ShareConfig)| {
        let mut section = section(4, 3);
        change(&mut section);
        section
    };
    let lease = with(|section| section.lease = Some(Duration::from_secs(20)));
    let claim = with(|section| section.claim = Some(Duration::from_secs(4)));
    for (section, reason) in [
        (section(5, 3), "limit must stay 4 for config 3; a higher config changes it, got 5"),
        (section(4, 2), "config must be at least 3, which the process has declared, got 2"),
        (section(0, 4), "limit must be 1 to 4,294,967,295 units, got 0"),
        (lease, "lease must stay 10s for config 3; a higher config changes it, got 20s"),
        (claim, "claim must stay 3s for config 3; a higher config changes it, got 4s"),
        (with(|section| section.weight = Some(0)), "weight must be between 1 and 1099511627776, got 0"),
    ] {
        assert_eq!(apply(&process, section), Err(format!("shares.payments.{reason}")));
    }
    // All or nothing: the section of `payments` is right, and is not applied.
    let mut sections = Sections::from([("payments".to_owned(), section(9, 4)), ("search".to_owned(), section(1, 0))]);
    sections.insert(" payments".to_owned(), section(9, 4));
    let reasons = process.fleet.apply(&sections).unwrap_err().to_string();
    for reason in ["shares.payments must have another label, as ", "shares.search.config must be between 1 and "] {
        assert!(reasons.contains(reason), "{reasons}");
    }
    scene.advance(1_100);
    assert_eq!(process.share.status().limit, 4);
    assert_eq!(apply(&process, section(4, 3)), Ok(String::new()));
}

#[test]
fn weight_fetch_and_outage_are_the_process_own_and_what_is_left_out_is_as_before() {
    let mut scene = Scene::new();
    let mut first = section(1, 1);
    first.weight = Some(5);
    let [process, other] = [(); 2].map(|()| process(&mut scene, &first));
    let held = scene.slots(&other, 1);
    let bulkhead: &Bulkhead<_> = &process.bulkhead;
    let fetching = |scene: &mut Scene| {
        let slot = bulkhead.with(bulklink::Request::new().now()).slot();
        let task = scene.executor.spawn(slot);
        scene.executor.run_until_idle();
        task
    };
    let fetched = fetching(&mut scene);
    scene.advance(9);
    assert!(fetched.output().is_none(), "it waits for 10 ms");
    scene.advance(2);
    assert!(fetched.output().expect("it is over").is_err());
    let mut changed = section(1, 1);
    (changed.fetch, changed.on_outage) = (Some(millis(40)), Some(Outage::Admit));
    assert_eq!(apply(&process, changed).as_deref(), Ok("share payments: changed"));
    scene.advance(1);
    let fetched = fetching(&mut scene);
    scene.advance(38);
    assert!(fetched.output().is_none(), "it waits for 40 ms");
    scene.advance(5);
    assert!(fetched.output().expect("it is over").is_err());
    let _waits = scene.call(&process);
    scene.advance(1_100);
    let rows = scene.executor.spawn(process.share.look());
    scene.advance(1);
    let weights: Vec<_> = rows.output().unwrap().unwrap().unwrap().rows.iter().map(|row| row.weight).collect();
    assert!(weights.contains(&5) && weights.contains(&1), "{weights:?}");
    scene.store.stop();
    scene.advance(20_000);
    assert!(bulkhead.try_slot().is_ok(), "calls are admitted without the store");
    drop(held);
}

#[test]
fn sections_without_a_share_and_shares_without_a_section_are_named() {
    let mut scene = Scene::new();
    let process = process(&mut scene, &section(4, 1));
    let other = scene.named("by program");
    scene.join(&process.fleet, &other, |builder| builder).output().unwrap().unwrap();
    let sections = Sections::from([("search".to_owned(), section(1, 1))]);
    assert_eq!(
        process.fleet.apply(&sections).unwrap(),
        "share payments: without a section, and kept\nshare search: has a section, and no share in this process"
    );
}

#[test]
fn a_followed_file_keeps_the_sections_of_its_start() {
    fn require<A: Apply<(), Sections = Sections>>(_: &A, labels: [&str; 2]) -> Result<(), String> {
        let [now, earlier] = labels.map(|label| Sections::from([(label.to_owned(), section(4, 1))]));
        A::require(&now, &earlier).map_err(|error| error.to_string())
    }
    let mut scene = Scene::new();
    let fleet = process(&mut scene, &section(4, 1)).fleet;
    assert_eq!(require(&fleet, ["search", "search"]), Ok(()));
    let missing = require(&fleet, ["serach", "search"]).unwrap_err();
    assert_eq!(missing, "shares.search must be there (is it shares.serach, which is not required?)");
}
