//! Shares of the bulkheads of a registry, which the sections of a configuration begin.

use std::collections::{BTreeMap, BTreeSet};

use bulklink::config::Apply;
use bulklink::testing::{FakeRuntime, Task};
use bulklink::{Bulkhead, Registry, Request};
use bulklink_fleet::{Fleet, FleetShare, ShareConfig, ceiling};

use crate::scene::{Scene, texts};

type Sections = BTreeMap<String, ShareConfig>;

fn sections(labels: &[(&str, usize)]) -> Sections {
    let section = |limit| {
        let mut section = ShareConfig::default();
        section.limit = Some(limit);
        section
    };
    labels.iter().map(|(label, limit)| ((*label).to_owned(), section(*limit))).collect()
}

struct Service {
    registry: Registry,
    fleet: Fleet<FakeRuntime>,
}

fn service(scene: &Scene, labels: &[&str]) -> Service {
    let registry = Registry::new();
    for label in labels {
        registry.add(&scene.named(label)).expect("the label is free");
    }
    let builder = Fleet::builder(scene.store.clone(), scene.executor.runtime()).namespace("test");
    let fleet = builder.bulkheads(&registry).build().expect("the values are valid");
    Service { registry, fleet }
}

impl Service {
    fn bulkhead(&self, label: &str) -> Bulkhead<FakeRuntime> {
        self.registry.bulkhead(label).expect("it was added")
    }

    fn apply(&self, labels: &[(&str, usize)]) -> Result<String, String> {
        self.fleet.apply(&sections(labels)).map_err(|error| error.to_string())
    }
}

#[test]
fn each_section_begins_the_share_of_its_bulkhead() {
    let mut scene = Scene::new();
    let services = [(); 2].map(|()| service(&scene, &["orders", "search", "other"]));
    let added = "share orders: added\nshare search: added".to_owned();
    let mut slots = vec![];
    for service in &services {
        service.fleet.check(&sections(&[("orders", 4), ("search", 1)])).expect("a check begins nothing");
        assert!(service.fleet.shares().is_empty());
        assert_eq!(service.apply(&[("orders", 4), ("search", 1)]).as_ref(), Ok(&added));
        assert_eq!(service.fleet.shares().iter().map(FleetShare::label).collect::<Vec<_>>(), ["orders", "search"]);
        let by = service.bulkhead("orders").try_slot().unwrap_err().restriction().map(|ceiling| ceiling.units);
        assert_eq!(by, Some(0), "before the store has answered");
        drop(service.bulkhead("other").try_slot().expect("it has no section"));
    }
    for service in &services {
        for _ in 0..2 {
            let call = scene.call_on(&service.bulkhead("orders"), Request::new());
            scene.advance(1_100);
            slots.push(call.output().expect("it is over").expect("the fleet has room"));
        }
    }
    let beyond = scene.call_on(&services[0].bulkhead("orders"), Request::new());
    scene.advance(1_100);
    assert!(beyond.output().is_none(), "four units for both");
    assert_eq!(services[0].apply(&[("orders", 4), ("search", 1)]), Ok(String::new()));
    assert_eq!(services[0].apply(&[("search", 1)]).as_deref(), Ok("share orders: without a section, and kept"));
}

#[test]
fn a_section_for_no_bulkhead_is_an_error_at_the_start_and_named_later() {
    let scene = Scene::new();
    let service = service(&scene, &["orders"]);
    let labels = [("orders", 4), ("serach", 1)];
    service.fleet.check(&sections(&labels)).expect("another part can add it");
    let error = "shares.serach must have the label of a bulkhead, such as orders";
    assert_eq!(service.apply(&labels), Err(error.to_owned()));
    assert!(service.fleet.shares().is_empty(), "nothing has begun");
    assert_eq!(service.apply(&labels[..1]).as_deref(), Ok("share orders: added"));
    assert_eq!(service.apply(&labels).as_deref(), Ok("share serach: has a section, and no share in this process"));
    service.registry.add(&scene.named("serach")).expect("the label is free");
    assert_eq!(service.apply(&labels).as_deref(), Ok("share serach: added"));
    let invalid = "shares.orders.limit must be 1 to 4,294,967,295 units, got 0";
    assert_eq!(service.apply(&[("orders", 0)]), Err(invalid.to_owned()));
}

