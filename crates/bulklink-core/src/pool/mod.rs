//! One capacity for many keys, in fair turns: which line is lent units next, and which waiter gives
//! up its place.
//!
//! A [`Pool`] knows no waiters. Each *line* is a [`Gate`](crate::Gate) of its own, in which the
//! calls of one key and one [class](Class) wait, first come, first served; the pool only knows what
//! the line [demands](Demand): how many units are in use, how many calls wait, and how much the
//! first of them costs. A gate that is [lent](crate::Gate::lend) units admits calls with them, and
//! with no others.
//!
//! # Whose turn it is
//!
//! Lines that wait are served in this order:
//!
//! 1. those of keys within their [floor](Share::floor);
//! 2. by class;
//! 3. by *level*: the units in use of the key, in whole turns of its [weight](Share::weight);
//! 4. by *turn*, in virtual time: each turn of a key ends later by its cost ÷ weight, and a key
//!    that has taken no turn for a round comes before those that have.
//!
//! A turn belongs to the line and not to its first waiter, so a line whose waiters leave or expire
//! keeps it. The first waiter of a line that costs more than one turn comes after all others of its
//! class until the turn has come up. Units that the next line may not take yet are kept for it:
//! no line overtakes it, but for the [relief](Limits::relief) of a class. A line whose first waiter
//! costs more than its key and class can ever have holds up no line of other keys, until limits
//! change.
//!
//! A call that comes is admitted at once only if it would be the next of all.
//!
//! # Lent units
//!
//! While no line waits for its turn, a unit that is given back stays with the line: calls can take
//! it by the line's [`Word`](crate::plumbing::Word), without asking the pool. When another line
//! needs units, the pool takes them back from the lines whose words are live, the oldest first;
//! at most [`Pool::LIVE`] are. While any line waits for its turn no word is live, so each unit
//! that is given back comes to the pool.
//!
//! # The contract
//!
//! The code that drives a pool gives each input to a line's gate under the pool's lock:
//! [`begin`](Pool::begin), for a call that asks for admission [`prepare`](Pool::prepare), the input
//! itself, and [`finish`](Pool::finish), which lends units to the lines whose turn it is. Through
//! [`Lines`] the pool reaches the other lines.

mod change;
mod floors;
mod heads;
mod lending;
mod room;
mod share;
mod turns;

pub use lending::{Bound, Demand, Head, LineId, Lines, Prepared};
pub use share::{Class, Limits, Share};

use crate::InvalidArgument;
use crate::fork::Fork;
use crate::heap::Heap;
use crate::invalid::Violation;
use crate::list::{Linked, Links, List};
use crate::slab::{Place, Slab};
use heads::{Heads, NOWHERE};

const CLASSES: usize = Class::ALL.len();
/// The fraction bits of virtual time.
const SCALE: u32 = 20;

/// A key of a pool. It is valid only for the pool that issued it, until the key is
/// [removed](Pool::remove).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(Place);

impl Key {
    /// Returns a small number that no other key of the pool has.
    #[must_use]
    pub fn number(self) -> usize {
        self.0.number().get() as usize
    }
}

/// One capacity that many keys share.
///
/// The [module's page](self) has the order in which they are served, and the contract.
///
/// # Panics
///
/// If a key is not, or no longer, one of this pool.
#[derive(Debug)]
pub struct Pool {
    limits: Limits,
    /// The units that lines hold: in use, or lent.
    in_use: u32,
    /// The most units that were ever held by operations.
    peak_in_use: u32,
    /// The unused floors that are not lent to others.
    kept: u32,
    /// All floors that are not lent to others.
    kept_floors: u64,
    waiting: u32,
    displaced: u64,
    keys: Slab<KeyState>,
    lines: Slab<LineState>,
    /// The lines that are eligible, by class.
    heads: [Heads; CLASSES],
    /// Those whose first waiter costs more than a turn that is not due yet.
    wide: [Heads; CLASSES],
    /// The lines that wait, the longest first, while these are kept.
    lengths: [Heap<room::ByLength>; CLASSES],
    keeps_lengths: bool,
    /// How many times in a row each class was passed over.
    passed: [u32; CLASSES],
    /// The weights of all eligible lines.
    weights: u64,
    virtual_time: u64,
    /// The turns that have begun.
    turns: u64,
    /// The changes of the length of a line.
    changes: u64,
    /// The lines whose words are live, the oldest first.
    live: List,
    live_len: u32,
}

#[derive(Clone, Debug)]
struct KeyState {
    share: Share,
    in_use: u32,
    waiting: u32,
    /// The end of its last turn.
    finish: u64,
    lines: [Option<Place>; CLASSES],
}

#[derive(Clone, Debug)]
struct LineState {
    key: Place,
    class: Class,
    /// The units that the line holds: in use, or lent.
    held: u32,
    waiting: u32,
    head: Option<Head>,
    /// Its turn, and when that comes up: no turn is zero.
    turn: u64,
    tag: u64,
    /// Its position among the heads, or the wide ones.
    position: u32,
    is_wide: bool,
    is_live: bool,
    /// Its position among the lengths, its length by weight, and when that changed.
    length_position: u32,
    length: u64,
    changed: u64,
    /// Its neighbours among the lines whose words are live.
    links: Links,
}

