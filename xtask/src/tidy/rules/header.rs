//! Every file begins with `//!`, saying what lives there.

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let bare = tree.sources().filter(|file| !file.text.starts_with("//!"));
    bare.map(|file| file.finding(1, "header", "begin with `//!` and say what lives here")).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::lines;

    #[test]
    fn a_file_that_begins_otherwise_is_found() {
        assert_eq!(lines(check, "src/a.rs", "//! A.\n"), []);
        for bad in ["", "fn f() {}\n", "/// A.\nfn f() {}\n", "\n//! A.\n"] {
            assert_eq!(lines(check, "src/a.rs", bad), [1], "{bad}");
        }
    }
}
