//! How much code the core is on a microcontroller: what a program that holds every input and output of the gate has over an
//! empty one.

mod report;
mod text;

use anyhow::{Context, Result, ensure};

use self::text::Text;
use crate::bare::{self, Toolchain};
use crate::run::run;
use crate::step::{Outcome, Step};
use crate::workspace;

/// What `cargo xtask size` runs.
pub(crate) const STEPS: &[Step] = &[Step { name: "size", run: size }];

pub(crate) const TARGET: &str = "thumbv7em-none-eabi";

/// The most bytes that the core may have.
pub(crate) const LIMIT: u64 = 8 * 1024;

/// The code of the programs of the probe.
pub(crate) struct Sizes {
    empty: Text,
    gate: Text,
    values: Text,
}

impl Sizes {
    /// The bytes that are judged: all that the gate brings into a program, wherever it comes from.
    pub(crate) fn core(&self) -> u64 {
        self.gate.over(&self.empty)
    }
}

fn size() -> Result<Outcome> {
    let Some(sizes) = measured()? else { return Ok(Outcome::Skipped(bare::absent(&[TARGET]))) };
    print!("{sizes}");
    ensure!(sizes.core() <= LIMIT, "the core's .text on {TARGET} is {} bytes, more than {LIMIT}", sizes.core());
    Ok(Outcome::Passed)
}

/// Builds the probe and reads its programs; nothing where no compiler has the target.
pub(crate) fn measured() -> Result<Option<Sizes>> {
    let Some(toolchain) = Toolchain::find(TARGET) else { return Ok(None) };
    build(&toolchain)?;
    Ok(Some(Sizes { empty: program("empty")?, gate: program("gate")?, values: program("values")? }))
}

/// The user's own flags are left out, as they are for another machine. Only these names tell for which types code was made.
fn build(toolchain: &Toolchain) -> Result<()> {
    let mut build =
        toolchain.cargo(&["build", "--release", "--manifest-path", "tests/code-size/Cargo.toml"], TARGET, "size");
    run(build.env("RUSTFLAGS", "-Csymbol-mangling-version=v0"))
}

fn program(name: &str) -> Result<Text> {
    let path = workspace::root().join(workspace::target_dir("size")).join(TARGET).join("release").join(name);
    Text::read(&path).with_context(|| format!("cannot read the program {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::tidy::tokens::tokens;
    use crate::workspace;

    /// The names of the public functions in a source file.
    fn public(source: &str) -> Vec<String> {
        let tokens: Vec<_> = tokens(source).unwrap().into_iter().map(|token| token.text).collect();
        let starts =
            tokens.windows(4).filter(|window| window[0] == "pub" && window[1..3].iter().any(|word| word == "fn"));
        starts.map(|window| window[if window[1] == "fn" { 2 } else { 3 }].clone()).collect()
    }

    #[test]
    fn public_functions_are_found_and_no_others() {
        let source = "pub fn a() {} pub(crate) fn b() {} fn c() {} pub const fn d() {} pub struct E(fn());";
        assert_eq!(public(source), ["a", "d"]);
    }

    #[test]
    fn the_probe_has_every_public_function_of_gate_and_word() {
        let root = workspace::root();
        let probe = fs::read_to_string(root.join("tests/code-size/src/bin/gate.rs")).unwrap();
        let core = root.join("crates/bulklink-core/src");
        let gate = core.join("gate").read_dir().unwrap().map(|file| file.unwrap().path());
        for file in gate.chain([core.join("word.rs")]) {
            for name in public(&fs::read_to_string(file).unwrap()) {
                assert!(
                    probe.contains(&format!("::{name},")),
                    "tests/code-size/src/bin/gate.rs does not keep `{name}`"
                );
            }
        }
    }
}
