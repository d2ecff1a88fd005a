//! The reports on circuits.

use std::iter;

use anstyle::Style;
use bulklink_fleet::Name;
use bulklink_fleet::circuits::Row;
use bulklink_postgres::Check as Found;
use serde::Serialize;

use crate::failure::explained;
use crate::report::{Names, Report, whole_millis};
use crate::text::{RED, YELLOW, cell, count, facts, known, styled, table, time, visible};

/// A circuit.
#[derive(Serialize)]
pub(crate) struct Circuit {
    #[serde(flatten)]
    names: Names,
    state: String,
    generation: u64,
    /// Open until it is closed by hand.
    forced: bool,
    /// The rest of the cool-down.
    retry_after_ms: Option<u64>,
    calls: u64,
    failures: u64,
    slow: u64,
    probes: u32,
    probe_successes: u32,
    probe_failures: u32,
    /// Whether processes have used different settings in the last minute. An answer to a change by
    /// hand does not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings_differ: Option<bool>,
}

/// All circuits of a namespace.
#[derive(Serialize)]
pub(crate) struct Circuits {
    pub(crate) circuits: Vec<Circuit>,
}

/// A circuit that was opened or closed by hand.
#[derive(Serialize)]
pub(crate) struct Forced(Circuit);

/// Whether circuits can be shared.
#[derive(Serialize)]
pub(crate) struct Check {
    address: String,
    result: &'static str,
    /// Tables and rights that have to be created or granted.
    missing: Vec<String>,
    /// Why circuits cannot be shared, or why that is not known.
    reason: Option<String>,
}

impl Circuit {
    pub(crate) fn of(name: &Name, row: &Row) -> Self {
        Circuit {
            names: Names::of(name),
            state: row.state.to_string(),
            generation: row.generation,
            forced: row.is_forced,
            retry_after_ms: row.retry_after.map(whole_millis),
            calls: row.counts.calls,
            failures: row.counts.failures,
            slow: row.counts.slow,
            probes: row.probes,
            probe_successes: row.probe_successes,
            probe_failures: row.probe_failures,
            settings_differ: Some(row.settings_differ),
        }
    }

    fn style(&self) -> Style {
        match &*self.state {
            "closed" => Style::new(),
            "open" => RED,
            _ => YELLOW,
        }
    }

    /// The state and its end.
    fn standing(&self) -> String {
        match (self.forced, self.retry_after_ms) {
            (true, _) => format!("{} by hand", self.state),
            (false, Some(rest)) => format!("{}, half-open in {}", self.state, time(rest)),
            (false, None) => self.state.clone(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let differ = self.settings_differ == Some(true);
        let notes = [self.forced.then_some("by hand"), differ.then_some("settings differ")];
        let notes = notes.into_iter().flatten().collect::<Vec<_>>().join(", ");
        vec![
            cell(&self.names.label),
            styled(self.style(), &self.state),
            cell(self.generation),
            known(self.retry_after_ms.map(time)),
            cell(self.calls),
            cell(self.failures),
            cell(self.slow),
            cell(self.probes),
            if differ { styled(YELLOW, notes) } else { notes },
        ]
    }
}

impl Report for Circuits {
    fn text(&self) -> String {
        if self.circuits.is_empty() {
            return "no circuits\n".to_owned();
        }
        let heads = "NAME, STATE, GENERATION, RETRY IN, CALLS, FAILED, SLOW, PROBES, NOTE";
        table(heads, 2..8, self.circuits.iter().map(Circuit::cells))
    }
}

impl Report for Circuit {
    fn text(&self) -> String {
        let Circuit { names, failures, slow, probes, probe_successes, probe_failures, .. } = self;
        let mut lines = vec![
            ("state", styled(self.style(), self.standing())),
            ("generation", cell(self.generation)),
            ("window", format!("{}: {failures} failed, {slow} slow", count(self.calls, "call"))),
            ("probes", format!("{probes} running, {probe_successes} succeeded, {probe_failures} failed")),
        ];
        if self.settings_differ == Some(true) {
            lines.push(("settings", styled(YELLOW, "differ between processes")));
        }
        facts(&names.label, &names.namespace, lines)
    }
}

impl Forced {
    pub(crate) fn of(name: &Name, row: &Row) -> Self {
        Forced(Circuit { settings_differ: None, ..Circuit::of(name, row) })
    }
}

impl Report for Forced {
    fn text(&self) -> String {
        let Forced(circuit) = self;
        format!("{}: {}; generation {}\n", visible(&circuit.names.label), circuit.standing(), circuit.generation)
    }
}

impl Check {
    /// The report, and the exit code.
    pub(crate) fn of(address: &str, found: &Found) -> (Self, u8) {
        let (result, code, missing, reason) = match found {
            Found::Complete => ("complete", 0, vec![], None),
            Found::Unusable { why } => ("unusable", 1, vec![], Some(why.clone())),
            Found::Incomplete { missing } => ("incomplete", 3, missing.clone(), None),
            Found::Undetermined { error } => ("undetermined", 2, vec![], Some(explained(error))),
            _ => ("undetermined", 2, vec![], None),
        };
        (Check { address: address.to_owned(), result, missing, reason }, code)
    }
}

impl Report for Check {
    fn text(&self) -> String {
        let reason = self.reason.as_ref().map(|reason| format!(": {}", visible(reason))).unwrap_or_default();
        let first = format!("{}: {}{reason}", visible(&self.address), self.result);
        let missing = self.missing.iter().map(|missing| format!("missing: {}", visible(missing)));
        iter::once(first).chain(missing).map(|line| line + "\n").collect()
    }
}
