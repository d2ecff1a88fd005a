//! Configurations that are applied again and again under load.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

use bulklink::config::{Config, KeyConfig};
use bulklink::{Bulkhead, Partitions, Registry, StdClock};

use super::World;
use crate::ms;

/// Configurations that differ in every limit that can change.
fn config(round: usize) -> Config {
    let mut config = Config::default();
    let section = config.bulkheads.entry("a".to_owned()).or_default();
    (section.capacity, section.waiting_room) = (Some(3 + round % 3), Some(1000 + round % 2));
    section.waiting_room_units = Some(5000 + round % 5);
    let section = config.partitions.entry("tenants".to_owned()).or_default();
    (section.capacity, section.waiting_room) = (Some(3 + round % 2), Some(1000));
    section.max_partitions = Some(100);
    let mut own = KeyConfig::default();
    own.capacity = Some(3 + round % 4);
    section.keys.insert("k1".to_owned(), own);
    let section = config.partitions.entry("models".to_owned()).or_default();
    (section.shared_capacity, section.shared_waiting_room) = (Some(4 + round % 3), Some(1000 + round % 2));
    (section.weight, section.ceiling) = (Some(1 + round % 4), Some(3 + round % 2));
    section.max_partitions = Some(100);
    let mut own = KeyConfig::default();
    (own.weight, own.floor, own.keep_floor) = (Some(1 + round % 5), Some(1), Some(round % 3 == 0));
    if round % 5 > 0 {
        section.keys.insert("k1".to_owned(), own);
    }
    if round % 7 == 0 {
        config.bulkheads.entry("sometimes".to_owned()).or_default().parallelism = Some(1);
    }
    config
}

#[test]
fn a_configuration_that_is_applied_1000_times_under_load_loses_no_waiter() {
    let mut world = World::new();
    world.registry.apply(&config(0), &world.clock).expect("valid");
    let (a, tenants, models) = (world.bulkhead("a"), world.partitions("tenants"), world.partitions("models"));
    let admitted = Rc::new(Cell::new(0_usize));
    let mut calls = Vec::new();
    for round in 0..1000_usize {
        for call in 0..6_usize {
            let (cost, hold) = (1 + (round + call) % 3, ms(1 + (round * 7 + call) as u64 % 5));
            let request = bulklink::Request::new().cost(cost);
            let (clock, admitted) = (world.clock.clone(), Rc::clone(&admitted));
            let (a, tenants, models) = (a.clone(), tenants.clone(), models.clone());
            calls.push(world.executor.spawn(async move {
                let slot = match call % 3 {
                    0 => a.with(request).slot().await,
                    1 => tenants.key(&format!("k{}", call / 3)).with(request).slot().await,
                    _ => models.key(&format!("k{}", call / 3)).with(request).slot().await,
                };
                let _slot = slot.expect("admitted in the end");
                admitted.set(admitted.get() + 1);
                bulklink::runtime::Timer::sleep_until(&clock, after(&clock, hold)).await;
            }));
        }
        world.executor.advance(ms(12));
        world.registry.apply(&config(round), &world.clock).expect("valid");
    }
    world.executor.advance(ms(60_000));
    assert!(calls.iter().all(bulklink::testing::Task::is_finished), "no waiter is lost");
    assert_eq!(admitted.get(), 6000);
    let status = a.status();
    assert_eq!((status.in_use, status.waiting, status.totals.rejected()), (0, 0, 0));
    assert_eq!(status.totals.admitted, 2000);
    for partitions in [tenants, models] {
        let sums = partitions.handle().sums();
        assert_eq!((sums.totals.admitted, sums.totals.rejected()), (2000, 0));
    }
}

fn after(clock: &bulklink::testing::FakeClock, hold: std::time::Duration) -> bulklink::runtime::Instant {
    bulklink::runtime::Clock::now(clock).saturating_add(hold)
}

#[test]
fn threads_that_wait_are_not_lost_either() {
    let registry = Registry::new();
    registry.apply(&config(0), &StdClock).expect("valid");
    let a: Bulkhead<StdClock> = registry.bulkhead("a").expect("a bulkhead");
    let models: Partitions<String, StdClock> = registry.partitions("models").expect("partitions");
    let (done, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|thread| {
                let (a, models, done, ended) = (&a, &models, &done, &ended);
                scope.spawn(move || {
                    while !ended.load(SeqCst) {
                        let cost = bulklink::Request::new().cost(1 + thread % 3);
                        drop(a.with(cost).blocking_slot().expect("admitted in the end"));
                        let key = ["k0", "k1", "k2"][thread % 3];
                        drop(models.key(key).with(cost).blocking_slot().expect("admitted in the end"));
                        done.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        for round in 0..1000 {
            registry.apply(&config(round), &StdClock).expect("valid");
        }
        ended.store(true, SeqCst);
        for caller in callers {
            caller.join().expect("no panic");
        }
    });
    let status = a.status();
    assert_eq!((status.in_use, status.waiting), (0, 0));
    let (done, sums) = (done.into_inner() as u64, models.handle().sums());
    assert_eq!((status.totals.admitted, sums.totals.admitted), (done, done));
    assert_eq!((sums.in_use, sums.waiting), (0, 0));
}
