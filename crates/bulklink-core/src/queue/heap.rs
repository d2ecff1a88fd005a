//! A binary heap of deadlines. Each entry knows its position, so that any entry can be removed in
//! O(log n).

use alloc::vec::Vec;

use super::deadlines::{Due, Location};
use super::slab::{Place, Slab};

#[derive(Clone, Debug)]
pub(super) struct Heap {
    places: Vec<Place>,
}

impl Heap {
    pub(super) const fn new() -> Self {
        Heap { places: Vec::new() }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<Place> {
        self.places.first().copied()
    }

    pub(super) fn push(&mut self, entries: &mut Slab<Due>, place: Place) {
        self.places.push(place);
        let last = self.places.len() - 1;
        self.put(entries, last, place);
        self.rise(entries, last);
    }

    /// Removes the entry at `position`: the last entry fills the gap and moves to its level from
    /// there.
    pub(super) fn remove(&mut self, entries: &mut Slab<Due>, position: usize) {
        self.places.swap_remove(position);
        if let Some(&moved) = self.places.get(position) {
            self.put(entries, position, moved);
            // The entry that fills the gap may come from another branch, so it may have to move
            // either way.
            let level = self.rise(entries, position);
            self.sink(entries, level);
        }
    }

    /// Moves the entry at `position` up to its level. Returns its new position.
    fn rise(&mut self, entries: &mut Slab<Due>, mut position: usize) -> usize {
        while position > 0 {
            let parent = (position - 1) / 2;
            if !entries[self.places[position]].is_before(&entries[self.places[parent]]) {
                break;
            }
            self.swap(entries, position, parent);
            position = parent;
        }
        position
    }

    /// Moves the entry at `position` down to its level.
    fn sink(&mut self, entries: &mut Slab<Due>, mut position: usize) {
        while let Some(child) = self.earlier_child(entries, position) {
            if !entries[self.places[child]].is_before(&entries[self.places[position]]) {
                break;
            }
            self.swap(entries, position, child);
            position = child;
        }
    }

    fn earlier_child(&self, entries: &Slab<Due>, position: usize) -> Option<usize> {
        let (left, right) = (2 * position + 1, 2 * position + 2);
        match (self.places.get(left), self.places.get(right)) {
            (Some(&a), Some(&b)) if entries[b].is_before(&entries[a]) => Some(right),
            (Some(_), _) => Some(left),
            (None, _) => None,
        }
    }

    fn swap(&mut self, entries: &mut Slab<Due>, one: usize, other: usize) {
        self.places.swap(one, other);
        self.put(entries, one, self.places[one]);
        self.put(entries, other, self.places[other]);
    }

    #[cfg(test)]
    pub(super) fn assert_sound(&self, entries: &Slab<Due>) {
        for (position, &place) in self.places.iter().enumerate() {
            assert!(matches!(entries[place].location, Location::Heaped(known) if known as usize == position));
            assert!(
                position == 0 || !entries[place].is_before(&entries[self.places[(position - 1) / 2]]),
                "not a heap"
            );
        }
    }

    /// Records in the entry at `position` where it is.
    fn put(&self, entries: &mut Slab<Due>, position: usize, place: Place) {
        debug_assert_eq!(self.places[position], place);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "no more positions than places, which are numbered in 32 bits"
        )]
        let position = position as u32;
        entries[place].location = Location::Heaped(position);
    }
}
