//! *partitions*: for any number of keys seen and of partitions kept, a call by key costs the same
//! and memory stays bounded.

use std::alloc::System;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink_tokio::{Partitions, partitions};
use stats_alloc::{Region, StatsAlloc};
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

use super::uncontended::CAPACITY;
use super::uncontended_try;
use crate::goal::{Figure, Goal, Limit, Row};
use crate::measure::float;
use crate::peers::Answer;
use crate::scene::Scene;
use crate::work::{poll, repeat_by};

/// Without a random seed, so that every run gives the same figures.
type Hasher = BuildHasherDefault<DefaultHasher>;

type Keyed = Partitions<u64, Hasher>;

const SEEN: u64 = 1_000_000;
const MANY: usize = 10_000;
const FEW: usize = 10;
const HOUR: Duration = Duration::from_hours(1);

/// Names of readings of bytes, with `MANY` partitions kept.
const HALF_WAY: &str = "a partition, 500,000 keys seen";
const AT_THE_END: &str = "a partition, 1,000,000 keys seen";
const GROWTH: &str = "partitions, growth from 500,000 keys to 1,000,000";

/// The same, after one call has waited in each partition.
const QUEUED: &str = "a partition, one call has waited";
const QUEUED_WITH_LIMIT: &str = "a partition, one call has waited with a limit";

/// 1.2 KiB.
const SMALL: f64 = 1.2 * 1024.0;

pub(crate) fn goal() -> Goal {
    let call = "try_slot + drop by key";
    let late = "try_slot + drop by key, 1,000,000 keys seen, 10,000 kept";
    let bytes = |ours: &str| Figure::Memory(ours.to_owned(), Some(HALF_WAY.to_owned()), "bytes");
    let early = "our own with 500,000 keys seen, each";
    let rows = [
        Row::instructions(late, "our own with 10 kept", kept(MANY), kept(FEW)).at_most(1.50),
        Row::new("a partition of 10,000, 1,000,000 keys seen", early, bytes(AT_THE_END)).limit(Limit::Ours(800.0)),
        Row::new("10,000 partitions: growth by another 500,000 keys", early, bytes(GROWTH)).limit(Limit::Ours(0.0)),
        Row::new("a partition of 10,000, one call has waited", early, bytes(QUEUED)).limit(Limit::Ours(SMALL)),
        Row::new("the same with a limit on the wait", early, bytes(QUEUED_WITH_LIMIT)).limit(Limit::Ours(SMALL)),
        Row::instructions(call, "our own without keys", kept(FEW), uncontended_try::try_slot()),
        Row::instructions(call, "HashMap of tokio semaphores, never cleared", kept(FEW), semaphores()),
        Row::instructions(
            "try_slot + drop by a new key, which evicts",
            "our own by one that is kept",
            newcomers(),
            kept(FEW),
        ),
    ];
    Goal::new("partitions", rows)
}

fn partitions(max_partitions: usize) -> Keyed {
    let builder = Partitions::builder("bench").parallelism(CAPACITY).max_partitions(max_partitions);
    builder.hasher(Hasher::default()).build().expect("these are valid limits")
}

/// Returns the bytes that a partition keeps on the heap after one call has waited in it, when it is
/// idle again.
fn queued(heap: &StatsAlloc<System>, runtime: &Runtime, limit: Option<Duration>) -> f64 {
    let region = Region::new(heap);
    let builder = Partitions::builder("bench").parallelism(1).waiting_room(50).max_partitions(MANY);
    let builder = limit.into_iter().fold(builder, partitions::Builder::wait_limit);
    let partitions: Keyed = builder.hasher(Hasher::default()).build().expect("these are valid limits");
    for key in 0..MANY as u64 {
        let running = partitions.key(&key).try_slot().expect("there is room");
        assert!(poll(pin!(partitions.key(&key).slot())).is_pending(), "it waits");
        drop(running);
        // Lets the partition's background work end.
        runtime.block_on(yield_now());
    }
    let change = region.change();
    float((change.bytes_allocated - change.bytes_deallocated) as u128) / float(MANY as u128)
}

/// Takes and releases a slot of each key.
fn see(partitions: &Keyed, keys: impl IntoIterator<Item = u64>) {
    for key in keys {
        drop(partitions.key(&key).try_slot().expect("there is room"));
    }
}

/// Calls by keys that have a partition, one after the other, after a million keys were seen.
fn kept(kept: usize) -> Scene {
    Scene::new(format!("partitions/try_slot, {SEEN} keys seen, {kept} kept"), move |operations, meter| {
        let partitions = partitions(kept);
        see(&partitions, 0..SEEN);
        repeat_by(SEEN - kept as u64..SEEN, operations, meter, |key| partitions.key(&key).try_slot().permit());
    })
}

/// Calls by new keys, while all places are taken by idle partitions, so that each call evicts one.
fn newcomers() -> Scene {
    Scene::new("partitions/try_slot of a new key", |operations, meter| {
        let partitions = partitions(FEW);
        see(&partitions, 0..FEW as u64);
        repeat_by(FEW as u64..u64::MAX, operations, meter, |key| partitions.key(&key).try_slot().permit());
    })
}

/// The usual code without a library. It grows with every key.
fn semaphores() -> Scene {
    Scene::new("partitions/HashMap of semaphores", |operations, meter| {
        let semaphores: Mutex<HashMap<u64, Arc<Semaphore>, Hasher>> = Mutex::default();
        let acquire = |key| -> OwnedSemaphorePermit {
            let semaphore = {
                let mut semaphores = semaphores.lock().expect("no panic");
                Arc::clone(semaphores.entry(key).or_insert_with(|| Arc::new(Semaphore::new(CAPACITY))))
            };
            semaphore.try_acquire_owned().permit()
        };
        repeat_by(0..FEW as u64, operations, meter, acquire);
    })
}

/// Returns the bytes on the heap with `MANY` partitions kept: after half of the keys, after all,
/// and after calls have waited.
pub(crate) fn read(heap: &StatsAlloc<System>, runtime: &Runtime) -> [(String, f64); 5] {
    let (plain, limited) = (queued(heap, runtime, None), queued(heap, runtime, Some(HOUR)));
    let region = Region::new(heap);
    let partitions = partitions(MANY);
    let bytes = || {
        let change = region.change();
        float((change.bytes_allocated - change.bytes_deallocated) as u128)
    };
    see(&partitions, 0..SEEN / 2);
    let half_way = bytes();
    see(&partitions, SEEN / 2..SEEN);
    let at_the_end = bytes();
    let each = |bytes| bytes / float(MANY as u128);
    let readings = [
        (HALF_WAY, each(half_way)),
        (AT_THE_END, each(at_the_end)),
        (GROWTH, at_the_end - half_way),
        (QUEUED, plain),
        (QUEUED_WITH_LIMIT, limited),
    ];
    readings.map(|(name, bytes)| (name.to_owned(), bytes))
}
