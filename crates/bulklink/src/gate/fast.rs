//! The gate's word, shared: applied by compare-and-swap and by addition, and taken away by whoever works with the gate.

use bulklink_core::{Grant, Refusal, Request, Word};

pub(crate) use imp::FastPath;

#[cfg(all(target_has_atomic = "64", not(bulklink_lock_only)))]
mod imp {
    #[cfg(not(bulklink_loom))]
    use core::sync::atomic::{AtomicU64, Ordering};
    #[cfg(bulklink_loom)]
    use loom::sync::atomic::{AtomicU64, Ordering};

    use super::{Grant, Refusal, Request, Word};

    /// What can be decided without the lock.
    #[derive(Debug)]
    pub(crate) struct FastPath(AtomicU64);

    impl FastPath {
        pub(crate) fn new() -> Self {
            FastPath(AtomicU64::new(Word::GATE.to_bits()))
        }

        /// A grant for a simple request, if one is on offer.
        #[inline]
        pub(crate) fn acquire(&self) -> Option<Grant> {
            self.apply(Ordering::Acquire, Word::acquire)
        }

        /// What becomes of a simple request that may not wait, if that is certain.
        #[inline]
        pub(crate) fn decide(&self) -> Option<Result<Grant, Refusal>> {
            self.apply(Ordering::Acquire, Word::decide)
        }

        /// Whether it was enough to say so here that an operation has ended. Worth trying unseen where a word admitted it; otherwise
        /// it is worth a [look](FastPath::peek) before.
        #[inline]
        pub(crate) fn release(&self, grant: &Grant) -> bool {
            let before = self.0.fetch_add(Word::RELEASE, Ordering::Release);
            Word::from_bits(before).has_released(grant)
        }

        /// A counted rejection of a simple request, if it is certain.
        #[inline]
        pub(crate) fn reject(&self, request: &Request, waiting_room: u32) -> Option<Refusal> {
            self.apply(Ordering::Acquire, |word| word.turn_away(request, waiting_room))
        }

        #[inline]
        fn apply<T>(&self, order: Ordering, step: impl Fn(Word) -> Option<(Word, T)>) -> Option<T> {
            let mut bits = self.0.load(Ordering::Relaxed);
            loop {
                let (after, result) = step(Word::from_bits(bits))?;
                match self.0.compare_exchange_weak(bits, after.to_bits(), order, Ordering::Relaxed) {
                    Ok(_) => return Some(result),
                    Err(changed) => bits = changed,
                }
            }
        }

        /// How things stand. Only a hint, as it is out of date at once.
        #[inline]
        pub(crate) fn peek(&self) -> Word {
            Word::from_bits(self.0.load(Ordering::Relaxed))
        }

        /// Takes the word away, to be folded into the gate, if anything can have happened to it. Under the lock only.
        #[inline]
        pub(crate) fn take(&self) -> Option<Word> {
            // Where nothing succeeds, nobody but the holder of the lock changes it, other than by releases that count for nothing.
            let is_live = !self.peek().is_inert();
            is_live.then(|| Word::from_bits(self.0.swap(Word::GATE.to_bits(), Ordering::Acquire)))
        }

        /// Puts the gate's word in place, after [`take`](FastPath::take). Under the lock only. What releases have added to a
        /// held word is gone by that: they come here themselves, unless the word has come to life and was replaced before.
        #[inline]
        pub(crate) fn put(&self, word: Word) {
            if self.peek() != word {
                self.overwrite(word);
            }
        }

        #[cfg(not(bulklink_loom))]
        #[inline]
        fn overwrite(&self, word: Word) {
            self.0.store(word.to_bits(), Ordering::Release);
        }

        /// Loom holds that a release which added to a held word may come after a store that it did not see. It cannot: an addition
        /// comes right after what it read, and the store later than that.
        #[cfg(bulklink_loom)]
        fn overwrite(&self, word: Word) {
            self.0.swap(word.to_bits(), Ordering::Release);
        }
    }
}

/// Without atomics of 64 bits, the lock has to do.
#[cfg(not(all(target_has_atomic = "64", not(bulklink_lock_only))))]
mod imp {
    use super::{Grant, Refusal, Request, Word};

    #[derive(Debug)]
    pub(crate) struct FastPath;

    impl FastPath {
        pub(crate) fn new() -> Self {
            FastPath
        }

        pub(crate) fn acquire(&self) -> Option<Grant> {
            None
        }

        pub(crate) fn decide(&self) -> Option<Result<Grant, Refusal>> {
            None
        }

        pub(crate) fn release(&self, _grant: &Grant) -> bool {
            false
        }

        pub(crate) fn reject(&self, _request: &Request, _waiting_room: u32) -> Option<Refusal> {
            None
        }

        pub(crate) fn peek(&self) -> Word {
            Word::GATE
        }

        #[inline]
        pub(crate) fn take(&self) -> Option<Word> {
            None
        }

        #[inline]
        pub(crate) fn put(&self, _word: Word) {}
    }
}
