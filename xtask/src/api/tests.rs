//! Tests of listings and names, with small libraries.

use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

use super::docs::{Docs, JSON};
use super::names::Names;
use super::{listing, names};
use crate::run::{ask, command};
use crate::workspace::compatible;

/// The docs of a library, or `None` if this Rust writes them in another format.
fn docs(source: &str) -> Option<Docs> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("bulklink-api-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("lib.rs"), source).unwrap();
    let mut rustdoc = command("rustdoc", &["--edition=2024", "--crate-name=sample"]);
    rustdoc.args(JSON.split(' ')).arg("-o").arg(&folder).arg(folder.join("lib.rs"));
    ask(rustdoc.env("RUSTC_BOOTSTRAP", "1")).expect("rustdoc succeeds");
    let docs = Docs::read(&folder, "sample");
    fs::remove_dir_all(folder).unwrap();
    docs.inspect_err(|error| eprintln!("skipped: {error}")).ok()
}

fn lines(source: &str) -> Option<Vec<String>> {
    let docs = docs(source)?;
    let text = listing::text(&docs, &[&Names::of(&docs)]).unwrap();
    Some(text.lines().skip(2).map(str::to_owned).collect())
}

#[test]
fn a_type_without_a_public_path_is_found_wherever_it_occurs() {
    let cases = [
        ("pub fn f() -> own::Own { own::Own }", 1),
        ("pub fn f(_: &[Option<own::Own>]) {}", 1),
        ("pub fn f() -> impl Iterator<Item = own::Own> { [].into_iter() }", 1),
        ("pub struct A { pub field: own::Own }", 1),
        ("pub struct A(pub own::Own);", 1),
        ("pub enum A { B(own::Own), C { own: own::Own } }", 2),
        (
            "pub struct A; impl Iterator for A { type Item = own::Own; fn next(&mut self) -> Option<own::Own> { None } }",
            1,
        ),
        ("pub struct A; impl A { pub fn own(&self) -> own::Own { own::Own } }", 1),
        ("pub trait A { fn own(&self) -> own::Own; }", 1),
        ("pub type A = Vec<own::Own>;", 1),
        ("pub fn f() -> own::Own { own::Own } pub use own::Own;", 0),
        ("pub fn f() -> own::Own { own::Own } pub use own::Own as Other;", 0),
        ("pub fn f() -> own::Own { own::Own } pub mod a { pub use super::own::*; }", 0),
        ("pub fn f() -> own::Own { own::Own } #[doc(hidden)] pub use own::Own;", 1),
        ("pub fn f() -> own::Own { own::Own } #[doc(hidden)] pub mod plumbing { pub use super::own::Own; }", 1),
        ("pub fn f() -> own::Own { own::Own } pub mod plumbing { pub use super::own::Own; }", 0),
        ("pub mod plumbing { pub fn f() -> super::own::Own { super::own::Own } }", 0),
        ("#[doc(hidden)] pub fn f() -> own::Own { own::Own }", 0),
        ("struct A { pub field: own::Own }", 0),
        ("pub fn f(_: impl own::Sealed) {}", 0),
        ("pub struct A; impl own::Sealed for A { type Part = own::Own; }", 0),
    ];
    let own = "mod own { pub struct Own; pub trait Sealed { type Part; } }";
    let modules = (0..).zip(cases).map(|(case, (source, _))| format!("pub mod case_{case} {{ {own}\n{source} }}\n"));
    let Some(docs) = docs(&modules.collect::<String>()) else { return };
    let found = names::missing(&docs, &[&Names::of(&docs)]);
    for (case, (source, wanted)) in (0..).zip(cases) {
        let found: Vec<_> = found.iter().filter(|line| line.contains(&format!("::case_{case}::"))).collect();
        assert_eq!(found.len(), wanted, "{source}: {found:?}");
    }
}

#[test]
fn a_listing_has_public_paths_and_auto_traits_and_only_what_is_promised() {
    let source = "
        mod own { #[derive(Clone, PartialEq)] pub struct Own<T>(*const T); }
        pub use own::Own;
        pub mod plumbing { pub fn hidden() {} }
        pub fn f(_: &own::Own<u8>, number: u32) -> u64 { number.into() }";
    let Some(found) = lines(source) else { return };
    assert_eq!(
        found,
        [
            "pub struct sample::Own<T>(_)",
            "impl<T: core::clone::Clone> core::clone::Clone for sample::Own<T>",
            "impl<T: core::cmp::PartialEq> core::cmp::PartialEq for sample::Own<T>",
            "impl<T> !core::marker::Send for sample::Own<T>",
            "impl<T> !core::marker::Sync for sample::Own<T>",
            "impl<T> core::marker::Unpin for sample::Own<T>",
            "impl<T> core::panic::unwind_safe::RefUnwindSafe for sample::Own<T> where T: core::panic::unwind_safe::RefUnwindSafe",
            "impl<T> core::panic::unwind_safe::UnwindSafe for sample::Own<T> where T: core::panic::unwind_safe::RefUnwindSafe",
            "pub fn sample::f(&sample::Own<u8>, u32) -> u64",
        ]
    );
    // An argument's name and a module of ours are no promise; a type is.
    let moved = source.replace("own", "other").replace("number", "x");
    assert_eq!(lines(&moved).unwrap(), found);
    assert_ne!(lines(&source.replace("u32", "u16")).unwrap(), found);
}

#[test]
fn a_line_may_only_go_with_a_version_that_is_not_compatible() {
    let is_compatible = |release, version| compatible(release) == compatible(version);
    assert!(is_compatible("v0.1.0", "0.1.7") && is_compatible("v1.2.0", "1.9.0"));
    assert!(
        !is_compatible("v0.1.0", "0.2.0") && !is_compatible("v1.9.9", "2.0.0") && !is_compatible("v0.1.0", "1.0.0")
    );
}
