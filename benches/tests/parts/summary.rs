//! The summary.

use bulklink_benches::goal::Limit;
use bulklink_benches::report::summary::summary;
use bulklink_benches::report::verdict::Verdict;

use crate::verdict::verdict;

#[test]
fn rows_with_a_headline_are_shown_and_all_rows_with_a_limit_are_counted() {
    let shown = Verdict { headline: Some("Take a slot"), limit: None, ..verdict(1.0, 4.0, Limit::Ratio(0.3)) };
    let unmeasured = Verdict { figures: Err("no time".into()), headline: Some("Wait"), ..shown.clone() };
    let text = summary(&[shown, unmeasured, verdict(1.0, 4.0, Limit::Ratio(0.3))]);
    let expected = "\
| what        | Bulklink     | peer        | ratio |
|-------------|--------------|-------------|-------|
| Take a slot | 1.00 ns      | 4.00 ns (p) | 0.25  |
| Wait        | not measured | p           |       |

Ratio: Bulklink ÷ peer; the smaller, the better. 1 of 1 rows hold.
";
    assert_eq!(text, expected);
}
