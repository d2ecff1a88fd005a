//! The fast path: all that a gate without a queue has to know, in one register.

#[cfg(test)]
mod tests;

use core::fmt;

use crate::gate::Grant;
use crate::{Occupancy, Reason, Rejection, Request};

/// A gate's figures in 64 bits, while they fit and nobody waits.
///
/// [`Gate::publish`](crate::Gate::publish) makes one, [`Gate::fold`](crate::Gate::fold) takes it back. In between, whoever
/// shares it admits and turns away with the pure functions here, applied by compare-and-swap: what they return replaces the
/// word that they were called on, or they have not happened. Where one returns `None`, the gate has to decide. What ends is
/// [added](Word::RELEASE).
///
/// A word is the truth until it is folded. Whoever works with the gate puts [`Word::GATE`] in its place first, on which nothing
/// succeeds.
///
/// ```
/// use bulklink_core::{Gate, Limits, Word};
///
/// let mut gate: Gate<()> = Gate::new(Limits { capacity: 2, waiting_room: 0, wait_limit: None })?;
/// # let bulklink_core::Answer::Granted(grant) = gate.enter(&Default::default(), None)? else { panic!() };
/// # gate.release(grant);
/// // Somebody has been here before, so one unit is offered without asking the gate.
/// let word = gate.publish();
/// let (word, grant) = word.acquire().expect("a unit is offered");
/// assert!(word.acquire().is_none(), "a new peak is for the gate to note");
/// assert!(word.has_released(&grant), "nobody waits for it");
/// let word = Word::from_bits(word.to_bits() + Word::RELEASE);
///
/// gate.fold(word);
/// assert_eq!(gate.snapshot().totals.admitted, 2);
/// # Ok::<(), bulklink_core::InvalidArgument>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word(u64);

/// In flight and offered: how many run, and how many more may without asking the gate.
const UNIT_BITS: u32 = 18;
/// Rejected and admitted since the word was published. Small ones under loom, so that it sees them full.
const COUNT_BITS: u32 = if cfg!(bulklink_loom) { 1 } else { 12 };

const OFFERED: u32 = UNIT_BITS;
/// In flight and offered make up the capacity; and if the word is held and not closed, the waiting room is full.
pub(crate) const COMPLETE: u64 = 1 << 36;
/// The policy of [`needs_now`](Word::needs_now), as the gate computed it for this word. Of a held word: the waits
/// that go on are timed. Of another: a wait that begins would be.
pub(crate) const TIMED: u64 = 1 << 37;
pub(crate) const CLOSED: u64 = 1 << 38;
const REJECTED: u32 = 39;
const ADMITTED: u32 = 63 - COUNT_BITS;
/// The gate keeps the word to itself: nothing is admitted or released. It is the highest bit, which an admission too many would
/// set as well.
pub(crate) const HELD: u64 = 1 << 63;

const UNITS: u64 = (1 << UNIT_BITS) - 1;
const COUNTS: u64 = (1 << COUNT_BITS) - 1;
const ONE_OFFERED: u64 = 1 << OFFERED;
/// Additions to a held word never reach its flags. Such a word begins with `in_flight + offered · 2¹⁸`, where the
/// two are at most the capacity, and so at most [`UNITS`]; or with nothing. Each of the at most `in_flight` grants
/// that a word gave, and at most [`UNITS`] in any case, adds `2¹⁸ − 1` to it once: it then goes to the gate, which
/// puts a new word in place. (If it finds a live word on its way there it may add to that, and to the held word that
/// comes next, but never twice to one.) So at most `(in_flight + offered) · 2¹⁸ + UNITS` is reached.
const _: () = assert!(UNITS * ONE_OFFERED + UNITS < COMPLETE);
const ONE_REJECTED: u64 = 1 << REJECTED;
/// When this one of their bits is set, it is time to count them elsewhere.
const MANY_REJECTED: u64 = 1 << (REJECTED + COUNT_BITS - 1);
/// One more in flight and one less on offer, counted; but for a build that shows what counting costs.
const ADMISSION: u64 = ONE_ADMITTED.wrapping_sub(ONE_OFFERED).wrapping_add(1);
const ONE_ADMITTED: u64 = if cfg!(bulklink_no_statistics) { 0 } else { 1 << ADMITTED };

impl Word {
    /// The gate itself is the truth, and has to be asked for everything.
    pub const GATE: Word = Word(HELD);

    /// The largest capacity that a word holds.
    pub const MAX_CAPACITY: usize = (1 << UNIT_BITS) - 1;

