//! The histograms that the bulkheads of all partitions share.

#[cfg(feature = "std")]
pub(super) use with_std::SharedHistograms;
#[cfg(not(feature = "std"))]
pub(super) use without_std::SharedHistograms;

#[cfg(feature = "std")]
mod with_std {
    use alloc::boxed::Box;
    use alloc::sync::Arc;
    use core::array;
    #[cfg(target_has_atomic = "64")]
    use core::sync::atomic::AtomicU64 as Counter;
    #[cfg(not(target_has_atomic = "64"))]
    use core::sync::atomic::AtomicUsize as Counter;
    use core::sync::atomic::Ordering;
    use core::task::Waker;

    use bulklink_core::plumbing::{self, CountBuckets, SharedCounts};
    use bulklink_core::{Calls, Gate, Histogram};

    /// The waits and holds of many bulkheads.
    #[derive(Debug)]
    pub(crate) struct SharedHistograms {
        waits: Shared,
        /// Where holds are measured.
        holds: Option<Shared>,
    }

    /// A counter for each bucket. Bulkheads that share them have different locks. Each counter
    /// stands for itself, so no order is needed.
    struct Counters([Counter; Histogram::BUCKETS]);

    /// Counters, and the gates' parts of them.
    #[derive(Debug)]
    struct Shared {
        counters: Arc<Counters>,
        of_gates: SharedCounts,
    }

    #[derive(Debug)]
    struct Share(Arc<Counters>);

    impl SharedHistograms {
        pub(crate) fn new(measures_holds: bool) -> Self {
            SharedHistograms { waits: Shared::new(), holds: measures_holds.then(Shared::new) }
        }

        /// Makes a new bulkhead count in these histograms.
        pub(crate) fn share(&self, gate: &mut Gate<Waker>, calls: Option<&mut Calls>) {
            plumbing::share_waits(gate, SharedCounts::clone(&self.waits.of_gates));
            if let (Some(holds), Some(calls)) = (&self.holds, calls) {
                plumbing::share_holds(calls, SharedCounts::clone(&holds.of_gates));
            }
        }

        pub(crate) fn read(&self, waits: &mut Histogram, holds: &mut Histogram) {
            self.waits.counters.read(waits);
            match &self.holds {
                Some(holding) => holding.counters.read(holds),
                None => holds.clear(),
            }
        }
    }

    impl Shared {
        fn new() -> Self {
            let counters = Arc::new(Counters(array::from_fn(|_| Counter::new(0))));
            let of_gates = SharedCounts::new(Box::new(Share(Arc::clone(&counters))));
            Shared { counters, of_gates }
        }
    }

    impl Counters {
        #[allow(clippy::unnecessary_cast, reason = "not 64 bits on every target")]
        fn read(&self, into: &mut Histogram) {
            plumbing::fill(into, |bucket| self.0[bucket].load(Ordering::Relaxed) as u64);
        }
    }

    impl CountBuckets for Share {
        fn count(&self, bucket: usize) {
            self.0.0[bucket].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Leaves the counters out: they are hundreds.
    impl core::fmt::Debug for Counters {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.debug_struct("Counters").finish_non_exhaustive()
        }
    }
}

#[cfg(not(feature = "std"))]
mod without_std {
    use core::task::Waker;

    use bulklink_core::{Calls, Gate};

    /// Nothing: the core counts no lengths here.
    #[derive(Debug)]
    pub(crate) struct SharedHistograms;

    #[expect(clippy::unused_self, reason = "as with `std`")]
    impl SharedHistograms {
        pub(crate) fn new(_measures_holds: bool) -> Self {
            SharedHistograms
        }

        pub(crate) fn share(&self, _gate: &mut Gate<Waker>, _calls: Option<&mut Calls>) {}
    }
}
