//! The worst of any number of rows, in bounded memory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::row::Row;

/// Keeps the worst rows that are added, and counts the others.
pub(super) struct Worst {
    limit: usize,
    left_out: usize,
    /// The least bad of those kept is the greatest.
    kept: BinaryHeap<Ranked>,
}

/// The rows of a page, the worst first.
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    pub(super) left_out: usize,
}

struct Ranked(Row);

impl Worst {
    pub(super) fn new(limit: usize) -> Self {
        Worst { limit, left_out: 0, kept: BinaryHeap::new() }
    }

    pub(super) fn add(&mut self, row: Row) {
        self.kept.push(Ranked(row));
        if self.kept.len() > self.limit {
            self.kept.pop();
            self.left_out += 1;
        }
    }

    pub(super) fn into_page(self) -> Rows {
        let rows = self.kept.into_sorted_vec().into_iter().map(|Ranked(row)| row).collect();
        Rows { rows, left_out: self.left_out }
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp_worst_first(&other.0)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}