impl Linked for LineState {
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Fork for Pool {
    fn fork(&self) -> Self {
        Pool {
            limits: self.limits.clone(),
            keys: self.keys.clone(),
            lines: self.lines.clone(),
            heads: self.heads.clone(),
            wide: self.wide.clone(),
            lengths: self.lengths.clone(),
            live: self.live.clone(),
            ..*self
        }
    }
}

impl Pool {
    /// The most lines whose words are live.
    pub const LIVE: u32 = 64;

    /// Creates a pool without keys.
    ///
    /// # Errors
    ///
    /// If a limit is out of range; the error names it.
    pub fn new(limits: Limits) -> Result<Self, InvalidArgument> {
        limits.check()?;
        Ok(Pool {
            limits,
            in_use: 0,
            peak_in_use: 0,
            kept: 0,
            kept_floors: 0,
            waiting: 0,
            displaced: 0,
            keys: Slab::new(),
            lines: Slab::new(),
            heads: [const { Heads::new() }; CLASSES],
            wide: [const { Heads::new() }; CLASSES],
            lengths: [const { Heap::new() }; CLASSES],
            keeps_lengths: false,
            passed: [0; CLASSES],
            weights: 0,
            // Later than the first credit of a turn.
            virtual_time: 1 << SCALE,
            turns: 0,
            changes: 0,
            live: List::new(),
            live_len: 0,
        })
    }

    /// Adds a key.
    ///
    /// # Errors
    ///
    /// As [`set_share`](Pool::set_share).
    pub fn add(&mut self, share: Share) -> Result<Key, InvalidArgument> {
        self.check(&share, 0)?;
        let lines = [None; CLASSES];
        let key = self.keys.insert(KeyState { share, in_use: 0, waiting: 0, finish: 0, lines }, 0);
        self.count_floor(key, true);
        self.keep(key, true);
        if share.is_kept {
            self.refresh_all();
        }
        Ok(Key(key))
    }

    /// Removes a key, whose lines have no gates: they were [vacated](Pool::vacate), or never used.
    /// Units in use of operations that were written off stay in use.
    pub fn remove(&mut self, key: Key) {
        let key = key.0;
        for line in self.keys[key].lines.into_iter().flatten() {
            self.note(line, &Demand::NONE, 0);
            self.retire(line);
            self.lines.remove(line);
        }
        self.keep(key, false);
        self.count_floor(key, false);
        let share = self.keys.remove(key).share;
        if share.is_kept {
            self.refresh_all();
        }
    }

    /// Notes that the gate of a line is gone, whose word was taken back, and that had no waiters:
    /// the units that are lent to it are free. Those in use, of operations that were written off,
    /// stay in use; the key no longer has them once none of its lines has a gate.
    pub fn vacate(&mut self, line: LineId, in_use: u32) {
        let LineId { key: Key(key), class } = line;
        let place = self.line(line);
        self.retire(place);
        // So no call of another line of the key gets its turn by this.
        self.note(place, &Demand::NONE, in_use);
        self.lines.remove(place);
        let state = &mut self.keys[key];
        state.lines[class as usize] = None;
        if state.lines.iter().all(Option::is_none) {
            self.keep(key, false);
            self.keys[key].in_use = 0;
            self.keep(key, true);
        }
    }

    /// Changes the share of a key. [`serve`](Pool::serve) must follow; and
    /// [`begin`](Pool::begin) and [`finish`](Pool::finish) before that for each of its lines, so
    /// that none is lent units beyond a lower ceiling.
    ///
    /// # Errors
    ///
    /// If a number is out of range, or if the floors that are [kept](Share::is_kept) would be more
    /// than the capacity. Nothing has changed then.
    pub fn set_share(&mut self, key: Key, share: Share) -> Result<(), InvalidArgument> {
        let key = key.0;
        let old = &self.keys[key].share;
        self.check(&share, if old.is_kept { old.floor } else { 0 })?;
        let (lines, floors) = (self.keys[key].lines, self.kept_floors);
        for line in lines.into_iter().flatten() {
            self.unlist(line);
        }
        self.keep(key, false);
        self.count_floor(key, false);
        self.keys[key].share = share;
        self.count_floor(key, true);
        self.keep(key, true);
        if self.kept_floors == floors {
            self.refresh(key);
        } else {
            self.refresh_all();
        }
        for line in lines.into_iter().flatten() {
            self.measure(line);
        }
        Ok(())
    }

    /// Returns the share of a key.
    #[must_use]
    pub fn share(&self, key: Key) -> &Share {
        &self.keys[key.0].share
    }

