//! The whole table as Markdown, with columns that are aligned on a terminal too.

use super::verdict::{Figures, Verdict};
use crate::goal::{Limit, NO_PEER};

const HEAD: [&str; 7] = ["goal", "what", "ours", "peer", "ratio", "limit", "verdict"];

/// Returns the rows with a limit, how many of them hold, and the rows for information.
#[must_use]
pub fn table(verdicts: &[Verdict]) -> String {
    let (goals, information): (Vec<_>, Vec<_>) = verdicts.iter().partition(|verdict| verdict.limit.is_some());
    let goals = format!("{}\n{}\n", markdown(&goals), holding(verdicts));
    match information.as_slice() {
        [] => goals,
        information => format!("{goals}\nFor information:\n\n{}", markdown(information)),
    }
}

fn markdown(verdicts: &[&Verdict]) -> String {
    let rows: Vec<_> =
        [HEAD.map(str::to_owned)].into_iter().chain(verdicts.iter().map(|verdict| cells(verdict))).collect();
    align(&rows)
}

/// Returns how many of the rows with a limit hold, and how many are not judged, as a sentence.
pub(super) fn holding(verdicts: &[Verdict]) -> String {
    let goals = verdicts.iter().filter(|verdict| verdict.limit.is_some());
    let (judged, others): (Vec<_>, Vec<_>) = goals.partition(|verdict| verdict.is_judged);
    let holding = judged.iter().filter(|verdict| verdict.holds()).count();
    let sentence = format!("{holding} of {} rows hold", judged.len());
    match others.len() {
        0 => sentence + ".",
        1 => sentence + "; 1 is not judged here.",
        others => format!("{sentence}; {others} are not judged here."),
    }
}

/// Returns the rows, the head first, as a Markdown table with aligned columns.
pub(crate) fn align<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0));
    let mut lines: Vec<_> = rows.iter().map(|row| line(row, &widths)).collect();
    lines.insert(1, format!("|{}", widths.map(|width| format!("{}|", "-".repeat(width + 2))).concat()));
    lines.join("\n") + "\n"
}

fn line<const COLUMNS: usize>(row: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, wide)| format!(" {cell}{} |", " ".repeat(wide - width(cell))));
    format!("|{}", cells.collect::<String>())
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

fn cells(verdict: &Verdict) -> [String; 7] {
    let [ours, peer, ratio] = match &verdict.figures {
        Ok(figures) => shown(figures, verdict.peer),
        Err(_) => [String::new(), verdict.peer.to_owned(), String::new()],
    };
    let limit = verdict.limit.map(limit).unwrap_or_default();
    [verdict.goal.to_owned(), verdict.what.clone(), ours, peer, ratio, limit, outcome(verdict)]
}

fn shown(figures: &Figures, peer_name: &str) -> [String; 3] {
    let ours = format!("{} {}", number(figures.ours), figures.unit);
    let peer = figures.peer.map_or_else(|| NO_PEER.to_owned(), |peer| format!("{} ({peer_name})", number(peer)));
    [ours, peer, figures.ratio.map(number).unwrap_or_default()]
}

fn limit(limit: Limit) -> String {
    match limit {
        Limit::Ratio(limit) => format!("≤ {} ×", number(limit)),
        Limit::Ours(limit) => format!("ours ≤ {}", number(limit)),
        Limit::More(limit) => format!("≤ {} more", number(limit)),
        Limit::AtLeast(limit) => format!("≥ {} ×", number(limit)),
    }
}

fn outcome(verdict: &Verdict) -> String {
    match (&verdict.figures, verdict.limit) {
        (Err(why), _) => format!("NOT MEASURED: {why}"),
        (Ok(_), None) => String::new(),
        (Ok(_), Some(_)) if !verdict.is_judged => "not judged here".to_owned(),
        (Ok(_), Some(_)) if verdict.holds() => "holds".to_owned(),
        (Ok(_), Some(_)) => "MISSED".to_owned(),
    }
}

/// Formats a figure with its significant digits.
#[must_use]
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 1_000.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
