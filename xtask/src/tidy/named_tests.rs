//! Every row of `docs/PROMISES.md` and of `docs/PEERS.md` names a test, and every test named there
//! exists in exactly one file. A row about a peer may have the reason for a missing one instead.
//!
//! A test is named as `folder/file::test`: the end of the path of its file, and its function.

use super::tree::{File, Findings, Tree};
use crate::workspace::captures;

/// A page with tables that name tests in the last column.
pub(super) struct Page {
    pub(super) path: &'static str,
    /// The first line of each table.
    head: &'static str,
    /// How the last column begins if it names tests.
    tested: &'static [&'static str],
    /// How it begins if it needs no test.
    untested: &'static [&'static str],
}

pub(super) const PAGES: [Page; 2] = [
    Page { path: "docs/PROMISES.md", head: "| promise | tests |", tested: &[""], untested: &[] },
    Page {
        path: "docs/PEERS.md",
        head: "| in | case | Bulklink |",
        tested: &["holds: ", "differs: "],
        untested: &["no counterpart: ", "planned: "],
    },
];

/// The tests that each runtime runs, and each store: they are listed as `file: test` in `lib.rs` of
/// these folders.
const SUITES: [&str; 3] = ["tests/circuits/src/", "tests/runtimes/src/", "tests/stores/src/"];

/// The name of a function below an attribute that makes it a test. Only other attributes and
/// comments are between them.
const TEST: &str = r"#\[(?:\w+::)*test(?:\(.*\))?\]\n(?:.*[^{};\n]\n)*?.*\bfn (\w+)\(";

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for Page { path, head, tested, untested } in PAGES {
        for (line, text) in tree.file(path).into_iter().flat_map(File::lines) {
            for test in tests_in(text) {
                let files = tree.sources().filter(|file| has(file, test, tree)).count();
                if files != 1 {
                    findings.add(path, line, format!("`{test}` is a test of {files} files, not of one"));
                }
            }
            let cell = text.trim_end_matches(" |").rsplit("| ").next().unwrap_or_default();
            let begins = |answers: &[&str]| answers.iter().any(|answer| cell.starts_with(answer));
            if !text.starts_with("| ") || text.starts_with("| ---") || text == head || begins(untested) {
                continue;
            }
            if !begins(tested) {
                findings.add(path, line, format!("begin the last column with one of {tested:?} or {untested:?}"));
            } else if tests_in(cell).next().is_none() {
                findings.add(path, line, "name a test in the last column");
            }
        }
    }
}

/// The text between backticks that has the form of a test's name.
fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split('`').skip(1).step_by(2);
    code.filter(|code| code.split_once("::").is_some_and(|(place, _)| place.contains('/')))
}

fn has(file: &File, test: &str, tree: &Tree) -> bool {
    let Some(((place, _), (_, name))) = test.split_once("::").zip(test.rsplit_once("::")) else { return false };
    let is_place = |end| format!("/{}", file.path).ends_with(&format!("/{place}{end}"));
    [".rs", "/mod.rs"].iter().any(is_place)
        && (captures(TEST, &file.text).contains(&name) || is_listed(file, name, tree))
}

/// Whether the function is in a list: one of its own file, or that of the suite.
fn is_listed(file: &File, name: &str, tree: &Tree) -> bool {
    let has_line = |list: &str, wanted: &str| list.lines().any(|line| line.trim() == wanted);
    let of_suite = |suite: &&str| {
        let module = file.path.strip_prefix(suite)?.strip_suffix(".rs")?;
        Some(has_line(&tree.file(&format!("{suite}lib.rs"))?.text, &format!("{module}: {name}")))
    };
    captures(r"on_both! \{\n([^}]*)", &file.text).iter().any(|list| has_line(list, name))
        || SUITES.iter().filter_map(of_suite).any(|is_listed| is_listed)
}
