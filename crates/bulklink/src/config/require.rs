//! The sections that a program needs, and which section may be a misspelling of a missing one.

use alloc::vec::Vec;
use core::mem;

use super::place::{BULKHEADS, PARTITIONS, Place};
use super::{Config, Problem};

impl Config {
    /// Returns a problem for each of these sections that is not there.
    pub(super) fn missing(&self, bulkheads: &[&str], partitions: &[&str]) -> Vec<Problem> {
        let has = |table, label: &str| self.sections(table).any(|place| place.label.trim() == label);
        let required = [(BULKHEADS, bulkheads), (PARTITIONS, partitions)];
        let required = required.iter().flat_map(|(table, labels)| labels.iter().map(|label| (*table, label.trim())));
        let required: Vec<(&'static str, &str)> = required.collect();
        let is_required = |place: &Place<'_>| required.contains(&(place.table, place.label.trim()));
        let others: Vec<Place<'_>> =
            [BULKHEADS, PARTITIONS].iter().flat_map(|table| self.sections(table)).filter(|p| !is_required(p)).collect();
        let missing = required.iter().filter(|(table, label)| !has(table, label));
        let problem = |place: Place<'_>| match similar(place, &others) {
            Some(other) => place.problem(format_args!("must be there (is it {other}, which is not required?)")),
            None => place.problem("must be there"),
        };
        missing.map(|(table, label)| problem(self.place(table, label))).collect()
    }

    fn sections(&self, table: &'static str) -> impl Iterator<Item = Place<'_>> {
        let bulkheads = self.bulkheads.keys().filter(move |_| table == BULKHEADS);
        let partitions = self.partitions.keys().filter(move |_| table == PARTITIONS);
        bulkheads.chain(partitions).map(move |label| self.place(table, label))
    }
}

/// Returns the section whose label is most like that of `place`, if one is like it: equal but for
/// the case or the table, or by a change of one letter in three.
fn similar<'a>(place: Place<'_>, others: &[Place<'a>]) -> Option<Place<'a>> {
    let label = place.label.trim().to_lowercase();
    let measured = others.iter().map(|other| (distance(&label, &other.label.trim().to_lowercase()), *other));
    let like = measured.filter(|(distance, _)| distance * 3 <= label.chars().count());
    like.min_by_key(|(distance, other)| (*distance, other.table != place.table)).map(|(_, other)| other)
}

/// Returns how many letters must be added, removed, replaced or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    // The rows of the table of distances between beginnings: this one, and the two before.
    let mut row: Vec<usize> = (0..=other.len()).collect();
    let (mut before, mut before_that) = (row.clone(), row.clone());
    for (i, letter) in one.iter().enumerate() {
        mem::swap(&mut before_that, &mut before);
        mem::swap(&mut before, &mut row);
        row[0] = i + 1;
        for (j, with) in other.iter().enumerate() {
            let replaced = before[j] + usize::from(letter != with);
            row[j + 1] = replaced.min(before[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == other[j - 1] && one[i - 1] == *with {
                row[j + 1] = row[j + 1].min(before_that[j - 1] + 1);
            }
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn a_swap_a_letter_more_or_less_and_another_letter_each_count_as_one() {
        for (one, other, expected) in [
            ("search", "search", 0),
            ("search", "serach", 1),
            ("search", "seach", 1),
            ("search", "searchh", 1),
            ("search", "zearch", 1),
            ("search", "esarhc", 2),
            ("search", "", 6),
            ("", "ab", 2),
            ("büro", "buro", 1),
        ] {
            assert_eq!((distance(one, other), distance(other, one)), (expected, expected), "{one} {other}");
        }
    }
}
