//! The gate's word in an atomic: changed by compare-and-swap and by addition, and replaced by a
//! held word while a thread works with the gate.

use bulklink_core::plumbing::{Refusal, Word};
use bulklink_core::{Grant, Request};

use crate::gate::ceilings::Noted;

/// The atomic that decides admissions and releases without the lock. On a target without 64-bit
/// atomics there is none, and nothing is decided here: all calls take the lock.
pub(crate) struct FastPath {
    #[cfg(all(target_has_atomic = "64", not(bulklink_lock_only)))]
    word: imp::AtomicU64,
    /// A [`Noted`], for the rejections by a word that is restricted.
    #[cfg(all(target_has_atomic = "64", not(bulklink_lock_only)))]
    restriction: imp::AtomicU64,
}

impl FastPath {
    /// Takes a grant for a simple request, if the word offers a unit.
    #[inline]
    pub(crate) fn acquire(&self) -> Option<Grant> {
        self.apply(Word::acquire)
    }

    /// Admits or rejects a simple request that may not wait, or returns `None` if the gate must
    /// decide.
    #[inline]
    pub(crate) fn decide(&self) -> Option<Result<Grant, Refusal>> {
        // Two loops, because the compiler would merge the two answers of one in memory.
        match self.acquire() {
            Some(grant) => Some(Ok(grant)),
            None => self.apply(Word::reject_now).map(Err),
        }
    }

    /// Rejects a simple request and counts it, or returns `None` if the gate must decide.
    #[inline]
    pub(crate) fn reject(&self, request: &Request, waiting_room: u32) -> Option<Refusal> {
        self.apply(|word| word.reject(request, waiting_room))
    }

    /// Rejects as [`reject`](FastPath::reject) does, while the gate is restricted.
    #[inline]
    pub(crate) fn reject_restricted(&self, request: &Request, waiting_room: u32) -> Option<Refusal> {
        let is_simple = request.is_simple();
        self.apply(|word| if is_simple { word.reject_restricted(request, waiting_room) } else { None })
    }

    /// Rejects a request that may not wait, if it is simple, while the gate is restricted.
    #[inline]
    pub(crate) fn reject_now_restricted(&self, request: &Request) -> Option<Refusal> {
        let is_simple = request.is_simple();
        self.apply(|word| if is_simple { word.reject_now_restricted() } else { None })
    }
}

#[cfg(all(target_has_atomic = "64", not(bulklink_lock_only)))]
mod imp {
    #[cfg(not(bulklink_loom))]
    pub(super) use core::sync::atomic::AtomicU64;
    use core::sync::atomic::Ordering;
    #[cfg(bulklink_loom)]
    pub(super) use loom::sync::atomic::AtomicU64;

    use super::{FastPath, Grant, Noted, Word};

    impl FastPath {
        pub(crate) fn new() -> Self {
            FastPath { word: AtomicU64::new(Word::GATE.to_bits()), restriction: AtomicU64::new(0) }
        }

        /// Notes the facts that a rejection by a restricted word needs. Called under the lock,
        /// before such a word is published.
        pub(crate) fn note(&self, noted: Noted) {
            self.restriction.store(noted.into(), Ordering::Relaxed);
        }

        /// Returns the noted facts, after a word that is restricted has rejected a call: no older
        /// than the word, whose Release and Acquire order the two. It can be newer where both
        /// change at the same moment.
        #[inline]
        pub(crate) fn noted(&self) -> Noted {
            self.restriction.load(Ordering::Relaxed).into()
        }

        /// Gives a grant back to the word. Returns `false` if the word is held: then the gate must
        /// be notified. If a word gave the grant, call this without a check first. If the gate gave
        /// it, [`peek`](FastPath::peek) first.
        #[inline]
        pub(crate) fn release(&self, grant: &Grant) -> bool {
            let before = self.word.fetch_add(Word::RELEASE, Ordering::Release);
            Word::from_bits(before).has_released(grant)
        }

        /// Replaces the word by what `step` makes of it, unless that is `None`.
        #[inline]
        pub(super) fn apply<T>(&self, step: impl Fn(Word) -> Option<(Word, T)>) -> Option<T> {
            let mut bits = self.word.load(Ordering::Relaxed);
            loop {
                let (after, result) = step(Word::from_bits(bits))?;
                // Acquire pairs with the Release of the release that freed a unit: the operation
                // before has ended.
                match self.word.compare_exchange_weak(bits, after.to_bits(), Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) => return Some(result),
                    // Another thread changed the word, or the exchange failed spuriously: decide
                    // anew.
                    Err(changed) => bits = changed,
                }
            }
        }

        /// Returns the present word. It is only a hint, because other threads may change it
        /// immediately.
        #[inline]
        pub(in crate::gate) fn peek(&self) -> Word {
            Word::from_bits(self.word.load(Ordering::Relaxed))
        }

        /// Replaces the word by a held one, and returns it to be folded into the gate, if other
        /// threads could have changed it. Must be called under the lock.
        #[inline]
        pub(in crate::gate) fn take(&self) -> Option<Word> {
            // On an inert word nothing succeeds: without the lock, only releases are added to it,
            // and those do not count. So a relaxed load by the lock's holder is enough.
            let is_live = !self.peek().is_inert();
            // Acquire: operations in slots that were released here happened before the next work of
            // the gate.
            is_live.then(|| Word::from_bits(self.word.swap(Word::GATE.to_bits(), Ordering::Acquire)))
        }

        /// Publishes the gate's word, after [`take`](FastPath::take). Must be called under the
        /// lock. This discards what releases have added to a held word: those releases saw that it
        /// was held, and take the lock themselves, unless they meet a live word on the way and are
        /// counted in that.
        #[inline]
        pub(in crate::gate) fn put(&self, word: Word) {
            if self.peek() != word {
                self.overwrite(word);
            }
        }

        #[cfg(not(bulklink_loom))]
        #[inline]
        fn overwrite(&self, word: Word) {
            // Release pairs with the Acquire of the next admission by the word.
            self.word.store(word.to_bits(), Ordering::Release);
        }

        /// A swap in place of the store, for loom only. Loom would let a release that added to a
        /// held word be ordered after a store which it did not read. That is impossible: an
        /// addition directly follows the value it read in the modification order, so the store
        /// comes later.
        #[cfg(bulklink_loom)]
        fn overwrite(&self, word: Word) {
            self.word.swap(word.to_bits(), Ordering::Release);
        }
    }
}

#[cfg(not(all(target_has_atomic = "64", not(bulklink_lock_only))))]
mod imp {
    use super::{FastPath, Grant, Noted, Word};

    impl FastPath {
        pub(crate) fn new() -> Self {
            FastPath {}
        }

        pub(crate) fn note(&self, _noted: Noted) {}

        pub(crate) fn noted(&self) -> Noted {
            0.into()
        }

        pub(super) fn apply<T>(&self, _step: impl Fn(Word) -> Option<(Word, T)>) -> Option<T> {
            None
        }

        pub(crate) fn release(&self, _grant: &Grant) -> bool {
            false
        }

        pub(in crate::gate) fn peek(&self) -> Word {
            Word::GATE
        }

        #[inline]
        pub(in crate::gate) fn take(&self) -> Option<Word> {
            None
        }

        #[inline]
        pub(in crate::gate) fn put(&self, _word: Word) {}
    }
}
