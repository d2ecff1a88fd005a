//! Each rule finds its fault, and nothing in what looks similar.

use super::named_tests::{self, PAGES};
use super::tree::{File, Findings, Tree};
use super::{Rule, exports, packages, prose, sources, versions};

fn found(rule: Rule, tree: &Tree) -> Vec<usize> {
    let mut findings = Findings::default();
    rule(tree, &mut findings);
    findings.0.into_iter().map(|(_, line, _)| line).collect()
}

/// The lines at which a rule finds something in a tree of these files.
fn lines(rule: Rule, files: &[(&str, &str)]) -> Vec<usize> {
    let file = |&(path, text): &(&str, &str)| File { path: path.to_owned(), text: text.to_owned() };
    found(rule, &Tree { files: files.iter().map(file).collect(), packages: vec![] })
}

#[test]
fn a_file_without_a_header_and_a_file_that_is_too_long_are_found() {
    for text in ["", "/// A.\nfn f() {}\n", "\n//! A.\n"] {
        assert_eq!(lines(sources::header, &[("src/a.rs", text), ("src/b.rs", "//! B.\n")]), [1], "{text}");
    }
    let files = [("src/a.rs", &*"//! A.\n".repeat(500)), ("src/b.rs", &*"//! B.\n".repeat(501))];
    assert_eq!(lines(sources::length, &files), [501]);
}

#[test]
fn a_core_with_std_or_unsafe_code_is_found() {
    let good = "#![no_std]\n#![forbid(unsafe_code)]\n";
    for (text, found) in [
        (good, &[][..]),
        ("#![no_std]\n// #![forbid(unsafe_code)]", &[1]),
        ("#![cfg_attr(not(test), no_std)]\n#![forbid(unsafe_code)]", &[1]),
        (&format!("{good}extern crate std;"), &[3]),
    ] {
        assert_eq!(lines(sources::core_attributes, &[("crates/bulklink-core/src/lib.rs", text)]), found, "{text}");
    }
    assert_eq!(lines(sources::core_attributes, &[("core/src/lib.rs", good)]), [1, 1]);
}

#[test]
fn a_long_line_of_prose_or_of_an_example_is_found_and_a_long_line_of_code_is_not() {
    let (fits, long) = ("ä".repeat(97), "ä".repeat(101));
    let (short, wide) = ("x".repeat(88), "x".repeat(89));
    for (path, text, found) in [
        ("src/a.rs", format!("// {fits}\nlet {long};\n    // {fits}\n//! {long}\n//! | {long}\n"), &[3, 4][..]),
        ("page.md", format!("{long}\n| {long} |\n```\n{long}\n```\n[a](https://{long})\n{long}\n"), &[1, 7]),
        ("a/Cargo.toml", format!("# {long}\n"), &[]),
        ("src/a.rs", format!("/// ```\n/// {short}\n/// {wide}\n/// # {wide}\n/// ```\n{long}\n"), &[3]),
        ("src/a.rs", format!("/// ```\n/// # {long}\n"), &[2]),
        ("src/a.rs", format!("//! {wide}\n//! ```\n/// {wide}\nfn f() {{}}\n/// {wide}\n"), &[3]),
        ("README.md", format!("{wide}\n```\n{short}\n{wide}\n```\n{wide}\n"), &[4]),
    ] {
        assert_eq!(lines(prose::columns, &[(path, &text)]), found, "{path}: {text}");
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
        assert_eq!(lines(prose::persons, &[(path, text)]).len(), found, "{text}");
    }
}

fn package(name: &str, kind: &str, dependency: &str, publish: &str) -> Tree {
    let package = format!(
        r#"{{ "name": "{name}", "manifest_path": "/repository/crates/a/Cargo.toml", "publish": {publish},
             "dependencies": [{{ "name": "{dependency}", "kind": {kind} }}] }}"#
    );
    Tree { packages: vec![serde_json::from_str(&package).unwrap()], ..Tree::default() }
}

