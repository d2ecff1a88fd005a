//! The listing of a library: a line for each public item.

use anyhow::Result;
use regex_lite::{Captures, Regex};

use super::docs::Docs;
use super::names::{Names, is_plumbing};

/// Traits of the compiler that are no promise of ours: they are not stable.
const UNSTABLE: [&str; 3] = ["core::marker::Freeze", "core::marker::StructuralPartialEq", "core::marker::UnsafeUnpin"];

/// Returns the lines of a crate. Types have their public paths, so that one that moves between
/// private modules makes no difference.
///
/// `Send`, `Sync`, `Unpin` and the unwind safety of a type are promises too, and lines of their
/// own. The functions of an implementation are left out: the line of its trait says as much.
pub(super) fn text(docs: &Docs, names: &[&Names]) -> Result<String> {
    let path = Regex::new(r"\w+(?:::\w+)+")?;
    let public = |found: &Captures<'_>| {
        let name = names.iter().find_map(|names| names.get(&found[0]));
        name.unwrap_or(&found[0]).to_owned()
    };
    let mut text = format!("# The public API of {}, all features on; see `cargo xtask api`\n", docs.package);
    for item in &docs.items {
        let line = item.to_string();
        let is_function = docs.item(item.id().0).is_some_and(|item| item["inner"]["function"].is_object());
        let is_implied = is_function && docs.implementation(item).is_some();
        let is_unstable = line.starts_with("impl") && UNSTABLE.iter().any(|name| line.contains(name));
        if !is_implied && !is_unstable && !is_plumbing(&line) {
            text += &path.replace_all(&line, public);
            text.push('\n');
        }
    }
    Ok(text)
}
