//! `cargo xtask tidy`: the rules that neither rustc nor clippy knows. They read the lines of
//! sources and pages, and the packages of `cargo metadata`.

mod exports;
mod named_tests;
mod packages;
mod prose;
mod sources;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod versions;

use anyhow::{Result, ensure};

use self::tree::{Findings, Tree};
use crate::step::Step;

/// A rule: finds the lines of the tree that break it.
type Rule = fn(&Tree, &mut Findings);

const RULES: [(&str, Rule); 12] = [
    ("header", sources::header),
    ("length", sources::length),
    ("core-attributes", sources::core_attributes),
    ("columns", prose::columns),
    ("persons", prose::persons),
    ("dependencies", packages::dependencies),
    ("exact-versions", packages::exact_versions),
    ("lints", packages::lints),
    ("features", packages::features),
    ("versions", versions::versions),
    ("exports", exports::exports),
    ("named-tests", named_tests::check),
];

/// The step of `cargo xtask tidy`.
pub(crate) fn step() -> Step {
    Step::new("tidy", tidy)
}

fn tidy() -> Result<()> {
    let tree = Tree::read()?;
    let mut count = 0;
    for (name, rule) in RULES {
        let mut findings = Findings::default();
        rule(&tree, &mut findings);
        count += findings.0.len();
        for (path, line, text) in findings.0 {
            println!("{path}:{line}: {name}: {text}");
        }
    }
    ensure!(count == 0, "{count} findings");
    println!("tidy: {} files, {} rules, no findings", tree.files.len(), RULES.len());
    Ok(())
}
