//! What the commands on circuits print: the keys of the JSON, and the text.

use bulklink_breaker::State;
use bulklink_fleet::Name;
use bulklink_fleet::circuits::Row;
use bulklink_postgres::Check as Found;
use serde::Serialize;

use crate::report::{Names, now_ms, whole_millis};
use crate::table::{Cell, Table, left, right};
use crate::text::{Colour, Text, count, date, time, visible};

/// A circuit.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Circuit {
    #[serde(flatten)]
    names: Names,
    state: &'static str,
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
    /// hand does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings_differ: Option<bool>,
}

/// All circuits of a namespace.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Circuits {
    pub(crate) at_ms: u64,
    pub(crate) circuits: Vec<Circuit>,
}

/// One circuit.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Shown {
    pub(crate) at_ms: u64,
    #[serde(flatten)]
    pub(crate) circuit: Circuit,
}

/// A circuit that was opened or closed by hand.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Forced(Circuit);

/// Whether circuits can be shared.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Check {
    at_ms: u64,
    address: String,
    result: &'static str,
    /// What has to be created or granted.
    missing: Vec<String>,
    /// Why circuits cannot be shared, or why that is not known.
    reason: Option<String>,
}

impl Circuit {
    pub(crate) fn of(name: &Name, row: &Row) -> Self {
        Circuit {
            names: Names::of(name),
            state: match row.state {
                State::Closed => "closed",
                State::Open => "open",
                State::HalfOpen => "half-open",
            },
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

    /// What is unusual.
    fn notes(&self) -> String {
        let notes = [self.forced.then_some("by hand"), self.differ()];
        notes.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn differ(&self) -> Option<&'static str> {
        (self.settings_differ == Some(true)).then_some("settings differ")
    }

    fn colour(&self) -> Colour {
        match self.state {
            "closed" => Colour::Plain,
            "open" => Colour::Red,
            _ => Colour::Yellow,
        }
    }

    /// The state with what ends it.
    fn standing(&self) -> String {
        match (self.forced, self.retry_after_ms) {
            (true, _) => format!("{} by hand", self.state),
            (false, Some(rest)) => format!("{}, half-open in {}", self.state, time(rest)),
            (false, None) => self.state.to_owned(),
        }
    }

    fn window(&self) -> String {
        format!("{}: {} failed, {} slow", count(self.calls, "call"), self.failures, self.slow)
    }

    fn trials(&self) -> String {
        let Circuit { probes, probe_successes, probe_failures, .. } = self;
        format!("{probes} running, {probe_successes} succeeded, {probe_failures} failed")
    }

    fn essence(&self) -> String {
        let differ = self.differ().map(|text| format!("; {text}")).unwrap_or_default();
        format!("{}: {}; generation {}{differ}", visible(&self.names.label), self.standing(), self.generation)
    }
}

impl Text for Circuits {
    fn text(&self, colours: bool) -> String {
        if self.circuits.is_empty() {
            return "no circuits\n".to_owned();
        }
        let heads = [left("STATE"), right("GENERATION"), right("RETRY IN"), right("CALLS"), right("FAILED")];
        let more = [right("SLOW"), right("PROBES"), left("NOTE")];
        let mut table = Table::new([left("NAME")].into_iter().chain(heads).chain(more).collect());
        for circuit in &self.circuits {
            table.push(vec![
                Cell::new(&circuit.names.label),
                Cell::new(circuit.state).in_colour(circuit.colour()),
                Cell::new(circuit.generation),
                Cell::new(circuit.retry_after_ms.map_or_else(|| "-".to_owned(), time)),
                Cell::new(circuit.calls),
                Cell::new(circuit.failures),
                Cell::new(circuit.slow),
                Cell::new(circuit.probes),
                Cell::new(circuit.notes()).in_colour(circuit.differ().map_or(Colour::Plain, |_| Colour::Yellow)),
            ]);
        }
        table.text(colours)
    }

    fn line(&self) -> String {
        let circuits: Vec<_> = self.circuits.iter().map(Circuit::essence).collect();
        let text = if circuits.is_empty() { "no circuits".to_owned() } else { circuits.join("; ") };
        format!("{} {text}", date(self.at_ms))
    }
}

impl Text for Shown {
    fn text(&self, colours: bool) -> String {
        let circuit = &self.circuit;
        let label = Cell::new(&circuit.names.label).in_colour(Colour::Bold).text(colours);
        let mut table = Table::without_head(2);
        let mut fact = |name: &str, value: Cell| table.push(vec![Cell::new(name), value]);
        fact("state", Cell::new(circuit.standing()).in_colour(circuit.colour()));
        fact("generation", Cell::new(circuit.generation));
        fact("window", Cell::new(circuit.window()));
        fact("probes", Cell::new(circuit.trials()));
        if circuit.differ().is_some() {
            fact("settings", Cell::new("differ between processes").in_colour(Colour::Yellow));
        }
        format!("{label} in {}\n\n{}", circuit.names.namespace, table.text(colours))
    }

    fn line(&self) -> String {
        format!("{} {}", date(self.at_ms), self.circuit.essence())
    }
}

impl Forced {
    pub(crate) fn of(name: &Name, row: &Row) -> Self {
        Forced(Circuit { settings_differ: None, ..Circuit::of(name, row) })
    }
}

impl Text for Forced {
    fn text(&self, _: bool) -> String {
        self.line() + "\n"
    }

    fn line(&self) -> String {
        self.0.essence()
    }
}

impl Check {
    /// The report, and the exit code.
    pub(crate) fn of(address: String, found: &Found) -> (Self, u8) {
        let (result, code, missing, reason) = match found {
            Found::Complete => ("complete", 0, vec![], None),
            Found::Unusable { why } => ("unusable", 1, vec![], Some(why.clone())),
            Found::Incomplete { missing } => ("incomplete", 3, missing.clone(), None),
            Found::Undetermined { error } => ("undetermined", 2, vec![], Some(error.to_string())),
            _ => ("undetermined", 2, vec![], None),
        };
        (Check { at_ms: now_ms(), address, result, missing, reason }, code)
    }
}

impl Text for Check {
    fn text(&self, _: bool) -> String {
        let missing = self.missing.iter().map(|missing| format!("missing: {}", visible(missing)));
        [self.line()].into_iter().chain(missing).map(|line| line + "\n").collect()
    }

    fn line(&self) -> String {
        let reason = self.reason.as_ref().map(|reason| format!(": {}", visible(reason))).unwrap_or_default();
        format!("{}: {}{reason}", visible(&self.address), self.result)
    }
}
