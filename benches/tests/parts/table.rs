//! The table.

use bulklink_benches::goal::Limit;
use bulklink_benches::report::table::{number, table};
use bulklink_benches::report::verdict::Verdict;

use crate::verdict::verdict;

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
    let goals: Vec<_> = text.lines().take(5).map(|line| line.chars().count()).collect();
    assert!(goals.iter().all(|line| *line == goals[0]), "{text}");
}

#[test]
fn numbers_keep_the_digits_that_matter() {
    let shown = [123_456.7, 45.67, 1.234, 0.125, 0.0125, 0.0].map(number);
    assert_eq!(shown, ["123457", "45.7", "1.23", "0.12", "0.0125", "0"]);
}
