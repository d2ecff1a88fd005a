//! Every file can be read: a rule that sees nothing of it would otherwise pass it unseen.

use crate::tidy::Finding;
use crate::tidy::tree::{File, Tree, is_source};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter_map(broken).collect()
}

fn broken(file: &File) -> Option<Finding> {
    let text = if is_source(&file.path) { "this is no Rust" } else { "this is no TOML" };
    Some(file.finding(file.broken_at?, "readable", text))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::lines;

    #[test]
    fn an_unclosed_brace_is_found() {
        assert_eq!(lines(check, "src/a.rs", "//! A.\nfn f() {}\n"), []);
        assert_eq!(lines(check, "src/a.rs", "//! A.\nfn f() { )\n"), [2]);
    }

    #[test]
    fn a_manifest_that_does_not_parse_is_found() {
        assert_eq!(lines(check, "a/Cargo.toml", "[package]\nname = \"a\"\n"), []);
        for bad in ["[package]\nname = a\n", "[package]\n[package]\n", "[package]\nname = \"ä\"\t~\n"] {
            assert_eq!(lines(check, "a/Cargo.toml", bad), [2], "{bad}");
        }
    }
}
