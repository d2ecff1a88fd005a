//! *python*: the Python library of the same name and behaviour, on asyncio. The script is in
//! `benches/python`.

use crate::goal::{Figure, Goal, Row};

pub(crate) fn goal() -> Goal {
    let rows = [
        Row::new("slot + drop", PEER, Figure::Python("uncontended/slot", "uncontended")).at_most(1.0 / 1_000.0),
        Row::new("1,000 tasks, limit 10", PEER, Figure::Python("hand-off/slot", "hand-off")).at_most(1.0 / 80.0),
    ];
    Goal::new("python", rows)
}

const PEER: &str = "Python bulklink 0.6.0";
