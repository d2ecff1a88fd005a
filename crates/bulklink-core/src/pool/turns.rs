//! Whose turn it is.

use core::cmp::Ordering;

use super::heads::{Entry, NOWHERE};
use super::{CLASSES, KeyState, LineState, Pool, SCALE};
use crate::slab::Place;

/// The rank of a line within its floor. A level counts from one.
const WITHIN_FLOOR: u32 = 0;
/// The rank of a wide head whose turn is not due.
const UNDUE: u32 = u32::MAX;

impl Pool {
    /// Puts the lines of a key where they belong among the heads.
    pub(super) fn refresh(&mut self, key: Place) {
        let KeyState { lines, share, .. } = &self.keys[key];
        let (lines, mut is_blocked, mut is_out_of_reach, mut is_best) = (*lines, share.is_paused, false, true);
        for place in lines {
            let Some(place) = place else { continue };
            let LineState { class, head, turn, tag, .. } = self.lines[place];
            let Some(head) = head else {
                self.unlist(place);
                continue;
            };
            let state = &self.keys[key];
            // A line behind a better one of its own key passes it only if its gate holds that up.
            is_blocked |= head.may_run && !state.is_within_ceiling(head.cost);
            if is_blocked || !head.may_run {
                self.unlist(place);
                continue;
            }
            let tag = if turn == 0 { self.new_tag(state) } else { tag };
            let (rank, weight) = (self.rank(state, head.cost, is_best, tag), state.share.weight);
            is_best = false;
            is_out_of_reach |= !self.may_ever_take(state, class as usize, head.cost);
            let turn = if turn == 0 { self.begin_turn() } else { turn };
            if is_out_of_reach {
                // It keeps its turn, and holds up no other.
                (self.lines[place].tag, self.lines[place].turn) = (tag, turn);
                self.unlist(place);
                continue;
            }
            self.list(Entry { tag, turn, rank, line: place }, weight);
        }
    }

    fn begin_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    pub(super) fn refresh_all(&mut self) {
        let mut keys = alloc::vec::Vec::new();
        self.keys.for_each(|place, key| keys.extend((key.waiting > 0).then_some(place)));
        for key in keys {
            self.refresh(key);
        }
    }

    /// Puts a line among the heads, or moves it there.
    fn list(&mut self, entry: Entry, weight: u32) {
        let (is_wide, line) = (entry.rank == UNDUE, &mut self.lines[entry.line]);
        let (class, mut position) = (line.class as usize, line.position);
        let was_wide = core::mem::replace(&mut line.is_wide, is_wide);
        (line.tag, line.turn) = (entry.tag, entry.turn);
        if position == NOWHERE {
            self.weights += u64::from(weight);
        } else if was_wide != is_wide {
            let before = if was_wide { &mut self.wide } else { &mut self.heads };
            before[class].remove(&mut self.lines, position);
            position = NOWHERE;
        }
        let heads = if is_wide { &mut self.wide[class] } else { &mut self.heads[class] };
        if position == NOWHERE {
            heads.push(&mut self.lines, entry);
        } else {
            heads.change(&mut self.lines, position, entry);
        }
    }

    /// Takes a line from among the heads, if it is one.
    pub(super) fn unlist(&mut self, place: Place) {
        let line = &mut self.lines[place];
        if line.position == NOWHERE {
            return;
        }
        let (class, key, is_wide) = (line.class as usize, line.key, line.is_wide);
        let position = core::mem::replace(&mut line.position, NOWHERE);
        let heads = if is_wide { &mut self.wide[class] } else { &mut self.heads[class] };
        heads.remove(&mut self.lines, position);
        self.weights -= u64::from(self.keys[key].share.weight);
    }

    /// Returns the tag of a turn that begins now: a key that has taken no turn for a round comes
    /// before those that have.
    fn new_tag(&self, key: &KeyState) -> u64 {
        self.virtual_time.saturating_sub(1 << SCALE).max(key.finish)
    }

    /// Returns the rank of a head in its class. `is_best` is whether no better class of its key
    /// waits, but for those that their gates hold up.
    fn rank(&self, state: &KeyState, cost: u32, is_best: bool, tag: u64) -> u32 {
        if is_best && is_within_floor(state, cost) {
            return WITHIN_FLOOR;
        }
        // Weight units are a turn.
        let weight = state.share.weight;
        if tag > self.virtual_time && cost > weight {
            return UNDUE;
        }
        let level = part(state.in_use.into(), weight.into());
        // One level below that of a wide head is out of reach: it has more units than a capacity.
        u32::try_from(level + 1).unwrap_or(UNDUE - 1)
    }

    /// Returns whether the key has no more units than its ceiling allows, which may have been more.
    pub(super) fn is_below_ceiling(&self, key: Place) -> bool {
        let KeyState { share, in_use, .. } = &self.keys[key];
        *in_use <= share.ceiling
    }

    /// Returns the line whose turn it is in a class.
    #[inline]
    pub(super) fn first_of(&self, class: usize) -> Option<&Entry> {
        self.heads[class].first().or_else(|| self.wide[class].first())
    }

    /// Returns the line whose turn it is, whether or not it may take its units.
    fn turn(&self) -> Option<&Entry> {
        let mut best = None;
        for first in (0..CLASSES).filter_map(|class| self.first_of(class)) {
            if first.rank == WITHIN_FLOOR {
                return Some(first);
            }
            best = best.or(Some(first));
        }
        best
    }

