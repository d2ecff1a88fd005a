//! The list of rules. Each is a function from the tree to its findings, and can be read alone.

mod core_attributes;
mod discontinued;
mod header;
mod length;
mod lints;
pub(super) mod named_tests;
mod pure_core;
mod readable;
mod safety;
mod thin_adapter;
mod unfinished;

use super::Finding;
use super::tree::Tree;

/// What a rule is.
pub(crate) type Rule = fn(&Tree) -> Vec<Finding>;

/// All of them.
pub(crate) const ALL: &[Rule] = &[
    readable::check,
    pure_core::check,
    thin_adapter::check,
    discontinued::check,
    header::check,
    length::check,
    unfinished::check,
    safety::check,
    core_attributes::check,
    lints::check,
    named_tests::check,
];

/// The lines at which a rule finds something, for the rules' own tests.
#[cfg(test)]
fn lines(rule: Rule, path: &str, text: &str) -> Vec<usize> {
    rule(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
}
