//! Counters that several threads add to without disturbing each other.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64 as Number, AtomicUsize, Ordering::Relaxed};

use crate::sync::AtomicU64;

/// As many as threads that usually count at the same time; a power of two. Two
/// under loom, which tries each.
const STRIPES: usize = if cfg!(bulklink_loom) { 2 } else { 16 };

/// Alone on its cache lines, of which processors fetch two.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe<N>(N);

/// A counter with a part for each of a few threads.
#[derive(Debug, Default)]
pub(super) struct Striped([Stripe<Number>; STRIPES]);

/// Successes of a calm circuit, which are added to it later. Each stripe is open for the calls with
/// one tag, or shut; only under the lock of the circuit is it opened or shut.
#[derive(Debug)]
pub(super) struct Successes([Stripe<AtomicU64>; STRIPES]);

/// The stripes of some threads, a bit for each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used(u32);

/// The bits with the number of successes in a stripe that is open. Above them is its tag. The
/// lowest bit of that is zero: it is one in a full stripe, in which no success can be counted.
const COUNT: u32 = 16;
/// The lowest bit of a tag that is free for others.
pub(super) const TAG: u32 = COUNT + 1;

/// The value of a stripe that is shut. It is no tag's.
const SHUT: u64 = u64::MAX;

#[cfg(not(bulklink_loom))]
thread_local! {
    /// The stripe of this thread, after its first choice.
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

// As above, anew in each run of a scene, which must do the same in each.
#[cfg(bulklink_loom)]
loom::thread_local! {
    static STRIPE: Cell<usize> = Cell::new(usize::MAX);
}

/// The number of stripes that were chosen.
#[cfg(not(bulklink_loom))]
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

#[cfg(bulklink_loom)]
loom::lazy_static! {
    static ref CHOSEN: AtomicUsize = AtomicUsize::new(0);
}

impl Striped {
    #[inline]
    pub(super) fn add(&self) {
        self.0[own() % STRIPES].0.fetch_add(1, Relaxed);
    }

    pub(super) fn sum(&self) -> u64 {
        self.0.iter().map(|stripe| stripe.0.load(Relaxed)).sum()
    }
}

impl Default for Successes {
    fn default() -> Self {
        Successes(std::array::from_fn(|_| Stripe(AtomicU64::new(SHUT))))
    }
}

impl Successes {
    /// Counts a success, if the stripe of this thread is open for its tag and has room. The bits
    /// below the tag do not matter.
    #[inline]
    pub(super) fn add(&self, tag: u64) -> bool {
        let own = STRIPE.try_with(Cell::get).unwrap_or(usize::MAX);
        let Some(Stripe(stripe)) = self.0.get(own) else { return false };
        let mut known = stripe.load(Relaxed);
        // In one step with the look at the tag: a stripe may be shut, and opened for others.
        while (known ^ tag) >> COUNT == 0 {
            match stripe.compare_exchange_weak(known, known + 1, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(other) => known = other,
            }
        }
        false
    }

    /// Opens stripes for the calls with this tag, under the lock.
    pub(super) fn open(&self, used: Used, tag: u64) {
        for Stripe(stripe) in self.of(used) {
            stripe.store(tag, Relaxed);
        }
    }

    /// Shuts stripes, under the lock. Returns their counts.
    pub(super) fn shut(&self, used: Used) -> u64 {
        let open = self.of(used).filter(|stripe| stripe.0.load(Relaxed) != SHUT);
        open.map(|stripe| counted(stripe.0.swap(SHUT, Relaxed))).sum()
    }

    /// Returns what open stripes have counted, under the lock.
    pub(super) fn sum(&self, used: Used) -> u64 {
        self.of(used).map(|stripe| stripe.0.load(Relaxed)).filter(|stripe| *stripe != SHUT).map(counted).sum()
    }

    fn of(&self, used: Used) -> impl Iterator<Item = &Stripe<AtomicU64>> {
        self.0.iter().enumerate().filter(move |(place, _)| used.0 & 1 << place != 0).map(|(_, stripe)| stripe)
    }
}

impl Used {
    /// Adds the stripe of this thread.
    pub(super) fn add_own(&mut self) {
        self.0 |= 1 << (own() % STRIPES);
    }
}

fn counted(stripe: u64) -> u64 {
    stripe & ((1 << TAG) - 1)
}

#[inline]
fn own() -> usize {
    // A thread that is ending counts in the first.
    let own = STRIPE.try_with(Cell::get).unwrap_or(0);
    if own == usize::MAX { choose() } else { own }
}

#[cold]
fn choose() -> usize {
    let own = CHOSEN.fetch_add(1, Relaxed) % STRIPES;
    let _ = STRIPE.try_with(|cell| cell.set(own));
    own
}
