//! The lines of one class that are eligible, in the order of their turns: a binary heap whose
//! entries have the order in them, so that the lines themselves are only told their positions.

use alloc::vec::Vec;

use super::LineState;
use crate::slab::{Place, Slab};

/// The position of a line that is in no heap.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A line by its order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) tag: u64,
    pub(super) turn: u64,
    pub(super) rank: u32,
    pub(super) line: Place,
}

impl Entry {
    pub(super) fn order(&self) -> (u32, u64, u64) {
        (self.rank, self.tag, self.turn)
    }

    fn is_before(&self, other: &Entry) -> bool {
        self.order() < other.order()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Heads {
    entries: Vec<Entry>,
}

impl Heads {
    pub(super) const fn new() -> Self {
        Heads { entries: Vec::new() }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Entry> {
        self.entries.first()
    }

    pub(super) fn push(&mut self, lines: &mut Slab<LineState>, entry: Entry) {
        let last = self.entries.len();
        self.entries.push(entry);
        let position = self.rise(lines, last, &entry);
        self.put(lines, position, entry);
    }

    /// Removes the entry at `position`: the last one fills the gap and moves to its level from
    /// there.
    pub(super) fn remove(&mut self, lines: &mut Slab<LineState>, position: u32) {
        let Some(last) = self.entries.pop() else { return };
        if (position as usize) < self.entries.len() {
            self.settle(lines, position as usize, last);
        }
    }

    /// Gives the entry at `position` another order.
    pub(super) fn change(&mut self, lines: &mut Slab<LineState>, position: u32, entry: Entry) {
        if self.entries[position as usize].order() != entry.order() {
            self.settle(lines, position as usize, entry);
        }
    }

    /// Puts an entry in place of the one at `position`, and moves it to its level, either way.
    fn settle(&mut self, lines: &mut Slab<LineState>, position: usize, entry: Entry) {
        let risen = self.rise(lines, position, &entry);
        let position = if risen == position { self.sink(lines, position, &entry) } else { risen };
        self.put(lines, position, entry);
    }

    /// Moves entries down that are to be below this one, from the gap at `position`. Returns where
    /// the gap is then.
    fn rise(&mut self, lines: &mut Slab<LineState>, mut position: usize, entry: &Entry) -> usize {
        while position > 0 {
            let parent = (position - 1) / 2;
            let above = self.entries[parent];
            if !entry.is_before(&above) {
                break;
            }
            self.put(lines, position, above);
            position = parent;
        }
        position
    }

    /// Moves entries up that are to be above this one, from the gap at `position`. Returns where
    /// the gap is then.
    fn sink(&mut self, lines: &mut Slab<LineState>, mut position: usize, entry: &Entry) -> usize {
        while let Some(&left) = self.entries.get(2 * position + 1) {
            let (mut child, mut first) = (2 * position + 1, left);
            if let Some(right) = self.entries.get(child + 1).filter(|right| right.is_before(&left)) {
                (child, first) = (child + 1, *right);
            }
            if !first.is_before(entry) {
                break;
            }
            self.put(lines, position, first);
            position = child;
        }
        position
    }

    /// Puts an entry at `position`, and tells its line.
    #[inline]
    fn put(&mut self, lines: &mut Slab<LineState>, position: usize, entry: Entry) {
        self.entries[position] = entry;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "no more positions than places, which are numbered in 32 bits"
        )]
        let position = position as u32;
        lines[entry.line].position = position;
    }
}
