//! Where things are: the root of the workspace, the target folders, the crates.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};

use crate::manifest::Manifest;

/// The folder with the root `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// A target folder of its own, for builds that would otherwise evict the usual one.
pub(crate) fn target_dir(name: &str) -> String {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    target.join(name).to_string_lossy().into_owned()
}

/// A manifest, by its path from the root.
pub(crate) fn manifest(path: impl AsRef<Path>) -> Result<Manifest> {
    let path = root().join(path);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Manifest::parse(&text))
}

/// The names of the crates in `crates/`, in alphabetical order.
pub(crate) fn crates() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
