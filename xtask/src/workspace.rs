//! The workspace: its root, its target folders, its packages, and the matches of a pattern in a
//! file.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};
use regex_lite::Regex;
use serde::Deserialize;

use crate::run::{ask, cargo};

/// Features that are off by default; their code is tested, linted and documented all the same.
pub(crate) const FEATURES: &str = "--features=bulklink/schema,bulklink/tracing,bulklink/tsc,bulklink-tokio/drain,\
     bulklink-tokio/schema,bulklink-tokio/tracing,bulklink-tokio/tsc,bulklink-tokio/watch,bulklink-redis/breaker,bulklink-redis/smol,bulklink-redis/tracing,\
     bulklink-postgres/breaker,bulklink-postgres/tracing";

/// The folder of the root `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// A folder below the target folder, such as a separate target folder for builds that would
/// otherwise evict the usual one.
pub(crate) fn target_path(name: &str) -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join(name)
}

/// A member of the workspace, as `cargo metadata` describes it.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) rust_version: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) documentation: Option<String>,
    #[serde(default)]
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) dependencies: Vec<Dependency>,
    /// An empty list for a package that is never published.
    publish: Option<Vec<String>>,
}

/// A dependency under the name of its package, even if the manifest renames it.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The required versions, as in `^1.2`: `*` if the manifest has only a path.
    #[serde(default)]
    pub(crate) req: String,
    /// `None` for a normal dependency, else "dev" or "build".
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) optional: bool,
}

impl Package {
    /// Returns whether the package is one of `crates`, published or not yet.
    pub(crate) fn is_crate(&self) -> bool {
        self.manifest_path.starts_with(root().join("crates"))
    }

    pub(crate) fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

/// The members of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>> {
    let metadata = ask(&mut cargo(&["metadata", "--no-deps", "--format-version=1"])).context("no metadata")?;
    let mut metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    Ok(serde_json::from_value(metadata["packages"].take())?)
}

/// The part of a version or a requirement that compatible versions share: `0.8` of `^0.8.1`, and
/// `1` of `1.2.0`.
pub(crate) fn compatible(version: &str) -> String {
    let numbers: Vec<_> = version.trim_start_matches(['^', 'v']).split('.').collect();
    let count = if numbers[0] == "0" { 2 } else { 1 };
    numbers[..count.min(numbers.len())].join(".")
}

/// Returns the matches of the first group of a pattern in a text.
pub(crate) fn captures<'a>(pattern: &str, text: &'a str) -> Vec<&'a str> {
    static COMPILED: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().expect("no pattern is invalid");
    let pattern =
        compiled.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).expect("a pattern is valid"));
    pattern.captures_iter(text).map(|found| found.extract::<1>().1[0]).collect()
}
