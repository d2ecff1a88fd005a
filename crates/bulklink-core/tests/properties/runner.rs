//! Playing random scripts, and telling the shortest that fails.

use std::env;
use std::fmt::Debug;
use std::panic::{self, AssertUnwindSafe};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestError, TestRunner};

use crate::script::{Machine, Script};

/// How many scripts of a kind are tried unless `PROPTEST_CASES` says otherwise: a second or two.
const CASES: u32 = 64;

/// How often a script that fails is tried shorter, unless `PROPTEST_MAX_SHRINK_ITERS` says otherwise.
const SHRINKS: u32 = 10_000;

/// Of more inputs than these from one step, only the first and the last are told.
const TOLD: usize = 8;

/// Plays as many of these scripts as proptest is told to. If one fails, it is shortened, told and played once more.
pub fn play_all<M: Machine>(scripts: impl Strategy<Value = Script<M::Start, M::Step>>) {
    let outcome = TestRunner::new(config()).run(&scripts, |script| {
        script.play::<M>(|_, _| ());
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(_, script)) => tell::<M>(&script),
        Err(abort) => panic!("{abort}"),
    }
}

/// Proptest's own where its variables say so; but no file is left behind, as what fails is told as inputs.
fn config() -> Config {
    let told = Config::default();
    let or = |variable, told, ours| if env::var_os(variable).is_some() { told } else { ours };
    Config {
        cases: or("PROPTEST_CASES", told.cases, CASES),
        max_shrink_iters: or("PROPTEST_MAX_SHRINK_ITERS", told.max_shrink_iters, SHRINKS),
        failure_persistence: None,
        ..told
    }
}

fn tell<M: Machine>(script: &Script<M::Start, M::Step>) -> ! {
    let mut told = vec![format!("in {:?}, checked after every {}, after", script.start, script.stride)];
    let outcome =
        panic::catch_unwind(AssertUnwindSafe(|| script.play::<M>(|step, inputs| told.extend(lines(step, inputs)))));
    eprintln!("{}", told.join("\n    "));
    panic::resume_unwind(outcome.expect_err("the same script fails again"));
}

fn lines(step: &impl Debug, inputs: &[impl Debug]) -> Vec<String> {
    match inputs {
        [first, .., last] if inputs.len() > TOLD => vec![format!("{step:?}: {first:?} to {last:?}, {}", inputs.len())],
        inputs => inputs.iter().map(|input| format!("{input:?}")).collect(),
    }
}
