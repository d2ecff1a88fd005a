//! The rows of the table, with their limits, for people and as JSON.

use serde_json::{Value, json};

/// The bound of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// The figure is at most this.
    AtMost(f64),
    /// The figure is at least this.
    AtLeast(f64),
    /// The figure is at least this many times the peer's.
    Times(f64),
}

/// A figure of ours, beside that of a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The part that it belongs to.
    pub goal: &'static str,
    /// The measured quantity.
    pub what: String,
    /// Ours, or why there is none.
    pub ours: Result<f64, String>,
    /// The peer's figure and its name.
    pub peer: Option<(f64, String)>,
    /// The unit of both.
    pub unit: &'static str,
    /// `None` if the row is for information.
    pub limit: Option<Limit>,
}

impl Row {
    /// A row without a limit and a peer.
    pub fn new(goal: &'static str, what: impl Into<String>, ours: f64, unit: &'static str) -> Self {
        Row { goal, what: what.into(), ours: Ok(ours), peer: None, unit, limit: None }
    }

    /// A row that was not measured.
    pub fn failed(goal: &'static str, why: &anyhow::Error) -> Self {
        let limit = Some(Limit::AtMost(0.0));
        Row { goal, what: "the scene".to_owned(), ours: Err(format!("{why:#}")), peer: None, unit: "", limit }
    }

    /// With a limit.
    #[must_use]
    pub fn limit(self, limit: Limit) -> Self {
        Row { limit: Some(limit), ..self }
    }

    /// Beside a peer.
    #[must_use]
    pub fn beside(self, figure: f64, name: impl Into<String>) -> Self {
        Row { peer: Some((figure, name.into())), ..self }
    }

    fn ratio(&self) -> Option<f64> {
        let (ours, (peer, _)) = (self.ours.as_ref().ok()?, self.peer.as_ref()?);
        (*peer != 0.0).then(|| ours / peer)
    }

    /// Whether the row keeps its limit. One for information does.
    pub fn holds(&self) -> bool {
        let Ok(ours) = self.ours else { return false };
        match self.limit {
            None => true,
            Some(Limit::AtMost(limit)) => ours <= limit,
            Some(Limit::AtLeast(limit)) => ours >= limit,
            // A peer that got nowhere has the figure zero.
            Some(Limit::Times(limit)) => self.peer.as_ref().is_some_and(|(peer, _)| ours > 0.0 && ours >= limit * peer),
        }
    }

    fn cells(&self) -> [String; 6] {
        let ours = self.ours.as_ref().map_or(String::new(), |ours| format!("{} {}", number(*ours), self.unit));
        let peer = self.peer.as_ref().map_or(String::new(), |(peer, name)| format!("{} ({name})", number(*peer)));
        let limit = match self.limit {
            None => String::new(),
            Some(Limit::AtMost(limit)) => format!("≤ {}", number(limit)),
            Some(Limit::AtLeast(limit)) => format!("≥ {}", number(limit)),
            Some(Limit::Times(limit)) => format!("≥ {} × the peer's", number(limit)),
        };
        let verdict = match (&self.ours, self.limit) {
            (Err(why), _) => format!("NOT MEASURED: {why}"),
            (Ok(_), None) => String::new(),
            (Ok(_), Some(_)) => if self.holds() { "holds" } else { "MISSED" }.to_owned(),
        };
        [self.goal.to_owned(), self.what.clone(), ours.trim_end().to_owned(), peer, limit, verdict]
    }
}

/// Returns the rows with a limit as JSON, with the fields of the other benchmarks.
pub fn json(rows: &[Row]) -> Value {
    let entry = |row: &Row| {
        let limit = match row.limit? {
            Limit::AtMost(limit) | Limit::AtLeast(limit) | Limit::Times(limit) => limit,
        };
        let what = match &row.ours {
            Ok(_) => row.what.clone(),
            Err(why) => format!("{} (not measured: {why})", row.what),
        };
        Some(json!({
            "goal": row.goal, "what": what, "ours": row.ours.as_ref().ok(),
            "peer": row.peer.as_ref().map(|(peer, _)| peer),
            "peer_name": row.peer.as_ref().map_or("-", |(_, name)| name),
            "unit": row.unit, "ratio": row.ratio(), "limit": limit, "holds": row.holds(),
        }))
    };
    rows.iter().filter_map(entry).collect()
}

