//! Whose turn it is.

use core::cmp::Ordering;

use super::{CLASSES, Cost, KINDS, KeyState, LineState, Pool, SCALE};
use crate::heap::Ranked;
use crate::slab::Place;

/// The position of a line that is in no heap.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The order of the heads of one class.
#[derive(Clone, Debug)]
pub(super) struct ByTurn;

impl Ranked<ByTurn> for LineState {
    fn is_before(&self, other: &Self) -> bool {
        self.order() < other.order()
    }

    fn set_position(&mut self, position: u32) {
        self.position = position;
    }
}

impl LineState {
    fn order(&self) -> (u32, u64, u64) {
        (self.rank, self.tag, self.turn)
    }

    fn is_listed(&self) -> bool {
        self.position != NOWHERE
    }
}

/// The rank of a line within its floor. A level counts from one.
const WITHIN_FLOOR: u32 = 0;
/// The rank of a wide head whose turn is not due.
const UNDUE: u32 = u32::MAX;

impl Pool {
    /// Puts the lines of a key where they belong among the heads.
    pub(super) fn refresh(&mut self, key: Place) {
        let mut is_blocked = self.keys[key].share.is_paused;
        let mut is_best = true;
        for class in 0..CLASSES {
            let Some(place) = self.keys[key].lines[class] else { continue };
            let Some(head) = self.lines[place].head else {
                self.unlist(place);
                continue;
            };
            // A line behind a better one of its own key never passes it.
            is_blocked |= !head.may_run || !self.is_within_ceiling(key, head.cost);
            if is_blocked {
                self.unlist(place);
                continue;
            }
            if self.lines[place].turn == 0 {
                self.turns += 1;
                let (tag, turn) = (self.new_tag(key), self.turns);
                let line = &mut self.lines[place];
                (line.tag, line.turn) = (tag, turn);
            }
            let rank = self.rank(key, head.cost, is_best, self.lines[place].tag);
            is_best = false;
            self.list(place, rank);
        }
    }

    pub(super) fn refresh_all(&mut self) {
        let mut keys = alloc::vec::Vec::new();
        self.keys.for_each(|place, key| keys.extend((key.waiting > 0).then_some(place)));
        for key in keys {
            self.refresh(key);
        }
    }

    /// Puts a line among the heads, or moves it there.
    fn list(&mut self, place: Place, rank: u32) {
        let is_wide = rank == UNDUE;
        if self.lines[place].is_listed() && self.lines[place].is_wide != is_wide {
            self.unlist(place);
        }
        let line = &mut self.lines[place];
        let (class, key, is_listed, position) = (line.class as usize, line.key, line.is_listed(), line.position);
        (line.rank, line.is_wide) = (rank, is_wide);
        let heap = if is_wide { &mut self.wide[class] } else { &mut self.heads[class] };
        if is_listed {
            heap.settle(&mut self.lines, position as usize);
        } else {
            heap.push(&mut self.lines, place);
            self.weights += u64::from(self.keys[key].share.weight);
        }
    }

    /// Takes a line from among the heads, if it is one.
    pub(super) fn unlist(&mut self, place: Place) {
        let LineState { key, class, is_wide, position, .. } = self.lines[place];
        if position == NOWHERE {
            return;
        }
        let heap = if is_wide { &mut self.wide[class as usize] } else { &mut self.heads[class as usize] };
        heap.remove(&mut self.lines, position as usize);
        self.lines[place].position = NOWHERE;
        self.weights -= u64::from(self.keys[key].share.weight);
    }

    /// Returns the tag of a turn that begins now: a key that has taken no turn for a round comes
    /// before those that have.
    fn new_tag(&self, key: Place) -> u64 {
        self.virtual_time.saturating_sub(1 << SCALE).max(self.keys[key].finish)
    }

    /// Returns the rank of a head in its class. `is_best` is whether no better class of its key
    /// waits.
    fn rank(&self, key: Place, cost: Cost, is_best: bool, tag: u64) -> u32 {
        let state = &self.keys[key];
        if is_best && is_within_floor(state, cost) {
            return WITHIN_FLOOR;
        }
        if tag > self.virtual_time && self.is_wide(state, cost) {
            return UNDUE;
        }
        let level = |d: usize| u64::from(state.in_use[d]) / self.turn_of(state, d);
        let level = KINDS.into_iter().map(level).max().unwrap_or(0);
        // One level below that of a wide head is out of reach: it has more units than a capacity.
        u32::try_from(level + 1).unwrap_or(UNDUE - 1)
    }

    /// Returns how many units are a turn of this key.
    fn turn_of(&self, key: &KeyState, dimension: usize) -> u64 {
        u64::from(key.share.weight) * u64::from(self.quantum[dimension])
    }

    /// Returns whether a call costs more than a turn of its key.
    fn is_wide(&self, key: &KeyState, cost: Cost) -> bool {
        KINDS.into_iter().any(|d| u64::from(cost[d]) > self.turn_of(key, d))
    }

    pub(super) fn is_within_ceiling(&self, key: Place, cost: Cost) -> bool {
        let KeyState { share, in_use, .. } = &self.keys[key];
        is_within(*in_use, cost, share.ceiling)
    }

    /// Returns whether the key has no more units than its ceiling allows, which may have been more.
    pub(super) fn is_below_ceiling(&self, key: Place) -> bool {
        let KeyState { share, in_use, .. } = &self.keys[key];
        in_use[0] <= share.ceiling[0]
    }

