//! Every Rust file can be read: a rule that sees no tokens would otherwise pass it unseen.

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let broken = tree.sources().filter_map(|file| Some((file, file.broken_at?)));
    broken.map(|(file, line)| file.finding(line, "lexes", "this is no Rust")).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::lines;

    #[test]
    fn an_unclosed_brace_is_found() {
        assert_eq!(lines(check, "src/a.rs", "//! A.\nfn f() { )\n"), [2]);
    }

    #[test]
    fn what_lexes_passes() {
        assert_eq!(lines(check, "src/a.rs", "//! A.\nfn f() {}\n"), []);
    }
}
