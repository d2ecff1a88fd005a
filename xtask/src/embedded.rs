//! The examples for microcontrollers: built, run in QEMU, and what they print compared with a committed text.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use similar::TextDiff;
use toml::Value;

use crate::bare::{self, Toolchain};
use crate::run::{cargo, command, run, run_and_read_within};
use crate::step::{Outcome, Step};
use crate::workspace::{self, value_at};
use crate::{Skips, apt};

/// What `cargo xtask embedded` takes.
#[derive(Args)]
pub(crate) struct Options {
    /// Take what the programs print for what they should print
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    pub(crate) skips: Skips,
}

impl Options {
    pub(crate) fn steps(&self) -> &'static [Step] {
        if self.write { WRITE } else { STEPS }
    }
}

/// What `cargo xtask embedded` runs.
pub(crate) const STEPS: &[Step] = &[Step { name: "embedded", run: || examples(Program::compare) }];

const WRITE: &[Step] = &[Step { name: "embedded", run: || examples(Program::write) }];

const HOME: &str = "examples/embedded";

const MANIFEST: &str = "examples/embedded/Cargo.toml";

/// They take about a second.
const LIMIT: Duration = Duration::from_secs(30);

/// The front under embassy, and the core alone.
const PROGRAMS: &[Program] =
    &[Program { name: "front", target: "thumbv7m-none-eabi" }, Program { name: "gate", target: "thumbv6m-none-eabi" }];

struct Program {
    name: &'static str,
    target: &'static str,
}

/// Runs them all, and concludes something from what each of them printed.
fn examples(conclude: fn(&Program, &str) -> Result<()>) -> Result<Outcome> {
    let toolchains: Vec<_> = PROGRAMS.iter().map(|program| Toolchain::find(program.target)).collect();
    let missing = PROGRAMS.iter().zip(&toolchains).filter(|(_, toolchain)| toolchain.is_none());
    let missing: Vec<_> = missing.map(|(program, _)| program.target).collect();
    if !missing.is_empty() {
        return Ok(Outcome::Skipped(bare::absent(&missing)));
    }
    if let Err(why) = apt::provide("qemu-system-arm") {
        return Ok(Outcome::Skipped(format!("{why:#}")));
    }
    for (program, toolchain) in PROGRAMS.iter().zip(toolchains.iter().flatten()) {
        run(&mut program.cargo("build", toolchain))?;
        conclude(program, &program.output()?)?;
    }
    Ok(Outcome::Passed)
}

/// Clippy for those that the usual compiler can build; Debian's has none.
pub(crate) fn clippy() -> Result<()> {
    for program in PROGRAMS.iter().filter(|program| bare::is_installed(program.target)) {
        run(program.cargo("clippy", &Toolchain::Usual).args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

/// Cargo's formatter for all of them.
pub(crate) fn fmt() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check", "--manifest-path", MANIFEST]))
}

impl Program {
    /// The user's own flags are left out, as they are for another machine.
    fn cargo(&self, task: &str, toolchain: &Toolchain) -> Command {
        let arguments = [task, "--release", "--manifest-path", MANIFEST, "--package", self.name];
        let mut cargo = toolchain.cargo(&arguments, self.target, "embedded");
        cargo.env_remove("RUSTFLAGS");
        cargo
    }

    fn output(&self) -> Result<String> {
        let binary = workspace::target_path("embedded").join(self.target).join("release").join(self.name);
        run_and_read_within(self.runner()?.arg(binary), LIMIT)
    }

    /// What `cargo run` runs it with, in the folder of the examples.
    fn runner(&self) -> Result<Command> {
        let config = format!("{HOME}/.cargo/config.toml");
        let manifest = workspace::manifest(&config)?;
        let words = value_at(&manifest, &["target", self.target, "runner"]).and_then(Value::as_array);
        let mut words = words.into_iter().flatten().filter_map(Value::as_str);
        let program = words.next().with_context(|| format!("{config} names no runner for {}", self.target))?;
        Ok(command(program, &words.collect::<Vec<_>>()))
    }

    fn expected(&self) -> PathBuf {
        workspace::root().join(HOME).join(self.name).join("expected.txt")
    }

    fn compare(&self, output: &str) -> Result<()> {
        let path = self.expected();
        let expected = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let difference = difference(&expected, output);
        ensure!(difference.is_empty(), "{} printed something else; `--write` takes it over\n{difference}", self.name);
        Ok(())
    }

    fn write(&self, output: &str) -> Result<()> {
        Ok(fs::write(self.expected(), output)?)
    }
}

/// Where two texts differ, with a line around it; empty where they are the same.
fn difference(expected: &str, printed: &str) -> String {
    let lines = TextDiff::from_lines(expected, printed);
    lines.unified_diff().context_radius(1).header("expected.txt", "printed").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_told() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), "");
        let told = difference("a\nb\nc\nd\n", "a\nb\nx\nd\n");
        assert!(told.ends_with("@@ -2,3 +2,3 @@\n b\n-c\n+x\n d\n"), "{told}");
        assert!(!difference("a\n", "a").is_empty(), "a line that does not end");
    }

    #[test]
    fn each_program_has_a_runner_and_a_text() {
        for program in PROGRAMS {
            assert_eq!(program.runner().unwrap().get_program(), "qemu-system-arm");
            assert!(program.expected().is_file(), "{}", program.name);
        }
    }
}
