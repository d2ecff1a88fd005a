//! *embedded*: the core's code is small, and core and front build for microcontrollers.

use crate::goal::{Figure, Goal, Limit, NO_PEER, Row};

pub(crate) fn goal() -> Goal {
    let text = Figure::Embedded("text", "bytes");
    let builds = Figure::Embedded("failed builds", "failed builds");
    let rows = [
        Row::new(".text of the core, thumbv7em, opt-level s, LTO", NO_PEER, text)
            .limit(Limit::Ours(8.0 * 1024.0))
            .missed_at_ours(10.8 * 1024.0),
        Row::new("core on thumbv6m, front on thumbv7m", NO_PEER, builds).limit(Limit::Ours(0.0)),
    ];
    Goal::new("embedded", rows)
}
