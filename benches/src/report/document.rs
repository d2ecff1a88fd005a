//! The generated parts of a document, each between two markers.

use anyhow::{Context, Result};

/// The rows to read first.
pub const SUMMARY: &str = "the summary";

/// The whole table.
pub const TABLE: &str = "the table";

/// The tables of goodput under overload.
pub const OVERLOAD: &str = "the overload";

/// The tables of tenants on one capacity.
pub const TENANTS: &str = "the tables of tenants";

/// The table of goodput under overload with adaptive limits.
pub const ADAPTIVE: &str = "the table of adaptive limits";

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

/// Returns the lines around a part.
#[must_use]
pub fn markers(part: &str) -> (String, String) {
    (format!("<!-- {part} begins -->"), format!("<!-- {part} ends -->"))
}
