//! Every test that COMPARE.md names is there, and every cell there that speaks for us names one.
//!
//! A test is named as `folder/file::test`: the end of its file's path, and its function.

use crate::tidy::Finding;
use crate::tidy::tokens::{Token, find};
use crate::tidy::tree::{File, Tree};

const RULE: &str = "named-tests";

/// The page, which other rules have nothing to do with.
pub(crate) const PAGE: &str = "COMPARE.md";

/// The column that speaks for us.
const OURS: &str = "Bulklink";

/// Tests that are written once and called for each runtime, from a list in the first file.
const SUITE: (&str, &str) = ("tests/runtimes/src/lib.rs", "tests/runtimes/src/");

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.file(PAGE).map_or_else(Vec::new, |page| missing(page, tree).chain(unproven(page)).collect())
}

fn missing<'a>(page: &'a File, tree: &'a Tree) -> impl Iterator<Item = Finding> + 'a {
    let named = page.text.lines().zip(1..).flat_map(|(text, line)| named(text).map(move |test| (test, line)));
    named.filter_map(|(test, line)| {
        let places = tree.sources().filter(|file| has(file, test, tree)).count();
        (places != 1).then(|| page.finding(line, RULE, format!("`{test}` is a test in {places} files, not in one")))
    })
}

/// What stands between backticks and has the form of a test's name.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| code.split_once("::").is_some_and(|(place, _)| place.contains('/')))
}

fn has(file: &File, test: &str, tree: &Tree) -> bool {
    let (place, _) = test.split_once("::").expect("it has the form of a name");
    let (_, name) = test.rsplit_once("::").expect("it has the form of a name");
    let ends = |suffix: &str| {
        file.path.strip_suffix(suffix).is_some_and(|path| path == place || path.ends_with(&format!("/{place}")))
    };
    (ends(".rs") || ends("/mod.rs")) && (is_marked(&file.tokens, name) || is_listed(file, name, tree))
}

/// Whether the file has a function of this name with an attribute that makes it a test.
fn is_marked(tokens: &[Token], name: &str) -> bool {
    let is_fn = |at: usize| tokens[at].text == name && at > 0 && tokens[at - 1].text == "fn";
    (0..tokens.len()).filter(|at| is_fn(*at)).any(|at| {
        let head = tokens[..at].rsplit(|token| ["{", "}", ";"].contains(&&*token.text)).next().unwrap_or_default();
        !find(head, &["[", "test"]).is_empty() || !find(head, &[":", "test"]).is_empty()
    })
}

/// Whether the suite calls it.
fn is_listed(file: &File, name: &str, tree: &Tree) -> bool {
    let module = file.path.strip_prefix(SUITE.1).and_then(|path| path.strip_suffix(".rs"));
    let list = tree.file(SUITE.0).map(|list| &list.tokens);
    module.zip(list).is_some_and(|(module, list)| !find(list, &[module, ":", name]).is_empty())
}

/// The rows in which we claim something without a test.
fn unproven(page: &File) -> impl Iterator<Item = Finding> {
    let lines: Vec<_> = page.text.lines().zip(1..).collect();
    let tables = lines.chunk_by(|(text, _), (next, _)| is_row(text) == is_row(next)).filter(|lines| is_row(lines[0].0));
    let rows: Vec<_> = tables.flat_map(claims).filter(|(cell, _)| named(cell).next().is_none()).collect();
    rows.into_iter().map(|(_, line)| page.finding(line, RULE, "name the test that shows it, or say no"))
}

/// What we say of ourselves in the rows of a table, and at which lines.
fn claims<'a>(table: &[(&'a str, usize)]) -> impl Iterator<Item = (&'a str, usize)> {
    let ours = cells(table[0].0).position(|cell| cell == OURS);
    let rows = table.iter().skip(2).filter_map(move |(text, line)| Some((cells(text).nth(ours?)?, *line)));
    rows.filter(|(cell, _)| !cell.starts_with("no")).collect::<Vec<_>>().into_iter()
}

fn is_row(text: &str) -> bool {
    text.starts_with('|')
}

fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.split('|').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::{PAGE, check};
    use crate::tidy::tree::Tree;

    const FILES: &[(&str, &str)] = &[
        ("crates/a/tests/behaviour/closing.rs", "//! A.\n#[test]\nfn ends() {}\nfn helper() {}\n"),
        (
            "crates/a/tests/behaviour/parts/mod.rs",
            "//! A.\nfn f() {}\n#[test]\n#[should_panic(expected = \"x\")]\nfn parts() {}\n",
        ),
        (
            "crates/a/src/sum.rs",
            "//! A.\n#[cfg(test)]\nmod tests {\n#[tokio::test(start_paused = true)]\nasync fn sums() {}\n}\n",
        ),
        ("tests/runtimes/src/lib.rs", "//! A.\nmacro_rules! each { () => { closing: lasts } }\n"),
        ("tests/runtimes/src/closing.rs", "//! A.\npub(crate) fn lasts() {}\npub(crate) fn unlisted() {}\n"),
        ("other/closing.rs", "//! A.\n#[test]\nfn ends() {}\n"),
    ];

    fn lines(page: &str) -> Vec<usize> {
        let files: Vec<_> = FILES.iter().copied().chain([(PAGE, page)]).collect();
        check(&Tree::of(&files)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_test_that_is_there_is_found_wherever_it_lies() {
        for good in [
            "`behaviour/closing::ends`, `tests/behaviour/closing::ends`",
            "`behaviour/parts::parts`",
            "`src/sum::tests::sums`",
            "`runtimes/src/closing::lasts`",
            "`tokio::sync::Semaphore` and `a/b` are no tests, nor is behaviour/closing::gone",
        ] {
            assert_eq!(lines(good), [], "{good}");
        }
    }

    #[test]
    fn one_that_is_missing_or_in_two_places_is_found() {
        for bad in [
            "`behaviour/closing::gone`",
            "`behaviour/closing::helper`",
            "`closing/contract::ends`",
            "`ract/closing::ends`",
            "`behaviour/parts::f`",
            "`runtimes/src/closing::unlisted`",
        ] {
            assert_eq!(lines(&format!("# A\n{bad}\n")), [2], "{bad}");
        }
        let twice = Tree::of(&[FILES[0], ("b/contract/closing.rs", FILES[0].1), (PAGE, "`behaviour/closing::ends`")]);
        assert_eq!(check(&twice).len(), 1);
    }

    #[test]
    fn a_claim_without_a_test_is_found() {
        let table = |ours: &str| format!("| what | Bulklink | other |\n| --- | --- | --- |\n| a | {ours} | yes |\n");
        for good in ["yes: `behaviour/closing::ends`", "no", "no: on purpose"] {
            assert_eq!(lines(&table(good)), [], "{good}");
        }
        assert_eq!(lines(&table("yes")), [3]);
        assert_eq!(lines(&format!("{}\n{}", table("no"), table(""))), [7]);
        assert_eq!(lines("| what | other |\n| --- | --- |\n| a | yes |\n"), []);
    }
}
