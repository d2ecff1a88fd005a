//! The parts of a page that are written anew.

use bulklink_benches::report::document::{SUMMARY, TABLE, markers, refresh};

#[test]
fn only_the_text_between_the_markers_is_replaced() {
    let document = |summary: &str, table: &str| {
        let (summary_markers, table_markers) = (markers(SUMMARY), markers(TABLE));
        format!(
            "before\n{}\n\n{summary}\n\n{}\nbetween\n{}\n\n{table}\n\n{}\nafter\n",
            summary_markers.0, summary_markers.1, table_markers.0, table_markers.1
        )
    };
    assert_eq!(refresh(&document("old", "old"), TABLE, "new\n").unwrap(), document("old", "new"));
    assert_eq!(refresh(&document("old", "old"), SUMMARY, "new\n").unwrap(), document("new", "old"));
}

#[test]
fn a_missing_marker_is_named() {
    let (begin, end) = markers(TABLE);
    assert_eq!(refresh("", TABLE, "new").unwrap_err().to_string(), format!("there is no `{begin}`"));
    assert!(refresh(&begin, TABLE, "new").unwrap_err().to_string().contains(&end));
}
