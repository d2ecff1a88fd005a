//! async-std is discontinued: no published crate depends on it, or on its adapter, but the adapter itself.

use crate::tidy::Finding;
use crate::tidy::tree::{File, Tree};

const PUBLISHED: &str = "crates/";

const ADAPTER: &str = "crates/bulklink-async-std/";

const NAMES: &[&str] = &["async-std", "bulklink-async-std"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let others = tree.files.iter().filter(|file| file.path.starts_with(PUBLISHED) && !file.path.starts_with(ADAPTER));
    others.flat_map(found).collect()
}

fn found(file: &File) -> Vec<Finding> {
    let names = file.dependencies().filter(|(name, dependency)| {
        let package = dependency.get("package").and_then(toml::Value::as_str);
        NAMES.contains(&package.unwrap_or(name))
    });
    names.map(|(name, _)| file.finding(1, "discontinued", format!("`{name}` is for its own adapter alone"))).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::lines;

    #[test]
    fn a_published_crate_that_depends_on_it_is_found() {
        for bad in [
            "[dependencies]\nasync-std.workspace = true\n",
            "[dependencies]\nbulklink-async-std = { workspace = true, optional = true }\n",
            "[dependencies]\nold = { package = \"async-std\", version = \"1\" }\n",
            "[target.'cfg(unix)'.dependencies]\nasync-std = \"1\"\n",
        ] {
            assert_eq!(lines(check, "crates/bulklink-smol/Cargo.toml", bad), [1], "{bad}");
        }
    }

    #[test]
    fn its_adapter_examples_and_tests_may() {
        let uses = "[dependencies]\nasync-std.workspace = true\n";
        assert_eq!(lines(check, "crates/bulklink-async-std/Cargo.toml", uses), []);
        assert_eq!(lines(check, "examples/Cargo.toml", uses), []);
        let tests = "[dev-dependencies]\nasync-std.workspace = true\n[dependencies]\nasync-lock = \"3\"\n";
        assert_eq!(lines(check, "crates/bulklink/Cargo.toml", tests), []);
    }
}
