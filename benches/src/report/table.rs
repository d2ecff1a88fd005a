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
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 1_000.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::tests::verdict;
    use super::*;

    #[test]
    fn columns_are_aligned_and_the_verdicts_are_shown() {
        let missed = verdict(90.0, 88.0, Limit::Ours(84.0));
        let unmeasured = Verdict { figures: Err("no pip".into()), ..verdict(1.0, 1.0, Limit::Ratio(0.001)) };
        let unjudged = Verdict { is_judged: false, ..missed.clone() };
        let information = Verdict { limit: None, ..verdict(1.0, 4.0, Limit::Ratio(1.0)) };
        let text = table(&[verdict(1.0, 4.0, Limit::Ratio(0.3)), missed, unjudged, unmeasured, information]);
        let expected = "\
| goal | what | ours    | peer     | ratio | limit     | verdict              |
|------|------|---------|----------|-------|-----------|----------------------|
| g    | w    | 1.00 ns | 4.00 (p) | 0.25  | ≤ 0.30 ×  | holds                |
| g    | w    | 90.0 ns | 88.0 (p) | 1.02  | ours ≤ 84.0 | MISSED               |
| g    | w    | 90.0 ns | 88.0 (p) | 1.02  | ours ≤ 84.0 | not judged here      |
| g    | w    |         | p        |       | ≤ 0.0010 × | NOT MEASURED: no pip |

1 of 3 rows hold; 1 is not judged here.

For information:

| goal | what | ours    | peer     | ratio | limit | verdict |
|------|------|---------|----------|-------|-------|---------|
| g    | w    | 1.00 ns | 4.00 (p) | 0.25  |       |         |
";
        let squeezed = |text: &str| text.replace([' ', '-'], "");
        assert_eq!(squeezed(&text), squeezed(expected));
        let goals: Vec<_> = text.lines().take(5).map(width).collect();
        assert!(goals.iter().all(|line| *line == goals[0]), "{text}");
    }

    #[test]
    fn numbers_keep_the_digits_that_matter() {
        let shown = [123_456.7, 45.67, 1.234, 0.125, 0.0125, 0.0].map(number);
        assert_eq!(shown, ["123457", "45.7", "1.23", "0.12", "0.0125", "0"]);
    }
}
