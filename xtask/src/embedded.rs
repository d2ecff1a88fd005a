//! `cargo xtask embedded`: builds the examples for microcontrollers, runs them in QEMU, and
//! compares their output with a committed text; and that for WebAssembly, which runs in node.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::run::{command, run, run_and_read};
use crate::step::{Missing, Step};
use crate::toolchain::bare::{self, Toolchain};
use crate::toolchain::programs;
use crate::workspace;

/// The workspace of the examples for microcontrollers.
const HOME: &str = "examples/embedded";

/// The time after which a program hangs; each takes about a second.
const LIMIT: Duration = Duration::from_secs(30);

/// Names and targets: the front under embassy, and the core without an executor.
const PROGRAMS: [(&str, &str); 2] = [("front", "thumbv7m-none-eabi"), ("gate", "thumbv6m-none-eabi")];

/// The example for WebAssembly, a workspace of its own.
const WASM: &str = "examples/wasm";
const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// The steps of `cargo xtask embedded`, one for each program.
pub(crate) fn steps(write: bool) -> Vec<Step> {
    let step = |(name, target)| Step::new(format!("embedded {name}"), move || test(name, target, write));
    PROGRAMS.map(step).into_iter().chain([Step::new("embedded wasm", wasm)]).collect()
}

/// Runs clippy for the programs that the usual compiler can build; Debian's has no clippy.
pub(crate) fn clippy() -> Result<()> {
    for (name, target) in PROGRAMS.into_iter().filter(|(_, target)| bare::is_installed(target)) {
        run(cargo(&Toolchain::Usual, "clippy", name, target).args(["--", "-D", "warnings"]))?;
    }
    if bare::is_installed(WASM_TARGET) {
        run(cargo_wasm(&Toolchain::Usual, "clippy").args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

fn test(name: &str, target: &str, write: bool) -> Result<()> {
    let toolchain = Toolchain::find(target)?;
    programs::from_apt("qemu-system-arm").map_err(|error| Missing(format!("{error:#}")))?;
    run(&mut cargo(&toolchain, "build", name, target))?;
    let output = run_and_read(&mut cargo(&toolchain, "run", name, target), LIMIT)?;
    let expected = workspace::root().join(HOME).join(name).join("expected.txt");
    if write {
        return Ok(fs::write(expected, output)?);
    }
    let printed = workspace::target_path("embedded").join(name).with_extension("txt");
    fs::write(&printed, output)?;
    let difference = run(command("git", &["diff", "--no-index"]).arg(expected).arg(printed));
    difference.with_context(|| format!("{name} printed other text; `--write` accepts it"))
}

/// Builds the module, and runs it in node, which fails if a count is wrong or a call never ends.
fn wasm() -> Result<()> {
    let toolchain = Toolchain::find(WASM_TARGET)?;
    if !programs::runs("node") {
        programs::from_apt("nodejs").map_err(|error| Missing(format!("{error:#}")))?;
    }
    run(&mut cargo_wasm(&toolchain, "build"))?;
    let module = workspace::target_path("embedded").join(WASM_TARGET).join("debug/wasm.wasm");
    run_and_read(command("node", &[&format!("{WASM}/test.mjs")]).arg(module), LIMIT).map(drop)
}

fn cargo_wasm(toolchain: &Toolchain, task: &str) -> Command {
    let mut cargo = toolchain.cargo(&[task], WASM_TARGET, "embedded");
    cargo.current_dir(workspace::root().join(WASM)).env_remove("RUSTFLAGS");
    cargo
}

/// Cargo in the folder of the examples. The configuration there makes QEMU the runner. Without the
/// user's flags, which are for the host.
fn cargo(toolchain: &Toolchain, task: &str, name: &str, target: &str) -> Command {
    let mut cargo = toolchain.cargo(&[task, "--release", "--package", name], target, "embedded");
    cargo.current_dir(workspace::root().join(HOME)).env_remove("RUSTFLAGS");
    cargo
}