    /// Changes the limits. [`serve`](Pool::serve) must follow.
    ///
    /// # Errors
    ///
    /// If a limit is out of range, or if the capacity would be less than a waiting call costs or
    /// than the floors that are [kept](Share::is_kept). Nothing has changed then.
    pub fn reconfigure(&mut self, lines: &mut impl Lines, limits: Limits) -> Result<(), InvalidArgument> {
        limits.check()?;
        self.check_capacity(lines, &limits, self.kept_floors)?;
        // No line keeps units beyond the new limits.
        self.take_back_all(lines);
        self.limits = limits;
        self.refresh_all();
        Ok(())
    }

    /// Returns the limits in force.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns whether a call of this cost that comes to a line now would be lent its units, if its
    /// gate admitted it. No units may be lent that are not in use: see
    /// [`take_back_all`](Pool::take_back_all).
    #[must_use]
    pub fn admits_now(&mut self, line: LineId, cost: u32) -> bool {
        let place = self.line(line);
        self.goes_first(place, cost) && self.may_take(line.key.0, line.class as usize, cost)
    }

    /// Checks whether a call of this cost could ever be admitted.
    ///
    /// # Errors
    ///
    /// If it costs more than the whole capacity.
    pub fn check_cost(&self, cost: u32) -> Result<(), InvalidArgument> {
        let capacity = self.limits.capacity;
        if cost <= capacity { Ok(()) } else { Err(Violation::CostOutOfRange { cost, capacity }.into()) }
    }

    /// Returns the largest cost of a waiter. Walks all lines.
    fn largest_waiting_cost(&self, lines: &mut impl Lines) -> u32 {
        let mut largest = 0;
        self.lines.for_each(|place, line| {
            if line.waiting > 0 {
                largest = largest.max(lines.largest_cost(self.id(place)));
            }
        });
        largest
    }

    /// Returns the units that lines hold: in use, or lent.
    #[must_use]
    pub fn in_use(&self) -> u32 {
        self.in_use
    }

    /// Returns the units that the lines of a key hold: in use, or lent.
    #[must_use]
    pub fn in_use_of(&self, key: Key) -> u32 {
        self.keys[key.0].in_use
    }

    /// Returns the most units that were ever in use together.
    #[must_use]
    pub fn peak_in_use(&self) -> u32 {
        self.peak_in_use
    }

    /// Returns how many calls wait.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Returns how many waiters gave up their place to another call.
    #[must_use]
    pub fn displaced(&self) -> u64 {
        self.displaced
    }

    /// Returns whether any line waits for its turn, so that no word may be live.
    #[must_use]
    pub fn is_contended(&self) -> bool {
        self.weights > 0
    }

    fn free(&self) -> u32 {
        self.limits.capacity.saturating_sub(self.in_use)
    }

    /// Returns the line of a key and class, which is made with the first call.
    #[inline]
    fn line(&mut self, LineId { key: Key(key), class }: LineId) -> Place {
        match self.keys[key].lines[class as usize] {
            Some(line) => line,
            None => self.new_line(key, class),
        }
    }

    #[cold]
    #[inline(never)]
    fn new_line(&mut self, key: Place, class: Class) -> Place {
        let line = LineState {
            key,
            class,
            held: 0,
            waiting: 0,
            head: None,
            turn: 0,
            tag: 0,
            position: NOWHERE,
            is_wide: false,
            is_live: false,
            length_position: NOWHERE,
            length: 0,
            changed: 0,
            links: Links::default(),
        };
        let line = self.lines.insert(line, 0);
        self.keys[key].lines[class as usize] = Some(line);
        line
    }

    fn id(&self, line: Place) -> LineId {
        let LineState { key, class, .. } = self.lines[line];
        LineId { key: Key(key), class }
    }

    /// Takes note of the demand of a line, and of the units that it holds from now on: in one step,
    /// so that no line gets a turn for a demand that is over.
    fn note(&mut self, place: Place, demand: &Demand, held: u32) {
        let line = &mut self.lines[place];
        let (key, is_held) = (line.key, line.held != held);
        let has_waiting_changed = line.waiting != demand.waiting;
        let has_head_changed = line.head != demand.head || line.turn == 0 && demand.head.is_some();
        if !(is_held || has_waiting_changed || has_head_changed) {
            return;
        }
        if is_held {
            self.hold(place, held);
        }
        if has_waiting_changed {
            self.count_waiting(place, demand.waiting);
        }
        if has_head_changed || is_held && self.keys[key].waiting > 0 {
            self.lines[place].head = demand.head;
            self.refresh(key);
        }
        if has_waiting_changed {
            self.changes += 1;
            self.lines[place].changed = self.changes;
            self.measure(place);
        }
    }

    /// Sets the units that a line holds.
    fn hold(&mut self, line: Place, held: u32) {
        let line = &mut self.lines[line];
        let (key, before) = (line.key, core::mem::replace(&mut line.held, held));
        let state = &mut self.keys[key];
        let unused = state.unused_floor();
        for sum in [&mut self.in_use, &mut state.in_use] {
            *sum = *sum + held - before;
        }
        if state.share.is_kept {
            let now_unused = state.unused_floor();
            self.kept = self.kept + now_unused - unused;
        }
    }
}
