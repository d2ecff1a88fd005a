//! The root of the core says `#![no_std]` and `#![forbid(unsafe_code)]`, unconditionally.

use crate::tidy::Finding;
use crate::tidy::tokens::find;
use crate::tidy::tree::{File, Tree};

const ROOT: &str = "crates/bulklink-core/src/lib.rs";

const WANTED: &[(&[&str], &str)] = &[
    (&["#", "!", "[", "no_std", "]"], "`#![no_std]` is missing"),
    (&["#", "!", "[", "forbid", "(", "unsafe_code", ")", "]"], "`#![forbid(unsafe_code)]` is missing"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.file(ROOT).map_or_else(|| vec![no_core()], missing)
}

fn missing(root: &File) -> Vec<Finding> {
    let missing = WANTED.iter().filter(|(attribute, _)| find(&root.tokens, attribute).is_empty());
    missing.map(|(_, text)| root.finding(1, "core-attributes", *text)).collect()
}

fn no_core() -> Finding {
    File::new(ROOT, "").finding(1, "core-attributes", "the core is missing; has it moved?")
}

#[cfg(test)]
mod tests {
    use super::{ROOT, check};
    use crate::tidy::rules::lines;

    #[test]
    fn each_missing_attribute_is_found() {
        for bad in [
            "#![no_std]",
            "#![forbid(unsafe_code)]",
            "#![cfg_attr(not(test), no_std)]\n#![forbid(unsafe_code)]",
            "#![no_std]\n// #![forbid(unsafe_code)]",
        ] {
            assert_eq!(lines(check, ROOT, bad), [1], "{bad}");
        }
    }

    #[test]
    fn a_core_that_has_moved_is_found() {
        assert_eq!(lines(check, "core/src/lib.rs", "#![no_std]\n#![forbid(unsafe_code)]\n"), [1]);
    }

    #[test]
    fn both_attributes_pass() {
        assert_eq!(lines(check, ROOT, "//! Core.\n#![no_std]\n#![forbid(unsafe_code)]\n"), []);
    }
}
