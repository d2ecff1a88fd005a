//! The label of a bulkhead, and the display of names that were never checked.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use bulklink_core::InvalidArgument;

/// Returns a label as it is kept: trimmed, not empty, and plain from its first character to its
/// last, so that it can be displayed as it is.
pub(crate) fn check(label: &str) -> Result<Arc<str>, InvalidArgument> {
    let trimmed = label.trim();
    // The trimmed label too: a combining mark that stood on a space is now first.
    if let Some(found) = [label, trimmed].into_iter().find(|name| !is_plain(name)) {
        return Err(InvalidArgument::new("label", quoted(found), "must not hold control or invisible characters"));
    }
    if trimmed.is_empty() {
        return Err(InvalidArgument::new("label", quoted(label), "must not be blank"));
    }
    Ok(trimmed.into())
}

fn is_plain(name: &str) -> bool {
    characters(name).all(|(_, is_plain)| is_plain)
}

/// Returns the characters of a name, each with whether it is plain: whether `str::escape_debug`
/// leaves it alone in its place. So a combining mark is plain after another character.
fn characters(name: &str) -> impl Iterator<Item = (char, bool)> {
    let mut before = 0;
    name.char_indices().map(move |(place, character)| {
        let pair = &name[before..place + character.len_utf8()];
        before = place;
        // An escaped character ends in a different one, except for quotes and backslashes, which
        // are plain.
        (character, pair.escape_debug().last() == Some(character))
    })
}

/// Returns a name that was never checked, with all characters escaped that a label must not hold.
pub(crate) fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for (character, is_plain) in characters(name) {
        if is_plain {
            text.push(character);
        } else {
            text.extend(character.escape_debug());
        }
    }
    text
}

/// Returns such a name, escaped, in quotation marks.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", escaped(name))
}
