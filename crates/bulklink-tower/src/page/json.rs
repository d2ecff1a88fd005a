//! The page as JSON.

use std::time::Duration;

use axum::http::StatusCode;
use bulklink::Restriction;
use bulklink::limit::Adaptive;
use bulklink::partitions::{KeyLoad, WorstKeys};
use serde_json::{Value, json};

use super::origin::Head;
use super::row::{Finding, Kind, Row, shortened};
use super::worst::{Rows, Shown};

pub(super) fn page(head: &Head<'_>, page: &Rows) -> String {
    let rows = page.rows.iter().map(|shown| match shown {
        Shown::Bulkhead(one) => row(one),
        #[cfg(feature = "breaker")]
        Shown::Breaker(one) => super::breaker::json::row(one),
        #[cfg(feature = "fleet")]
        Shown::Share(one) => super::share::json::row(one),
    });
    let (breakers, others): (Vec<_>, Vec<_>) = rows.partition(|row| row["kind"] == "breaker");
    let (shares, bulkheads): (Vec<_>, Vec<_>) = others.into_iter().partition(|row| row["kind"] == "share");
    json!({
        "time": head.time,
        "process": head.process,
        "host": head.host,
        "up_seconds": seconds(head.up),
        "settings": head.file.as_deref().map(|file| json!({
            "path": name(&file.path),
            "applied": file.applied,
            "refused": file.refused,
            "refusal": file.refusal,
        })),
        "total": page.total(),
        "left_out": page.left_out(),
        "bulkheads": bulkheads,
        "breakers": breakers,
        "shares": shares,
    })
    .to_string()
}

pub(super) fn problem(detail: &str) -> String {
    let status = StatusCode::BAD_REQUEST.as_u16();
    json!({ "title": "Bad parameter", "status": status, "detail": detail }).to_string()
}

fn row(row: &Row) -> Value {
    let Row { limits, totals, .. } = row;
    let mut value = json!({
        "label": name(&row.label),
        "severity": row.severity.as_str(),
        "is_closed": row.is_closed,
        "is_paused": row.is_paused,
        "rejected_share": row.rejected_share,
        "recently": row.recently.as_ref().map(|recently| json!({
            "seconds": seconds(recently.time),
            "admitted": recently.admitted,
            "rejected": recently.rejected,
            "cancelled": recently.cancelled,
            "rejected_share": recently.rejected_share,
            "admitted_per_second": recently.per_second(recently.admitted),
            "rejected_per_second": recently.per_second(recently.rejected),
        })),
        "limits": {
            "capacity": limits.capacity,
            "waiting_room": limits.waiting_room,
            "waiting_room_units": limits.waiting_room_units,
            "wait_limit_seconds": limits.wait_limit.map(seconds),
        },
        "in_flight": row.in_flight,
        "in_use": row.in_use,
        "written_off": row.written_off,
        "waiting": row.waiting,
        "waiting_units": row.waiting_units,
        "uncollected": row.uncollected,
        "totals": {
            "admitted": totals.admitted,
            "admitted_from_queue": totals.admitted_from_queue,
            "finished": totals.finished,
            "cancelled": totals.cancelled,
            "abandoned": totals.abandoned,
            "taken_back": row.taken_back,
            "rejected": row.rejected,
            "saturated": totals.saturated,
            "displaced": totals.displaced,
            "expired": totals.expired.saturating_add(totals.expired_before_queue),
            "closed": totals.closed(),
            "mean_wait_seconds": totals.average_wait().map(seconds),
        },
        "findings": findings(&row.findings),
    });
    match &row.kind {
        Kind::Bulkhead { oldest_wait, oldest_uncollected, longest_wait, adaptive } => {
            value["kind"] = "bulkhead".into();
            value["utilization"] = json!(row.utilization);
            let allows = |restriction: Restriction| json!({ "by": restriction.by, "units": restriction.units });
            value["restriction"] = json!(row.restriction.map(allows));
            value["oldest_wait_seconds"] = json!(oldest_wait.map(seconds));
            value["oldest_uncollected_seconds"] = json!(oldest_uncollected.map(seconds));
            value["longest_wait_seconds"] = json!(seconds(*longest_wait));
            value["adaptive"] = json!(adaptive.as_deref().map(adaptive_limit));
        }
        Kind::Partitions { status, adaptive, keys } => {
            value["kind"] = "partitions".into();
            value["partitions"] = json!({
                "kept": status.partitions,
                "in_use": status.active_partitions,
                "max": status.snapshot.limits.max_partitions,
                "created": status.totals.created,
                "evicted": status.totals.evicted,
                "limit_rejected": status.totals.limit_rejected,
                "closed_rejected": status.totals.closed_rejected,
            });
            let together = |(limit, failed)| json!({ "limit": limit, "failed": failed });
            value["shared"] = json!(status.shared.map(|shared| json!({
                "capacity": shared.capacity,
                "in_use": shared.in_use,
                "peak_in_use": shared.peak_in_use,
                "waiting_room": shared.waiting_room,
                "waiting": shared.waiting,
            })));
            value["adaptive"] = json!(adaptive.map(together));
            value["keys"] = json!(keys.as_ref().map(worst_keys));
        }
    }
    value
}

fn adaptive_limit(adaptive: &Adaptive) -> Value {
    let Adaptive { state, bounds: (least, most), .. } = adaptive;
    json!({
        "limit": state.limit,
        "least": least,
        "most": most,
        "mode": adaptive.mode.as_str(),
        "has_failed": adaptive.has_failed,
        "step": state.step.as_str(),
        "slope": state.slope,
        "inflation": state.inflation,
        "useful": state.useful,
        "baseline_seconds": seconds(state.baseline),
        "edge": state.edge,
        "windows": state.windows,
        "changes": state.changes,
        "unpaid_falls": state.unpaid_falls,
        "stalls": state.stalls,
        "raised": adaptive.raised,
        "lowered": adaptive.lowered,
    })
}

pub(super) fn findings(findings: &[Finding]) -> Value {
    let finding = |found: &Finding| {
        let severity = found.severity.as_str();
        json!({ "severity": severity, "code": found.code, "message": found.message })
    };
    findings.iter().map(finding).collect()
}

fn worst_keys(keys: &WorstKeys) -> Value {
    let loads = |loads: &[KeyLoad]| loads.iter().map(load).collect::<Vec<_>>();
    json!({
        "seconds": keys.period.map(seconds),
        "in_use": loads(&keys.in_use),
        "waiting": loads(&keys.waiting),
        "rejected": loads(&keys.rejected),
    })
}

fn load(load: &KeyLoad) -> Value {
    json!({
        "key": name(&load.key),
        "in_use": load.in_use,
        "capacity": load.capacity,
        "waiting": load.waiting,
        "waiting_room": load.waiting_room,
        "rejected": load.rejected,
    })
}

pub(super) fn name(name: &str) -> String {
    let (name, is_cut_off) = shortened(name);
    if is_cut_off { format!("{name}…") } else { name.to_owned() }
}

pub(super) fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}
