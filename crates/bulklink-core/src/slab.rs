//! Storage in chunks that never move: growing copies nothing, and freed places are used again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};

const CHUNK: usize = 64;

/// Where something lies: its position counted from 1, so that an `Option` of it takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(NonZeroU32);

impl Place {
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Place)
    }

    #[inline]
    const fn split(self) -> (usize, usize) {
        let position = self.0.get() as usize - 1;
        (position / CHUNK, position % CHUNK)
    }
}

#[derive(Debug)]
enum Cell<T> {
    Full(T),
    Vacant { next: Option<Place> },
}

#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Box<[Cell<T>; CHUNK]>>,
    vacant: Option<Place>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Slab { chunks: Vec::new(), vacant: None }
    }

    #[inline]
    pub(crate) fn insert(&mut self, item: T) -> Place {
        let place = match self.vacant {
            Some(place) => place,
            None => self.grow(),
        };
        let cell = self.cell(place);
        if let Cell::Vacant { next } = *cell {
            *cell = Cell::Full(item);
            self.vacant = next;
        }
        place
    }

    /// Gives the place up. `take` takes what is wanted of the item; to move all of it out would cost more.
    #[inline]
    pub(crate) fn vacate<R>(&mut self, place: Place, take: impl FnOnce(&mut T) -> R) -> R {
        let (chunk, offset) = place.split();
        let cell = &mut self.chunks[chunk][offset];
        let Cell::Full(item) = cell else { foreign() };
        let taken = take(item);
        *cell = Cell::Vacant { next: self.vacant.replace(place) };
        taken
    }

    /// Gives the place up, and the item back.
    pub(crate) fn remove(&mut self, place: Place) -> T {
        let next = self.vacant.replace(place);
        match core::mem::replace(self.cell(place), Cell::Vacant { next }) {
            Cell::Full(item) => item,
            Cell::Vacant { .. } => foreign(),
        }
    }

    #[inline]
    fn cell(&mut self, place: Place) -> &mut Cell<T> {
        let (chunk, offset) = place.split();
        &mut self.chunks[chunk][offset]
    }

    /// Adds a chunk of vacant cells, linked in order, and returns the first.
    #[cold]
    fn grow(&mut self) -> Place {
        let before = self.chunks.len() * CHUNK;
        let number = |offset| u32::try_from(before + offset).expect("memory ends before the numbers do");
        let vacant = |offset| Cell::Vacant { next: Place::from_number(number(offset)) };
        let last = Cell::Vacant { next: None };
        let cells: Box<[Cell<T>]> = (2..=CHUNK).map(vacant).chain([last]).collect();
        self.chunks.extend(cells.try_into());
        Place::from_number(number(1)).expect("counted from 1")
    }
}

#[cold]
fn foreign() -> ! {
    panic!("a ticket of another gate, or an id of a partition that is gone")
}

impl<T> Index<Place> for Slab<T> {
    type Output = T;

    #[cfg_attr(target_pointer_width = "64", inline)]
    fn index(&self, place: Place) -> &T {
        let (chunk, offset) = place.split();
        match &self.chunks[chunk][offset] {
            Cell::Full(item) => item,
            Cell::Vacant { .. } => foreign(),
        }
    }
}

impl<T> IndexMut<Place> for Slab<T> {
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn index_mut(&mut self, place: Place) -> &mut T {
        match self.cell(place) {
            Cell::Full(item) => item,
            Cell::Vacant { .. } => foreign(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_reused_and_items_stay_where_they_are() {
        let mut slab = Slab::new();
        let places: Vec<Place> = (0..256).map(|n| slab.insert(n)).collect();
        assert_eq!(slab.chunks.len(), 4, "no cell is lost");
        let address = &raw const slab[places[70]];
        for n in (0..200).filter(|n| n % 3 == 0) {
            assert_eq!(slab.vacate(places[n], |item| *item), n);
        }
        let chunks = slab.chunks.len();
        for n in 0..67 {
            slab.insert(1000 + n);
        }
        assert_eq!(slab.chunks.len(), chunks, "67 places were free");
        assert_eq!((slab[places[70]], &raw const slab[places[70]]), (70, address));
    }
}
