//! The code in a program: how long its section is, and which functions lie there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

/// The section of a program that holds its code.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) bytes: u64,
    /// The largest first.
    pub(super) functions: Vec<Function>,
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) bytes: u64,
}

/// Whose code a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The core itself, and what the library makes for the core's types and the probe's waiter.
    Core,
    /// The rest of the library: growing of vectors, formatting of numbers, panics.
    Library,
    /// What the compiler calls: copies, divisions.
    Runtime,
    /// The probe's heap.
    Probe,
}

impl Text {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let file = fs::read(path)?;
        let file = object::File::parse(&*file)?;
        let section = file.section_by_name(".text").context("no section .text")?;
        // Two names may stand for the same code.
        let mut functions = BTreeMap::new();
        for symbol in file.symbols().filter(|symbol| symbol.section_index() == Some(section.index())) {
            if symbol.kind() == SymbolKind::Text && symbol.size() > 0 {
                let name = format!("{:#}", rustc_demangle::demangle(symbol.name()?));
                functions.insert(symbol.address(), Function { name, bytes: symbol.size() });
            }
        }
        let mut functions: Vec<_> = functions.into_values().collect();
        functions.sort_by_key(|function| std::cmp::Reverse(function.bytes));
        Ok(Self { bytes: section.size(), functions })
    }

    /// The bytes that this program has and the other has not.
    pub(super) fn over(&self, other: &Text) -> u64 {
        self.bytes.saturating_sub(other.bytes)
    }

    /// The bytes of an origin.
    pub(super) fn of(&self, origin: Origin) -> u64 {
        self.functions.iter().filter(|function| function.origin() == origin).map(|function| function.bytes).sum()
    }
}

impl Function {
    pub(super) fn origin(&self) -> Origin {
        let mentions = |name| self.name.contains(name);
        if mentions("bulklink_core::") || mentions("code_size::Waiter") {
            Origin::Core
        } else if mentions("code_size::") || self.name == "_start" {
            Origin::Probe
        } else if mentions("::") && !mentions("compiler_builtins::") {
            Origin::Library
        } else {
            Origin::Runtime
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, bytes: u64) -> Function {
        Function { name: name.to_owned(), bytes }
    }

    #[test]
    fn code_made_for_a_type_of_the_core_is_the_cores() {
        for name in [
            "<bulklink_core::gate::Gate<code_size::Waiter>>::enter",
            "<alloc::collections::vec_deque::VecDeque<code_size::Waiter>>::grow",
            "core::mem::drop::<bulklink_core::invalid::Invalid>",
        ] {
            assert_eq!(function(name, 1).origin(), Origin::Core, "{name}");
        }
    }

    #[test]
    fn other_code_is_told_apart() {
        let origin = |name| function(name, 1).origin();
        assert_eq!(origin("<alloc::raw_vec::RawVecInner>::finish_grow"), Origin::Library);
        assert_eq!(origin("compiler_builtins::mem::memcpy"), Origin::Runtime);
        assert_eq!(origin("__aeabi_memcpy4"), Origin::Runtime);
        assert_eq!(origin("<code_size::Heap as core::alloc::global::GlobalAlloc>::alloc"), Origin::Probe);
    }

    #[test]
    fn bytes_are_summed_by_origin() {
        let text =
            Text { bytes: 100, functions: vec![function("a::b", 30), function("c::d", 20), function("memcpy", 5)] };
        assert_eq!((text.of(Origin::Library), text.of(Origin::Runtime), text.of(Origin::Core)), (50, 5, 0));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_very_program_can_be_read() {
        let text = Text::read(&std::env::current_exe().unwrap()).unwrap();
        assert!(text.functions.iter().any(|function| function.name.contains("this_very_program_can_be_read")));
        assert!(text.functions.is_sorted_by(|one, next| one.bytes >= next.bytes));
        let functions: u64 = text.functions.iter().map(|function| function.bytes).sum();
        assert!(functions > text.bytes / 2 && functions <= text.bytes, "{functions} of {}", text.bytes);
    }
}
