//! A command is a list of steps: they run in order, and the first failure ends the run.

use std::time::Instant;

use anyhow::{Context, Result};

/// A named piece of work.
pub(crate) struct Step<'a> {
    name: String,
    work: Box<dyn FnOnce() -> Result<()> + 'a>,
}

impl<'a> Step<'a> {
    pub(crate) fn new(name: impl Into<String>, work: impl FnOnce() -> Result<()> + 'a) -> Self {
        Step { name: name.into(), work: Box::new(work) }
    }
}

/// The error of a step that cannot run on this machine. Says what is missing and how to get it.
#[derive(Debug)]
pub(crate) struct Missing(pub(crate) String);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// Runs the steps in order and prints a summary. A step that ends with [`Missing`] is skipped, or
/// fails with `no_skip`.
pub(crate) fn run_all(steps: Vec<Step<'_>>, no_skip: bool) -> Result<()> {
    let (count, mut summary) = (steps.len(), Vec::new());
    let result = steps.into_iter().zip(1..).try_for_each(|(Step { name, work }, number)| {
        eprintln!("\n[{number}/{count}] {name}");
        let start = Instant::now();
        let result = work();
        let skipped = !no_skip && result.as_ref().is_err_and(anyhow::Error::is::<Missing>);
        let outcome = ["ok", "FAILED", "SKIPPED"][usize::from(result.is_err()) + usize::from(skipped)];
        summary.push(format!("{name:<34} {:>7.1} s  {outcome}", start.elapsed().as_secs_f64()));
        match result {
            Err(why) if skipped => eprintln!("{name}: SKIPPED: {why:#}"),
            result => result.context(name)?,
        }
        Ok(())
    });
    if count > 1 {
        eprintln!("\n{}", summary.join("\n"));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &'static str, error: Option<anyhow::Error>) -> Step<'static> {
        Step::new(name, || error.map_or(Ok(()), Err))
    }

    #[test]
    fn the_first_failure_ends_the_run_and_is_named() {
        let unreached = Step::new("unreached", || panic!("runs after a failure"));
        let steps = vec![step("passes", None), step("fails", Some(anyhow::anyhow!("broken"))), unreached];
        assert_eq!(format!("{:#}", run_all(steps, false).unwrap_err()), "fails: broken");
    }

    #[test]
    fn a_skipped_step_fails_only_with_no_skip() {
        let steps = || vec![step("skipped", Some(Missing("no compiler".into()).into())), step("passes", None)];
        assert!(run_all(steps(), false).is_ok());
        assert_eq!(format!("{:#}", run_all(steps(), true).unwrap_err()), "skipped: no compiler");
    }
}
