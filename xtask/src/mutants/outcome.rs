//! What became of the mutants: the files that cargo-mutants leaves, a mutant a line.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// How many were caught, and which were not.
pub(super) struct Outcome {
    caught: usize,
    timed_out: usize,
    pub(super) missed: Vec<Mutant>,
    unviable: usize,
}

/// A mutation in a file, wherever in that it is: lines move, while the text names the function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mutant {
    pub(super) file: String,
    pub(super) mutation: String,
}

impl Outcome {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let count = |name| lines(&folder.join(name)).map(|lines| lines.len());
        let missed = lines(&folder.join("missed.txt"))?;
        let missed = missed.iter().map(|line| Mutant::parse(line).with_context(|| format!("no mutant: {line}")));
        Ok(Outcome {
            caught: count("caught.txt")?,
            timed_out: count("timeout.txt")?,
            missed: missed.collect::<Result<_>>()?,
            unviable: count("unviable.txt")?,
        })
    }

    /// The share of those that compile and were noticed, in percent. A test that hangs has noticed.
    #[expect(clippy::cast_precision_loss)]
    pub(super) fn score(&self) -> f64 {
        let noticed = self.caught + self.timed_out;
        100.0 * noticed as f64 / (noticed + self.missed.len()).max(1) as f64
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { caught, timed_out, missed, unviable } = self;
        let (missed, score) = (missed.len(), self.score());
        write!(
            f,
            "mutants: {caught} caught, {timed_out} timed out, {missed} survive: {score:.1} %; {unviable} do not compile"
        )
    }
}

impl Mutant {
    /// From `file:line:column: mutation`.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (place, mutation) = line.split_once(": ")?;
        let file = place.split(':').next()?;
        Some(Mutant { file: file.to_owned(), mutation: mutation.to_owned() })
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.mutation)
    }
}

fn lines(path: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_told_without_its_line() {
        let line = "src/a.rs:12:34: replace <impl fmt::Debug for A>::fmt -> fmt::Result with Ok(Default::default())";
        let mutant = Mutant::parse(line).unwrap();
        assert_eq!(mutant.file, "src/a.rs");
        assert_eq!(mutant.mutation, &line[16..]);
        assert_eq!(Mutant::parse("nothing"), None);
    }

    #[test]
    fn a_timeout_counts_as_noticed_and_what_does_not_compile_counts_not() {
        let mutant = Mutant { file: "a.rs".to_owned(), mutation: "replace".to_owned() };
        let outcome =
            |missed: usize| Outcome { caught: 2, timed_out: 1, missed: vec![mutant.clone(); missed], unviable: 9 };
        assert_eq!(outcome(1).to_string(), "mutants: 2 caught, 1 timed out, 1 survive: 75.0 %; 9 do not compile");
        assert!(outcome(0).score() >= 100.0);
    }
}
