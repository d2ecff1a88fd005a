//! *adaptive*: a limit that finds itself takes a sample of each call that ends.
//!
//! The samples are those of calls of 1 to 40 ms that press, in the phase after the start. The limit
//! judges by windows of 250 of them.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink_tokio::Bulkhead;
use bulklink_tokio::limit::{Knee, Limit as _, Sample};

use super::uncontended::{self, CAPACITY};
use crate::goal::{Goal, Limit, Row};
use crate::peers::ROOM;
use crate::scene::Scene;
use crate::work::{repeat, take};

pub(crate) fn goal() -> Goal {
    let (call, of_knee) = ("slot + drop, the limit finds itself", "a sample of Knee");
    let rows = [
        Row::instructions(of_knee, "two locked instructions", sample(), uncontended::floor()).limit(Limit::Ours(210.0)),
        Row::time(of_knee, "two locked instructions", sample(), uncontended::floor()).limit(Limit::Ours(10.0)),
        Row::instructions(call, "our own without", slot(), uncontended::slot()),
        Row::time(call, "our own without", slot(), uncontended::slot()),
    ];
    Goal::new("adaptive", rows)
}

fn sample() -> Scene {
    Scene::new("adaptive/a sample of Knee", |operations, meter| {
        // Short ones are the most frequent, in an order without a pattern.
        let holds = (0..HOLDS as u64).map(|number| Duration::from_micros(1_000 + (number * 619 % 1_024).pow(2) / 27));
        let holds: [Duration; HOLDS] = holds.collect::<Vec<_>>().try_into().expect("so many were made");
        let (limit, now, next) = (RefCell::new(Knee::between(4, 200)), Cell::new(Instant::EPOCH), Cell::new(0));
        let sample = || {
            let mut limit = limit.borrow_mut();
            // The dependency completes so many calls, however many run.
            now.set(now.get().saturating_add(Duration::from_micros(400)));
            next.set(next.get() + 1);
            let sample = Sample::new(now.get(), holds[next.get() % HOLDS]).in_flight(limit.limit());
            limit.sample(&sample.pressed(true));
        };
        for _ in 0..20_000 {
            sample();
        }
        repeat(operations, meter, sample);
        let state = limit.borrow().state();
        assert!(state.windows > 20, "{state:?}");
    })
}

const HOLDS: usize = 1_024;

fn slot() -> Scene {
    Scene::new("adaptive/slot", |operations, meter| {
        let builder = Bulkhead::builder("bench").parallelism(CAPACITY).waiting_room(ROOM);
        let bulkhead = builder.adaptive(Knee::between(1, CAPACITY)).build().expect("these are valid limits");
        take(operations, meter, || bulkhead.slot());
    })
}
