//! The fast path: everything that must be known of a gate without a queue, in one register.

#[cfg(test)]
mod tests;

use core::fmt;

use crate::{Grant, Occupancy, Reason, Rejection, Request};

/// A gate's figures in 64 bits, while they fit and no request waits.
///
/// [`Gate::publish`](crate::Gate::publish) makes a word, and [`Gate::fold`](crate::Gate::fold)
/// takes it back. In between, threads that share the word admit and reject with the pure functions
/// here, applied by compare-and-swap: the word that a function returns must replace the word that
/// it was called on, or the call has not happened. Where a function returns `None`, the gate has to
/// decide. The end of an operation [adds](Word::RELEASE) to the word.
///
/// A published word holds the current figures until it is folded. A thread that works with the gate
/// puts [`Word::GATE`] in its place first, on which nothing succeeds.
///
/// ```
/// use bulklink_core::plumbing::Word;
/// use bulklink_core::{Gate, Limits};
///
/// let mut gate: Gate<()> = Gate::new(Limits::new(2))?;
/// # let answer = gate.enter(&Default::default(), None)?;
/// # let bulklink_core::Answer::Granted(grant) = answer else { panic!() };
/// # gate.release(grant);
/// // One operation has run before, so one unit is offered without asking the gate.
/// let word = gate.publish();
/// let (word, grant) = word.acquire().expect("a unit is offered");
/// assert!(word.acquire().is_none(), "a new peak is for the gate to note");
/// assert!(word.has_released(&grant), "no request waits for it");
/// let word = Word::from_bits(word.to_bits() + Word::RELEASE);
///
/// gate.fold(word);
/// assert_eq!(gate.snapshot(None).totals.admitted, 2);
/// # Ok::<(), bulklink_core::InvalidArgument>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word(u64);

/// The width of the fields *in flight* (operations that run) and *offered* (operations that may
/// still start without asking the gate).
const UNIT_BITS: u32 = 18;
/// The width of the fields *rejected* and *admitted*, counted since the word was published. Under
/// loom they are narrow, so that its scenes fill them.
const ADMITTED_BITS: u32 = if cfg!(bulklink_loom) { 1 } else { 12 };
const REJECTED_BITS: u32 = if cfg!(bulklink_loom) { 1 } else { 11 };

const OFFERED: u32 = UNIT_BITS;
/// The first flag.
const FLAGS: u32 = 36;
/// In flight and offered together are the capacity, and the word may reject. If it is held and not
/// closed, also: the waiting room is full.
pub(crate) const COMPLETE: u64 = 1 << FLAGS;
/// The policy of [`needs_now`](Word::needs_now), as the gate computed it for this word. In a held
/// word: the waits that go on are timed. In another: a wait that begins would be.
pub(crate) const TIMED: u64 = 1 << 37;
pub(crate) const CLOSED: u64 = 1 << 38;
/// As [`COMPLETE`], but in flight and offered together are the gate's restriction, which is below
/// the capacity. Apart from it, so that a rejection without a restriction takes no longer.
pub(crate) const RESTRICTED: u64 = if cfg!(feature = "restriction") { 1 << 39 } else { 0 };
const REJECTED: u32 = 40;
const ADMITTED: u32 = 63 - ADMITTED_BITS;
/// The gate keeps the word to itself: nothing is admitted or released on it. It is the highest bit,
/// which an admission beyond [`MAX_ADMITTED`](Word::MAX_ADMITTED) would set as well.
pub(crate) const HELD: u64 = 1 << 63;

/// Returns a flag in a byte, which [`flag_of`] turns back: for whatever keeps one.
#[expect(clippy::cast_possible_truncation, reason = "there are four flags")]
pub(crate) const fn byte_of(flag: u64) -> u8 {
    (flag >> FLAGS) as u8
}

#[inline]
pub(crate) const fn flag_of(byte: u8) -> u64 {
    (byte as u64) << FLAGS
}

