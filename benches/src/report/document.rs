//! The generated parts of a document, each between two markers.

use anyhow::{Context, Result};

/// The rows to read first.
pub const SUMMARY: &str = "the summary";

/// The whole table.
pub const TABLE: &str = "the table";

/// The tables of goodput under overload.
pub const OVERLOAD: &str = "the overload";

/// Returns the document with `text` between the markers of `part`.
///
/// # Errors
///
/// If a marker is missing.
pub fn refresh(document: &str, part: &str, text: &str) -> Result<String> {
    let (begin, end) = markers(part);
    let (before, rest) = document.split_once(&begin).with_context(|| format!("there is no `{begin}`"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("there is no `{end}` after the other marker"))?;
    Ok(format!("{before}{begin}\n\n{}\n\n{end}{after}", text.trim_end()))
}

fn markers(part: &str) -> (String, String) {
    (format!("<!-- {part} begins -->"), format!("<!-- {part} ends -->"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
