//! A rule for what users see: adapters export all that the front does, except what adapters are
//! made of.

use super::tree::{File, Findings, Tree};
use crate::workspace::captures;

const FRONT: &str = "crates/bulklink/src/lib.rs";

/// For adapters and other crates of Bulklink, or for programs without an adapter.
const KEPT: [&str; 4] = ["plumbing", "runtime", "StdClock", "Tsc"];

/// The packages that are no adapters: a program uses them beside one.
const COMPANIONS: [&str; 8] = ["breaker", "core", "fleet", "metrics", "plan", "postgres", "redis", "tower"];

/// Each adapter names all that the front exports at its root: as it is, or as an alias.
pub(super) fn exports(tree: &Tree, findings: &mut Findings) {
    let Some(front) = tree.file(FRONT) else { return findings.add(FRONT, 1, "the file is missing") };
    let is_adapter = |file: &&File| {
        let package = file.path.strip_prefix("crates/bulklink-").and_then(|path| path.strip_suffix("/src/lib.rs"));
        package.is_some_and(|package| !COMPANIONS.contains(&package))
    };
    let front = code(front);
    for adapter in tree.files.iter().filter(is_adapter) {
        let code = code(adapter);
        for name in exported(&front).filter(|name| !words(&code).any(|word| word == *name)) {
            findings.add(&adapter.path, 1, format!("`bulklink::{name}` is not exported"));
        }
    }
}

/// Returns the names of a crate's root: its public modules and its re-exports.
fn exported(code: &str) -> impl Iterator<Item = &str> {
    let lists = captures(r"(?m)^pub (?:mod|use) (?:\w+::)*\{?([^;}]*)", code);
    // The last word is the new name of one that is exported `as` another.
    let names = lists.into_iter().flat_map(|list| list.split(',').filter_map(|path| words(path).last()));
    names.filter(|name| !KEPT.contains(name))
}

fn code(file: &File) -> String {
    file.text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}