const UNITS: u64 = (1 << UNIT_BITS) - 1;
const REJECTIONS: u64 = (1 << REJECTED_BITS) - 1;
const ADMISSIONS: u64 = (1 << ADMITTED_BITS) - 1;
const ONE_OFFERED: u64 = 1 << OFFERED;
/// Additions to a held word never reach its flags. Such a word begins with
/// `in_flight + offered · 2¹⁸`, where the two together are at most the capacity, and so at most
/// [`UNITS`]; or with zero. Each grant that a word issued adds `2¹⁸ − 1` to it at most once,
/// because it then goes to the gate, which puts a new word in place; there are at most `in_flight`
/// such grants, and at most [`UNITS`] in any case. (A grant that finds a live word on its way to
/// the gate may add to that word, and to the held word that comes next, but never twice to one.) So
/// the value never exceeds `(in_flight + offered) · 2¹⁸ + UNITS`.
const _: () = assert!(UNITS * ONE_OFFERED + UNITS < COMPLETE);
const ONE_REJECTED: u64 = 1 << REJECTED;
/// The highest bit of the rejected count. Once it is set, the gate must fold the count.
const MANY_REJECTED: u64 = 1 << (REJECTED + REJECTED_BITS - 1);
/// One more in flight, one less on offer, and one more counted. A build that measures the cost of
/// counting leaves the count out.
const ADMISSION: u64 = ONE_ADMITTED.wrapping_sub(ONE_OFFERED).wrapping_add(1);
const ONE_ADMITTED: u64 = if cfg!(bulklink_no_statistics) { 0 } else { 1 << ADMITTED };

impl Word {
    /// The word on which nothing succeeds: the gate must be asked for everything.
    pub const GATE: Word = Word(HELD);

    /// The same, of a gate with [`Calls`](crate::Calls) that need the time of every input.
    pub const TIMED_GATE: Word = Word(HELD | TIMED);

    /// The largest capacity that a word can hold.
    pub const MAX_CAPACITY: usize = (1 << UNIT_BITS) - 1;

