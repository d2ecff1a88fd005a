//! A set of keys with a score each, in the order of scores and then of keys.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scores<K, S> {
    scores: BTreeMap<K, S>,
    order: BTreeSet<(S, K)>,
}

impl<K, S> Default for Scores<K, S> {
    fn default() -> Self {
        Self { scores: BTreeMap::new(), order: BTreeSet::new() }
    }
}

impl<K: Ord + Copy, S: Ord + Copy> Scores<K, S> {
    pub(super) fn len(&self) -> usize {
        self.scores.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    pub(super) fn get(&self, key: &K) -> Option<S> {
        self.scores.get(key).copied()
    }

    /// Adds the key, or changes its score.
    pub(super) fn set(&mut self, key: K, score: S) {
        self.remove(&key);
        self.scores.insert(key, score);
        self.order.insert((score, key));
    }

    /// Returns whether the key was there.
    pub(super) fn remove(&mut self, key: &K) -> bool {
        let score = self.scores.remove(key);
        score.is_some_and(|score| self.order.remove(&(score, *key)))
    }

    pub(super) fn first(&self) -> Option<(S, K)> {
        self.order.first().copied()
    }

    /// Returns the number of keys before this one.
    pub(super) fn rank(&self, key: &K) -> usize {
        let score = self.get(key);
        score.map_or(0, |score| self.order.range(..(score, *key)).count())
    }

    pub(super) fn page(&self, offset: u64, count: u64) -> Vec<(K, S)> {
        let [offset, count] = [offset, count].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        self.order.iter().skip(offset).take(count).map(|(score, key)| (*key, *score)).collect()
    }

    /// Returns the first keys with a score of at most `score`.
    pub(super) fn up_to(&self, score: S) -> impl Iterator<Item = K> + '_ {
        self.order.iter().take_while(move |(found, _)| *found <= score).map(|(_, key)| *key)
    }
}
