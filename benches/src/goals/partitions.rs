//! *partitions*: a call by key costs the same and memory stays bounded, however many keys there were and however many are kept.

use std::alloc::System;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex};

use bulklink_tokio::Partitions;
use stats_alloc::{Region, StatsAlloc};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::uncontended::CAPACITY;
use super::uncontended_try;
use crate::goal::{Figure, Goal, Limit, Row};
use crate::measure::float;
use crate::peers::Answer;
use crate::scene::Scene;
use crate::work::repeat_by;

/// Always the same, so that the same comes out of every run.
type Hasher = BuildHasherDefault<DefaultHasher>;

type Keyed = Partitions<u64, Hasher>;

const SEEN: u64 = 1_000_000;
const MANY: usize = 10_000;
const FEW: usize = 10;

/// Readings of bytes, with many kept.
const HALF_WAY: &str = "a partition, 500,000 keys seen";
const AT_THE_END: &str = "a partition, 1,000,000 keys seen";
const GROWTH: &str = "partitions, growth from 500,000 keys to 1,000,000";

pub(crate) fn goal() -> Goal {
    let call = "try_slot + drop by key";
    let late = "try_slot + drop by key, 1,000,000 keys seen, 10,000 kept";
    let bytes = |ours: &str| Figure::Memory(ours.to_owned(), HALF_WAY.to_owned(), "bytes");
    let early = "our own with 500,000 keys seen, each";
    let rows = vec![
        Row::instructions(late, "our own with 10 kept", kept(MANY), kept(FEW)).at_most(1.50),
        Row::new("a partition of 10,000, 1,000,000 keys seen", early, bytes(AT_THE_END)).limit(Limit::Ours(800.0)),
        Row::new("10,000 partitions: growth by another 500,000 keys", early, bytes(GROWTH)).limit(Limit::Ours(0.0)),
        Row::instructions(call, "our own without keys", kept(FEW), uncontended_try::try_slot()),
        Row::instructions(call, "HashMap of tokio semaphores, never cleared", kept(FEW), semaphores()),
        Row::instructions(
            "try_slot + drop by a new key, which evicts",
            "our own by one that is kept",
            newcomers(),
            kept(FEW),
        ),
    ];
    Goal { id: "partitions", rows }
}

fn partitions(max_partitions: usize) -> Keyed {
    let builder = Partitions::builder("bench").parallelism(CAPACITY).max_partitions(max_partitions);
    builder.hasher(Hasher::default()).build().expect("these are valid limits")
}

/// Uses each of the keys for a moment.
fn see(partitions: &Keyed, keys: impl IntoIterator<Item = u64>) {
    for key in keys {
        drop(partitions.try_slot(&key).expect("there is room"));
    }
}

/// Calls by keys that have a partition, one after the other, once a million keys have been seen.
fn kept(kept: usize) -> Scene {
    Scene::new(format!("partitions/try_slot, {SEEN} keys seen, {kept} kept"), move |operations, meter| {
        let partitions = partitions(kept);
        see(&partitions, 0..SEEN);
        repeat_by(SEEN - kept as u64..SEEN, operations, meter, |key| partitions.try_slot(&key).permit());
    })
}

/// Calls by keys that are new, with all places taken by others that are idle.
fn newcomers() -> Scene {
    Scene::new("partitions/try_slot of a new key", |operations, meter| {
        let partitions = partitions(FEW);
        see(&partitions, 0..FEW as u64);
        repeat_by(FEW as u64..u64::MAX, operations, meter, |key| partitions.try_slot(&key).permit());
    })
}

/// What one would write without a library; it grows with every key.
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

/// Bytes on the heap with many partitions kept, after half of the keys and after all.
pub(crate) fn read(heap: &StatsAlloc<System>) -> [(String, f64); 3] {
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
    let readings = [(HALF_WAY, each(half_way)), (AT_THE_END, each(at_the_end)), (GROWTH, at_the_end - half_way)];
    readings.map(|(name, bytes)| (name.to_owned(), bytes))
}
