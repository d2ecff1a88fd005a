//! Lending units to the gates of lines, and taking them back.

use super::room::Room;
use super::{Class, Key, KeyState, LineState, Pool};
use crate::Instant;
use crate::slab::Place;

/// The calls of one key and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineId {
    /// The key.
    pub key: Key,
    /// The class.
    pub class: Class,
}

/// The demand of a line, as its gate has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The units in use.
    pub in_use: u32,
    /// How many calls wait.
    pub waiting: u32,
    /// The first of them.
    pub head: Option<Head>,
}

/// The first call of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its cost.
    pub cost: u32,
    /// Whether the gate itself would admit it, if it were lent the units.
    pub may_run: bool,
}

impl Demand {
    /// The demand of a line without operations and waiters.
    pub const NONE: Demand = Demand { in_use: 0, waiting: 0, head: None };
}

/// The limit by which a call that comes gets neither units nor a place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bound {
    /// A limit of its own key: the ceiling, the waiting room, or a pause.
    Key,
    /// The capacity or the waiting room that all keys share, or the turns of others.
    Shared,
    /// Units that are left to better classes, or kept for other keys.
    Headroom,
}

/// The gates of all lines.
///
/// While the pool works with them, no [`Word`](crate::plumbing::Word) of theirs is live, but for
/// those that [`finish`](Pool::finish) has published and [`recall`](Lines::recall) has not taken
/// back.
pub trait Lines {
    /// Takes back the word of a line, so that its gate has all figures, and the units that are lent
    /// to it. Returns its demand, or [`Demand::NONE`] if the gate is gone.
    fn recall(&mut self, line: LineId) -> Demand;

    /// Admits the first waiter of a line at `now`, after those that are due have expired, if one
    /// with this cost is first then. Returns whether that is so, and the demand after it.
    fn admit(&mut self, line: LineId, cost: u32, now: Instant) -> (bool, Demand);

    /// Returns the largest cost of a waiter of a line.
    fn largest_cost(&mut self, line: LineId) -> u32;

    /// Rejects the newest waiter of a line. Returns the demand after it.
    fn displace(&mut self, line: LineId, now: Instant) -> Demand;
}

impl Pool {
    /// Begins an input to a line, whose word the caller has taken back: from now on its units are
    /// lent to it no more.
    #[inline]
    pub fn begin(&mut self, line: LineId) {
        let place = self.line(line);
        self.retire(place);
    }

    /// Prepares for a call of this line that comes at `now`, which its gate would not reject
    /// whatever room there is. `demand` is that of the gate, after those that are due have expired;
    /// `call` is the call as it would be at the head of its line.
    ///
    /// If it is admitted at once, the pool lends the units: the gate must be lent so many more than
    /// are in use, and be given the request. Else the request may queue in the gate; or it must not
    /// wait, because of this limit.
    ///
    /// # Errors
    ///
    /// If the call gets neither units nor a place in the queue.
    pub fn prepare(
        &mut self,
        lines: &mut impl Lines,
        line: LineId,
        demand: &Demand,
        call: Head,
        may_queue: bool,
        now: Instant,
    ) -> Result<Prepared, Bound> {
        let place = self.line(line);
        self.note(place, demand, demand.in_use);
        // A limit of the key counts units in use alone, and no word of a key that waits is live.
        if !call.may_run || !self.keys[line.key.0].is_within_ceiling(call.cost) {
            self.take_back_of(lines, line.key.0);
        }
        // Waiters that have expired may have been before others.
        self.serve(lines, now);
        loop {
            if call.may_run && self.goes_first(place, call.cost) && self.obtain(lines, place, call.cost) {
                self.lend(place, call.cost);
                return Ok(Prepared::Lent);
            }
            if !may_queue {
                return Err(self.refusal(place, call));
            }
            match self.room_for(place)? {
                Room::Free => return Ok(Prepared::Queues),
                Room::Displace(longest) => {
                    self.displaced += 1;
                    let demand = lines.displace(self.id(longest), now);
                    self.note(longest, &demand, demand.in_use);
                    // The waiter that is gone may have been before others.
                    self.serve(lines, now);
                }
            }
        }
    }

    /// Ends an input to a line: takes note of its demand, and lends units to the lines whose turn
    /// it is at `now`. Returns the units that are lent to it, with which its word may be live; none
    /// if no word may be.
    pub fn finish(&mut self, lines: &mut impl Lines, line: LineId, demand: &Demand, now: Instant) -> Option<u32> {
        let place = self.line(line);
        let may_keep = self.may_be_live(place);
        let LineState { key, held, .. } = self.lines[place];
        let kept = held.max(demand.in_use);
        // Usually no call waits, before and after, and nothing else has changed.
        let is_plain = may_keep && kept == held && demand.waiting == 0 && self.keys[key].waiting == 0;
        if !is_plain {
            self.note(place, demand, demand.in_use);
            if may_keep && self.may_be_live(place) {
                // The units that it gave back stay with it.
                self.note(place, demand, kept);
            }
            self.serve(lines, now);
            if !self.may_be_live(place) {
                return None;
            }
        }
        while self.live_len >= Pool::LIVE {
            self.take_back(lines);
        }
        self.lines[place].is_live = true;
        self.lines[place].links = self.live.links_for_push();
        self.live.push_back(&mut self.lines, place);
        self.live_len += 1;
        Some(self.lines[place].held)
    }

