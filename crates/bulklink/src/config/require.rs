//! The sections that a program needs, and which section may be a misspelling of a missing one.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use super::place::{BULKHEADS, PARTITIONS, Place};
use super::{Config, ConfigError, Problem};

/// Checks that there are sections with these labels, of any kind, which the program needs. `path`
/// is the path of all of them in the configuration.
///
/// [`Config::require`] does so for bulkheads and partitions.
///
/// # Errors
///
/// If a section is missing. The error has every one, and beside it a section that is not required
/// and may be a misspelling of it.
///
/// ```
/// use bulklink_tokio::config;
/// use std::collections::BTreeMap;
///
/// // Such as the sections of breakers, or of shares of a fleet.
/// let breakers = BTreeMap::from([("serach".to_owned(), ()), ("orders".to_owned(), ())]);
/// let required = config::require("breakers", &breakers, &["orders", "search"]);
/// assert_eq!(
///     required.unwrap_err().to_string(),
///     "breakers.search must be there (is it breakers.serach, which is not required?)"
/// );
/// ```
pub fn require<T>(path: &str, sections: &BTreeMap<String, T>, labels: &[&str]) -> Result<(), ConfigError> {
    let required: Vec<_> = labels.iter().map(|label| Place::new(path, label.trim())).collect();
    let found: Vec<_> = sections.keys().map(|label| Place::new(path, label)).collect();
    ConfigError::unless_none(missing(&required, &found))
}

impl Config {
    /// Returns a problem for each of these sections that is not there.
    pub(super) fn missing<'a>(&'a self, bulkheads: &[&'a str], partitions: &[&'a str]) -> Vec<Problem> {
        let bulkheads = bulkheads.iter().map(|label| Place::new(BULKHEADS, label.trim()));
        let partitions = partitions.iter().map(|label| Place::new(PARTITIONS, label.trim()));
        let required: Vec<_> = bulkheads.chain(partitions).collect();
        let bulkheads = self.bulkheads.keys().map(|label| Place::new(BULKHEADS, label));
        let partitions = self.partitions.keys().map(|label| Place::new(PARTITIONS, label));
        missing(&required, &bulkheads.chain(partitions).collect::<Vec<_>>())
    }
}

/// Returns a problem for each of the required sections that was not found.
fn missing(required: &[Place<'_>], found: &[Place<'_>]) -> Vec<Problem> {
    let is_in = |place: &Place<'_>, places: &[Place<'_>]| {
        places.iter().any(|other| (other.table, other.label.trim()) == (place.table, place.label.trim()))
    };
    let others: Vec<_> = found.iter().filter(|place| !is_in(place, required)).copied().collect();
    let missing = required.iter().filter(|place| !is_in(place, found));
    let problem = |place: &Place<'_>| {
        let similar = similar(*place, &others).map(|other| other.to_string());
        Problem::missing(place.to_string(), similar)
    };
    missing.map(problem).collect()
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
