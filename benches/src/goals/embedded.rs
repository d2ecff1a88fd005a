//! *embedded*: the core fits, and builds where it must.

use crate::goal::{Figure, Goal, Limit, Row};

pub(crate) fn goal() -> Goal {
    let text = Figure::Embedded("text", "bytes");
    let builds = Figure::Embedded("failed builds", "failed builds");
    let rows = vec![
        Row::new(".text of the core, thumbv7em, opt-level s, LTO", "nobody", text)
            .limit(Limit::Ours(8.0 * 1024.0))
            .missed_at_ours(10.8 * 1024.0),
        Row::new("core on thumbv6m, front on thumbv7m", "nobody", builds).limit(Limit::Ours(0.0)),
    ];
    Goal { id: "embedded", rows }
}
