//! Checks the links in built docs: each that leads to another page leads to one that exists.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use walkdir::WalkDir;

use crate::workspace::captures;

/// Checks the pages of these packages in a folder of docs, and the methods that scripts add to the
/// pages of aliases. Fails if a link is broken, or if a package has no pages.
pub(crate) fn check(docs: &Path, packages: &[&str]) -> Result<()> {
    let mut broken = BTreeSet::new();
    for package in packages.iter().map(|package| package.replace('-', "_")) {
        ensure!(docs.join(&package).is_dir(), "no docs of {package} in {}", docs.display());
        let (pages, scripts) = (WalkDir::new(docs.join(&package)), WalkDir::new(docs.join("type.impl").join(&package)));
        for entry in pages.into_iter().chain(scripts).filter_map(Result::ok) {
            let page = entry.path();
            // A script's links are relative to the root of the docs.
            let base = match page.extension().and_then(OsStr::to_str) {
                Some("html") => page.parent().unwrap_or(docs),
                Some("js") => docs,
                _ => continue,
            };
            let text = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
            let links = targets(&text).filter(|target| !base.join(target).exists());
            broken.extend(links.map(|target| format!("\n{}: {target}", page.display())));
        }
    }
    ensure!(broken.is_empty(), "{} broken links:{}", broken.len(), broken.into_iter().collect::<String>());
    Ok(())
}

/// Returns the relative links of a page or a script to other pages.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    // These parts have docs of other crates' traits, with the names that they link to.
    let parts = ["trait", "synthetic", "blanket"].map(|kind| format!(" id=\"{kind}-implementations\""));
    let end = parts.iter().filter_map(|part| text.find(part)).min().unwrap_or(text.len());
    let (own, implementations) = text.split_at(end);
    links(own).chain(links(implementations).filter(|page| Path::new(page).extension().is_some()))
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    let links = captures(r#"href=\\?"([^"\\#?]*)"#, text).into_iter();
    // A scheme has a colon; scripts put in targets with a brace.
    links.filter(|page| !page.is_empty() && !page.contains([':', '{']) || page.contains("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_page_that_does_not_exist_is_found() {
        let docs = std::env::temp_dir().join(format!("bulklink-links-{}", std::process::id()));
        let page = |links: &str| {
            fs::create_dir_all(docs.join("a_b/c")).unwrap();
            fs::write(docs.join("a_b/index.html"), "").unwrap();
            fs::write(docs.join("a_b/c/d.html"), links).unwrap();
            check(&docs, &["a-b"]).map_err(|error| error.to_string().lines().count() - 1)
        };
        let good = r##"<a href="../index.html#x"><a href="#y"><a href="https://d.e/f"><a href="../${f}">"##;
        assert_eq!(page(good), Ok(()));
        assert_eq!(page(r#"<a href="../gone.html#x"><a href="crate#y"><a href="g::h">"#), Err(3));
        let traits = r#"<h2 id="trait-implementations"><a href="g::h"><a href="gone.html">"#;
        assert_eq!(page(traits), Err(1), "names of other crates");
        assert!(check(&docs, &["other"]).is_err());
        fs::remove_dir_all(docs).unwrap();
    }
}
