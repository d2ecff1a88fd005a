//! A plan as JSON: an object on a line. Its keys are stable.

use std::time::Duration;

use bulklink_plan::{Ask, Estimate, Figures, Plan, WhatIf};
use serde_json::{Value, json};

/// Returns the report, which ends with the end of a line.
pub(crate) fn report(ask: &Ask, plan: &Plan) -> String {
    let limits = &plan.limits;
    let mut report = json!({
        "complete": plan.is_complete,
        "limits": {
            "parallelism": limits.capacity,
            "waiting_room": limits.waiting_room,
            "wait_limit_ns": limits.wait_limit.map(nanos),
        },
        "least_waiting_room": plan.least_room,
        "offered": ask.offered(),
        "if": plan.what_ifs.iter().map(what_if).collect::<Vec<_>>(),
        "simulations": plan.progress.simulations,
        "calls": plan.progress.arrivals,
        "seed": ask.seed,
    });
    add(&mut report, figures(&plan.figures));
    report.to_string() + "\n"
}

fn what_if(what_if: &WhatIf) -> Value {
    let mut row = json!({ "what": what_if.what, "needs": what_if.needs });
    add(&mut row, figures(&what_if.figures));
    row
}

fn figures(figures: &Figures) -> Value {
    let mut rejected = estimate(figures.rejected);
    add(&mut rejected, json!({ "seen": figures.rejections, "of": figures.arrivals }));
    json!({
        "rejected": rejected,
        "no_room": figures.no_room,
        "too_late": figures.too_late,
        "in_time": figures.in_time.map(estimate),
        "too_long": figures.too_long,
        "wait_ns": { "p50": nanos(figures.wait_p50), "p99": nanos(figures.wait_p99) },
        "in_use": figures.in_use,
    })
}

fn estimate(estimate: Estimate) -> Value {
    json!({ "mean": estimate.mean, "half": estimate.half, "level": Estimate::LEVEL })
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Adds the entries of an object to another.
fn add(to: &mut Value, more: Value) {
    if let (Value::Object(to), Value::Object(more)) = (to, more) {
        to.extend(more);
    }
}
