//! Where things are: the root of the workspace, the target folders, the manifests and what they say.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};
use toml::{Table, Value};

/// The folder with the root `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// A target folder of its own, for builds that would otherwise evict the usual one.
pub(crate) fn target_dir(name: &str) -> String {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    target.join(name).to_string_lossy().into_owned()
}

/// [`target_dir`] as an absolute path, for what does not run in the root.
pub(crate) fn target_path(name: &str) -> PathBuf {
    root().join(target_dir(name))
}

/// Keeps all commands from fetching anything.
pub(crate) const NO_INSTALL: &str = "BULKLINK_NO_INSTALL";

/// Whether what is missing may be fetched.
pub(crate) fn may_install() -> bool {
    env::var_os(NO_INSTALL).is_none()
}

/// A manifest, by its path from the root.
pub(crate) fn manifest(path: impl AsRef<Path>) -> Result<Table> {
    let path = root().join(path);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse().with_context(|| format!("{} is no TOML", path.display()))
}

/// The oldest Rust that is promised to do.
pub(crate) fn rust_version() -> Result<String> {
    let manifest = manifest("Cargo.toml")?;
    let version = value_at(&manifest, &["workspace", "package", "rust-version"]).and_then(Value::as_str);
    version.map(str::to_owned).context("Cargo.toml states no rust-version")
}

/// What a manifest says under a path of keys.
pub(crate) fn value_at<'a>(manifest: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(manifest.get(*first)?, |value, key| value.get(*key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dotted_key_a_section_and_a_table_say_the_same() {
        for text in ["a.b.c = true", "[a]\nb.c = true", "[a.b]\nc = true", "a = { b = { c = true } }"] {
            let manifest = text.parse().unwrap();
            assert_eq!(value_at(&manifest, &["a", "b", "c"]), Some(&Value::Boolean(true)), "{text}");
            assert_eq!(value_at(&manifest, &["a", "b", "c", "d"]), None, "{text}");
        }
    }
}
