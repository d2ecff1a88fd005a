//! *config*: a configuration of many bulkheads is applied in a time that grows linearly.

use std::cell::Cell;

use bulklink_tokio::config::Config;
use bulklink_tokio::{Registry, Tokio};

use crate::goal::{Goal, Row};
use crate::scene::{Pace, Scene};

pub(crate) fn goal() -> Goal {
    let what = "a bulkhead of a configuration that changes 10,000";
    let changes = Row::instructions(what, "our own, of 1,000", changed(10_000), changed(1_000));
    let what = "a bulkhead of a configuration that adds 10,000";
    let additions = Row::instructions(what, "our own, of 1,000", added(10_000), added(1_000));
    // A search among ten times as many takes a third more steps, and is a part of all.
    Goal::new("config", [changes.at_most(1.35), additions.at_most(1.35)])
}

fn config(bulkheads: usize, parallelism: usize) -> Config {
    let mut config = Config::default();
    for bulkhead in 0..bulkheads {
        config.bulkheads.entry(format!("upstream-{bulkhead}")).or_default().parallelism = Some(parallelism);
    }
    config
}

/// Each bulkhead is an operation.
fn changed(bulkheads: usize) -> Scene {
    let scene = Scene::new(format!("config/{bulkheads} changed"), move |_, meter| {
        let registry = Registry::new();
        let configs = [config(bulkheads, 10), config(bulkheads, 20)];
        registry.apply(&configs[0], &Tokio).expect("valid");
        let next = Cell::new(1);
        meter(&mut || {
            let applied = registry.apply(&configs[next.replace(1 - next.get())], &Tokio).expect("valid");
            assert_eq!(applied.changes.len(), bulkheads);
        });
    });
    scene.pace(Pace::Fixed(bulkheads))
}

fn added(bulkheads: usize) -> Scene {
    let scene = Scene::new(format!("config/{bulkheads} added"), move |_, meter| {
        let config = config(bulkheads, 10);
        meter(&mut || {
            // A new one each time, because the meter may warm up.
            let registry = Registry::new();
            let applied = registry.apply(&config, &Tokio).expect("valid");
            assert_eq!(applied.changes.len(), bulkheads);
        });
    });
    scene.pace(Pace::Fixed(bulkheads))
}
