//! The part of a document between two markers, which holds the last full table.

use anyhow::{Context, Result};

const BEGIN: &str = "<!-- the table begins -->";
const END: &str = "<!-- the table ends -->";

/// The document with `table` between its markers.
///
/// # Errors
///
/// If a marker is missing.
pub fn refresh(document: &str, table: &str) -> Result<String> {
    let (before, rest) = document.split_once(BEGIN).with_context(|| format!("there is no `{BEGIN}`"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("there is no `{END}` behind the other marker"))?;
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", table.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_the_markers_is_replaced_and_nothing_else() {
        let document = |table| format!("before\n{BEGIN}\n\n{table}\n\n{END}\nafter\n");
        assert_eq!(refresh(&document("old"), "new\n").unwrap(), document("new"));
    }

    #[test]
    fn a_missing_marker_is_named() {
        assert_eq!(refresh("", "new").unwrap_err().to_string(), format!("there is no `{BEGIN}`"));
        assert!(refresh(BEGIN, "new").unwrap_err().to_string().contains(END));
    }
}
