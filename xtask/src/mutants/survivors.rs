//! The list of mutants that survive because they make no difference, each with the reason.

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::outcome::Mutant;
use crate::workspace;

/// Where the list lies.
pub(super) const LIST: &str = "crates/bulklink-core/mutants.toml";

/// A mutation that is found at several places of a function is there as often as it survives.
pub(super) struct Survivors(Vec<Mutant>);

impl Survivors {
    pub(super) fn listed() -> Result<Self> {
        Self::read(&workspace::manifest(LIST)?).context(LIST)
    }

    fn read(list: &Table) -> Result<Self> {
        let entries = list.get("equivalent").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mutants: Result<Vec<_>> = entries.iter().map(of_entry).collect();
        Ok(Survivors(mutants?.concat()))
    }

    /// What survives and is not listed; and what is listed and does not survive, if all was tested.
    pub(super) fn differences(&self, missed: &[Mutant], all: bool) -> Vec<String> {
        let unlisted = without(missed, &self.0).into_iter().map(|mutant| format!("not listed, and survives: {mutant}"));
        let listed = if all { without(&self.0, missed) } else { vec![] };
        unlisted.chain(listed.into_iter().map(|mutant| format!("listed, and does not survive: {mutant}"))).collect()
    }
}

/// The mutants of an entry, which has a file, a reason, and mutations.
fn of_entry(entry: &Value) -> Result<Vec<Mutant>> {
    let text =
        |key| entry.get(key).and_then(Value::as_str).with_context(|| format!("an entry without {key}: {entry:?}"));
    let file = text("file")?;
    text("reason")?;
    let mutations = entry.get("mutations").and_then(Value::as_array).context("an entry without mutations")?;
    let mutant = |mutation: &str| Mutant { file: file.to_owned(), mutation: mutation.to_owned() };
    Ok(mutations.iter().filter_map(Value::as_str).map(mutant).collect())
}

/// The first without the second, each as often as it is there.
fn without(mutants: &[Mutant], others: &[Mutant]) -> Vec<Mutant> {
    let mut left = mutants.to_vec();
    for other in others {
        if let Some(place) = left.iter().position(|mutant| mutant == other) {
            left.remove(place);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutants(lines: &[&str]) -> Vec<Mutant> {
        lines.iter().map(|line| Mutant::parse(line).unwrap()).collect()
    }

    fn listed() -> Survivors {
        let list = "[[equivalent]]\nfile = 'a.rs'\nreason = 'none'\nmutations = ['replace | in f', 'replace | in f']\n\
                    [[equivalent]]\nfile = 'b.rs'\nreason = 'none'\nmutations = ['replace g']\n";
        Survivors::read(&list.parse().unwrap()).unwrap()
    }

    #[test]
    fn lines_may_move_and_nothing_differs() {
        let missed = mutants(&["b.rs:1:2: replace g", "a.rs:3:4: replace | in f", "a.rs:5:6: replace | in f"]);
        assert!(listed().differences(&missed, true).is_empty());
    }

    #[test]
    fn one_more_of_the_same_is_not_listed() {
        let missed = mutants(&["a.rs:1:1: replace | in f"; 3]);
        assert_eq!(listed().differences(&missed, false), ["not listed, and survives: a.rs: replace | in f"]);
    }

    #[test]
    fn what_survives_no_longer_is_told_if_all_was_tested() {
        let missed = mutants(&["a.rs:1:1: replace | in f"; 2]);
        assert_eq!(listed().differences(&missed, true), ["listed, and does not survive: b.rs: replace g"]);
        assert!(listed().differences(&missed, false).is_empty());
    }

    #[test]
    fn an_entry_without_a_reason_is_refused() {
        let list = "[[equivalent]]\nfile = 'a.rs'\nmutations = []\n".parse().unwrap();
        assert!(Survivors::read(&list).is_err_and(|error| error.to_string().starts_with("an entry without reason")));
    }

    #[test]
    fn the_list_in_the_repository_can_be_read() {
        Survivors::listed().unwrap();
    }
}
