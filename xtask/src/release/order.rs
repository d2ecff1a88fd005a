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
        let Some(next) = left.iter().position(|package| needed(package, &left).is_none()) else {
            bail!("no order, because of a circle: {}", circle(&left).join(" -> "));
        };
        order.push(left.remove(next).name.clone());
    }
    Ok(order)
}

/// One of the packages that a package depends on.
fn needed<'a>(package: &Package, packages: &[&'a Package]) -> Option<&'a Package> {
    let mut dependencies = package.dependencies.iter().filter(|dependency| is_published(dependency));
    dependencies.find_map(|one| packages.iter().find(|other| other.name == one.name).copied())
}

/// The names of a circle, if each of the packages depends on one of them.
fn circle<'a>(packages: &[&'a Package]) -> Vec<&'a str> {
    let mut path = vec![packages[0]];
    while let Some(next) = needed(path[path.len() - 1], packages) {
        let start = path.iter().position(|package| package.name == next.name);
        path.push(next);
        if let Some(start) = start {
            return path[start..].iter().map(|package| &*package.name).collect();
        }
    }
    Vec::new()
}

/// Whether the published package has the dependency. Cargo leaves out those for tests that have
/// only a path, and the registry knows all others.
fn is_published(dependency: &Dependency) -> bool {
    dependency.kind.as_deref() != Some("dev") || dependency.req != "*"
}
