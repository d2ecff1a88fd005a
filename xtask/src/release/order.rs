//! The order in which the crates are published: each after those that its package names.

use anyhow::{Result, bail};

use crate::workspace::{self, Dependency, Package};

/// The names of the crates of the workspace in their order.
pub(super) fn crates() -> Result<Vec<String>> {
    let packages: Vec<_> = workspace::packages()?.into_iter().filter(Package::is_crate).collect();
    order(&packages)
}

/// The names of the packages, each after those that it depends on, and otherwise by name.
pub(super) fn order(packages: &[Package]) -> Result<Vec<String>> {
    let mut left: Vec<_> = packages.iter().collect();
    left.sort_by_key(|package| &package.name);
    let mut order = Vec::new();
    while !left.is_empty() {
        let is_left = |dependency: &Dependency| left.iter().any(|package| package.name == dependency.name);
        let is_free = |package: &&Package| !package.dependencies.iter().any(|one| is_published(one) && is_left(one));
        let Some(next) = left.iter().position(is_free) else {
            let names: Vec<_> = left.iter().map(|package| &*package.name).collect();
            bail!("no order: a circle of dependencies among {}", names.join(", "));
        };
        order.push(left.remove(next).name.clone());
    }
    Ok(order)
}

/// Whether the published package has the dependency. Cargo leaves out those for tests that have
/// only a path, and the registry knows all others.
fn is_published(dependency: &Dependency) -> bool {
    dependency.kind.as_deref() != Some("dev") || dependency.req != "*"
}
