//! Rules for comments and pages: their width, that of their examples, and how often they speak of
//! persons.

use super::tree::{File, Findings, Prose, Tree};

const COLUMNS: usize = 100;

const EXAMPLE_COLUMNS: usize = 88;

/// Words for persons, which calls, tasks and threads are not. At most 1.5 of 1,000 words are these.
const PERSONS: &str = "who whom whose whoever whomever nobody somebody everybody anybody everyone someone anyone";

/// No line of prose is longer than 100 columns, except for table rows and URLs. No line of code in
/// a doc example or on a `README.md` is longer than a page of docs shows.
pub(super) fn columns(tree: &Tree, findings: &mut Findings) {
    for file in &tree.files {
        for Prose { line, text, code } in file.prose() {
            let is_row = text.trim_start_matches([' ', '/', '!']).starts_with('|');
            // rustdoc hides the lines that begin with a hash.
            let example = code.filter(|code| !code.trim_start().starts_with("# "));
            let (columns, limit) = match example {
                Some(code) if file.is("rs") || file.path.ends_with("README.md") => (code, EXAMPLE_COLUMNS),
                _ if is_row || text.contains("://") || code.is_some() && file.is("md") => continue,
                _ => (text, COLUMNS),
            };
            let columns = columns.chars().count();
            if columns > limit {
                findings.add(&file.path, line, format!("{columns} columns; wrap it at {limit}"));
            }
        }
    }
}

/// Words for persons are rare, over all comments and over all pages. If there are too many, the
/// finding is the file with the most.
pub(super) fn persons(tree: &Tree, findings: &mut Findings) {
    for kind in ["rs", "md"] {
        let files = tree.files.iter().filter(|file| file.is(kind));
        let counts: Vec<_> = files.map(|file| (count(file), file)).collect();
        let (persons, words) = counts.iter().fold((0, 0), |sum, (count, _)| (sum.0 + count.0, sum.1 + count.1));
        let worst = counts.iter().max_by_key(|((persons, _), _)| *persons);
        if let Some(((here, _), file)) = worst.filter(|_| persons * 10_000 > words * 15) {
            findings.add(&file.path, 1, format!("{here} of {persons} words for persons in {words} of *.{kind}"));
        }
    }
}

/// The words for persons and all words in the prose of a file.
fn count(file: &File) -> (usize, usize) {
    let prose = file.prose().filter(|prose| file.is("rs") || prose.code.is_none());
    let words = prose.flat_map(|prose| prose.text.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let words: Vec<_> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let is_person = |word: &&String| PERSONS.split(' ').any(|person| person == word.as_str());
    (words.iter().filter(is_person).count(), words.len())
}