    /// Creates a word from its bits: those of [`to_bits`](Word::to_bits), or those with
    /// [`RELEASE`](Word::RELEASE) added.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Word(bits)
    }

    /// Returns the word's bits, for an atomic.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Admits a [simple](Request::is_simple) request, if the word offers a unit. The grant is valid
    /// once the returned word has replaced this one.
    #[inline]
    #[must_use]
    pub const fn acquire(self) -> Option<(Word, Grant)> {
        let after = Word(self.0.wrapping_add(ADMISSION));
        // A full count overflows into `HELD`, so one test covers both a held word and a full count.
        if self.0 & (UNITS << OFFERED) == 0 || after.is_held() {
            return None;
        }
        Some((after, Grant::BY_WORD))
    }

    /// The largest number of admissions that a word counts.
    #[expect(clippy::cast_possible_truncation, reason = "at most 12 bits")]
    pub const MAX_ADMITTED: u32 = ADMISSIONS as u32;

    /// Returns whether the word has counted as many admissions as it can. Then the gate must be
    /// asked, though the word may offer a unit.
    #[inline]
    #[must_use]
    pub const fn is_full(self) -> bool {
        self.0 & (HELD | ADMISSIONS << ADMITTED) == ADMISSIONS << ADMITTED
    }

    /// The number added to the word's bits at the end of an operation.
    ///
    /// An operation that was [admitted by a word](Grant::is_by_word) adds it to whatever word is
    /// there, without reading that first. An operation that the gate admitted reads the word first,
    /// and adds only if it is not held.
    pub const RELEASE: u64 = ONE_OFFERED - 1;

    /// Returns whether adding [`RELEASE`](Word::RELEASE) to this word has ended the operation. If
    /// not, the gate must be notified.
    ///
    /// Must not be asked about a [recorded](Grant::is_recorded) grant. The gate has made sure that
    /// every other live grant of a published word is of one unit. The addition does no harm to a
    /// held word: only rejected calls read its units, and for those the operation has ended; its
    /// flags are out of reach, as the assertion at the head of this module shows.
    #[inline]
    #[must_use]
    pub const fn has_released(self, _grant: &Grant) -> bool {
        !self.is_held()
    }

    /// Rejects and counts a [simple](Request::is_simple) request that may not wait, as
    /// [`reject`](Word::reject) does, with fewer instructions.
    #[inline]
    #[must_use]
    pub fn reject_now(self) -> Option<(Word, Refusal)> {
        // Complete with nothing on offer: the gate would certainly reject it.
        let is_certain = self.0 & (COMPLETE | UNITS << OFFERED | MANY_REJECTED) == COMPLETE;
        is_certain.then(|| (Word(self.0 + ONE_REJECTED), Refusal(self)))
    }

    /// Rejects as [`reject_now`](Word::reject_now) does, but only while the gate is
    /// [restricted](crate::Gate::restrict).
    #[inline]
    #[must_use]
    #[cfg(feature = "restriction")]
    pub fn reject_now_restricted(self) -> Option<(Word, Refusal)> {
        let is_certain = self.0 & (RESTRICTED | UNITS << OFFERED | MANY_REJECTED) == RESTRICTED;
        is_certain.then(|| (Word(self.0 + ONE_REJECTED), Refusal(self)))
    }

    /// Rejects and counts a [simple](Request::is_simple) request where the gate would certainly
    /// reject it. `waiting_room` is the one that the gate was created with. Rejects nothing while
    /// the gate is restricted.
    #[inline]
    #[must_use]
    pub fn reject(self, request: &Request, waiting_room: u32) -> Option<(Word, Refusal)> {
        self.reject_by(COMPLETE, request, waiting_room)
    }

    /// Rejects as [`reject`](Word::reject) does, but only while the gate is
    /// [restricted](crate::Gate::restrict).
    #[inline]
    #[must_use]
    #[cfg(feature = "restriction")]
    pub fn reject_restricted(self, request: &Request, waiting_room: u32) -> Option<(Word, Refusal)> {
        // Only the gate knows whether a request that fetches has to wait.
        let is_decided = self.is_closed() || !request.fetches();
        if is_decided { self.reject_by(RESTRICTED, request, waiting_room) } else { None }
    }

    #[inline]
    fn reject_by(self, flag: u64, request: &Request, waiting_room: u32) -> Option<(Word, Refusal)> {
        if self.0 & (flag | MANY_REJECTED) != flag {
            return None;
        }
        let is_certain = match self.0 & (HELD | CLOSED) {
            // In order: a live word; a full waiting room; a closed gate. A limit of zero expires
            // instead of being saturated, which only the gate counts.
            0 => {
                self.offered() == 0
                    && (!request.may_queue() || waiting_room == 0 && !request.would_expire_immediately())
            }
            HELD => !request.would_expire_immediately(),
            _ => true,
        };
        is_certain.then_some((Word(self.0 + ONE_REJECTED), Refusal(self)))
    }

    /// Returns whether the gate was restricted when this word was published, and the word can
    /// reject.
    #[inline]
    #[must_use]
    pub const fn is_restricted(self) -> bool {
        cfg!(feature = "restriction") && self.0 & (1 << 39) != 0
    }

    /// Returns whether nothing can succeed on this word, so that it is equivalent to
    /// [`GATE`](Word::GATE).
    #[inline]
    #[must_use]
    pub const fn is_inert(self) -> bool {
        self.0 & (HELD | COMPLETE | RESTRICTED) == HELD
    }

    /// Returns whether the gate will probably need the time: for this request, or with `None` for
    /// the end of an operation or a wait. The caller can then read the clock first, and ask the
    /// gate only once.
    #[inline]
    #[must_use]
    pub fn needs_now(self, request: Option<&Request>) -> bool {
        let timed = self.0 & TIMED != 0;
        let Some(request) = request else { return timed && self.is_held() };
        if request.has_deadline() || !(timed || request.has_limit()) {
            return request.has_deadline();
        }
        // One of the two lower flags, and not the highest.
        let flags = self.0 & (HELD | COMPLETE | RESTRICTED);
        let is_used_up = flags != 0 && flags < HELD && self.offered() == 0;
        let would_wait = is_used_up && request.may_wait();
        would_wait || timed && self.is_held()
    }

    /// Creates a word with these units, and no flag or count set.
    pub(crate) const fn of(in_flight: u32, offered: u32) -> Self {
        Word(in_flight as u64 | (offered as u64) << OFFERED)
    }

    pub(crate) const fn with(self, flag: u64, is_set: bool) -> Self {
        if is_set { Word(self.0 | flag) } else { self }
    }

    pub(crate) const fn is_held(self) -> bool {
        self.0 & HELD != 0
    }

    pub(crate) const fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    pub(crate) const fn in_flight(self) -> u32 {
        (self.0 & UNITS) as u32
    }

    const fn offered(self) -> u32 {
        (self.0 >> OFFERED & UNITS) as u32
    }

    pub(crate) const fn rejected(self) -> u64 {
        self.0 >> REJECTED & REJECTIONS
    }

    pub(crate) const fn admitted(self) -> u64 {
        self.0 >> ADMITTED & ADMISSIONS
    }
}

