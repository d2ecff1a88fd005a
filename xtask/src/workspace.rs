//! The workspace: its root, its target folders, its manifests and its packages.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::run::{ask, cargo};

/// The folder of the root `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// A separate target folder, for builds that would otherwise evict the usual one.
pub(crate) fn target_dir(name: &str) -> String {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    target.join(name).to_string_lossy().into_owned()
}

/// [`target_dir`] as an absolute path, for commands that do not run in the root.
pub(crate) fn target_path(name: &str) -> PathBuf {
    root().join(target_dir(name))
}

/// Reads a manifest, or another TOML file, by its path from the root.
pub(crate) fn manifest<T: DeserializeOwned>(path: impl AsRef<Path>) -> Result<T> {
    let path = root().join(path);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("cannot parse {}", path.display()))
}

/// The value under a path of keys.
pub(crate) fn value_at<'a>(manifest: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(manifest.get(*first)?, |value, key| value.get(*key))
}

/// The oldest Rust that the workspace supports.
pub(crate) fn rust_version() -> Result<String> {
    let manifest = manifest::<Table>("Cargo.toml")?;
    let version = value_at(&manifest, &["workspace", "package", "rust-version"]).and_then(Value::as_str);
    version.map(str::to_owned).context("Cargo.toml has no rust-version")
}

/// A member of the workspace, as `cargo metadata` describes it.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) rust_version: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    /// An empty list for a package that is never published.
    publish: Option<Vec<String>>,
}

/// A dependency under the name of its package, even if the manifest renames it.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, else "dev" or "build".
    pub(crate) kind: Option<String>,
}

impl Package {
    pub(crate) fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

/// The members of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let metadata =
        ask(&mut cargo(&["metadata", "--no-deps", "--format-version=1"])).context("cargo metadata failed")?;
    Ok(serde_json::from_str::<Metadata>(&metadata)?.packages)
}
