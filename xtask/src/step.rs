//! Steps in a row: stop at the first that fails, say at the end what ran, how long it took and what was skipped.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A named piece of work.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) run: fn() -> Result<Outcome>,
}

/// How a step ended, if it did not fail.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed,
    /// Something it needs is missing on this machine; says what, and how to get it.
    Skipped(String),
}

/// Runs the steps in order. With `no_skip`, one that is skipped has failed.
pub(crate) fn run_all(steps: &[Step], no_skip: bool) -> Result<()> {
    let mut summary = Vec::new();
    let result = steps.iter().try_for_each(|step| timed(step, no_skip, &mut summary));
    if steps.len() > 1 {
        eprintln!("\n{}", summary.join("\n"));
    }
    result
}

fn timed(step: &Step, no_skip: bool, summary: &mut Vec<String>) -> Result<()> {
    eprintln!("\n== {} ==", step.name);
    let start = Instant::now();
    let result = (step.run)().and_then(|outcome| allowed(outcome, no_skip)).context(step.name);
    summary.push(line(step.name, start.elapsed(), result.as_ref().ok()));
    if let Outcome::Skipped(why) = result? {
        eprintln!("{}: SKIPPED: {why}", step.name);
    }
    Ok(())
}

fn allowed(outcome: Outcome, no_skip: bool) -> Result<Outcome> {
    match outcome {
        Outcome::Skipped(why) if no_skip => bail!("cannot run, and --no-skip was given: {why}"),
        outcome => Ok(outcome),
    }
}

fn line(name: &str, time: Duration, outcome: Option<&Outcome>) -> String {
    let outcome = match outcome {
        Some(Outcome::Passed) => "ok",
        Some(Outcome::Skipped(_)) => "SKIPPED",
        None => "FAILED",
    };
    format!("{name:<14} {:>7.1} s  {outcome}", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSES: Step = Step { name: "passes", run: || Ok(Outcome::Passed) };
    const FAILS: Step = Step { name: "fails", run: || bail!("broken") };
    const SKIPS: Step = Step { name: "skips", run: || Ok(Outcome::Skipped("no compiler".into())) };
    const UNREACHED: Step = Step { name: "unreached", run: || panic!("runs after a failure") };

    #[test]
    fn the_first_failure_ends_the_run_and_is_named() {
        let error = run_all(&[PASSES, FAILS, UNREACHED], false).unwrap_err();
        assert_eq!(format!("{error:#}"), "fails: broken");
    }

    #[test]
    fn a_skip_fails_only_if_asked_to() {
        assert!(run_all(&[SKIPS, PASSES], false).is_ok());
        assert!(run_all(&[SKIPS, UNREACHED], true).is_err());
    }

    #[test]
    fn the_summary_tells_a_skip_from_a_pass() {
        let time = Duration::from_millis(1_250);
        assert!(line("a", time, Some(&Outcome::Passed)).ends_with("1.2 s  ok"));
        assert!(line("a", time, Some(&Outcome::Skipped(String::new()))).ends_with("SKIPPED"));
        assert!(line("a", time, None).ends_with("FAILED"));
    }
}
