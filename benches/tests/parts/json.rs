//! The rows as JSON.

use bulklink_benches::goal::Limit;
use bulklink_benches::report::json::entries;
use bulklink_benches::report::verdict::Verdict;
use serde_json::json;

use crate::verdict::verdict;

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
