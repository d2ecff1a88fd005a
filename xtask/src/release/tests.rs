//! Each check of a release finds its fault.

use serde_json::json;

use super::{changelog, date, order, versions};
use crate::tidy::tree::{File, Tree};
use crate::workspace::{self, Package};

/// A crate with dependencies: name, kind and requirement.
fn package(name: &str, dependencies: &[(&str, Option<&str>, &str)]) -> Package {
    let dependency = |(name, kind, req): &(&str, Option<&str>, &str)| json!({ "name": name, "kind": kind, "req": req });
    let dependencies: Vec<_> = dependencies.iter().map(dependency).collect();
    let path = workspace::root().join("crates").join(name).join("Cargo.toml");
    let package = json!({
        "name": name, "version": "0.1.0", "manifest_path": path, "dependencies": dependencies,
        "repository": "https://example.org",
    });
    serde_json::from_value(package).unwrap()
}

fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[test]
fn each_crate_comes_after_those_that_its_package_names_and_a_circle_has_no_order() {
    let dev = Some("dev");
    let crates = |of_c: &[(&str, Option<&str>, &str)]| {
        [
            package("a", &[("b", None, "^1"), ("c", dev, "*")]),
            package("b", &[("c", Some("build"), "^1")]),
            package("c", of_c),
        ]
    };
    // A package without its tests does not name what they need by path.
    assert_eq!(order::order(&crates(&[("a", dev, "*"), ("serde", None, "^1")])).unwrap(), ["c", "b", "a"]);
    for of_c in [("a", None, "*"), ("a", dev, "^1")] {
        let error = order::order(&crates(&[of_c])).unwrap_err().to_string();
        assert_eq!(error, "no order, because of a circle: a -> b -> c -> a");
    }
}

#[test]
fn a_crate_or_a_dependency_of_another_version_is_found() {
    let error = |req: &str, name: &str| {
        let tower = package("bulklink-tower", &[(name, None, req), (name, Some("dev"), "*"), ("serde", None, "^1")]);
        let packages = [package("bulklink", &[]), package("bulklink-smol", &[]), tower];
        versions::crates(&packages, "0.1.0").err().map(|error| error.to_string())
    };
    assert_eq!((error("=0.1.0", "bulklink"), error("^0.1.0", "bulklink-smol")), (None, None));
    for (req, name) in [("=0.1.1", "bulklink"), ("^0.1", "bulklink-smol"), ("*", "bulklink-smol")] {
        let wanted = format!("bulklink-tower depends on {name} {req}, and not 0.1.0");
        assert_eq!(error(req, name), Some(wanted));
    }
    let error = versions::crates(&[package("bulklink", &[])], "0.2.0").unwrap_err();
    assert_eq!(error.to_string(), "bulklink has the version 0.1.0, and bulklink 0.2.0");
}

#[test]
fn a_page_that_names_another_version_is_found_and_the_readme_must_name_one() {
    let error = |path: &str, text: &str| {
        let files = [file("README.md", "bulklink-tokio = \"0.3\""), file(path, text)];
        versions::pages(&files, "0.3.1").err().map(|error| error.to_string())
    };
    for (path, text) in [
        ("a.md", "bulklink = { version = \"0.3.1\", features = [\"tsc\"] }"),
        ("a.md", "bulklink-tokio = { path = \"../bulklink\" }"),
        ("a.md", "tokio = \"1\""),
        ("a.rs", "const A: &str = r#\"bulklink = \"0.2\"\"#;"),
        ("CHANGELOG.md", "`bulklink = \"0.2\"`"),
    ] {
        assert_eq!(error(path, text), None, "{text}");
    }
    for (path, text, found) in [
        ("docs/guide/a.md", "\nbulklink-tokio = \"0.2\"", "docs/guide/a.md:2: the version \"0.2\" must be \"0.3\""),
        ("a.rs", "//! bulklink = { features = [], version = \"0\" }", "a.rs:1: the version \"0\" must be \"0.3\""),
    ] {
        assert_eq!(error(path, text).as_deref(), Some(found));
    }
    let error = versions::pages(&[file("README.md", "bulklink-tokio = { path = \"a\" }")], "0.3.1").unwrap_err();
    assert_eq!(error.to_string(), "README.md names no version of a crate");
}

#[test]
fn the_newest_entry_of_the_changelog_is_the_version_and_says_something() {
    let date = |text: &str| date(text, "0.2.0").map(|date| date.map(str::to_owned)).map_err(|error| error.to_string());
    assert_eq!(date("# C\n\n## 0.2.0 - unreleased\n\nA.\n\n## 0.1.0 - 2026-01-01\n"), Ok(None));
    assert_eq!(date("# C\n\n## 0.2.0 - 2026-02-03\n\nA."), Ok(Some("2026-02-03".to_owned())));
    let wanted =
        "the newest entry of CHANGELOG.md must be \"## 0.2.0 - \" and its date, or `unreleased`, and not \"## ";
    for heading in
        ["Unreleased", "0.1.0 - 2026-01-01", "0.2.0", "0.2.0 - soon", "0.2.0 - 2026-2-3", "0.2.01 - unreleased"]
    {
        let changelog = format!("# C\n\n## {heading}\n\nA.\n");
        assert_eq!(date(&changelog), Err(format!("{wanted}{heading}\"")));
    }
    assert_eq!(
        date("# C\n\n## 0.2.0 - unreleased\n\n## 0.1.0 - 2026-01-01\n\nA.\n"),
        Err("the entry 0.2.0 of CHANGELOG.md is empty".into())
    );
    assert_eq!(date("# C\n"), Err("CHANGELOG.md has no entry".into()));
}

#[test]
fn a_release_with_a_date_keeps_nothing_of_the_time_before() {
    let error = |date: &str, readme: &str, repository: &str| {
        let mut front = package("bulklink", &[]);
        front.repository = Some(repository.to_owned());
        let files = vec![file("CHANGELOG.md", &format!("# C\n\n## 0.1.0 - {date}\n\nA.\n")), file("README.md", readme)];
        changelog(&Tree { files, packages: vec![front] }).err().map(|error| error.to_string())
    };
    let (line, placeholder) = ("Until the first release, a checkout.", super::PLACEHOLDER);
    assert_eq!(error("unreleased", line, placeholder), None);
    assert_eq!(error("2026-01-01", "", "https://example.org"), None);
    assert!(error("2026-01-01", line, "https://example.org").unwrap().starts_with("README.md still has the line"));
    assert!(error("2026-01-01", "", placeholder).unwrap().ends_with(placeholder));
}
