//! A command is a list of steps: they run in order, and the first failure ends the run.

use std::time::Instant;

use anyhow::{Context, Result};

/// A named piece of work.
pub(crate) struct Step {
    name: String,
    work: Box<dyn FnOnce() -> Result<()>>,
}

impl Step {
    pub(crate) fn new(name: impl Into<String>, work: impl FnOnce() -> Result<()> + 'static) -> Self {
        Step { name: name.into(), work: Box::new(work) }
    }
}

/// The error of a step that cannot run on this machine. Names the missing tool and how to get it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Missing(pub(crate) String);

/// Runs the steps in order and prints a summary. A step that ends with [`Missing`] is skipped, or
/// fails with `no_skip`.
pub(crate) fn run_all(steps: Vec<Step>, no_skip: bool) -> Result<()> {
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

    #[test]
    fn the_first_failure_ends_the_run_and_a_skipped_step_fails_only_with_no_skip() {
        let skipped = || Step::new("skipped", || Err(Missing("no compiler".into()).into()));
        let fails = || Step::new("fails", || anyhow::bail!("broken"));
        let unreached = || Step::new("unreached", || panic!("runs after a failure"));
        let error = |steps, no_skip| format!("{:#}", run_all(steps, no_skip).unwrap_err());
        assert_eq!(error(vec![skipped(), fails(), unreached()], false), "fails: broken");
        assert_eq!(error(vec![skipped(), unreached()], true), "skipped: no compiler");
    }
}
