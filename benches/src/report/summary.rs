//! The few rows to read first, chosen from the table.

use super::table::{align, holding, number};
use super::verdict::Verdict;

/// Returns the rows with a headline, and how many rows of the whole table hold.
#[must_use]
pub fn summary(verdicts: &[Verdict]) -> String {
    let head = ["what", "Bulklink", "peer", "ratio"].map(str::to_owned);
    let rows = verdicts.iter().filter_map(|verdict| verdict.headline.map(|headline| cells(headline, verdict)));
    let rows: Vec<_> = [head].into_iter().chain(rows).collect();
    format!("{}\nRatio: Bulklink ÷ peer; the smaller, the better. {}\n", align(&rows), holding(verdicts))
}

fn cells(headline: &str, verdict: &Verdict) -> [String; 4] {
    let Ok(figures) = &verdict.figures else {
        return [headline, "not measured", verdict.peer, ""].map(str::to_owned);
    };
    let shown = |figure| format!("{} {}", number(figure), figures.unit);
    let peer = figures.peer.map(|peer| format!("{} ({})", shown(peer), verdict.peer));
    let ratio = figures.ratio.map(number);
    [headline.to_owned(), shown(figures.ours), peer.unwrap_or_default(), ratio.unwrap_or_default()]
}
