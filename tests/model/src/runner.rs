//! Plays random scripts, and prints the shortest one that fails.

use std::env;
use std::fmt::Debug;
use std::panic::{self, AssertUnwindSafe};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestError, TestRunner};

use crate::script::{Machine, Script};

/// Scripts of each kind, unless `PROPTEST_CASES` is set. They take a second or two.
const CASES: u32 = 64;

/// Attempts to shorten a script that fails, unless `PROPTEST_MAX_SHRINK_ITERS` is set.
const SHRINKS: u32 = 10_000;

/// If one step has more inputs than these, only the first and the last are printed.
const PRINTED: usize = 8;

/// Plays as many of these scripts as proptest is configured for.
///
/// # Panics
///
/// Panics if a script fails, after it has been shortened, printed and played once more.
pub fn play_all<M: Machine>(scripts: impl Strategy<Value = Script<M::Start, M::Step>>) {
    let outcome = TestRunner::new(config()).run(&scripts, |script| {
        script.play::<M>(|_, _| ());
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(_, script)) => report::<M>(&script),
        Err(abort) => panic!("{abort}"),
    }
}

/// Returns proptest's configuration where its environment variables are set, and ours elsewhere.
///
/// No regression file is written, because a script that fails is printed as inputs.
#[must_use]
pub fn config() -> Config {
    let given = Config::default();
    let or = |variable, given, ours| if env::var_os(variable).is_some() { given } else { ours };
    Config {
        cases: or("PROPTEST_CASES", given.cases, CASES),
        max_shrink_iters: or("PROPTEST_MAX_SHRINK_ITERS", given.max_shrink_iters, SHRINKS),
        failure_persistence: None,
        ..given
    }
}

fn report<M: Machine>(script: &Script<M::Start, M::Step>) -> ! {
    let mut printed = vec![format!("in {:?}, checked after every {}, after", script.start, script.stride)];
    let outcome =
        panic::catch_unwind(AssertUnwindSafe(|| script.play::<M>(|step, inputs| printed.extend(lines(step, inputs)))));
    eprintln!("{}", printed.join("\n    "));
    panic::resume_unwind(outcome.expect_err("the same script fails again"));
}

fn lines(step: &impl Debug, inputs: &[impl Debug]) -> Vec<String> {
    match inputs {
        [first, .., last] if inputs.len() > PRINTED => {
            vec![format!("{step:?}: {first:?} to {last:?}, {}", inputs.len())]
        }
        inputs => inputs.iter().map(|input| format!("{input:?}")).collect(),
    }
}
