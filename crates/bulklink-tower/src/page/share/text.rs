//! The row of a share as text.

use std::fmt::{self, Write};

use super::ShareRow;
use crate::page::text::{Age, Short, write_findings};

pub(in crate::page) fn write_row(row: &ShareRow, text: &mut String) -> fmt::Result {
    let (status, state) = (&row.status, row.state());
    write!(text, "\n{} (share): {}", Short(&row.label), row.severity)?;
    if state != "joined" {
        write!(text, ", {state}")?;
    }
    write!(text, "\n  units       {} of {} granted, {} in use", status.granted, status.limit, status.in_use)?;
    write!(text, "; processes: {}", status.processes)?;
    write!(text, "\n  state       {state}")?;
    if let Some(left) = status.quarantine {
        write!(text, ", for another {}", Age(left))?;
    }
    if let Some(left) = status.lease_left {
        write!(text, "; its lease ends in {}", Age(left))?;
    }
    write!(text, "; lost leases: {}", status.lost)?;
    write_findings(&row.findings, text)?;
    text.write_char('\n')
}
