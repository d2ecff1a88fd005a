//! The rows with a limit as JSON. Rows for information are left out.

use serde::Serialize;

use super::verdict::Verdict;

/// A row with a limit. If it was not measured, it has no figures, does not hold, and has the
/// reason. If it is not judged on this machine, it neither holds nor not.
#[derive(Debug, Serialize)]
pub struct Entry {
    goal: &'static str,
    what: String,
    ours: Option<f64>,
    peer: Option<f64>,
    peer_name: &'static str,
    unit: &'static str,
    ratio: Option<f64>,
    limit: f64,
    holds: Option<bool>,
}

/// Returns an entry for each row with a limit.
#[must_use]
pub fn entries(verdicts: &[Verdict]) -> Vec<Entry> {
    verdicts.iter().filter_map(entry).collect()
}

fn entry(verdict: &Verdict) -> Option<Entry> {
    let limit = verdict.limit?.value();
    let figures = verdict.figures.as_ref().ok();
    let what = match &verdict.figures {
        Ok(_) => verdict.what.clone(),
        Err(why) => format!("{} (not measured: {why})", verdict.what),
    };
    Some(Entry {
        goal: verdict.goal,
        what,
        ours: figures.map(|figures| figures.ours),
        peer: figures.and_then(|figures| figures.peer),
        peer_name: verdict.peer,
        unit: figures.map_or("", |figures| figures.unit),
        ratio: figures.and_then(|figures| figures.ratio),
        limit,
        holds: (verdict.is_judged || verdict.figures.is_err()).then(|| verdict.holds()),
    })
}
