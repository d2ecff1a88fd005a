//! `cargo xtask msrv`: checks each published crate with the oldest Rust that it supports, and with
//! the oldest versions of its dependencies that its manifest allows.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use crate::run::{cargo, run};
use crate::step::Step;
use crate::toolchain::pinned;
use crate::workspace::{self, Package};

/// The steps of `cargo xtask msrv`.
pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("msrv", msrv)]
}

fn msrv() -> Result<()> {
    let packages: Vec<_> = workspace::packages()?.into_iter().filter(Package::is_published).collect();
    let compiler = pinned::find(&version(&packages)?)?;
    let copy = copy(&packages)?;
    for package in &packages {
        // One by one: a check of all would add up the features that each has of its dependencies.
        let sets: &[&[&str]] = if package.features.is_empty() { &[&[]] } else { &[&[], &["--all-features"]] };
        for features in sets {
            let mut check = cargo(&["check", "-p", &package.name]);
            check.args(*features).arg("--target-dir").arg(workspace::target_path("msrv"));
            run(check.current_dir(&copy).envs(compiler.variables()))?;
        }
    }
    Ok(())
}

/// The Rust version that all packages state.
fn version(packages: &[Package]) -> Result<String> {
    let first = packages.first().context("no package is published")?;
    let stated = |package: &Package| package.rust_version.clone().unwrap_or_else(|| "no version".to_owned());
    if let Some(other) = packages.iter().find(|other| stated(other) != stated(first)) {
        bail!("{} states Rust {}, but {} states {}", first.name, stated(first), other.name, stated(other));
    }
    Ok(stated(first))
}

/// Writes a workspace of the published crates, whose manifests allow only the oldest versions of
/// their dependencies, and returns its folder. Dev-dependencies would demand newer ones.
fn copy(packages: &[Package]) -> Result<PathBuf> {
    let copy = workspace::target_path("msrv-oldest");
    let mut root = read(&workspace::root().join("Cargo.toml"))?;
    root.remove("profile");
    let workspace = table(&mut root, "workspace").context("no workspace")?;
    workspace.remove("exclude");
    workspace.insert("members".to_owned(), packages.iter().map(member).collect::<Vec<_>>().into());
    table(workspace, "dependencies").map_or(Ok(()), pin)?;
    fs::create_dir_all(&copy)?;
    fs::write(copy.join("Cargo.toml"), root.to_string())?;
    // All other versions are those that the workspace is tested with, as far as these allow.
    fs::copy(workspace::root().join("Cargo.lock"), copy.join("Cargo.lock"))?;
    for package in packages {
        let folder = copy.join(member(package));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("Cargo.toml"), manifest(package)?.to_string())?;
    }
    Ok(copy)
}

fn member(package: &Package) -> String {
    format!("crates/{}", package.name)
}

fn read(path: &PathBuf) -> Result<Table> {
    fs::read_to_string(path)?.parse().with_context(|| path.display().to_string())
}

/// The manifest of a package, without what only its tests need, and with the sources where they
/// are.
fn manifest(package: &Package) -> Result<Table> {
    let mut manifest = read(&package.manifest_path)?;
    manifest.remove("test");
    let source = package.manifest_path.with_file_name("src");
    for (target, main) in [("lib", "lib.rs"), ("bin", "main.rs")] {
        let target = match manifest.get_mut(target) {
            Some(Value::Array(several)) => several.first_mut().and_then(Value::as_table_mut),
            one => one.and_then(Value::as_table_mut),
        };
        target.map(|target| target.insert("path".to_owned(), source.join(main).to_string_lossy().into_owned().into()));
    }
    for (_, section) in table(&mut manifest, "target").into_iter().flatten() {
        section.as_table_mut().map_or(Ok(()), pin_all)?;
    }
    pin_all(&mut manifest)?;
    Ok(manifest)
}

fn table<'a>(of: &'a mut Table, name: &str) -> Option<&'a mut Table> {
    of.get_mut(name).and_then(Value::as_table_mut)
}

fn pin_all(section: &mut Table) -> Result<()> {
    section.remove("dev-dependencies");
    ["dependencies", "build-dependencies"].iter().try_for_each(|kind| table(section, kind).map_or(Ok(()), pin))
}

/// Lets dependencies of the registry have only the oldest version that they name.
fn pin(dependencies: &mut Table) -> Result<()> {
    for (name, dependency) in dependencies {
        let requirement = match dependency {
            Value::Table(table) if table.contains_key("path") => None,
            Value::Table(table) => table.get_mut("version"),
            text => Some(text),
        };
        if let Some(Value::String(requirement)) = requirement {
            *requirement = oldest(requirement).with_context(|| format!("`{name}` needs `{requirement}`"))?;
        }
    }
    Ok(())
}

/// The oldest version of a requirement, as an exact one: its first number.
fn oldest(requirement: &str) -> Result<String> {
    let numbers =
        requirement.trim_start_matches(['^', '~', '=', '>', ' ']).split([',', ' ']).next().unwrap_or_default();
    let count = numbers.split('.').count();
    if count > 3 || !numbers.split('.').all(|number| number.parse::<u32>().is_ok()) {
        bail!("this check does not know its oldest version");
    }
    Ok(format!("={numbers}{}", ".0".repeat(3 - count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_have_the_oldest_version_that_they_name_and_those_of_the_workspace_stay() {
        let text = "a = \"1\"\nb = { version = \">=0.12.4, <0.14\", optional = true }\nc.workspace = true\n\
                    d = { path = \"d\", version = \"=0.1.0\" }\n";
        let mut dependencies: Table = text.parse().unwrap();
        pin(&mut dependencies).unwrap();
        let version = |name: &str| dependencies[name].get("version").unwrap_or(&dependencies[name]).as_str();
        assert_eq!((version("a"), version("b")), (Some("=1.0.0"), Some("=0.12.4")));
        assert_eq!((version("c"), version("d")), (None, Some("=0.1.0")));
        for bad in ["*", "<2", "1.0.0-rc.1", "1.2.3.4", ""] {
            assert!(oldest(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_crate_that_states_another_version_is_named() {
        let package = |name: &str, version: Option<&str>| {
            let json = serde_json::json!({
                "name": name, "manifest_path": "Cargo.toml", "dependencies": [], "rust_version": version,
            });
            serde_json::from_value::<Package>(json).unwrap()
        };
        let stated = |second| version(&[package("a", Some("1.85")), package("b", second)]);
        assert_eq!(stated(Some("1.85")).unwrap(), "1.85");
        let error = |second| stated(second).unwrap_err().to_string();
        assert_eq!(error(Some("1.88")), "a states Rust 1.85, but b states 1.88");
        assert_eq!(error(None), "a states Rust 1.85, but b states no version");
    }
}
