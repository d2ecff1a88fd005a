//! The document with the tables: each has its place between two markers.

use anyhow::{Context, Result, ensure};

/// Returns the document with another text between the markers of a part.
///
/// # Errors
///
/// If it has not each of the markers, in their order.
pub fn refresh(document: &str, part: &str, text: &str) -> Result<String> {
    let (begins, ends) = (format!("<!-- {part} begin -->"), format!("<!-- {part} end -->"));
    let (before, rest) = document.split_once(&begins).with_context(|| format!("the document has no `{begins}`"))?;
    let (_, after) = rest.split_once(&ends).with_context(|| format!("the document has no `{ends}` below"))?;
    Ok(format!("{before}{begins}\n\n{}\n\n{ends}{after}", text.trim()))
}

/// Returns the first line that differs, of two documents that are not the same.
///
/// # Errors
///
/// If they differ.
pub fn same(expected: &str, computed: &str) -> Result<()> {
    let differs = |(old, new): &(&str, &str)| old != new;
    let lines = expected.lines().zip(computed.lines());
    let line = lines.clone().position(|line| differs(&line)).unwrap_or_else(|| lines.count());
    let at = |text: &str| text.lines().nth(line).unwrap_or("(its end)").to_owned();
    ensure!(expected == computed, "the document differs in line {}:\n- {}\n+ {}", line + 1, at(expected), at(computed));
    Ok(())
}

/// A number of the bytes of lines, to compare two records: FNV-1a.
pub fn digest<'a>(lines: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = lines.into_iter().flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xCBF2_9CE4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}
