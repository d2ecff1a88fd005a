//! A process whose shares a configuration begins.

use std::collections::BTreeMap;

use bulklink::testing::{FakeRuntime, Task};
use bulklink::{Bulkhead, OwnedSlot, Registry, Request};
use bulklink_fleet::{Fleet, ShareConfig};

use crate::scene::Scene;

pub(crate) type Sections = BTreeMap<String, ShareConfig>;

/// Sections with these limits.
pub(crate) fn sections(labels: &[(&str, usize)]) -> Sections {
    let section = |limit| {
        let mut section = ShareConfig::default();
        section.limit = Some(limit);
        section
    };
    labels.iter().map(|(label, limit)| ((*label).to_owned(), section(*limit))).collect()
}

/// A process with a registry of these bulkheads, and a fleet that begins their shares.
pub(crate) fn service(scene: &Scene, labels: &[&str]) -> (Registry, Fleet<FakeRuntime>) {
    let registry = Registry::new();
    for label in labels {
        registry.add(&scene.named(label)).expect("the label is free");
    }
    let builder = Fleet::builder(scene.store.clone(), scene.executor.runtime()).namespace("test");
    let fleet = builder.bulkheads(&registry).build().expect("the values are valid");
    (registry, fleet)
}

/// Makes so many calls, and returns the slots of those that are admitted soon.
pub(crate) fn admitted(scene: &mut Scene, bulkhead: &Bulkhead<FakeRuntime>, count: usize) -> Vec<OwnedSlot> {
    let calls: Vec<_> = (0..count).map(|_| scene.call_on(bulkhead, Request::new())).collect();
    scene.advance(2_500);
    calls.iter().filter_map(Task::output).filter_map(Result::ok).collect()
}
