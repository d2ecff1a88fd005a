//! `cargo xtask size`: the code size of the core on a microcontroller. It is the size of a program
//! that uses every input and output of the gate, minus the size of an empty program.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::run::run;
use crate::step::Step;
use crate::toolchain::bare::Toolchain;
use crate::workspace;

const TARGET: &str = "thumbv7em-none-eabi";

/// The most bytes of code that the core may have.
const LIMIT: u64 = 8 * 1024;

/// How many functions are listed if the core is too large.
const LARGEST: usize = 25;

/// The steps of `cargo xtask size`.
pub(crate) fn steps() -> Vec<Step<'static>> {
    vec![Step::new("size", || {
        let sizes = measured()?;
        print!("{}", sizes.report());
        ensure!(sizes.core() <= LIMIT, "the core's .text on {TARGET} is {} bytes, more than {LIMIT}", sizes.core());
        Ok(())
    })]
}

/// The code of each program of `tests/code-size`.
pub(crate) struct Sizes {
    empty: Text,
    gate: Text,
    values: Text,
}

/// Builds the programs and reads their code.
pub(crate) fn measured() -> Result<Sizes> {
    let args = ["build", "--release", "--manifest-path", "tests/code-size/Cargo.toml"];
    let mut build = Toolchain::find(TARGET)?.cargo(&args, TARGET, "size");
    // Replaces the user's flags, which are for the host. With v0, symbols name their generic types.
    run(build.env("RUSTFLAGS", "-Csymbol-mangling-version=v0"))?;
    let program = |name| {
        let path = workspace::target_path("size").join(TARGET).join("release").join(name);
        Text::read(&path).with_context(|| format!("cannot read the program {}", path.display()))
    };
    Ok(Sizes { empty: program("empty")?, gate: program("gate")?, values: program("values")? })
}

impl Sizes {
    /// Returns the bytes that count: everything that the gate adds to a program, of any origin.
    pub(crate) fn core(&self) -> u64 {
        self.gate.bytes.saturating_sub(self.empty.bytes)
    }

    fn report(&self) -> String {
        let (empty, gate, values) = (self.empty.bytes, self.gate.bytes, self.values.bytes);
        let mut lines = vec![format!("core .text on {TARGET}: {} bytes (limit {LIMIT})", self.core())];
        lines.extend(self.gate.by_origin().into_iter().map(|(origin, bytes)| format!("{bytes:>8} {origin}")));
        lines.push(format!("counted: the program with the gate, {gate}, minus an empty one, {empty}"));
        let values = values.saturating_sub(empty);
        lines.push(format!("not counted: a program with only the inputs and outputs as text, {values}"));
        if self.core() > LIMIT {
            lines.push("the largest functions:".to_owned());
            let largest = self.gate.functions.iter().take(LARGEST);
            lines.extend(largest.map(|(name, bytes)| format!("{bytes:>8} {name}")));
        }
        lines.join("\n") + "\n"
    }
}

/// The `.text` section of a program.
#[derive(Debug)]
struct Text {
    bytes: u64,
    /// The names and sizes of the functions, the largest first.
    functions: Vec<(String, u64)>,
}

const CORE: &str = "the core, with the code of alloc and core for its types";
const LIBRARY: &str = "other code of alloc and core";
const RUNTIME: &str = "code that the compiler calls, such as memcpy";
const PROGRAM: &str = "the heap of the program";

impl Text {
    fn read(path: &Path) -> Result<Self> {
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
    fn by_origin(&self) -> [(&'static str, u64); 4] {
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
    fn an_empty_program_does_not_count_and_functions_are_listed_above_the_limit() {
        let text = |bytes| Text { bytes, functions: vec![("bulklink_core::f".to_owned(), bytes)] };
        let report = |gate| Sizes { empty: text(14), gate: text(gate), values: text(0) }.report();
        let (fits, too_large) = (report(LIMIT + 14), report(LIMIT + 15));
        assert!(fits.starts_with("core .text on thumbv7em-none-eabi: 8192 bytes (limit 8192)\n"), "{fits}");
        assert!(!fits.contains("bulklink_core::f") && too_large.contains("8207 bulklink_core::f"), "{too_large}");
    }

    #[test]
    fn the_measured_program_uses_every_public_function_of_gate_and_word() {
        let read = |path: &str| fs::read_to_string(workspace::root().join(path)).unwrap();
        let program = read("tests/code-size/src/bin/gate.rs");
        let folder = workspace::root().join("crates/bulklink-core/src/gate");
        let gate = folder.read_dir().unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
        let sources: String = gate.chain([read("crates/bulklink-core/src/word.rs")]).collect();
        let public = sources.lines().filter_map(|line| {
            let line = line.trim_start().strip_prefix("pub ")?;
            line.strip_prefix("const ").unwrap_or(line).strip_prefix("fn ")?.split(['(', '<']).next()
        });
        let names: Vec<_> = public.collect();
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            assert!(program.contains(&format!("::{name},")), "tests/code-size/src/bin/gate.rs does not use `{name}`");
        }
    }

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
