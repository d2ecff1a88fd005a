//! `cargo xtask release --dry-run`: checks what belongs to a release, and prints the commands that
//! publish it. It publishes nothing.

mod order;
#[cfg(test)]
mod tests;
mod versions;

use anyhow::{Context, Result, bail, ensure};

use crate::run::{ask, command};
use crate::step::Step;
use crate::tidy::tree::Tree;
use crate::workspace::{Package, captures};
use crate::{api, deny, msrv, package};

/// The address of the repository until it has one. No release may have it.
const PLACEHOLDER: &str = "https://github.com/bulklink/bulklink";

/// How the line of `README.md` begins that the first release removes.
const UNRELEASED: &str = "Until the first release";

/// The steps of `cargo xtask release`, ordered so that the cheapest fail first.
pub(crate) fn steps(dry_run: bool) -> Vec<Step> {
    if !dry_run {
        let refuse = || bail!("publishes nothing: add --dry-run, and run the commands that it prints by hand");
        return vec![Step::new("release", refuse)];
    }
    let quick = vec![
        Step::new("tree", tree),
        Step::new("versions", || versions::check(&Tree::read()?)),
        Step::new("manifests", || package::crates().map(drop)),
        Step::new("changelog", || changelog(&Tree::read()?)),
        Step::new("tag", tag),
        Step::new("order", || order::crates().map(|order| println!("{}", order.join(" ")))),
    ];
    // The commands that `.ci/run` leaves out, and the one that a release must not go without.
    let commands = [api::steps(false, false), msrv::steps(), deny::steps(), package::steps()];
    let all = quick.into_iter().chain(commands.into_iter().flatten());
    all.chain([Step::new("commands", print)]).collect()
}

/// A release is what `main` has, and nothing else.
fn tree() -> Result<()> {
    let git = |args: &[&str]| ask(&mut command("git", args)).context("git does not answer");
    let changed = git(&["status", "--porcelain"])?;
    let branch = git(&["branch", "--show-current"])?;
    ensure!(branch.trim() == "main", "the branch is `{}`, and not `main`", branch.trim());
    ensure!(changed.is_empty(), "the tree has changes that are not committed:\n{}", changed.trim_end());
    Ok(())
}

/// The newest entry of the changelog is that of this version. Once it has a date, nothing may be
/// left of the time before the release.
fn changelog(tree: &Tree) -> Result<()> {
    let version = versions::of(&tree.packages)?;
    let text = |path: &str| tree.file(path).map(|file| &*file.text).with_context(|| format!("there is no {path}"));
    let Some(date) = date(text("CHANGELOG.md")?, version)? else {
        println!("{version} has no date in CHANGELOG.md: this is a rehearsal");
        return Ok(());
    };
    let (readme, line) = (text("README.md")?, format!("README.md still has the line \"{UNRELEASED}\""));
    ensure!(!readme.contains(UNRELEASED), "{line}, and CHANGELOG.md has the date {date}");
    let is_placeholder = |package: &Package| package.repository.as_deref() == Some(PLACEHOLDER);
    let package = tree.packages.iter().find(|package| package.is_crate() && is_placeholder(package));
    ensure!(package.is_none(), "the repository of the crates is still the placeholder {PLACEHOLDER}");
    Ok(())
}

/// The date of the newest entry, which must be that of this version and say something; `None` as
/// long as the entry is unreleased.
fn date<'a>(changelog: &'a str, version: &str) -> Result<Option<&'a str>> {
    let (_, entry) = changelog.split_once("\n## ").context("CHANGELOG.md has no entry")?;
    let (heading, entry) = entry.split_once('\n').unwrap_or((entry, ""));
    let date = heading.strip_prefix(version).and_then(|rest| rest.strip_prefix(" - "));
    let wanted = format!("the newest entry of CHANGELOG.md must be \"## {version} - \" and its date, or `unreleased`");
    let date = date.with_context(|| format!("{wanted}, and not \"## {heading}\""))?;
    let (entry, _) = entry.split_once("\n## ").unwrap_or((entry, ""));
    ensure!(!entry.trim().is_empty(), "the entry {version} of CHANGELOG.md is empty");
    let is_date = !captures(r"^(\d{4}-\d{2}-\d{2})$", date).is_empty();
    ensure!(is_date || date == "unreleased", "{wanted}, and not \"## {heading}\"");
    Ok(is_date.then_some(date))
}

/// The tag is not there, or is the commit that is checked.
fn tag() -> Result<()> {
    let tree = Tree::read()?;
    let tag = format!("v{}", versions::of(&tree.packages)?);
    let commit = |name: &str| ask(&mut command("git", &["rev-parse", "--verify", &format!("{name}^{{commit}}")]));
    let Some(tagged) = commit(&format!("refs/tags/{tag}")) else { return Ok(()) };
    ensure!(Some(&tagged) == commit("HEAD").as_ref(), "the tag {tag} is another commit: {}", tagged.trim());
    let changelog = tree.file("CHANGELOG.md").map_or("", |file| &file.text);
    ensure!(date(changelog, &tag[1..])?.is_some(), "the tag {tag} is there, and CHANGELOG.md has no date");
    Ok(())
}

/// Prints how to publish all crates, each after those that it needs.
fn print() -> Result<()> {
    let version = versions::of(&Tree::read()?.packages)?.to_owned();
    println!("Nothing is published. Run these by hand, as RELEASING.md describes:\n");
    println!("git tag --annotate v{version} --message 'Bulklink {version}'");
    for name in order::crates()? {
        println!("cargo publish --package {name}");
    }
    println!("git push origin v{version}");
    Ok(())
}
