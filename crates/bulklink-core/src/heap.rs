//! A binary heap of the items of a slab. Each item knows its position, so that any item can be
//! removed in O(log n).

use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::slab::{Place, Slab};

/// An item of heaps that have the order `O`.
pub(crate) trait Ranked<O> {
    /// Returns whether this item comes first.
    fn is_before(&self, other: &Self) -> bool;

    /// Notes where in the heap the item is.
    fn set_position(&mut self, position: u32);
}

/// A heap in the order `O`.
#[derive(Clone, Debug)]
pub(crate) struct Heap<O> {
    places: Vec<Place>,
    order: PhantomData<O>,
}

impl<O> Heap<O> {
    pub(crate) const fn new() -> Self {
        Heap { places: Vec::new(), order: PhantomData }
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<Place> {
        self.places.first().copied()
    }

    pub(crate) fn push<T: Ranked<O>>(&mut self, items: &mut Slab<T>, place: Place) {
        self.places.push(place);
        let last = self.places.len() - 1;
        self.put(items, last, place);
        self.rise(items, last);
    }

    /// Removes the item at `position`: the last item fills the gap and moves to its level from
    /// there.
    pub(crate) fn remove<T: Ranked<O>>(&mut self, items: &mut Slab<T>, position: usize) {
        self.places.swap_remove(position);
        if let Some(&moved) = self.places.get(position) {
            self.put(items, position, moved);
            self.settle(items, position);
        }
    }

    /// Moves the item at `position` to its level, after its rank has changed, or in place of
    /// another: so it may have to move either way.
    pub(crate) fn settle<T: Ranked<O>>(&mut self, items: &mut Slab<T>, position: usize) {
        let level = self.rise(items, position);
        self.sink(items, level);
    }

    /// Moves the item at `position` up to its level. Returns its new position.
    fn rise<T: Ranked<O>>(&mut self, items: &mut Slab<T>, mut position: usize) -> usize {
        while position > 0 {
            let parent = (position - 1) / 2;
            if !items[self.places[position]].is_before(&items[self.places[parent]]) {
                break;
            }
            self.swap(items, position, parent);
            position = parent;
        }
        position
    }

    /// Moves the item at `position` down to its level.
    fn sink<T: Ranked<O>>(&mut self, items: &mut Slab<T>, mut position: usize) {
        while let Some(child) = self.earlier_child(items, position) {
            if !items[self.places[child]].is_before(&items[self.places[position]]) {
                break;
            }
            self.swap(items, position, child);
            position = child;
        }
    }

    fn earlier_child<T: Ranked<O>>(&self, items: &Slab<T>, position: usize) -> Option<usize> {
        let (left, right) = (2 * position + 1, 2 * position + 2);
        match (self.places.get(left), self.places.get(right)) {
            (Some(&a), Some(&b)) if items[b].is_before(&items[a]) => Some(right),
            (Some(_), _) => Some(left),
            (None, _) => None,
        }
    }

    fn swap<T: Ranked<O>>(&mut self, items: &mut Slab<T>, one: usize, other: usize) {
        self.places.swap(one, other);
        self.put(items, one, self.places[one]);
        self.put(items, other, self.places[other]);
    }

    #[cfg(test)]
    pub(crate) fn assert_sound<T: Ranked<O>>(&self, items: &Slab<T>, position_of: impl Fn(&T) -> u32) {
        for (position, &place) in self.places.iter().enumerate() {
            assert_eq!(position_of(&items[place]) as usize, position);
            assert!(position == 0 || !items[place].is_before(&items[self.places[(position - 1) / 2]]), "not a heap");
        }
    }

    /// Records in the item at `position` where it is.
    fn put<T: Ranked<O>>(&self, items: &mut Slab<T>, position: usize, place: Place) {
        debug_assert_eq!(self.places[position], place);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "no more positions than places, which are numbered in 32 bits"
        )]
        let position = position as u32;
        items[place].set_position(position);
    }
}
