//! Playing random scripts, and telling the shortest that fails.

use std::env;
use std::fmt::Debug;
use std::panic::{self, AssertUnwindSafe};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestError, TestRunner};

use crate::script::{Machine, Script};

/// How many scripts of a kind are tried unless `PROPTEST_CASES` says otherwise: a second or two.
const CASES: u32 = 64;

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

/// Proptest's own, but that no file is left behind: what fails is told as inputs.
fn config() -> Config {
    let asked = Config { failure_persistence: None, ..Config::default() };
    if env::var_os("PROPTEST_CASES").is_some() { asked } else { Config { cases: CASES, ..asked } }
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
