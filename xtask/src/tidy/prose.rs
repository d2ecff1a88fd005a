//! Rules for comments and pages: their width, that of their examples, and how often they speak of
//! persons.

use std::cmp::Reverse;

use super::tree::{File, Findings, Tree};

const COLUMNS: usize = 100;

const EXAMPLE_COLUMNS: usize = 88;

/// Words for persons, which calls, tasks and threads are not. At most 1.5 of 1,000 words are these.
const PERSONS: &str = "who whom whose whoever whomever nobody somebody everybody anybody everyone someone anyone";

/// No line of prose is longer than 100 columns, except for table rows and URLs.
pub(super) fn columns(tree: &Tree, findings: &mut Findings) {
    for file in &tree.files {
        for (line, text) in file.prose() {
            let columns = text.chars().count();
            let is_row = text.trim_start_matches([' ', '/', '!']).starts_with('|');
            if columns > COLUMNS && !is_row && !text.contains("://") {
                findings.add(&file.path, line, format!("{columns} columns; wrap it at {COLUMNS}"));
            }
        }
    }
}

/// No line of code in a doc example or on a `README.md` is longer than a page of docs shows.
pub(super) fn example_columns(tree: &Tree, findings: &mut Findings) {
    for file in tree.files.iter().filter(|file| file.is("rs") || file.path.ends_with("README.md")) {
        let mut in_code = false;
        for (line, text) in file.lines() {
            let comment = text.trim_start().strip_prefix("///").or(text.trim_start().strip_prefix("//!"));
            let Some(code) = (if file.is("rs") { comment } else { Some(text) }) else {
                in_code = false;
                continue;
            };
            let code = code.strip_prefix(' ').unwrap_or(code);
            let is_fence = code.trim_start().starts_with("```");
            in_code ^= is_fence;
            let columns = code.chars().count();
            // rustdoc hides the lines that begin with a hash.
            if in_code && columns > EXAMPLE_COLUMNS && !code.trim_start().starts_with("# ") {
                findings.add(&file.path, line, format!("{columns} columns; wrap the example at {EXAMPLE_COLUMNS}"));
            }
        }
    }
}

/// Words for persons are rare, over all comments and over all pages. If there are too many, the
/// findings are the five files with the most.
pub(super) fn persons(tree: &Tree, findings: &mut Findings) {
    for kind in ["rs", "md"] {
        let files = tree.files.iter().filter(|file| file.is(kind));
        let mut counts: Vec<_> = files.map(|file| (count(file), file)).collect();
        let (persons, words) = counts.iter().fold((0, 0), |sum, (count, _)| (sum.0 + count.0, sum.1 + count.1));
        if persons * 10_000 > words * 15 {
            counts.sort_by_key(|((persons, _), _)| Reverse(*persons));
            for ((here, _), file) in counts.iter().take(5) {
                findings.add(&file.path, 1, format!("{here} of {persons} words for persons in {words} of *.{kind}"));
            }
        }
    }
}

/// The words for persons and all words in the prose of a file.
fn count(file: &File) -> (usize, usize) {
    let words = file.prose().flat_map(|(_, line)| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let words: Vec<_> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let is_person = |word: &&String| PERSONS.split(' ').any(|person| person == word.as_str());
    (words.iter().filter(is_person).count(), words.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::lines;

    #[test]
    fn a_long_line_of_prose_is_found_and_a_long_line_of_code_is_not() {
        let (fits, long) = ("ä".repeat(97), "ä".repeat(101));
        for (path, text, found) in [
            ("src/a.rs", format!("// {fits}\nlet {long};\n    // {fits}\n//! {long}\n//! | {long}\n"), &[3, 4][..]),
            ("page.md", format!("{long}\n| {long} |\n```\n{long}\n```\n[a](https://{long})\n{long}\n"), &[1, 7]),
            ("a/Cargo.toml", format!("# {long}\n"), &[]),
        ] {
            assert_eq!(lines(columns, &[(path, &text)]), found, "{path}");
        }
    }

    #[test]
    fn a_long_line_in_an_example_is_found() {
        let (fits, long) = ("x".repeat(88), "x".repeat(89));
        for (path, text, found) in [
            ("src/a.rs", format!("/// ```\n/// {fits}\n/// {long}\n/// # {long}\n/// ```\n{long}\n"), &[3][..]),
            ("src/a.rs", format!("//! {long}\n//! ```\n/// {long}\nfn f() {{}}\n/// {long}\n"), &[3]),
            ("README.md", format!("{long}\n```\n{fits}\n{long}\n```\n{long}\n"), &[4]),
            ("DESIGN.md", format!("```\n{long}\n```\n"), &[]),
        ] {
            assert_eq!(lines(example_columns, &[(path, &text)]), found, "{path}");
        }
    }

    #[test]
    fn too_many_words_for_persons_are_found() {
        let comment = |more: &str| format!("//! {}\n// {more}\nlet who = nobody;\n", "word ".repeat(1_000));
        for (path, text, found) in [
            ("src/a.rs", &*comment("Who"), 0),
            ("src/a.rs", &*comment("Who, nobody's"), 1),
            ("src/a.rs", &*comment("who_is_late, whole"), 0),
            ("a.md", "Somebody waits.\n", 1),
            ("a.md", "Word.\n```\nwho\n```\n", 0),
        ] {
            assert_eq!(lines(persons, &[(path, text)]).len(), found, "{text}");
        }
    }
}
