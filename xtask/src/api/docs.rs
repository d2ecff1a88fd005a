//! The docs of a library as rustdoc's JSON, which only lists what is public and not hidden.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use public_api::PublicItem;
use serde_json::Value;

use crate::run::{cargo, run};
use crate::step::Missing;
use crate::workspace;

/// The format that [`public_api`] reads.
const FORMAT: u64 = 57;

/// The options by which rustdoc writes JSON; nightly compilers have them.
pub(super) const JSON: &str = "-Zunstable-options --output-format json";

/// The docs of a library.
pub(super) struct Docs {
    pub(super) package: String,
    /// All that is public, in groups.
    pub(super) items: Vec<PublicItem>,
    json: Value,
}

/// A folder of this command below the target folder.
pub(super) fn folder(name: &str) -> PathBuf {
    workspace::target_path("api").join(name)
}

/// Writes the docs of the libraries in a workspace, with all features, into a folder.
pub(super) fn write(workspace: &Path, folder: &Path) -> Result<()> {
    let target = self::folder("target");
    let mut doc = cargo(&["doc", "--quiet", "--no-deps", "--lib", "--all-features", "--target-dir"]);
    doc.arg(&target).current_dir(workspace);
    for library in super::libraries()? {
        let is_there = workspace.join("crates").join(&library.name).exists();
        doc.args(is_there.then(|| ["--package".to_owned(), library.name]).into_iter().flatten());
    }
    // Those of another workspace.
    for old in [&target.join("doc"), folder] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    run(doc.env("RUSTC_BOOTSTRAP", "1").env("RUSTDOCFLAGS", JSON))?;
    fs::rename(target.join("doc"), folder).context("cannot move the docs")
}

/// The path of a library's docs in a folder.
pub(super) fn path(folder: &Path, package: &str) -> PathBuf {
    folder.join(package.replace('-', "_")).with_extension("json")
}

impl Docs {
    pub(super) fn read(folder: &Path, package: &str) -> Result<Self> {
        let path = path(folder, package);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let json: Value = serde_json::from_str(&text)?;
        let format = json["format_version"].as_u64();
        let other = || Missing(format!("rustdoc writes format {format:?} and not {FORMAT}, as that of Rust 1.95 does"));
        ensure!(format == Some(FORMAT), other());
        // Without what each type has, such as `Into` of itself.
        let api = public_api::Builder::from_rustdoc_json(path).omit_blanket_impls(true).build()?;
        Ok(Docs { package: package.to_owned(), items: api.into_items().collect(), json })
    }

    /// The id of the crate's root module.
    pub(super) fn root(&self) -> u32 {
        id(&self.json["root"]).expect("a crate has a root")
    }

    /// The item of an id, if its docs are in this crate.
    pub(super) fn item(&self, id: u32) -> Option<&Value> {
        self.json["index"].get(id.to_string())
    }

    /// Where an item is defined, as `crate::module::Name`, also one of another crate.
    pub(super) fn definition(&self, id: u32) -> Option<String> {
        let path = self.json["paths"].get(id.to_string())?["path"].as_array()?;
        Some(path.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("::"))
    }

    /// The block of a trait's implementation that an item is in.
    pub(super) fn implementation(&self, item: &PublicItem) -> Option<&Value> {
        let implementation = &self.item(item.parent_id()?.0)?["inner"]["impl"];
        implementation["trait"].is_object().then_some(implementation)
    }
}

/// An id as a number.
pub(super) fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}