    /// The word of these bits, to be had from [`to_bits`](Word::to_bits), and from additions of [`RELEASE`](Word::RELEASE) to those.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Word(bits)
    }

    /// All of it, for an atomic.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Admits a request that is [simple](Request::is_simple). The grant is good once the word has replaced this one.
    #[inline]
    #[must_use]
    pub const fn acquire(self) -> Option<(Word, Grant)> {
        let after = Word(self.0.wrapping_add(ADMISSION));
        if self.0 & (UNITS << OFFERED) == 0 || after.is_held() {
            return None;
        }
        Some((after, Grant::BY_WORD))
    }

    /// The most admissions that a word counts.
    #[expect(clippy::cast_possible_truncation, reason = "a few bits")]
    pub const MAX_ADMITTED: u32 = COUNTS as u32;

    /// Whether the word has counted as many admissions as it can: then the gate has to be asked, though the word
    /// may offer a unit.
    #[inline]
    #[must_use]
    pub const fn is_full(self) -> bool {
        self.0 & (HELD | COUNTS << ADMITTED) == COUNTS << ADMITTED
    }

    /// What the end of an operation that was [admitted by a word](Grant::is_by_word) adds to the bits of whatever word it meets:
    /// that takes no look at it first. One that the gate admitted looks first, and adds only to a word that is not held.
    pub const RELEASE: u64 = ONE_OFFERED - 1;

    /// Whether adding [`RELEASE`](Word::RELEASE) to this word has ended the operation; the gate that published it
    /// has seen to it that every live grant is of one unit. If not, the gate has to be told. A held word is none the
    /// worse for the addition: what it says of units is read only by calls that are rejected, and for those the
    /// operation has ended; and its flags are out of reach, as the assertion at the head of this module shows.
    #[inline]
    #[must_use]
    pub const fn has_released(self, _grant: &Grant) -> bool {
        !self.is_held()
    }

    /// [Admits](Word::acquire) a simple request that may not wait, or [turns it away](Word::turn_away): the two as one step.
    #[inline]
    #[must_use]
    pub fn decide(self) -> Option<(Word, Result<Grant, Refusal>)> {
        if self.0 & (COMPLETE | UNITS << OFFERED | MANY_REJECTED) == COMPLETE {
            return Some((Word(self.0 + ONE_REJECTED), Err(Refusal(self))));
        }
        self.acquire().map(|(after, grant)| (after, Ok(grant)))
    }

    /// Turns a [simple](Request::is_simple) request away, counted, where it is certain that the gate would; `waiting_room` is
    /// the gate's.
    #[inline]
    #[must_use]
    pub fn turn_away(self, request: &Request, waiting_room: u32) -> Option<(Word, Refusal)> {
        if self.0 & (COMPLETE | MANY_REJECTED) != COMPLETE {
            return None;
        }
        let is_certain = match self.0 & (HELD | CLOSED) {
            0 => self.offered() == 0 && (!request.may_queue || waiting_room == 0 && !request.would_expire_at_once()),
            HELD => !request.would_expire_at_once(),
            _ => true,
        };
        is_certain.then_some((Word(self.0 + ONE_REJECTED), Refusal(self)))
    }

    /// Whether nothing can succeed on it, so that it is as good as [`GATE`](Word::GATE).
    #[inline]
    #[must_use]
    pub const fn is_inert(self) -> bool {
        self.0 & (HELD | COMPLETE) == HELD
    }

    /// Whether the gate will probably need the time for this request, or without one for what ends an operation or
    /// a wait: then it may be read first, so that the gate is asked once.
    #[inline]
    #[must_use]
    pub fn needs_now(self, request: Option<&Request>) -> bool {
        let timed = self.0 & TIMED != 0;
        let goes_on = timed && self.is_held();
        let Some(request) = request else { return goes_on };
        let would_wait = self.0 & (HELD | COMPLETE) == COMPLETE && self.offered() == 0 && request.may_queue;
        goes_on || request.has_deadline() || would_wait && (timed || request.has_limit())
    }

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
        self.0 >> REJECTED & COUNTS
    }

    pub(crate) const fn admitted(self) -> u64 {
        self.0 >> ADMITTED & COUNTS
    }
}

/// What somebody is told who was [turned away](Word::turn_away) by a word, in as little as it takes.
#[derive(Clone, Copy, Debug)]
pub struct Refusal(Word);

impl Refusal {
    /// The same spelled out; `waiting_room` is the gate's.
    #[must_use]
    pub fn rejection(&self, waiting_room: u32) -> Rejection {
        let Refusal(word) = *self;
        let capacity = word.in_flight() + word.offered();
        // Where others wait, what is given back is theirs.
        let (reason, in_flight, waiting) = match (word.is_closed(), word.is_held()) {
            (true, _) => (Reason::Closed, word.in_flight(), 0),
            (false, true) => (Reason::Saturated, capacity, waiting_room),
            (false, false) => (Reason::Saturated, word.in_flight(), 0),
        };
        let occupancy = Occupancy { in_flight, in_use: in_flight, waiting, capacity, waiting_room };
        Rejection { reason, occupancy, waited_nanos: 0, limit_nanos: 0 }
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("is_held", &self.is_held())
            .field("is_closed", &self.is_closed())
            .field("is_timed", &(self.0 & TIMED != 0))
            .field("is_complete", &(self.0 & COMPLETE != 0))
            .field("in_flight", &self.in_flight())
            .field("offered", &self.offered())
            .field("admitted", &self.admitted())
            .field("rejected", &self.rejected())
            .finish()
    }
}
