//! The room: how many calls wait, and which of them gives up its place.

use alloc::vec::Vec;

use super::heads::NOWHERE;
use super::lending::Bound;
use super::{CLASSES, LineState, Pool, SCALE};
use crate::heap::Ranked;
use crate::slab::Place;

/// The order of the lines of one class by their length: the longest first, and of equal ones the
/// one that changed last.
#[derive(Clone, Debug)]
pub(super) struct ByLength;

impl Ranked<ByLength> for LineState {
    fn is_before(&self, other: &Self) -> bool {
        (self.length, self.changed) > (other.length, other.changed)
    }

    fn set_position(&mut self, position: u32) {
        self.length_position = position;
    }
}

/// A place for a call that waits.
pub(super) enum Room {
    Free,
    /// Free once the newest waiter of this line has given up its own.
    Displace(Place),
}

impl Pool {
    /// Returns where a call of this line can wait.
    pub(super) fn room_for(&mut self, line: Place) -> Result<Room, Bound> {
        let LineState { key, class, waiting, .. } = self.lines[line];
        let share = &self.keys[key].share;
        if self.keys[key].waiting >= share.waiting_room {
            return Err(Bound::Key);
        }
        if self.waiting < self.limits.waiting_room {
            return Ok(Room::Free);
        }
        self.keep_lengths();
        let share = &self.keys[key].share;
        // The worst class comes first. In its own class a call displaces only a waiter of a line
        // that is longer than its own would be, and never the first one.
        for worse in (class as usize..CLASSES).rev() {
            let Some(longest) = self.lengths[worse].first() else { continue };
            let of_longest = &self.lines[longest];
            let is_longer = of_longest.waiting > 1 && of_longest.length > length(waiting + 1, share.weight);
            if worse > class as usize || is_longer {
                return Ok(Room::Displace(longest));
            }
            break;
        }
        Err(Bound::Shared)
    }

    /// Counts the waiters of a line.
    pub(super) fn count_waiting(&mut self, place: Place, waiting: u32) {
        let line = &mut self.lines[place];
        let (key, before) = (line.key, core::mem::replace(&mut line.waiting, waiting));
        for sum in [&mut self.waiting, &mut self.keys[key].waiting] {
            *sum = *sum + waiting - before;
        }
    }

    /// Begins to keep the lengths of all lines: most pools never need them.
    fn keep_lengths(&mut self) {
        if self.keeps_lengths {
            return;
        }
        self.keeps_lengths = true;
        let mut waiting = Vec::new();
        self.lines.for_each(|place, line| waiting.extend((line.waiting > 0).then_some(place)));
        for place in waiting {
            self.measure(place);
        }
    }

    /// Puts a line where it belongs among the lengths.
    pub(super) fn measure(&mut self, place: Place) {
        if !self.keeps_lengths {
            return;
        }
        let LineState { key, class, waiting, length_position: position, .. } = self.lines[place];
        let (heap, is_listed) = (&mut self.lengths[class as usize], position != NOWHERE);
        self.lines[place].length = length(waiting, self.keys[key].share.weight);
        match (waiting > 0, is_listed) {
            (true, true) => heap.settle(&mut self.lines, position as usize),
            (true, false) => heap.push(&mut self.lines, place),
            (false, true) => {
                heap.remove(&mut self.lines, position as usize);
                self.lines[place].length_position = NOWHERE;
            }
            (false, false) => {}
        }
    }
}

/// The length of a line by the weight of its key.
fn length(waiting: u32, weight: u32) -> u64 {
    (u64::from(waiting) << SCALE) / u64::from(weight)
}
