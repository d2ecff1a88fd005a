//! An adapter brings a clock, a timer and a spawner. It takes no part in admission, and cannot name the core.

use toml::Value;

use crate::tidy::Finding;
use crate::tidy::tokens::find;
use crate::tidy::tree::{File, Tree};

const RULE: &str = "thin-adapter";

const ADAPTERS: &[&str] = &["crates/bulklink-tokio/", "crates/bulklink-smol/", "crates/bulklink-async-std/"];

const ADMISSION: &[&str] = &["Gate", "Ticket", "Grant"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().flat_map(core_in).collect()
}

fn core_in(file: &File) -> Vec<Finding> {
    match ADAPTERS.iter().find_map(|adapter| file.path.strip_prefix(adapter)) {
        Some("Cargo.toml") => core_dependencies(file),
        Some(path) if path.starts_with("src/") => admission_names(file),
        _ => Vec::new(),
    }
}

fn admission_names(file: &File) -> Vec<Finding> {
    let names = ADMISSION.iter().flat_map(|name| find(&file.tokens, &[name]));
    names.map(|name| file.finding(name.line, RULE, format!("`{}` is the core's business", name.text))).collect()
}

fn core_dependencies(file: &File) -> Vec<Finding> {
    let core = file.dependencies().filter(|(name, dependency)| is_core(name, dependency));
    core.map(|(name, _)| file.finding(1, RULE, format!("`{name}` is the core; depend on the front"))).collect()
}

/// By its name, or under another one through `package = "bulklink-core"`.
fn is_core(name: &str, dependency: &Value) -> bool {
    let package = dependency.get("package").and_then(Value::as_str);
    name == "bulklink-core" || package == Some("bulklink-core")
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
            "[dependencies.inner]\npackage = \"bulklink-core\"\n",
            "[target.'cfg(unix)'.dependencies]\nbulklink-core.workspace = true\n",
            "[target.'cfg(unix)'.dependencies.bulklink-core]\nworkspace = true\n",
        ] {
            assert_eq!(lines(check, MANIFEST, bad), [1], "{bad}");
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