/// The rejection of a request that was [rejected by a word](Word::reject), in its smallest form.
#[derive(Clone, Copy, Debug)]
pub struct Refusal(Word);

impl Refusal {
    /// Returns the units that could be in use, if the gate is [restricted](crate::Gate::restrict)
    /// to them. Then the word does not have the capacity.
    #[inline]
    #[must_use]
    #[cfg(feature = "restriction")]
    pub const fn restricted_to(&self) -> Option<u32> {
        if self.0.is_restricted() { Some(self.0.in_flight() + self.0.offered()) } else { None }
    }

    /// Expands the refusal to a [`Rejection`]. `waiting_room` is the one that the gate was
    /// created with.
    #[inline]
    #[must_use]
    pub fn rejection(&self, waiting_room: u32) -> Rejection {
        let Refusal(word) = *self;
        self.of_capacity(waiting_room, word.in_flight() + word.offered())
    }

    /// Expands the refusal as [`rejection`](Refusal::rejection) does, of a gate with this capacity,
    /// which is more than it is [restricted to](Refusal::restricted_to).
    #[inline]
    #[must_use]
    #[cfg(feature = "restriction")]
    pub fn rejection_of(&self, waiting_room: u32, capacity: u32) -> Rejection {
        self.of_capacity(waiting_room, capacity)
    }

    #[inline]
    fn of_capacity(self, waiting_room: u32, capacity: u32) -> Rejection {
        let Refusal(word) = self;
        // While requests wait, a unit that was given back belongs to the queue, so all of them
        // count as in flight.
        let (reason, in_flight, waiting) = match (word.is_closed(), word.is_held()) {
            (true, _) => (Reason::Closed, word.in_flight(), 0),
            (false, true) => (Reason::Saturated, word.in_flight() + word.offered(), waiting_room),
            (false, false) => (Reason::Saturated, word.in_flight(), 0),
        };
        let occupancy = Occupancy { in_flight, in_use: in_flight, waiting, capacity, waiting_room };
        Rejection::new(reason, occupancy)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("is_held", &self.is_held())
            .field("is_closed", &self.is_closed())
            .field("is_timed", &(self.0 & TIMED != 0))
            .field("is_complete", &(self.0 & COMPLETE != 0))
            .field("is_restricted", &self.is_restricted())
            .field("in_flight", &self.in_flight())
            .field("offered", &self.offered())
            .field("admitted", &self.admitted())
            .field("rejected", &self.rejected())
            .finish()
    }
}