#[test]
fn a_followed_file_has_sections_for_bulkheads_that_exist_or_that_it_brings() {
    let scene = Scene::new();
    let service = service(&scene, &["orders"]);
    let check = |label| {
        let (sections, mut coming) = (sections(&[("orders", 4), (label, 1)]), BTreeSet::from(["search".to_owned()]));
        Apply::check(&service.fleet, &sections, &(), &mut coming).map_err(|error| texts(&error))
    };
    for _ in 0..2 {
        assert_eq!(check(" search "), Ok(()), "about to come");
        let error = "shares.serach must have the label of a bulkhead, such as orders, search";
        assert!(check("serach").is_err_and(|texts| texts.ends_with(error)));
        assert!(service.apply(&[("orders", 4)]).is_ok());
    }
}

/// A process that starts with a mistake in its file serves all the same, and its log says so.
#[test]
fn a_section_that_the_fleet_contradicts_goes_on_with_the_values_of_the_fleet() {
    let mut scene = Scene::new();
    let other = scene.process();
    let held = scene.slots(&other, 1);
    let service = service(&scene, &["payments"]);
    assert!(service.apply(&[("payments", 7)]).is_ok());
    let call = scene.call_on(&service.bulkhead("payments"), Request::new());
    scene.advance(2_200);
    drop(call.output().expect("it is over").expect("the fleet has room"));
    let status = service.fleet.shares()[0].status();
    assert_eq!((status.limit, status.refusal), (4, None));
    assert!(texts(&status.declined.expect("others have declared 4")).contains("limit 7 differs from 4 of process"));
    drop(held);
}

#[test]
fn a_service_begins_without_its_store() {
    let mut scene = Scene::new();
    scene.store.stop();
    let service = service(&scene, &["orders"]);
    assert!(service.apply(&[("orders", 4)]).is_ok());
    let bulkhead = service.bulkhead("orders");
    scene.advance(15_000);
    let rejection = scene.call_on(&bulkhead, Request::new()).output().expect("no wait").expect_err("no unit");
    assert_eq!(rejection.restriction().map(|ceiling| ceiling.by), Some(ceiling::UNAVAILABLE));
    scene.store.start();
    scene.advance(15_000);
    let call = scene.call_on(&bulkhead, Request::new());
    scene.advance(1_100);
    assert!(call.output().expect("it is over").is_ok());
}

/// So the limit of the fleet holds for it too, though a part of the program keeps the old one.
#[test]
fn the_next_bulkhead_of_a_label_has_the_share() {
    let mut scene = Scene::new();
    let service = service(&scene, &["orders"]);
    assert!(service.apply(&[("orders", 4)]).is_ok());
    scene.advance(100);
    let old = service.bulkhead("orders");
    drop(scene.call_on(&old, Request::new()).output().expect("it is over").expect("the fleet has room"));
    let registry = service.registry.clone();
    let removed = scene.executor.spawn(async move { registry.remove("orders").await });
    scene.executor.run_until_idle();
    assert!(removed.output().expect("nothing runs").is_ok());
    service.registry.add(&scene.named("orders")).expect("the label is free");
    assert_eq!(service.apply(&[("orders", 4)]).as_deref(), Ok("share orders: added"));
    let new = service.bulkhead("orders");
    let calls: Vec<_> = (0..5).map(|_| scene.call_on(&new, Request::new())).collect();
    scene.advance(2_200);
    let admitted: Vec<_> = calls.iter().filter_map(Task::output).map(Result::unwrap).collect();
    assert_eq!((admitted.len(), old.handle().ceilings().len()), (4, 0));
    drop(service.fleet.close());
    scene.advance(100);
    assert!(service.fleet.apply(&sections(&[("orders", 4)])).is_ok(), "the share has not ended");
    drop((admitted, calls));
    scene.advance(100);
    let closed = "shares.orders has no share: the bulkhead or the fleet is closed";
    assert_eq!(service.apply(&[("orders", 4)]), Err(closed.to_owned()));
}
