//! No standard library: a probe that runs without it, and checks for the host and for bare metal.

use anyhow::{Result, bail, ensure};

use crate::bare::{self, Toolchain};
use crate::run::{cargo, run, run_and_read};
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
    let mut absent = Vec::new();
    for (target, checks) in BARE_METAL {
        match Toolchain::find(target) {
            Some(toolchain) => checks.iter().try_for_each(|check| run(&mut toolchain.cargo(check, target, "bare")))?,
            None => absent.push(*target),
        }
    }
    Ok(outcome(&absent))
}

/// How many of the bare-metal builds fail; an error where one cannot be tried.
pub(crate) fn failed_builds() -> Result<usize> {
    let mut failed = 0;
    for (target, checks) in BARE_METAL {
        let Some(toolchain) = Toolchain::find(target) else { bail!("{}", bare::absent(&[target])) };
        failed += checks.iter().filter(|check| run(&mut toolchain.cargo(check, target, "bare")).is_err()).count();
    }
    Ok(failed)
}

fn outcome(absent: &[&str]) -> Outcome {
    if absent.is_empty() { Outcome::Passed } else { Outcome::Skipped(bare::absent(absent)) }
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
    fn a_target_that_is_absent_is_a_skip() {
        let Outcome::Skipped(why) = outcome(&["a", "b"]) else { panic!("passed") };
        assert_eq!(why, bare::absent(&["a", "b"]));
        assert!(matches!(outcome(&[]), Outcome::Passed));
    }
}
