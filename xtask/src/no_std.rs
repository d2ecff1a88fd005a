//! No standard library: a probe that runs without it, and checks for the host and for bare metal.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::run::{ask, cargo, command, run, run_and_read};
use crate::step::{Outcome, Step};
use crate::workspace;

/// What `cargo xtask no-std` runs.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "no-std", run: || probe().and_then(|()| host()).map(|()| Outcome::Passed) },
    Step { name: "bare-metal", run: bare_metal },
];

const CORE: &[&str] = &["check", "-p", "bulklink-core"];
const FRONT: &[&str] = &["check", "-p", "bulklink", "--no-default-features", "--features", "critical-section"];

/// The targets without an operating system, and what is built for each: thumbv6m lacks the atomics `Arc` needs.
const BARE_METAL: &[(&str, &[&[&str]])] = &[("thumbv6m-none-eabi", &[CORE]), ("thumbv7m-none-eabi", &[CORE, FRONT])];

/// A binary that doesn't link if anything in it needs std, and says `ok` once it has used the crates.
fn probe() -> Result<()> {
    let target = workspace::target_dir("no-std");
    let mut probe = cargo(&["run", "--release", "--manifest-path", "no-std-probe/Cargo.toml"]);
    let output = run_and_read(probe.args(["--target-dir", &target]))?;
    ensure!(says_ok(&output), "the probe ran, but its last line isn't `no-std: ok`");
    Ok(())
}

fn says_ok(output: &str) -> bool {
    output.lines().last() == Some("no-std: ok")
}

fn host() -> Result<()> {
    run(&mut cargo(CORE))?;
    run(&mut cargo(FRONT))
}

fn bare_metal() -> Result<Outcome> {
    let (installed, absent): (Vec<_>, Vec<_>) = BARE_METAL.iter().partition(|(target, _)| is_installed(target));
    for (target, checks) in installed {
        checks.iter().try_for_each(|check| run(cargo(check).args(["--target", target])))?;
    }
    Ok(outcome(&absent.iter().map(|(target, _)| *target).collect::<Vec<_>>()))
}

fn outcome(absent: &[&str]) -> Outcome {
    if absent.is_empty() {
        return Outcome::Passed;
    }
    Outcome::Skipped(format!("{} not installed; `rustup target add {}` adds them", absent.join(", "), absent.join(" ")))
}

/// Whether the compiler has a core library for the target.
fn is_installed(target: &str) -> bool {
    let folder = ask(&mut command("rustc", &["--print", "target-libdir", "--target", target]));
    folder.is_some_and(|folder| has_core(Path::new(folder.trim())))
}

fn has_core(folder: &Path) -> bool {
    let files = folder.read_dir().into_iter().flatten().flatten();
    files.into_iter().any(|file| file.file_name().to_string_lossy().starts_with("libcore-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_must_end_with_ok() {
        assert!(says_ok("no-std: admitted 3\nno-std: ok\n"));
        assert!(!says_ok("no-std: ok\npanicked\n"));
        assert!(!says_ok(""));
    }

    #[test]
    fn what_is_absent_is_named_and_how_to_add_it() {
        let Outcome::Skipped(why) = outcome(&["a", "b"]) else { panic!("passed") };
        assert_eq!(why, "a, b not installed; `rustup target add a b` adds them");
        assert!(matches!(outcome(&[]), Outcome::Passed));
    }

    #[test]
    fn a_target_without_core_is_not_installed() {
        assert!(!is_installed("thumbv0-none-bulklink"));
    }
}