#[test]
fn a_feature_without_a_row_in_the_readme_is_found() {
    let manifest = crate::workspace::root().join("crates/a/Cargo.toml");
    for (name, row, wanted) in [
        ("bulklink-redis", "| `smol`, `x` (default) | `bulklink-redis` | effect |", 0),
        ("bulklink-tokio", "| `x` | `bulklink`, the adapters | effect |", 0),
        ("bulklink-redis", "| `x` | `bulklink`, the adapters | effect |", 1),
        ("bulklink-redis", "| `smol` | `bulklink-redis` | as `x` |", 1),
        ("bulklink", "| `x` | `bulklink-redis` | effect |", 1),
        ("bulklink", "`x` of `bulklink`", 1),
    ] {
        let package = serde_json::json!({
            "name": name, "manifest_path": manifest, "dependencies": [], "features": { "default": ["x"], "x": [] },
        });
        let own = format!("crates/{name}/README.md");
        let files =
            [("README.md", row), (&own, OWN)].map(|(path, text)| File { path: path.to_owned(), text: text.to_owned() });
        let tree = Tree { files: files.into(), packages: vec![serde_json::from_value(package).unwrap()] };
        assert_eq!(found(packages::features, &tree).len(), wanted, "{name}: {row}");
    }
}

#[test]
fn a_crate_of_the_api_that_is_unstated_unnamed_or_without_a_feature_is_found() {
    let (line, row, says) = ("pub fn a::f(axum::Router)", "| `x` | for axum 0.8 |", "//! For axum 0.8.");
    for (line, row, docs, req, optional, wanted) in [
        (line, row, says, "^0.8.1", true, 0),
        (line, "| `x` | for `axum` 0.8: a route |", "//! For `axum` 0.8", "^0.8", true, 0),
        (line, row, says, "^0.9", true, 2),
        (line, row, "//! For axum.", "^0.8", true, 1),
        (line, "| `x` | for axum 0.81 |", says, "^0.8", true, 1),
        (line, "| `x` | for axum 0.8.9 |", says, "^0.8", true, 1),
        (line, "| `y` | for axum 0.8 |", says, "^0.8", true, 1),
        (line, row, "//! For axum 0.7.\nfn axum() {} // axum 0.8", "^0.8", true, 1),
        (line, row, says, "^0.8", false, 1),
        (line, "| `x` | for axum 1 |", "", "^1.2.3", true, 0),
        (line, row, "", "^1.2", true, 1),
        (line, "", "", "^1", false, 0),
        ("impl axum_core::A for core::B<bulklink::C>", row, says, "^0.8", true, 0),
        ("impl core::A for bulklink::C", "", "", "^0.8", true, 0),
        ("pub fn a::f(hyper::Body)", "", "", "^0.8", true, 1),
    ] {
        let enabled = if optional { &["dep:axum"][..] } else { &[] };
        let package = serde_json::json!({
            "name": "a", "manifest_path": "/crates/a/Cargo.toml", "features": { "x": enabled },
            "dependencies": [{ "name": "axum", "kind": null, "req": req, "optional": optional }],
        });
        let line = line.replace(" a::", " bulklink_a::");
        let files = [("api/a.txt", &*line), ("crates/a/README.md", row), ("crates/a/src/lib.rs", docs)];
        let files = files.map(|(path, text)| File { path: path.to_owned(), text: text.to_owned() });
        let tree = Tree { files: files.into(), packages: vec![serde_json::from_value(package).unwrap()] };
        assert_eq!(found(versions::versions, &tree).len(), wanted, "{line}, {req}, {row}, {docs}");
    }
}

const OWN: &str = "# a\n\n| feature | effect |\n| --- | --- |\n| `x` | effect |\n";

