//! `cargo xtask size`: the code size of the core on a microcontroller. It is the size of a program
//! that uses every input and output of the gate, minus the size of an empty program.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection};

use crate::run::run;
use crate::step::Step;
use crate::toolchain::bare::Toolchain;
use crate::workspace;

const TARGET: &str = "thumbv7em-none-eabi";

/// The most bytes of code that the core may have.
const LIMIT: u64 = 8 * 1024;

/// The steps of `cargo xtask size`.
pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("size", || {
        let bytes = core_bytes()?;
        println!("the core's .text on {TARGET}: {bytes} bytes (limit {LIMIT})");
        println!("`nm -SC --size-sort {}` lists its functions", program("gate").display());
        ensure!(bytes <= LIMIT, "the core has {bytes} bytes of code, more than {LIMIT}");
        Ok(())
    })]
}

/// Builds the program with the gate and the empty one. Returns the bytes of code that the gate
/// adds, of any origin.
pub(crate) fn core_bytes() -> Result<u64> {
    let args = ["build", "--release", "--manifest-path", "tests/code-size/Cargo.toml"];
    // Without the user's flags, which are for the host.
    run(Toolchain::find(TARGET)?.cargo(&args, TARGET, "size").env_remove("RUSTFLAGS"))?;
    let (gate, empty) = (text_bytes(&program("gate"))?, text_bytes(&program("empty"))?);
    gate.checked_sub(empty).context("the empty program is larger than the one with the gate")
}

fn program(name: &str) -> PathBuf {
    workspace::target_path("size").join(TARGET).join("release").join(name)
}

/// The size of a program's section `.text`.
fn text_bytes(program: &Path) -> Result<u64> {
    let file = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let file = object::File::parse(&*file)?;
    Ok(file.section_by_name(".text").context("no section .text")?.size())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::captures;

    #[test]
    fn the_measured_program_uses_every_public_function_of_gate_and_word() {
        let read = |path: &str| fs::read_to_string(workspace::root().join(path)).unwrap();
        let program = read("tests/code-size/src/bin/gate.rs");
        let folder = workspace::root().join("crates/bulklink-core/src/gate");
        let gate = folder.read_dir().unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
        let sources = gate.chain([read("crates/bulklink-core/src/word.rs")]);
        let sources: String = sources.filter(|source| !source.contains("\n#![cfg(feature")).collect();
        let functions = captures(r"(?m)^\s*((?:#\[cfg\(feature.*\n\s*)?pub (?:const )?fn \w+)", &sources);
        // The program has no feature.
        let functions = functions.iter().filter(|function| !function.starts_with('#'));
        let names: Vec<_> = functions.filter_map(|function| function.rsplit(' ').next()).collect();
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            assert!(program.contains(&format!("::{name},")), "tests/code-size/src/bin/gate.rs does not use `{name}`");
        }
    }
}
