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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::verdict::tests::verdict;
    use super::*;
    use crate::goal::Limit;

    fn as_json(verdict: Verdict) -> serde_json::Value {
        serde_json::to_value(entries(&[verdict])).unwrap()
    }

    #[test]
    fn an_entry_has_exactly_these_fields() {
        let expected = json!([{
            "goal": "g", "what": "w", "ours": 1.0, "peer": 4.0, "peer_name": "p", "unit": "ns", "ratio": 0.25,
            "limit": 0.3, "holds": true,
        }]);
        assert_eq!(as_json(verdict(1.0, 4.0, Limit::Ratio(0.3))), expected);
    }

    #[test]
    fn a_row_that_was_not_measured_is_listed_and_does_not_hold() {
        let unmeasured = Verdict { figures: Err("no valgrind".into()), ..verdict(1.0, 4.0, Limit::Ratio(0.3)) };
        let found = as_json(unmeasured);
        assert_eq!(found[0]["what"], "w (not measured: no valgrind)");
        assert_eq!((&found[0]["ours"], &found[0]["holds"]), (&json!(null), &json!(false)));
    }

    #[test]
    fn a_row_that_is_not_judged_neither_holds_nor_misses() {
        let found = as_json(Verdict { is_judged: false, ..verdict(1.0, 4.0, Limit::Ratio(0.3)) });
        assert_eq!((&found[0]["ratio"], &found[0]["holds"]), (&json!(0.25), &json!(null)));
    }

    #[test]
    fn a_row_without_a_limit_is_left_out() {
        let information = Verdict { limit: None, ..verdict(1.0, 4.0, Limit::Ratio(0.3)) };
        assert_eq!(as_json(information), json!([]));
    }
}
