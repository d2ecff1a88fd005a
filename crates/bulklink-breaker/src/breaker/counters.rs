//! Counters that several threads add to without disturbing each other.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// As many as threads that usually count at the same time; a power of two.
const STRIPES: usize = 16;

/// A counter with a part for each of a few threads.
#[derive(Debug, Default)]
pub(super) struct Striped {
    stripes: [Stripe; STRIPES],
}

/// Alone on its cache lines, of which processors fetch two.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe(AtomicU64);

thread_local! {
    /// The stripe of this thread, after its first count.
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

impl Striped {
    #[inline]
    pub(super) fn add(&self) {
        // A thread that is ending counts in the first.
        let stripe = STRIPE.try_with(Cell::get).unwrap_or(0);
        let stripe = if stripe == usize::MAX { choose() } else { stripe };
        self.stripes[stripe % STRIPES].0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn sum(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.0.load(Ordering::Relaxed)).sum()
    }
}

#[cold]
fn choose() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let stripe = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
    let _ = STRIPE.try_with(|cell| cell.set(stripe));
    stripe
}