    /// Returns the line whose turn it is in a class.
    pub(super) fn first_of(&self, class: usize) -> Option<Place> {
        self.heads[class].first().or_else(|| self.wide[class].first())
    }

    fn is_first_within_floor(&self, place: Place) -> bool {
        self.lines[place].rank == WITHIN_FLOOR
    }

    /// Returns the line whose turn it is, whether or not it may take its units.
    fn turn(&self) -> Option<Place> {
        let firsts = (0..CLASSES).filter_map(|class| self.first_of(class));
        firsts.clone().find(|&line| self.is_first_within_floor(line)).or_else(|| firsts.clone().next())
    }

    /// Returns the line that gets units next, if it may take them.
    pub(super) fn next(&self) -> Option<Place> {
        let turn = self.turn()?;
        if self.limits.relief > 0 && !self.is_first_within_floor(turn) {
            let relieved = (1..CLASSES).filter(|&class| self.passed[class] >= self.limits.relief);
            let relieved = relieved.filter_map(|class| self.first_of(class)).find(|&line| self.may_take_head(line));
            if relieved.is_some() {
                return relieved;
            }
        }
        self.may_take_head(turn).then_some(turn)
    }

    fn may_take_head(&self, line: Place) -> bool {
        let LineState { key, class, head, .. } = self.lines[line];
        head.is_some_and(|head| self.may_take(key, class as usize, head.cost))
    }

    /// Returns whether the units for this cost are free, and neither kept for other keys nor left
    /// to better classes.
    pub(super) fn may_take(&self, key: Place, class: usize, cost: Cost) -> bool {
        let state = &self.keys[key];
        for d in KINDS {
            let Some(left) = self.free(d).checked_sub(cost[d]) else { return false };
            // The part of its own floor that it takes is no longer kept.
            let own = if state.share.is_kept { state.share.floor[d].saturating_sub(state.in_use[d]) } else { 0 };
            if cost[d] > 0 && left < self.kept[d] - own {
                return false;
            }
        }
        is_within_floor(state, cost) || self.free(0) - cost[0] >= self.limits.headroom[class]
    }

    /// Returns whether a call that comes now is before all lines that wait. It is never before one
    /// of its own key that is not worse.
    pub(super) fn goes_first(&self, line: Place, cost: Cost) -> bool {
        let LineState { key, class, turn, tag, .. } = self.lines[line];
        let (class, state) = (class as usize, &self.keys[key]);
        let waits = |class: usize| state.lines[class].is_some_and(|line| self.lines[line].waiting > 0);
        if state.share.is_paused || !self.is_within_ceiling(key, cost) || (0..=class).any(waits) {
            return false;
        }
        if !self.is_contended() {
            return true;
        }
        let (tag, turn) = if turn == 0 { (self.new_tag(key), u64::MAX) } else { (tag, turn) };
        let rank = self.rank(key, cost, true, tag);
        let is_before = |other: usize, first: Place| {
            let first = &self.lines[first];
            match (rank == WITHIN_FLOOR, first.rank == WITHIN_FLOOR) {
                (true, false) => true,
                (false, true) => false,
                _ => match class.cmp(&other) {
                    Ordering::Less => true,
                    Ordering::Greater => false,
                    Ordering::Equal => (rank, tag, turn) < first.order(),
                },
            }
        };
        (0..CLASSES).all(|other| self.first_of(other).is_none_or(|first| is_before(other, first)))
    }

    /// Notes that a line is served while any waits for its turn. `weights` are those of all lines
    /// that waited, and of this one.
    pub(super) fn take_turn(&mut self, place: Place, cost: Cost, weights: u64) {
        let LineState { key, class, turn, tag, .. } = self.lines[place];
        let tag = if turn == 0 { self.new_tag(key) } else { tag };
        let state = &self.keys[key];
        let length = KINDS.into_iter().map(|d| scaled(cost[d]) / self.turn_of(state, d)).max().unwrap_or(0);
        let work = KINDS.into_iter().map(|d| scaled(cost[d]) / u64::from(self.quantum[d])).max().unwrap_or(0);
        self.keys[key].finish = tag.max(self.virtual_time) + length;
        self.virtual_time = tag.max(self.virtual_time + work / weights);
        self.lines[place].turn = 0;
        for worse in class as usize + 1..CLASSES {
            self.passed[worse] = if self.first_of(worse).is_some() { self.passed[worse] + 1 } else { 0 };
        }
        self.passed[class as usize] = 0;
    }

    /// Puts the wide heads whose turn has come up among the others.
    pub(super) fn come_due(&mut self) {
        for class in 0..CLASSES {
            while let Some(line) = self.wide[class].first().filter(|&line| self.lines[line].tag <= self.virtual_time) {
                let key = self.lines[line].key;
                self.refresh(key);
            }
        }
    }
}

fn scaled(units: u32) -> u64 {
    u64::from(units) << SCALE
}

fn is_within(in_use: Cost, cost: Cost, limit: Cost) -> bool {
    KINDS.into_iter().all(|d| cost[d] == 0 || in_use[d].saturating_add(cost[d]) <= limit[d])
}

fn is_within_floor(key: &KeyState, cost: Cost) -> bool {
    key.share.floor[0] > 0 && is_within(key.in_use, cost, key.share.floor)
}
