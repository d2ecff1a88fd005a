//! Every script of inputs up to a depth, in small worlds of partitions, against their reference
//! model.
//!
//! Runs as part of `cargo test`. `BULKLINK_DEPTH` makes its scripts longer by as much as those of
//! the gate's search.

use bulklink_model::partitions::{Input, KEYS, Start, World};
use bulklink_model::search::{Extent, search};

const EXTENTS: [Extent; 2] = [
    Extent { depth: 4, scripts: 477_435, inputs: 653_724 },
    Extent { depth: 5, scripts: 5_070_927, inputs: 6_937_525 },
];

fn main() {
    search::<World>("partitions", &worlds(), &EXTENTS);
}

/// Returns numbers of partitions and timeouts in every combination, each with two preludes.
///
/// The preludes are: none; and every partition used and then idle, the first a nanosecond before
/// the others.
fn worlds() -> Vec<Start> {
    let mut worlds = vec![];
    for max_partitions in 1..KEYS {
        for idle_timeout in [None, Some(0), Some(2)] {
            for prelude in [vec![], idle(max_partitions)] {
                worlds.push(Start { max_partitions, idle_timeout, prelude });
            }
        }
    }
    worlds
}

fn idle(partitions: usize) -> Vec<Input> {
    let enter = (0..partitions).map(Input::Enter);
    let end = (1..partitions).map(Input::End);
    enter.chain([Input::End(0), Input::Tick]).chain(end).collect()
}