/// Returns the rows with a limit, how many of them hold, and the rows for information.
pub fn table(rows: &[Row]) -> String {
    let (goals, information): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.limit.is_some());
    let holding = goals.iter().filter(|row| row.holds()).count();
    let text = format!("{}\n{holding} of {} rows hold.\n", markdown(&goals), goals.len());
    if information.is_empty() {
        return text;
    }
    format!("{text}\nFor information:\n\n{}", markdown(&information))
}

/// A table with columns that are aligned on a terminal too.
fn markdown(rows: &[&Row]) -> String {
    let head = ["goal", "what", "ours", "peer", "limit", "verdict"].map(str::to_owned);
    let cells: Vec<_> = [head].into_iter().chain(rows.iter().map(|row| row.cells())).collect();
    let width = |cell: &String| cell.chars().count();
    let widths: [usize; 6] =
        std::array::from_fn(|column| cells.iter().map(|row| width(&row[column])).max().unwrap_or(0));
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(widths).map(|(cell, wide)| format!(" {cell}{} |", " ".repeat(wide - width(cell))));
        format!("|{}\n", cells.collect::<String>())
    };
    let mut lines: Vec<_> = cells.iter().map(line).collect();
    lines.insert(1, format!("|{}\n", widths.map(|wide| format!("{}|", "-".repeat(wide + 2))).concat()));
    lines.concat()
}

/// Formats a figure with its significant digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 1_000.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: f64, limit: Limit) -> Row {
        Row::new("g", "w", ours, "ms").beside(2.0, "p").limit(limit)
    }

    #[test]
    fn a_figure_equal_to_its_limit_holds() {
        for (limit, holding, missing) in
            [(Limit::AtMost(3.0), 3.0, 3.1), (Limit::AtLeast(3.0), 3.0, 2.9), (Limit::Times(1.5), 3.0, 2.9)]
        {
            assert!(row(holding, limit).holds() && !row(missing, limit).holds(), "{limit:?}");
        }
        assert!(!Row::new("g", "w", 3.0, "").limit(Limit::Times(1.0)).holds());
        assert!(!row(0.0, Limit::Times(1.0)).beside(0.0, "p").holds());
        assert!(!Row::failed("g", &anyhow::anyhow!("x")).holds());
    }

    #[test]
    fn json_has_exactly_these_fields() {
        let rows = [row(3.0, Limit::AtMost(4.0)), Row::new("g", "information", 1.0, "")];
        let expected = json!([{
            "goal": "g", "what": "w", "ours": 3.0, "peer": 2.0, "peer_name": "p", "unit": "ms", "ratio": 1.5,
            "limit": 4.0, "holds": true,
        }]);
        assert_eq!(json(&rows), expected);
        let failed = json(&[Row::failed("g", &anyhow::anyhow!("no server"))]);
        assert_eq!(
            (&failed[0]["what"], &failed[0]["holds"]),
            (&json!("the scene (not measured: no server)"), &json!(false))
        );
    }

    #[test]
    fn the_table_shows_verdicts_and_counts_them() {
        let text = table(&[row(3.0, Limit::AtMost(4.0)), row(5.0, Limit::AtMost(4.0)), Row::new("h", "i", 0.25, "")]);
        let squeezed = text.replace([' ', '-'], "");
        let expected = "|goal|what|ours|peer|limit|verdict|\n|||||||\n|g|w|3ms|2(p)|≤4|holds|\n|g|w|5ms|2(p)|≤4|MISSED|\n\n\
                        1of2rowshold.\n\nForinformation:\n\n|goal|what|ours|peer|limit|verdict|\n|||||||\n|h|i|0.250||||\n";
        assert_eq!(squeezed, expected);
    }
}
