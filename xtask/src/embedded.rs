//! `cargo xtask embedded`: builds the examples for microcontrollers, runs them in QEMU, and
//! compares their output with a committed text.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use similar::TextDiff;

use crate::run::{run, run_and_read_within};
use crate::step::{Missing, Step};
use crate::toolchain::bare::{self, Toolchain};
use crate::toolchain::programs;
use crate::workspace;

/// The workspace of the examples.
const HOME: &str = "examples/embedded";

pub(crate) const MANIFEST: &str = "examples/embedded/Cargo.toml";

/// The time after which a program hangs; each takes about a second.
const LIMIT: Duration = Duration::from_secs(30);

/// The front under embassy, and the core without an executor.
const PROGRAMS: [Program; 2] =
    [Program { name: "front", target: "thumbv7m-none-eabi" }, Program { name: "gate", target: "thumbv6m-none-eabi" }];

#[derive(Clone, Copy)]
struct Program {
    name: &'static str,
    target: &'static str,
}

/// The steps of `cargo xtask embedded`, one for each program.
pub(crate) fn steps(write: bool) -> Vec<Step<'static>> {
    PROGRAMS.map(|program| Step::new(format!("embedded {}", program.name), move || program.test(write))).into()
}

/// Runs clippy for the programs that the usual compiler can build; Debian's has no clippy.
pub(crate) fn clippy() -> Result<()> {
    for program in PROGRAMS.iter().filter(|program| bare::is_installed(program.target)) {
        run(program.cargo("clippy", &Toolchain::Usual).args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

impl Program {
    fn test(&self, write: bool) -> Result<()> {
        let toolchain = Toolchain::find(self.target)?;
        programs::from_apt("qemu-system-arm").map_err(|error| Missing(format!("{error:#}")))?;
        run(&mut self.cargo("build", &toolchain))?;
        let output = run_and_read_within(&mut self.cargo("run", &toolchain), LIMIT)?;
        let path = workspace::root().join(HOME).join(self.name).join("expected.txt");
        if write {
            return Ok(fs::write(path, output)?);
        }
        let expected = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let difference = difference(&expected, &output);
        ensure!(difference.is_empty(), "{} printed other text; `--write` accepts it\n{difference}", self.name);
        Ok(())
    }

    /// Cargo in the folder of the examples, whose configuration makes QEMU the runner. Without the
    /// user's flags, which are for the host.
    fn cargo(&self, task: &str, toolchain: &Toolchain) -> Command {
        let mut cargo = toolchain.cargo(&[task, "--release", "--package", self.name], self.target, "embedded");
        cargo.current_dir(workspace::root().join(HOME)).env_remove("RUSTFLAGS");
        cargo
    }
}

/// The lines that differ, with a line around them; empty if the texts are equal.
fn difference(expected: &str, printed: &str) -> String {
    let lines = TextDiff::from_lines(expected, printed);
    lines.unified_diff().context_radius(1).header("expected.txt", "printed").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_differ_are_printed() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), "");
        let told = difference("a\nb\nc\nd\n", "a\nb\nx\nd\n");
        assert!(told.ends_with("@@ -2,3 +2,3 @@\n b\n-c\n+x\n d\n"), "{told}");
        assert!(!difference("a\n", "a").is_empty(), "a missing end of line");
    }

    #[test]
    fn each_program_has_a_runner_and_a_text() {
        let home = workspace::root().join(HOME);
        let config = fs::read_to_string(home.join(".cargo/config.toml")).unwrap();
        for Program { name, target } in PROGRAMS {
            assert!(config.contains(&format!("[target.{target}]\nrunner = [\"qemu-system-arm\"")), "{target}");
            assert!(home.join(name).join("expected.txt").is_file(), "{name}");
        }
    }
}
