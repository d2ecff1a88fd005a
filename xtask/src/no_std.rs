//! `cargo xtask no-std`: checks the core and the front without the standard library, on the host
//! and for targets that do not have one. `cargo xtask embedded` also links and runs them there.

use anyhow::Result;

use crate::run::{cargo, run};
use crate::step::Step;
use crate::toolchain::bare::Toolchain;

const CORE: &[&str] = &["check", "-p", "bulklink-core"];
const FRONT: &[&str] = &["check", "-p", "bulklink", "--no-default-features", "--features", "critical-section"];

/// Targets without an operating system and the checks for each: thumbv6m lacks the atomics that
/// `Arc` needs.
const BARE_METAL: [(&str, &[&[&str]]); 2] = [("thumbv6m-none-eabi", &[CORE]), ("thumbv7m-none-eabi", &[CORE, FRONT])];

/// The steps of `cargo xtask no-std`.
pub(crate) fn steps() -> Vec<Step<'static>> {
    let host = Step::new("no-std", || [CORE, FRONT].iter().try_for_each(|check| run(&mut cargo(check))));
    let bare_metal = BARE_METAL.map(|(target, checks)| {
        Step::new(target, move || {
            let toolchain = Toolchain::find(target)?;
            checks.iter().try_for_each(|check| run(&mut toolchain.cargo(check, target, "bare")))
        })
    });
    [host].into_iter().chain(bare_metal).collect()
}

/// Returns how many of the bare-metal checks fail, or an error if one cannot run.
pub(crate) fn failed_builds() -> Result<usize> {
    let mut failed = 0;
    for (target, checks) in BARE_METAL {
        let toolchain = Toolchain::find(target)?;
        failed += checks.iter().filter(|check| run(&mut toolchain.cargo(check, target, "bare")).is_err()).count();
    }
    Ok(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_and_front_are_checked_on_targets_without_std() {
        assert!(BARE_METAL.iter().all(|(target, checks)| target.ends_with("-none-eabi") && checks.contains(&CORE)));
        assert!(BARE_METAL.iter().any(|(_, checks)| checks.contains(&FRONT)));
        assert!(FRONT.contains(&"--no-default-features"));
    }
}
