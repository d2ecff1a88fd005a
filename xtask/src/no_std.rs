//! `cargo xtask no-std`: checks the core, the front and a breaker's circuit without the standard
//! library, on the host and for targets that do not have one. `cargo xtask embedded` also links and
//! runs core and front there.

use anyhow::Result;

use crate::run::{cargo, run};
use crate::step::Step;
use crate::toolchain::bare::Toolchain;

const CORE: &[&str] = &["check", "-p", "bulklink-core"];
const FRONT: &[&str] = &["check", "-p", "bulklink", "--no-default-features", "--features", "critical-section"];
const CIRCUIT: &[&str] =
    &["check", "-p", "bulklink-breaker", "--no-default-features", "--features", "critical-section"];

/// The checks for targets without an operating system; thumbv6m lacks the atomics that `Arc` needs.
const BARE_METAL: [(&str, &[&str]); 4] = [
    ("thumbv6m-none-eabi", CORE),
    ("thumbv7m-none-eabi", CORE),
    ("thumbv7m-none-eabi", FRONT),
    ("thumbv7m-none-eabi", CIRCUIT),
];

/// The steps of `cargo xtask no-std`.
pub(crate) fn steps() -> Vec<Step> {
    let host = [CORE, FRONT, CIRCUIT].map(|check| Step::new(check[2], move || run(&mut cargo(check))));
    let bare_metal = BARE_METAL.map(|(target, check)| {
        Step::new(format!("{} {target}", check[2]), move || {
            run(&mut Toolchain::find(target)?.cargo(check, target, "bare"))
        })
    });
    host.into_iter().chain(bare_metal).collect()
}

/// Returns how many of the bare-metal checks fail, or an error if one cannot run.
pub(crate) fn failed_builds() -> Result<usize> {
    BARE_METAL.iter().try_fold(0, |failed, (target, check)| {
        let result = run(&mut Toolchain::find(target)?.cargo(check, target, "bare"));
        Ok(failed + usize::from(result.is_err()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_front_and_circuit_are_checked_on_targets_without_std() {
        let is_bare =
            |check| BARE_METAL.iter().any(|(target, other)| *other == check && target.ends_with("-none-eabi"));
        assert!([CORE, FRONT, CIRCUIT].into_iter().all(is_bare));
        assert!([FRONT, CIRCUIT].iter().all(|check| check.contains(&"--no-default-features")));
    }
}
