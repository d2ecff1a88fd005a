//! The rules of the house that no compiler knows. Each lies in a file of its own under `rules`.

mod files;
mod rules;
pub(crate) mod tokens;
mod tree;

use std::fmt;

use anyhow::{Result, ensure};

use self::tree::Tree;

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    rule: &'static str,
    text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.text)
    }
}

/// Checks the repository and prints what it finds.
pub(crate) fn tidy() -> Result<()> {
    let tree = files::read()?;
    let findings = check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "tidy: {} findings", findings.len());
    println!("tidy: {} files, {} rules, no findings", tree.files.len(), rules::ALL.len());
    Ok(())
}

/// Every rule's findings, in the order of the files.
fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<_> = rules::ALL.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: &str = "crates/bulklink-core/src/lib.rs";

    const TIDY: &[(&str, &str)] = &[
        ("Cargo.toml", "[workspace]\n[workspace.lints.rust]\nmissing_docs = \"deny\"\n"),
        ("crates/bulklink-core/Cargo.toml", "[package]\n[lints]\nworkspace = true\n"),
        (CORE, "//! Core.\n#![no_std]\n#![forbid(unsafe_code)]\n"),
    ];

    /// For each rule a file that breaks it, and nothing else.
    fn planted() -> [(&'static str, &'static str, String); 11] {
        [
            ("readable", "src/a.rs", "//! A.\nfn f( }\n".into()),
            ("pure-core", "crates/bulklink-core/src/a.rs", "//! A.\nuse std::fmt;\n".into()),
            ("thin-adapter", "crates/bulklink-smol/src/a.rs", "//! A.\ntype A = Gate;\n".into()),
            ("discontinued", "crates/a/Cargo.toml", "[dependencies]\nasync-std = \"1\"\n".into()),
            ("header", "src/a.rs", "fn f() {}\n".into()),
            ("length", "src/a.rs", "//! A.\n".repeat(501)),
            ("unfinished", "src/a.rs", "//! A.\nfn f() { todo!() }\n".into()),
            ("safety", "src/a.rs", "//! A.\nunsafe fn f() {}\n".into()),
            ("core-attributes", CORE, "//! Core.\n#![no_std]\n".into()),
            ("lints", "crates/a/Cargo.toml", "[package]\nname = \"a\"\n".into()),
            ("named-tests", "COMPARE.md", "`behaviour/a::gone`\n".into()),
        ]
    }

    fn rules_broken(files: &[(&str, &str)]) -> Vec<&'static str> {
        check(&Tree::of(files)).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_tidy_tree_passes() {
        assert_eq!(rules_broken(TIDY), [] as [&str; 0]);
    }

    #[test]
    fn a_bad_file_planted_for_each_rule_breaks_that_rule_alone() {
        for (rule, path, text) in planted() {
            let others = TIDY.iter().copied().filter(|(other, _)| *other != path);
            let files: Vec<_> = others.chain([(path, text.as_str())]).collect();
            assert_eq!(rules_broken(&files), [rule]);
        }
        assert_eq!(planted().len(), rules::ALL.len());
    }

    #[test]
    fn a_finding_reads_like_a_compiler_error() {
        let tree = Tree::of(&[("src/a.rs", "//! A.\n\nfn f() { todo!() }\n")]);
        let finding = check(&tree).pop().unwrap().to_string();
        assert_eq!(finding, "src/a.rs:3: unfinished: `todo!` is left");
    }
}
