//! Publishing the gate's figures as a word, and folding the word back.

use super::Gate;
use crate::Request;
use crate::word::{CLOSED, COMPLETE, HELD, RESTRICTED, TIMED, Word, flag_of};

impl<W> Gate<W> {
    /// Returns the gate's figures as a word, which callers use to admit and release without the
    /// gate until it is [folded](Gate::fold) back. No input may be given in between.
    ///
    /// A word offers units only while the gate is open and not paused, neither direct admissions
    /// nor releases are [observed](Gate::observe), no request waits, every grant is of one unit,
    /// and at most [`Word::MAX_CAPACITY`] are in use. Units in flight and offered together never
    /// exceed the peak so far, so that the gate sees every new peak.
    #[must_use]
    #[inline]
    pub fn publish(&self) -> Word {
        if self.queue.len() > 0 {
            return self.publish_held().with(TIMED, self.needs_now(None));
        }
        if !self.fits_a_word() {
            return Word::GATE;
        }
        // While paused, nothing is in flight here, and so no release turns into an offer.
        let most = if self.closed { self.admissible } else { self.admissible.min(self.peaks.in_flight) };
        let word =
            Word::of(self.in_flight, most - self.in_flight).with(flag_of(self.rejecting), most == self.admissible);
        // A closed word is held, so that every release reaches the gate, which must notice the last
        // one.
        if self.closed {
            return word.with(CLOSED, true).with(HELD, true);
        }
        // Computed for a plain request: the word itself recognises one that brings a limit or a
        // deadline.
        word.with(TIMED, self.needs_now(Some(const { &Request::new() })))
    }

    /// While a request waits, a word can only reject, and only where the time makes no difference:
    /// with a deadline in the queue, its end could make room. A room that is full by its units only
    /// is left to the gate, because the next request may ask for fewer.
    #[inline]
    fn publish_held(&self) -> Word {
        let is_full = self.queue.len() == self.waiting_room && self.in_use == self.admissible && self.rejecting != 0;
        if is_full && !self.queue.has_deadlines() && self.fits_a_word() {
            Word::of(self.in_flight, 0).with(flag_of(self.rejecting), true).with(HELD, true)
        } else {
            Word::GATE
        }
    }

    /// Returns the flag by which a word on which nothing is left rejects: another one under a
    /// restriction. Zero if it may not reject: while the gate is paused or rejections are observed,
    /// or if the waiting room is another than at first. A word has no space for it, so a rejection
    /// by a word has its size at first.
    pub(super) fn rejecting_flag(&self) -> u64 {
        let is_first_room = self.waiting_room == self.queue.expected();
        match self.admissible {
            _ if self.paused || !is_first_room || self.observed.needs_gate_to_reject() => 0,
            // A pool may lend more.
            _ if self.lent().is_some() => 0,
            admissible if admissible < self.capacity => RESTRICTED,
            _ => COMPLETE,
        }
    }

    /// Returns whether every figure fits a word: all grants are of one unit, the gate is not over
    /// capacity, nor paused with operations in flight, and no admission or release needs recording.
    #[inline]
    fn fits_a_word(&self) -> bool {
        let is_plain = self.in_use == self.in_flight && self.in_use <= self.admissible;
        is_plain && self.admissible as usize <= Word::MAX_CAPACITY && !self.observed.needs_gate()
    }

    /// Takes back a word that this gate has [published](Gate::publish), with everything counted in
    /// it.
    #[inline]
    pub fn fold(&mut self, word: Word) {
        if word.is_closed() {
            self.totals.closed_before_queue += word.rejected();
        } else {
            self.totals.saturated += word.rejected();
            self.count_refused(word.rejected());
        }
        // On a held word only the gate counts admissions and releases, so the units of the word are
        // ignored.
        if !word.is_held() {
            self.in_flight = word.in_flight();
            self.in_use = word.in_flight();
            self.totals.admitted = self.totals.admitted.wrapping_add(word.admitted());
            self.totals.admitted_units = self.totals.admitted_units.wrapping_add(word.admitted());
        }
    }
}