    /// Returns the line that gets units next, if it may take them.
    pub(super) fn next(&self) -> Option<Place> {
        // Each call costs at least one.
        if self.free() == 0 {
            return None;
        }
        let turn = self.turn()?;
        if self.limits.relief > 0 && turn.rank != WITHIN_FLOOR {
            let relieved = (1..CLASSES).filter(|&class| self.passed[class] >= self.limits.relief);
            let mut relieved = relieved.filter_map(|class| self.first_of(class)).map(|first| first.line);
            // Better classes have had the units that it leaves them.
            let relieved = relieved.find(|&line| self.may_take_head(line, false));
            if relieved.is_some() {
                return relieved;
            }
        }
        self.may_take_head(turn.line, true).then_some(turn.line)
    }

    fn may_take_head(&self, line: Place, leaves_headroom: bool) -> bool {
        let LineState { key, class, head, .. } = self.lines[line];
        let headroom = if leaves_headroom { self.limits.headroom[class as usize] } else { 0 };
        head.is_some_and(|head| self.may_take_leaving(key, head.cost, headroom))
    }

    /// Returns whether the units for this cost are free, and neither kept for other keys nor left
    /// to better classes.
    pub(super) fn may_take(&self, key: Place, class: usize, cost: u32) -> bool {
        self.may_take_leaving(key, cost, self.limits.headroom[class])
    }

    fn may_take_leaving(&self, key: Place, cost: u32, headroom: u32) -> bool {
        let state = &self.keys[key];
        let Some(left) = self.free().checked_sub(cost) else { return false };
        // The part of its own floor that it takes is no longer kept.
        let own = if state.share.is_kept { state.unused_floor() } else { 0 };
        left >= self.kept - own && (is_within_floor(state, cost) || left >= headroom)
    }

    /// Returns whether the units for this cost may be taken while nothing is in use.
    fn may_ever_take(&self, key: &KeyState, class: usize, cost: u32) -> bool {
        let own = if key.share.is_kept { key.share.floor.into() } else { 0 };
        let left = u64::from(self.limits.capacity).checked_sub(cost.into());
        let may_leave = |units: u64| left.is_some_and(|left| left >= units);
        let leaves_headroom = cost <= key.share.floor || may_leave(self.limits.headroom[class].into());
        leaves_headroom && may_leave(self.kept_floors - own)
    }

    /// Returns whether a call that comes now is before all lines that wait. It is never before one
    /// of its own key that is not worse, unless that is of another class and held up by its gate.
    pub(super) fn goes_first(&self, line: Place, cost: u32) -> bool {
        let LineState { key, class, turn, tag, .. } = self.lines[line];
        let (class, state) = (class as usize, &self.keys[key]);
        let waits = |other: usize| {
            let head = state.lines[other].and_then(|line| self.lines[line].head);
            head.is_some_and(|head| other == class || head.may_run)
        };
        if state.share.is_paused || !state.is_within_ceiling(cost) || (0..=class).any(waits) {
            return false;
        }
        if !self.is_contended() {
            return true;
        }
        let (tag, turn) = if turn == 0 { (self.new_tag(state), u64::MAX) } else { (tag, turn) };
        let rank = self.rank(state, cost, true, tag);
        let is_before = |other: usize, first: &Entry| match (rank == WITHIN_FLOOR, first.rank == WITHIN_FLOOR) {
            (true, false) => true,
            (false, true) => false,
            _ => match class.cmp(&other) {
                Ordering::Less => true,
                Ordering::Greater => false,
                Ordering::Equal => (rank, tag, turn) < first.order(),
            },
        };
        (0..CLASSES).all(|other| self.first_of(other).is_none_or(|first| is_before(other, first)))
    }

    /// Notes that a line is served while any waits for its turn. `weights` are those of all lines
    /// that waited, and of this one.
    pub(super) fn take_turn(&mut self, place: Place, cost: u32, weights: u64) {
        let LineState { key, class, turn, tag, .. } = self.lines[place];
        let state = &self.keys[key];
        let tag = if turn == 0 { self.new_tag(state) } else { tag };
        let work = u64::from(cost) << SCALE;
        let length = part(work, state.share.weight.into());
        self.keys[key].finish = tag.max(self.virtual_time) + length;
        self.virtual_time = tag.max(self.virtual_time + work / weights);
        self.lines[place].turn = 0;
        for worse in class as usize + 1..CLASSES {
            let passed = self.passed[worse].saturating_add(1);
            self.passed[worse] = if self.first_of(worse).is_some() { passed } else { 0 };
        }
        self.passed[class as usize] = 0;
    }

    /// Puts the wide heads whose turn has come up among the others.
    pub(super) fn come_due(&mut self) {
        for class in 0..CLASSES {
            while let Some(first) = self.wide[class].first().filter(|first| first.tag <= self.virtual_time) {
                self.refresh(self.lines[first.line].key);
            }
        }
    }
}

/// Divides where that makes a difference: most amounts are less than a turn, or most turns one.
fn part(amount: u64, turn: u64) -> u64 {
    match turn {
        _ if amount < turn => 0,
        1 => amount,
        _ => amount / turn,
    }
}

impl KeyState {
    pub(super) fn is_within_ceiling(&self, cost: u32) -> bool {
        self.in_use.saturating_add(cost) <= self.share.ceiling
    }
}

fn is_within_floor(key: &KeyState, cost: u32) -> bool {
    key.in_use.saturating_add(cost) <= key.share.floor
}
