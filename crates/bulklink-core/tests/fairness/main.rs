//! How a pool shares its capacity among keys, against figures that are known without it:
//! simulations in virtual time.
//!
//! Runs as part of `cargo test`. With `BULKLINK_DEPTH` of four or more, most runs are ten times as
//! long.

mod chain;
mod classes;
mod front;
mod gates;
mod plain;
mod plant;
mod rooms;
mod shares;
mod victims;

use std::env;

use bulklink_core::pool::Limits;
use front::Front;
use plain::Plain;
use plant::{Figures, Source, run};

/// How long a call of the open plants waits at most, in seconds.
const WAIT_LIMIT: f64 = 0.2;
/// The mean time of most operations, in seconds.
const HOLD: f64 = 0.01;

/// Returns the first number, or the second where long runs are asked for.
fn usual_or_long<T>(usual: T, long: T) -> T {
    let depth = env::var("BULKLINK_DEPTH").ok().and_then(|depth| depth.parse::<u32>().ok());
    if depth.is_some_and(|depth| depth > 3) { long } else { usual }
}

fn limits(capacity: u32, waiting_room: u32) -> Limits {
    let mut limits = Limits::new(capacity);
    limits.waiting_room = waiting_room;
    limits
}

/// Runs the sources with lines that are queues and nothing else.
fn run_plain(limits: &Limits, sources: &[Source], seconds: f64, wait_limit: Option<f64>, seed: u64) -> Figures {
    run(&mut Front::<Plain>::new(limits.clone(), sources), sources, seconds, wait_limit, seed)
}

/// Returns the mean of the samples, and the half of its interval of confidence of 99.9 %.
/// `quantile` is that of Student's distribution for so many samples.
fn estimate(samples: &[f64], quantile: f64) -> (f64, f64) {
    let count = plant::float(samples.len() as u64);
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, quantile * (variance / count).sqrt())
}
