//! Rules for what users see: adapters export all that the front does, except what adapters are made
//! of, and a bulkhead has the methods of its handle.

use super::tree::{File, Findings, Tree};

const HANDLE: &str = "crates/bulklink/src/handle.rs";

const FORWARDED: &str = "crates/bulklink/src/bulkhead/forward.rs";

const FRONT: &str = "crates/bulklink/src/lib.rs";

/// For adapters, or for programs without one.
const KEPT: [&str; 3] = ["runtime", "StdClock", "Tsc"];

/// The packages that are no adapters: a program uses them beside one.
const COMPANIONS: [&str; 7] = ["breaker", "core", "fleet", "metrics", "postgres", "redis", "tower"];

/// Each adapter names all that the front exports at its root: as it is, or as an alias.
pub(super) fn exports(tree: &Tree, findings: &mut Findings) {
    let Some(front) = tree.file(FRONT) else { return findings.add(FRONT, 1, "the file is missing") };
    let is_adapter = |file: &&File| {
        let package = file.path.strip_prefix("crates/bulklink-").and_then(|path| path.strip_suffix("/src/lib.rs"));
        package.is_some_and(|package| !COMPANIONS.contains(&package))
    };
    for adapter in tree.files.iter().filter(is_adapter) {
        let code = code(adapter);
        for name in exported(front).into_iter().filter(|name| !words(&code).any(|word| word == name)) {
            findings.add(&adapter.path, 1, format!("`bulklink::{name}` is not exported"));
        }
    }
}

/// The page of a bulkhead's alias does not show what it dereferences to, so a bulkhead forwards the
/// methods of its handle.
pub(super) fn forwarded(tree: &Tree, findings: &mut Findings) {
    let methods = |path| {
        let lines = tree.file(path).into_iter().flat_map(File::lines);
        lines.filter_map(|(_, text)| text.strip_prefix("    pub fn ")?.split(['(', '<']).next()).collect::<Vec<_>>()
    };
    let forwarded = methods(FORWARDED);
    for name in methods(HANDLE).into_iter().filter(|name| !forwarded.contains(name)) {
        findings.add(FORWARDED, 1, format!("`Handle::{name}` is not forwarded"));
    }
}

/// Returns the names of a crate's root: its public modules, and what it re-exports.
fn exported(root: &File) -> Vec<String> {
    let code = code(root);
    let items = code.split(';').map(str::trim);
    let mut names = Vec::new();
    for item in items {
        if let Some((_, module)) = item.split_once("pub mod ") {
            names.push(module.to_owned());
        } else if let Some((_, path)) = item.split_once("pub use ") {
            let list = path.rsplit_once("::").map_or(path, |(_, name)| name);
            let list = path.split_once('{').map_or(list, |(_, list)| list);
            names.extend(words(list).map(str::to_owned));
        }
    }
    names.retain(|name| !KEPT.contains(&name.as_str()));
    names
}

fn code(file: &File) -> String {
    file.text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::lines;

    #[test]
    fn a_name_that_an_adapter_does_not_export_is_found() {
        let front =
            "//! A.\npub mod keys;\npub mod runtime;\nmod own;\npub use a::b::{Slot,\n    Tsc};\npub use c::Call;\n";
        for (adapter, missing) in [
            ("pub use bulklink::{Slot, keys};\npub type Call = bulklink::Call<X>;\n", 0),
            ("pub use bulklink::{keys};\n// Slot\npub type Call = bulklink::Call<X>;\n", 1),
            ("", 3),
        ] {
            let files =
                [(FRONT, front), ("crates/bulklink-x/src/lib.rs", adapter), ("crates/bulklink-core/src/lib.rs", "")];
            assert_eq!(lines(exports, &files).len(), missing, "{adapter}");
        }
        assert_eq!(lines(exports, &[]), [1]);
    }

    #[test]
    fn a_method_of_the_handle_that_a_bulkhead_lacks_is_found() {
        let handle = (HANDLE, "    pub fn close(&self)\n    pub fn limits<T>(&self)\n    fn own(&self)\n");
        assert_eq!(lines(forwarded, &[handle, (FORWARDED, "    pub fn limits(&self)\n")]).len(), 1);
        assert_eq!(lines(forwarded, &[handle]).len(), 2);
    }
}
