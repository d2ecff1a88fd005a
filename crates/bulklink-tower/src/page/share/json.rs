//! The row of a share as JSON.

use std::error::Error;

use bulklink_fleet::ShareStatus;
use serde_json::{Value, json};

use super::{ShareRow, reason};
use crate::page::json::{findings, name, seconds};

pub(in crate::page) fn row(row: &ShareRow) -> Value {
    let ShareStatus { error, refusal, declined, .. } = &row.status;
    let text = |error: Option<&(dyn Error + 'static)>| error.map(reason);
    json!({
        "label": name(&row.label),
        "kind": "share",
        "severity": row.severity.as_str(),
        "state": row.state(),
        "limit": row.status.limit,
        "granted": row.status.granted,
        "in_use": row.status.in_use,
        "processes": row.status.processes,
        "quarantine_seconds": row.status.quarantine.map(seconds),
        "lease_left_seconds": row.status.lease_left.map(seconds),
        "error": text(error.as_ref().map(|error| error as _)),
        "refusal": text(refusal.as_ref().map(|refusal| refusal as _)),
        "declined": text(declined.as_ref().map(|declined| declined as _)),
        "lost": row.status.lost,
        "findings": findings(&row.findings),
    })
}
