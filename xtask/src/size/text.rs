//! The code of a program: the size of its section and the functions in it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

/// The `.text` section of a program.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) bytes: u64,
    /// The names and sizes of the functions, the largest first.
    pub(super) functions: Vec<(String, u64)>,
}

const CORE: &str = "the core, with the code of alloc and core for its types";
const LIBRARY: &str = "other code of alloc and core";
const RUNTIME: &str = "code that the compiler calls, such as memcpy";
const PROGRAM: &str = "the heap of the program";

impl Text {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let file = fs::read(path)?;
        let file = object::File::parse(&*file)?;
        let section = file.section_by_name(".text").context("no section .text")?;
        // By address, because two symbols can name the same code.
        let mut functions = BTreeMap::new();
        for symbol in file.symbols().filter(|symbol| symbol.section_index() == Some(section.index())) {
            if symbol.kind() == SymbolKind::Text && symbol.size() > 0 {
                let name = format!("{:#}", rustc_demangle::demangle(symbol.name()?));
                functions.insert(symbol.address(), (name, symbol.size()));
            }
        }
        let mut functions: Vec<_> = functions.into_values().collect();
        functions.sort_by_key(|(_, bytes)| Reverse(*bytes));
        Ok(Self { bytes: section.size(), functions })
    }

    /// Returns the bytes of all functions of each origin.
    pub(super) fn by_origin(&self) -> [(&'static str, u64); 4] {
        [CORE, LIBRARY, RUNTIME, PROGRAM].map(|wanted| {
            let functions = self.functions.iter().filter(|(name, _)| origin(name) == wanted);
            (wanted, functions.map(|(_, bytes)| bytes).sum())
        })
    }
}

/// Says where the code of a function comes from.
fn origin(name: &str) -> &'static str {
    if name.contains("bulklink_core::") || name.contains("code_size::Waiter") {
        CORE
    } else if name.contains("code_size::") || name == "_start" {
        PROGRAM
    } else if name.contains("::") && !name.contains("compiler_builtins::") {
        LIBRARY
    } else {
        RUNTIME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_summed_by_origin() {
        let functions = [
            "<bulklink_core::gate::Gate<code_size::Waiter>>::enter",
            "<alloc::collections::vec_deque::VecDeque<code_size::Waiter>>::grow",
            "core::mem::drop::<bulklink_core::invalid::InvalidArgument>",
            "<alloc::raw_vec::RawVecInner>::finish_grow",
            "compiler_builtins::mem::memcpy",
            "__aeabi_memcpy4",
            "<code_size::Heap as core::alloc::global::GlobalAlloc>::alloc",
        ];
        let functions = functions.map(|name| (name.to_owned(), 10)).into();
        let text = Text { bytes: 100, functions };
        assert_eq!(text.by_origin(), [(CORE, 30), (LIBRARY, 10), (RUNTIME, 20), (PROGRAM, 10)]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_program_of_this_test_can_be_read() {
        let text = Text::read(&std::env::current_exe().unwrap()).unwrap();
        assert!(text.functions.iter().any(|(name, _)| name.contains("the_program_of_this_test_can_be_read")));
        assert!(text.functions.is_sorted_by(|(_, one), (_, next)| one >= next));
        let functions: u64 = text.functions.iter().map(|(_, bytes)| bytes).sum();
        assert!(functions > text.bytes / 2 && functions <= text.bytes, "{functions} of {}", text.bytes);
    }
}