#[test]
fn the_readme_of_a_crate_has_its_features_and_is_short() {
    let manifest = crate::workspace::root().join("crates/a/Cargo.toml");
    let package =
        || serde_json::json!({ "name": "a", "manifest_path": manifest, "dependencies": [], "features": { "x": [] } });
    let row = "| `x` | `a` | effect |";
    for (own, wanted) in [
        (OWN.to_owned(), 0),
        (OWN.replace("`x`", "`y`"), 2),
        (OWN.to_owned() + &"\n".repeat(80), 1),
        (String::new(), 2),
    ] {
        let files = [("README.md", row), ("crates/a/README.md", &own)];
        let files = files.map(|(path, text)| File { path: path.to_owned(), text: text.to_owned() });
        let tree = Tree { files: files.into(), packages: vec![serde_json::from_value(package()).unwrap()] };
        assert_eq!(found(packages::features, &tree).len(), wanted, "{own}");
    }
}

#[test]
fn a_forbidden_dependency_of_a_published_package_is_found() {
    for (name, dependency, wanted) in [
        ("bulklink-core", "hashbrown", 1),
        ("bulklink-tokio", "bulklink-core", 1),
        ("bulklink-smol", "async-std", 1),
        ("bulklink", "bulklink-async-std", 1),
        ("bulklink-fleet", "redis", 1),
        ("bulklink-redis", "redis", 0),
        ("bulklink", "bulklink-core", 0),
        ("bulklink-smol", "async-lock", 0),
    ] {
        let count = |kind, publish| found(packages::dependencies, &package(name, kind, dependency, publish)).len();
        assert_eq!((count("null", "null"), count("\"build\"", "null")), (wanted, wanted), "{name}");
        assert_eq!((count("\"dev\"", "null"), count("null", "[]")), (0, 0), "{name}");
    }
}

#[test]
fn an_inexact_version_of_a_crate_with_hidden_items_is_found() {
    let hidden = "#[doc(hidden)]\npub fn f() {}\n";
    for (version, path, text, wanted) in [
        ("^0.1.0", "crates/b/src/lib.rs", "pub mod plumbing {}\n", 1),
        ("^0.1.0", "crates/b/src/c/d.rs", hidden, 1),
        ("=0.1.0", "crates/b/src/lib.rs", hidden, 0),
        ("^0.1.0", "crates/b/src/lib.rs", "pub fn f() {}\n", 0),
        ("^0.1.0", "crates/b/tests/c.rs", hidden, 0),
        ("^0.1.0", "crates/b-c/src/lib.rs", hidden, 0),
    ] {
        for (kind, publish, wanted) in [("null", "null", wanted), ("\"dev\"", "null", 0), ("null", "[]", 0)] {
            let mut tree = package("a", kind, "b", publish);
            tree.packages[0].dependencies[0].req = version.to_owned();
            tree.files = vec![File { path: path.to_owned(), text: text.to_owned() }];
            assert_eq!(found(packages::exact_versions, &tree).len(), wanted, "{version} {path} {kind} {publish}");
        }
    }
}

#[test]
fn a_lint_that_is_not_denied_or_not_taken_is_found() {
    let root = "[workspace.lints.rust]\nmissing_docs = \"deny\"\nunsafe_code = \"deny\"\n";
    for (path, text, wanted) in [
        ("Cargo.toml", root, 0),
        ("Cargo.toml", &root.replace("docs = \"deny\"", "docs = \"warn\""), 1),
        ("Cargo.toml", &root.replace("workspace.lints", "lints"), 2),
        ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n", 0),
        ("crates/a/Cargo.toml", "[package]\n", 1),
        ("crates/a/Cargo.toml", "[lints]\n[dependencies]\nworkspace = true\n", 1),
        ("fuzz/Cargo.toml", "[package]\n", 0),
    ] {
        let files = vec![File { path: path.to_owned(), text: text.to_owned() }];
        let tree = Tree { files, ..package("a", "null", "b", "null") };
        assert_eq!(found(packages::lints, &tree).len(), wanted, "{path}: {text}");
    }
}

