//! Every row of `docs/PROMISES.md` and of `docs/PEERS.md` names a test, and every test named there
//! exists in exactly one file. A row about a peer may say instead why there is none.
//!
//! A test is named as `folder/file::test`: the end of the path of its file, and its function.

use super::tree::{File, Findings, Tree};

/// A page with tables whose last column names tests.
struct Page {
    path: &'static str,
    /// The first two lines of each table.
    head: [&'static str; 2],
    /// How the last column may begin; empty if it only names tests.
    answers: &'static [&'static str],
    /// Those of the answers that need no test.
    without_test: &'static [&'static str],
}

const PAGES: [Page; 2] = [
    Page { path: "docs/PROMISES.md", head: ["| promise | tests |", "| --- | --- |"], answers: &[], without_test: &[] },
    Page {
        path: "docs/PEERS.md",
        head: ["| in | case | Bulklink |", "| --- | --- | --- |"],
        answers: &["holds: ", "differs: ", "no counterpart: ", "planned: "],
        without_test: &["no counterpart: ", "planned: "],
    },
];

/// The tests that each runtime runs, and each store: they are listed as `file: test` in `lib.rs` of
/// these folders.
const SUITES: [&str; 2] = ["tests/runtimes/src/", "tests/stores/src/"];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for page in &PAGES {
        page.check(tree, findings);
    }
}

impl Page {
    fn check(&self, tree: &Tree, findings: &mut Findings) {
        let Some(file) = tree.file(self.path) else { return };
        for (line, text) in file.lines() {
            for test in tests_in(text) {
                let files = tree.sources().filter(|file| has(file, test, tree)).count();
                if files != 1 {
                    findings.add(self.path, line, format!("`{test}` is a test of {files} files, not of one"));
                }
            }
        }
        for (line, row) in file.lines().filter(|(_, row)| row.starts_with("| ") && !self.head.contains(row)) {
            let cell = row.trim_end_matches(" |").rsplit("| ").next().unwrap_or_default();
            if !self.answers.is_empty() && !begins(cell, self.answers) {
                findings.add(self.path, line, format!("begin the last column with one of {:?}", self.answers));
            } else if !begins(cell, self.without_test) && tests_in(cell).next().is_none() {
                findings.add(self.path, line, "name a test in the last column");
            }
        }
    }
}

fn begins(cell: &str, answers: &[&str]) -> bool {
    answers.iter().any(|answer| cell.starts_with(answer))
}

/// The text between backticks that has the form of a test's name.
fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split('`').skip(1).step_by(2);
    code.filter(|code| code.split_once("::").is_some_and(|(place, _)| place.contains('/')))
}

fn has(file: &File, test: &str, tree: &Tree) -> bool {
    let Some(((place, _), (_, name))) = test.split_once("::").zip(test.rsplit_once("::")) else { return false };
    let ends =
        |end: &str| file.path.strip_suffix(end).is_some_and(|path| format!("/{path}").ends_with(&format!("/{place}")));
    let is_place = ends(".rs") || ends("/mod.rs");
    is_place && (is_marked(file, name) || is_listed(file, name, tree))
}

/// Whether the file has a function of this name with an attribute that makes it a test.
fn is_marked(file: &File, name: &str) -> bool {
    let lines: Vec<_> = file.text.lines().map(str::trim).collect();
    let head = format!("fn {name}(");
    let functions = lines.iter().enumerate().filter(|(_, line)| line.contains(&head));
    functions.into_iter().any(|(at, _)| {
        // The attributes are above the function, up to the end of what is before it.
        let above = lines[..at].iter().rev().take_while(|line| !line.is_empty() && !line.ends_with(['{', '}', ';']));
        let mut attributes = above.filter(|line| line.starts_with("#["));
        attributes.any(|line| ["[test]", "::test]", "::test("].iter().any(|mark| line.contains(mark)))
    })
}