    /// Lends units to the lines whose turn it is at `now`.
    pub fn serve(&mut self, lines: &mut impl Lines, now: Instant) {
        while self.is_overdrawn() && self.take_back(lines) {}
        while self.is_contended() {
            // From now on each unit that is given back comes to the pool.
            while self.take_back(lines) {}
            let Some(next) = self.next() else { return };
            let Some(head) = self.lines[next].head else { return };
            let (is_admitted, demand) = lines.admit(self.id(next), head.cost, now);
            if is_admitted {
                self.take_turn(next, head.cost, self.weights);
            }
            self.note(next, &demand, demand.in_use);
            self.peak_in_use = self.peak_in_use.max(self.in_use);
            self.come_due();
        }
    }

    /// Returns whether units would be lent to a line now, if it were known that it is.
    #[must_use]
    pub fn wants_now(&self) -> bool {
        self.is_contended() && self.next().is_some()
    }

    /// Takes back all units that are lent and not in use, so that the figures are those in use.
    pub fn take_back_all(&mut self, lines: &mut impl Lines) {
        while self.take_back(lines) {}
    }

    /// Lends units to a call that comes.
    fn lend(&mut self, place: Place, cost: u32) {
        let LineState { key, held, .. } = self.lines[place];
        let is_contended = self.is_contended();
        if is_contended {
            let weight = self.keys[key].share.weight;
            self.take_turn(place, cost, self.weights + u64::from(weight));
        }
        self.hold(place, held + cost);
        self.peak_in_use = self.peak_in_use.max(self.in_use);
        if self.keys[key].waiting > 0 {
            self.refresh(key);
        }
        if is_contended {
            self.come_due();
        }
    }

    /// Returns whether the word of a line may be live: no line waits for its turn, no unit that is
    /// held is over the capacity or kept for a key, the class leaves no units to better ones, and
    /// the key gets units and has no waiter.
    #[inline]
    fn may_be_live(&self, place: Place) -> bool {
        if self.is_contended() || self.is_overdrawn() {
            return false;
        }
        let LineState { key, class, .. } = self.lines[place];
        let KeyState { share, waiting, .. } = &self.keys[key];
        let gets_units = !share.is_paused && self.is_below_ceiling(key);
        gets_units && *waiting == 0 && self.limits.headroom[class as usize] == 0
    }

    /// Returns whether more is held than the capacity less what is kept for keys: after a change.
    #[inline]
    fn is_overdrawn(&self) -> bool {
        u64::from(self.in_use) + u64::from(self.kept) > u64::from(self.limits.capacity)
    }

    /// Takes units back from lines until a call may take its own. Returns whether it may.
    fn obtain(&mut self, lines: &mut impl Lines, place: Place, cost: u32) -> bool {
        let LineState { key, class, .. } = self.lines[place];
        // A peak counts units in use alone.
        if self.in_use + cost > self.peak_in_use {
            self.take_back_all(lines);
        }
        loop {
            if self.may_take(key, class as usize, cost) {
                return true;
            }
            if !self.take_back(lines) {
                return false;
            }
        }
    }

    /// Takes back the units of the line whose word has been live the longest. Returns whether there
    /// was one.
    fn take_back(&mut self, lines: &mut impl Lines) -> bool {
        let oldest = self.live.first();
        oldest.is_some_and(|oldest| self.recall(lines, oldest))
    }

    /// Takes back the units of all lines of a key.
    fn take_back_of(&mut self, lines: &mut impl Lines, key: Place) {
        for line in self.keys[key].lines.into_iter().flatten() {
            self.recall(lines, line);
        }
    }

    /// Takes back the units of a line, if its word is live. Returns whether it was.
    fn recall(&mut self, lines: &mut impl Lines, place: Place) -> bool {
        let is_live = self.lines[place].is_live;
        if is_live {
            self.retire(place);
            let demand = lines.recall(self.id(place));
            self.note(place, &demand, demand.in_use);
        }
        is_live
    }

    /// Notes that the word of a line is live no more.
    #[inline]
    pub(super) fn retire(&mut self, place: Place) {
        let line = &mut self.lines[place];
        if line.is_live {
            line.is_live = false;
            let links = line.links;
            self.live.remove(&mut self.lines, links);
            self.live_len -= 1;
        }
    }

    /// Returns the limit because of which a call of this line would not be admitted now: for one
    /// that has waited in vain.
    pub fn keeps_waiting(&mut self, lines: &mut impl Lines, line: LineId, call: Head) -> Bound {
        // A limit of the key counts units in use alone.
        self.take_back_of(lines, line.key.0);
        let place = self.line(line);
        self.refusal(place, call)
    }

    /// Returns the limit because of which a call is not admitted at once.
    fn refusal(&self, place: Place, Head { cost, may_run }: Head) -> Bound {
        let LineState { key, class, .. } = self.lines[place];
        let state = &self.keys[key];
        // Where no line waits for its turn, the call is behind one of its own key at most.
        let is_held_up = !self.is_contended() && !self.goes_first(place, cost);
        let is_bound = !may_run || is_held_up || state.share.is_paused || !state.is_within_ceiling(cost);
        // A key that has the whole capacity is at no limit of its own.
        if is_bound && state.in_use.saturating_add(cost) <= self.limits.capacity {
            return Bound::Key;
        }
        let is_free = cost <= self.free();
        if is_free && !self.may_take(key, class as usize, cost) { Bound::Headroom } else { Bound::Shared }
    }
}

/// The way of a call into its gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// The units for it are lent.
    Lent,
    /// It may wait in the queue.
    Queues,
}