#[test]
fn a_name_that_an_adapter_does_not_export_is_found() {
    let front =
        "//! A.\npub mod keys;\npub mod runtime;\nmod own;\npub use a::b::{Slot,\n    Tsc};\npub use c::Old as Call;\n";
    let front = ("crates/bulklink/src/lib.rs", front);
    for (adapter, missing) in [
        ("pub use bulklink::{Slot, keys};\npub type Call = bulklink::Call<X>;\n", 0),
        ("pub use bulklink::{keys};\n// Slot\npub type Call = bulklink::Call<X>;\n", 1),
        ("", 3),
    ] {
        let files = [front, ("crates/bulklink-x/src/lib.rs", adapter), ("crates/bulklink-core/src/lib.rs", "")];
        assert_eq!(lines(exports::exports, &files).len(), missing, "{adapter}");
    }
    assert_eq!(lines(exports::exports, &[]), [1]);
}

#[test]
fn a_named_test_that_does_not_exist_once_is_found_and_so_is_a_row_without_tests() {
    const FILES: [(&str, &str); 9] = [
        ("crates/a/tests/behaviour/closing.rs", "//! A.\n#[test]\nfn ends() {}\n\nfn helper() {}\n"),
        ("a/behaviour/parts/mod.rs", "fn f() {}\n#[test]\n#[should_panic(expected = \"x\")]\nfn parts() {}"),
        ("crates/a/src/sum.rs", "mod tests {\n    #[tokio::test(start_paused = true)]\n    async fn sums() {}\n}\n"),
        ("tests/runtimes/src/lib.rs", "each! {\n    closing: lasts\n}\n"),
        ("tests/runtimes/src/closing.rs", "pub(crate) fn lasts() {}\npub(crate) fn unlisted() {}\n"),
        ("tests/redis/both.rs", "on_both! {\n    runs\n}\nasync fn runs() {}\nasync fn helps() {}\n"),
        ("other/closing.rs", "#[test]\nfn ends() {}\n"),
        ("other/twice/closing.rs", "#[test]\nfn doubled() {}\n"),
        ("more/twice/closing.rs", "#[test]\nfn doubled() {}\n"),
    ];
    let promises = ("| promise | tests |", PAGES[0].path);
    let peers = ("| in | case | Bulklink |", PAGES[1].path);
    for ((head, path), cell, is_good) in [
        (promises, "`behaviour/closing::ends`, `tests/behaviour/closing::ends`", true),
        (promises, "`behaviour/parts::parts`, `behaviour/parts/mod::parts`", true),
        (promises, "`src/sum::tests::sums`", true),
        (promises, "`redis/both::runs`", true),
        (promises, "`runtimes/src/closing::lasts`, on each `tokio::runtime::Runtime`", true),
        (promises, "`behaviour/closing::gone`", false),
        (promises, "`behaviour/closing::helper`", false),
        (promises, "`closing/contract::ends`", false),
        (promises, "`aviour/closing::ends`", false),
        (promises, "`behaviour/parts::f`", false),
        (promises, "`runtimes/src/closing::unlisted`", false),
        (promises, "`redis/both::helps`", false),
        (promises, "`twice/closing::doubled`", false),
        (promises, "yes, behaviour/closing::ends", false),
        (promises, "", false),
        (peers, "holds: `behaviour/closing::ends`", true),
        (peers, "differs: it ends; `behaviour/closing::ends`", true),
        (peers, "no counterpart: nothing ends", true),
        (peers, "planned: an end", true),
        (peers, "holds: always", false),
        (peers, "holds: `behaviour/closing::gone`", false),
        (peers, "`behaviour/closing::ends`", false),
    ] {
        let page = format!("# A\n\n{head}\n| --- | --- |\n| Closing ends. | {cell} |\n");
        let files: Vec<_> = FILES.into_iter().chain([(path, &*page)]).collect();
        assert_eq!(lines(named_tests::check, &files), &[5][usize::from(is_good)..], "{cell}");
    }
}
