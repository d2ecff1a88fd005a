//! Every script of commands of two processes up to a depth, on the server's machine.
//!
//! Runs as part of `cargo test`. `BULKLINK_DEPTH` makes its scripts longer by as much as those of
//! the gate's search.

mod rules;
mod world;

use bulklink_model::search::{Extent, search};
use world::{Input, World};

const EXTENTS: [Extent; 2] =
    [Extent { depth: 1, scripts: 5_643, inputs: 5_814 }, Extent { depth: 2, scripts: 107_217, inputs: 110_637 }];

fn main() {
    search::<World>("table", &worlds(), &EXTENTS);
}

/// Returns what happened before: nothing; both have joined; it is full, with leases of one or two
/// units; there are waiters of both; data was lost while leases lived; the server was replaced.
fn worlds() -> Vec<Vec<Input>> {
    let joined = [Input::Open(0), Input::Open(1)];
    let take = |ids: &[usize]| ids.iter().map(|id| Input::Acquire(*id, true)).collect::<Vec<_>>();
    let after = |ids, then: &[Input]| [&joined[..], &take(ids), then].concat();
    vec![
        vec![],
        after(&[], &[]),
        after(&[0, 2], &[]),
        after(&[1], &[]),
        after(&[0, 2, 3, 1], &[]),
        after(&[1, 3, 0, 2], &[Input::Tick(2)]),
        after(&[0, 2, 3], &[Input::Forget, Input::Open(0)]),
        after(&[0, 2, 3], &[Input::Restart, Input::Open(1)]),
        after(&[0, 2, 3, 1], &[Input::Resize(4), Input::Resize(1)]),
    ]
}
