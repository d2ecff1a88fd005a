//! Rules for comments and pages: their width, and how often they speak of persons.

use std::cmp::Reverse;

use super::tree::{File, Findings, Tree};

const COLUMNS: usize = 100;

/// Parts of the paths of files that are not wrapped yet.
const EXEMPT: &[&str] = &[];

/// Whether [`persons`] is in force. It is not while comments and pages are being reworded.
const COUNTS_PERSONS: bool = true;

/// Words for persons, of which 1.5 in 1,000 words are too many: calls, tasks and threads are none.
const PERSONS: &[&str] = &[
    "who",
    "whom",
    "whose",
    "whoever",
    "whomever",
    "nobody",
    "somebody",
    "everybody",
    "anybody",
    "everyone",
    "someone",
    "anyone",
];

/// No line of prose is longer than 100 columns, except for table rows and URLs.
pub(super) fn columns(tree: &Tree, findings: &mut Findings) {
    let exempt = |file: &File| EXEMPT.iter().any(|part| file.path.contains(part));
    tree.files.iter().filter(|file| !exempt(file)).for_each(|file| long_lines(file, findings));
}

fn long_lines(file: &File, findings: &mut Findings) {
    for (line, text) in file.prose() {
        let columns = text.chars().count();
        if columns > COLUMNS && !text.starts_with('|') && !text.contains("://") {
            findings.add(&file.path, line, format!("{columns} columns; wrap it at {COLUMNS}"));
        }
    }
}

/// Words for persons are rare, over all comments and over all pages.
pub(super) fn persons(tree: &Tree, findings: &mut Findings) {
    if COUNTS_PERSONS {
        count_persons(tree, findings);
    }
}

/// If there are too many, names the five files with the most.
fn count_persons(tree: &Tree, findings: &mut Findings) {
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
    (words.iter().filter(|word| PERSONS.contains(&word.as_str())).count(), words.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::lines;

    #[test]
    fn a_long_line_of_prose_is_found_and_a_long_line_of_code_is_not() {
        let (fits, long) = ("ä".repeat(97), "ä".repeat(101));
        for (path, text, found) in [
            ("src/a.rs", format!("// {fits}\nlet {long};\n    // {fits}\n//! {long}\n"), &[3, 4][..]),
            ("page.md", format!("{long}\n| {long} |\n```\n{long}\n```\n[a](https://{long})\n{long}\n"), &[1, 7]),
            ("a/Cargo.toml", format!("# {long}\n"), &[]),
        ] {
            let rule = |tree: &Tree, findings: &mut Findings| long_lines(&tree.files[0], findings);
            assert_eq!(lines(rule, &[(path, &text)]), found, "{path}");
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
            assert_eq!(lines(count_persons, &[(path, text)]).len(), found, "{text}");
        }
    }
}