/// Whether the function is in a list: that of the suite, or one of its own file.
fn is_listed(file: &File, name: &str, tree: &Tree) -> bool {
    let own = file.text.split("on_both! {\n").skip(1).filter_map(|list| list.split_once('}'));
    if own.into_iter().any(|(list, _)| list.lines().any(|line| line.trim() == name)) {
        return true;
    }
    SUITES.iter().any(|suite| {
        let module = file.path.strip_prefix(suite).and_then(|path| path.strip_suffix(".rs"));
        let list = tree.file(&format!("{suite}lib.rs"));
        module.zip(list).is_some_and(|(module, list)| {
            let entry = format!("{module}: {name}");
            list.text.lines().any(|line| line.trim() == entry)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{PAGES, check};
    use crate::tidy::tree::lines;

    const FILES: &[(&str, &str)] = &[
        ("crates/a/tests/behaviour/closing.rs", "//! A.\n#[test]\nfn ends() {}\n\nfn helper() {}\n"),
        ("a/behaviour/parts/mod.rs", "fn f() {}\n#[test]\n#[should_panic(expected = \"x\")]\nfn parts() {}"),
        ("crates/a/src/sum.rs", "mod tests {\n    #[tokio::test(start_paused = true)]\n    async fn sums() {}\n}\n"),
        ("tests/runtimes/src/lib.rs", "each! {\n    closing: lasts\n}\n"),
        ("tests/runtimes/src/closing.rs", "pub(crate) fn lasts() {}\npub(crate) fn unlisted() {}\n"),
        ("tests/redis/both.rs", "on_both! {\n    runs\n}\nasync fn runs() {}\nasync fn helps() {}\n"),
        ("other/closing.rs", "#[test]\nfn ends() {}\n"),
        ("other/twice/closing.rs", "#[test]\nfn doubled() {}\n"),
        ("more/twice/closing.rs", "#[test]\nfn doubled() {}\n"),
    ];

    /// The findings in a table with one row.
    fn findings(tests: &str) -> Vec<usize> {
        let page = format!("# A\n\n| promise | tests |\n| --- | --- |\n| Closing ends. | {tests} |\n");
        let files: Vec<_> = FILES.iter().copied().chain([(PAGES[0].path, &*page)]).collect();
        lines(check, &files)
    }

    #[test]
    fn a_test_that_exists_once_is_accepted() {
        for good in [
            "`behaviour/closing::ends`, `tests/behaviour/closing::ends`",
            "`behaviour/parts::parts`, `behaviour/parts/mod::parts`",
            "`src/sum::tests::sums`",
            "`redis/both::runs`",
            "`runtimes/src/closing::lasts`, on each `tokio::runtime::Runtime`",
        ] {
            assert_eq!(findings(good), [0; 0], "{good}");
        }
        assert!(lines(check, FILES).is_empty(), "without the page");
    }

    #[test]
    fn a_test_that_is_missing_or_ambiguous_is_found_and_so_is_a_row_without_tests() {
        for bad in [
            "`behaviour/closing::gone`",
            "`behaviour/closing::helper`",
            "`closing/contract::ends`",
            "`aviour/closing::ends`",
            "`behaviour/parts::f`",
            "`runtimes/src/closing::unlisted`",
            "`redis/both::helps`",
            "`twice/closing::doubled`",
            "yes, behaviour/closing::ends",
            "",
        ] {
            assert_eq!(findings(bad), [5], "{bad}");
        }
    }

    #[test]
    fn a_row_about_a_peer_holds_differs_or_says_why_there_is_no_test() {
        for (answer, found) in [
            ("holds: `behaviour/closing::ends`", &[5][..0]),
            ("differs: it ends; `behaviour/closing::ends`", &[]),
            ("no counterpart: nothing ends", &[]),
            ("planned: an end", &[]),
            ("holds: always", &[5]),
            ("holds: `behaviour/closing::gone`", &[5]),
            ("`behaviour/closing::ends`", &[5]),
        ] {
            let page = format!("# A\n\n| in | case | Bulklink |\n| --- | --- | --- |\n| `a.rs` | `b` | {answer} |\n");
            let files: Vec<_> = FILES.iter().copied().chain([(PAGES[1].path, &*page)]).collect();
            assert_eq!(lines(check, &files), found, "{answer}");
        }
    }
}
