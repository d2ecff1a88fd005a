//! The row of a breaker as JSON.

use bulklink_breaker::{BreakerStatus, Counts, KeysStatus};
use serde_json::{Value, json};

use super::{BreakerRow, Recently};
use crate::page::json::{findings, name, seconds};
use crate::page::row::per_second;

pub(in crate::page) fn row(row: &BreakerRow) -> Value {
    let BreakerStatus { circuit, totals, .. } = &row.status;
    let mut value = circuit_of(&row.status);
    value["kind"] = "breaker".into();
    value["severity"] = row.severity.as_str().into();
    value["is_connected"] = row.status.is_connected.into();
    value["window"] = counts(&circuit.counts);
    value["probes"] = json!({
        "running": circuit.probes,
        "succeeded": circuit.probe_successes,
        "failed": circuit.probe_failures,
    });
    value["recently"] = row.recently.as_ref().map(recent).into();
    value["totals"] = json!({
        "successes": totals.successes,
        "failures": totals.failures,
        "timed_out": totals.timed_out,
        "panicked": totals.panicked,
        "slow": totals.slow,
        "ignored": totals.ignored,
        "cancelled": totals.cancelled,
        "stale": totals.stale,
        "rejected": totals.rejected,
        "probes": totals.probes,
        "opened": totals.opened,
    });
    value["keys"] = row.status.keys.as_ref().map(keys).into();
    value["findings"] = findings(&row.findings);
    value
}

/// The figures of one circuit that a key has, too.
fn circuit_of(status: &BreakerStatus) -> Value {
    json!({
        "label": name(&status.label),
        "state": status.circuit.state.as_str(),
        "is_forced": status.circuit.is_forced,
        "state_age_seconds": seconds(status.state_age),
        "unhealthy_seconds": status.unhealthy_for.map(seconds),
        "retry_after_seconds": status.retry_after.map(seconds),
        "tripped": status.tripped.as_ref().map(counts),
    })
}

fn keys(keys: &KeysStatus) -> Value {
    let worst = keys.worst.iter().map(|status| {
        let mut value = circuit_of(status);
        value["rejected"] = status.totals.rejected.into();
        value
    });
    json!({
        "kept": keys.kept,
        "max": keys.max,
        "open": keys.open,
        "half_open": keys.half_open,
        "evicted": keys.evicted,
        "without_circuit": keys.without_circuit,
        "worst": worst.collect::<Vec<_>>(),
    })
}

fn recent(recently: &Recently) -> Value {
    let Recently { time, totals } = recently;
    json!({
        "seconds": seconds(*time),
        "rejected": totals.rejected,
        "ended": totals.ended(),
        "failures": totals.failures,
        "slow": totals.slow,
        "rejected_share": recently.rejected_share(),
        "rejected_per_second": per_second(totals.rejected, *time),
    })
}

fn counts(counts: &Counts) -> Value {
    json!({ "calls": counts.calls, "failures": counts.failures, "slow": counts.slow })
}
