//! *memory*: the size of a waiter, in its future and on the heap, and of a slot.
//!
//! A program with a counting allocator reads these figures. The other programs keep the usual
//! allocator.

use std::alloc::System;
use std::collections::BTreeMap;
use std::future::Future;

use bulklink_tokio::{OwnedSlot, Slot};
use stats_alloc::{Region, StatsAlloc};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::{layer, observe, partitions};
use crate::goal::{Figure, Goal, Limit, Row};
use crate::measure::float;
use crate::peers::{LONG, bulkhead, limited, tokio_runtime};
use crate::work::{now, poll};

const WAITERS: [(usize, &str); 2] = [(1_000, "1,000"), (10_000, "10,000")];
/// The number of waiters that the summary shows.
const SHOWN: usize = 10_000;

pub(crate) fn goal() -> Goal {
    let waiters = WAITERS.into_iter().flat_map(|(waiters, shown)| of_waiters(waiters, shown));
    let slots = [
        row("a slot", "tokio permit", "slot", "tokio permit", "bytes").limit(Limit::Ours(16.0)),
        row("an owned slot", "tokio owned permit", "owned slot", "tokio owned permit", "bytes"),
    ];
    Goal::new("memory", waiters.chain(slots).collect::<Vec<_>>())
}

fn of_waiters(waiters: usize, shown: &str) -> [Row; 3] {
    let key = |contender: &str, what: &str| format!("{contender}, {waiters} waiting: {what}");
    let bytes = |what: &str, peer, ours, theirs| {
        row(format!("a waiter {what}, {shown} waiting"), peer, key(ours, "bytes"), key(theirs, "bytes"), "bytes")
    };
    let allocations = key("slot", "allocations");
    let theirs = key("tokio acquire", "allocations");
    let limited = bytes("with a limit", "tokio timeout(acquire)", "slot with a limit", "tokio timeout(acquire)")
        .limit(Limit::Ours(170.0));
    [
        bytes("without a limit", "tokio acquire", "slot", "tokio acquire").limit(Limit::Ours(84.0)),
        if waiters == SHOWN { limited.headline("Memory of a waiter with a wait limit, of 10,000") } else { limited },
        row(format!("a waiter without a limit, {shown} waiting"), "tokio acquire", allocations, theirs, "allocations")
            .limit(Limit::Ours(0.02)),
    ]
}

fn row(
    what: impl Into<String>,
    peer: &'static str,
    ours: impl Into<String>,
    theirs: impl Into<String>,
    unit: &'static str,
) -> Row {
    Row::new(what, peer, Figure::Memory(ours.into(), Some(theirs.into()), unit))
}

/// Returns all readings by name.
#[must_use]
pub fn read(heap: &'static StatsAlloc<System>) -> BTreeMap<String, f64> {
    let runtime = tokio_runtime();
    let _entered = runtime.enter();
    let waiters = WAITERS.into_iter().flat_map(|(waiters, _)| read_waiters(heap, waiters));
    waiters
        .chain(read_slots())
        .chain(partitions::read(heap, &runtime))
        .chain(observe::read(heap))
        .chain(layer::read(heap))
        .collect()
}

fn read_waiters(heap: &StatsAlloc<System>, waiters: usize) -> Vec<(String, f64)> {
    let (ours, with_limit, semaphore) = (bulkhead(1), limited(1, LONG), Semaphore::new(1));
    let _held = (now(|| ours.slot()), now(|| with_limit.slot()), now(|| semaphore.acquire()));
    let costs = [
        ("slot", cost(heap, waiters, || ours.slot())),
        ("slot with a limit", cost(heap, waiters, || with_limit.slot())),
        ("tokio acquire", cost(heap, waiters, || semaphore.acquire())),
        ("tokio timeout(acquire)", cost(heap, waiters, || timeout(LONG, semaphore.acquire()))),
    ];
    let readings = costs.into_iter().flat_map(|(contender, (bytes, allocations))| {
        [(contender, "bytes", bytes), (contender, "allocations", allocations)]
    });
    readings.map(|(contender, what, value)| (format!("{contender}, {waiters} waiting: {what}"), value)).collect()
}

/// Returns the bytes and the allocations of one waiter: its future, wherever that is, and what its
/// first poll leaves on the heap.
fn cost<F: Future>(heap: &StatsAlloc<System>, waiters: usize, acquire: impl Fn() -> F) -> (f64, f64) {
    let mut line: Vec<_> = (0..waiters).map(|_| Box::pin(acquire())).collect();
    let region = Region::new(heap);
    for waiter in &mut line {
        assert!(poll(waiter.as_mut()).is_pending(), "the call is admitted, though there should be no room");
    }
    let change = region.change();
    let kept = float(change.bytes_allocated as u128) - float(change.bytes_deallocated as u128);
    let count = float(waiters as u128);
    let allocations = float((change.allocations + change.reallocations) as u128);
    (float(size_of::<F>() as u128) + kept / count, allocations / count)
}

fn read_slots() -> [(String, f64); 4] {
    let sizes = [
        ("slot", size_of::<Slot<'_>>()),
        ("tokio permit", size_of::<SemaphorePermit<'_>>()),
        ("owned slot", size_of::<OwnedSlot>()),
        ("tokio owned permit", size_of::<OwnedSemaphorePermit>()),
    ];
    sizes.map(|(name, size)| (name.to_owned(), float(size as u128)))
}
