//! The worst of any number of rows, in bounded memory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use bulklink::Severity;

#[cfg(feature = "breaker")]
use super::breaker::BreakerRow;
use super::row::Row;
#[cfg(feature = "fleet")]
use super::share::ShareRow;

/// A row of any kind.
pub(super) enum Shown {
    Bulkhead(Box<Row>),
    #[cfg(feature = "breaker")]
    Breaker(Box<BreakerRow>),
    #[cfg(feature = "fleet")]
    Share(Box<ShareRow>),
}

/// How bad a row is.
pub(super) struct Rank {
    pub(super) severity: Severity,
    /// Of the calls of the recent past.
    pub(super) rejected_share: f64,
    pub(super) utilization: f64,
    /// Of the waiting room, how much is taken.
    pub(super) waiting_share: f64,
    pub(super) label: Arc<str>,
}

/// Keeps the worst rows that are added, and counts the others.
pub(super) struct Worst {
    limit: usize,
    counts: Counts,
    /// The least bad of those kept is the greatest.
    kept: BinaryHeap<Ranked>,
}

/// How many rows there are of each kind, with those that are not kept.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) bulkheads: usize,
    pub(super) breakers: usize,
    pub(super) shares: usize,
}

/// The rows of a page, the worst first.
pub(super) struct Rows {
    pub(super) rows: Vec<Shown>,
    pub(super) counts: Counts,
}

struct Ranked {
    rank: Rank,
    shown: Shown,
}

impl Worst {
    pub(super) fn new(limit: usize) -> Self {
        Worst { limit, counts: Counts::default(), kept: BinaryHeap::new() }
    }

    pub(super) fn add(&mut self, row: Row) {
        self.counts.bulkheads += 1;
        self.keep(Ranked { rank: row.rank(), shown: Shown::Bulkhead(Box::new(row)) });
    }

    #[cfg(feature = "breaker")]
    pub(super) fn add_breaker(&mut self, row: BreakerRow) {
        self.counts.breakers += 1;
        self.keep(Ranked { rank: row.rank(), shown: Shown::Breaker(Box::new(row)) });
    }

    #[cfg(feature = "fleet")]
    pub(super) fn add_share(&mut self, row: ShareRow) {
        self.counts.shares += 1;
        self.keep(Ranked { rank: row.rank(), shown: Shown::Share(Box::new(row)) });
    }

    fn keep(&mut self, row: Ranked) {
        self.kept.push(row);
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    pub(super) fn into_page(self) -> Rows {
        let rows = self.kept.into_sorted_vec().into_iter().map(|row| row.shown).collect();
        Rows { rows, counts: self.counts }
    }
}

impl Rows {
    pub(super) fn total(&self) -> usize {
        self.counts.bulkheads + self.counts.breakers + self.counts.shares
    }

    pub(super) fn left_out(&self) -> usize {
        self.total() - self.rows.len()
    }
}

impl Shown {
    /// Whether it has rates, because the page was asked for lately. A share never has any: `None`.
    pub(super) fn has_rates(&self) -> Option<bool> {
        match self {
            Shown::Bulkhead(row) => Some(row.recently.is_some()),
            #[cfg(feature = "breaker")]
            Shown::Breaker(row) => Some(row.recently.is_some()),
            #[cfg(feature = "fleet")]
            Shown::Share(_) => None,
        }
    }
}

impl Rank {
    /// The worse one is less, and so comes first.
    fn cmp_worst_first(&self, other: &Rank) -> Ordering {
        let by_figures = other.severity.cmp(&self.severity);
        let by_figures = by_figures.then_with(|| other.rejected_share.total_cmp(&self.rejected_share));
        let by_figures = by_figures.then_with(|| other.utilization.total_cmp(&self.utilization));
        let by_figures = by_figures.then_with(|| other.waiting_share.total_cmp(&self.waiting_share));
        by_figures.then_with(|| self.label.cmp(&other.label))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp_worst_first(&other.rank)
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
