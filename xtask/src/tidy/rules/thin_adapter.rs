//! An adapter brings a clock, a timer and a spawner. It takes no part in admission, and cannot name the core.

use crate::manifest::Entry;
use crate::tidy::Finding;
use crate::tidy::tokens::find;
use crate::tidy::tree::{File, Tree};

const RULE: &str = "thin-adapter";

const ADAPTERS: &[&str] = &["crates/bulklink-tokio/", "crates/bulklink-smol/", "crates/bulklink-async-std/"];

const ADMISSION: &[&str] = &["Gate", "Ticket", "Grant"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let names = tree.sources().flat_map(admission_names);
    names.chain(tree.manifests().flat_map(|(file, manifest)| core_dependency(file, manifest.entries()))).collect()
}

fn admission_names(file: &File) -> Vec<Finding> {
    if !adapter_path(&file.path).is_some_and(|path| path.starts_with("src/")) {
        return Vec::new();
    }
    let names = ADMISSION.iter().flat_map(|name| find(&file.tokens, &[name]));
    names.map(|name| file.finding(name.line, RULE, format!("`{}` is the core's business", name.text))).collect()
}

fn core_dependency(file: &File, entries: &[Entry]) -> Vec<Finding> {
    if adapter_path(&file.path) != Some("Cargo.toml") {
        return Vec::new();
    }
    let core = entries.iter().filter(|entry| depends_on_core(entry));
    core.map(|entry| file.finding(entry.line, RULE, "an adapter depends on the front, not on the core")).collect()
}

fn adapter_path(path: &str) -> Option<&str> {
    ADAPTERS.iter().find_map(|adapter| path.strip_prefix(adapter))
}

/// By its name, or under another one through `package = "bulklink-core"`.
fn depends_on_core(entry: &Entry) -> bool {
    dependency(&entry.path).is_some_and(|name| {
        name.split('.').next() == Some("bulklink-core") || entry.value.contains("\"bulklink-core\"")
    })
}

/// What follows `dependencies.`, also for one target only; not that of the tests.
fn dependency(path: &str) -> Option<&str> {
    let for_one_target = || path.strip_prefix("target.")?.split_once(".dependencies.").map(|(_, name)| name);
    path.strip_prefix("dependencies.").or_else(for_one_target)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::lines;

    const SOURCE: &str = "crates/bulklink-tokio/src/lib.rs";
    const MANIFEST: &str = "crates/bulklink-tokio/Cargo.toml";

    #[test]
    fn a_name_of_the_core_is_found() {
        for bad in ["Gate", "Ticket", "Grant"] {
            assert_eq!(lines(check, SOURCE, &format!("//! A.\nfn f(a: {bad}) {{}}\n")), [2], "{bad}");
        }
    }

    #[test]
    fn a_dependency_on_the_core_is_found() {
        for bad in [
            "[dependencies]\nbulklink-core.workspace = true\n",
            "[dependencies]\nbulklink-core = { workspace = true }\n",
            "[dependencies.bulklink-core]\nworkspace = true\n",
            "[dependencies]\ninner = { package = \"bulklink-core\", version = \"1\" }\n",
            "[target.'cfg(unix)'.dependencies]\nbulklink-core.workspace = true\n",
        ] {
            assert_eq!(lines(check, MANIFEST, bad), [2], "{bad}");
        }
    }

    #[test]
    fn the_front_passes_and_so_does_the_core_in_tests() {
        let good = "[dependencies]\nbulklink = { workspace = true }\n\
                    [dev-dependencies]\nbulklink-core.workspace = true\n";
        assert_eq!(lines(check, MANIFEST, good), []);
    }

    #[test]
    fn the_front_and_the_tests_of_an_adapter_may_name_the_core() {
        let text = "//! A.\nfn f(a: Gate) {}\n";
        assert_eq!(lines(check, "crates/bulklink/src/lib.rs", text), []);
        assert_eq!(lines(check, "crates/bulklink-tokio/tests/a.rs", text), []);
    }
}
