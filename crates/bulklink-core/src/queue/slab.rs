//! Storage for nodes in chunks that never move: growing copies nothing, and freed places are used again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};

const CHUNK: u32 = 64;

/// Where a node lies: its position counted from 1, so that an `Option` of it takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(NonZeroU32);

impl Place {
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Place)
    }

    pub(crate) const fn number(self) -> NonZeroU32 {
        self.0
    }

    const fn split(self) -> (usize, usize) {
        let position = self.0.get() - 1;
        ((position / CHUNK) as usize, (position % CHUNK) as usize)
    }
}

#[derive(Debug)]
enum Cell<T> {
    Full(T),
    Vacant { next: Option<Place> },
}

#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Box<[Cell<T>]>>,
    vacant: Option<Place>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Slab { chunks: Vec::new(), vacant: None }
    }

    pub(crate) fn insert(&mut self, node: T) -> Place {
        let place = match self.vacant {
            Some(place) => place,
            None => self.grow(),
        };
        let Cell::Vacant { next } = core::mem::replace(self.cell(place), Cell::Full(node)) else {
            unreachable!("the list of vacant cells holds vacant cells");
        };
        self.vacant = next;
        place
    }

    pub(crate) fn remove(&mut self, place: Place) -> T {
        let next = self.vacant.replace(place);
        match core::mem::replace(self.cell(place), Cell::Vacant { next }) {
            Cell::Full(node) => node,
            Cell::Vacant { .. } => panic!("{}", FOREIGN),
        }
    }

    fn cell(&mut self, place: Place) -> &mut Cell<T> {
        let (chunk, offset) = place.split();
        &mut self.chunks[chunk][offset]
    }

    /// Adds a chunk of vacant cells, linked in order, and returns the first.
    #[cold]
    fn grow(&mut self) -> Place {
        let first = u32::try_from(self.chunks.len() * CHUNK as usize + 1).expect("memory ends before the numbers do");
        let last = first + CHUNK - 1;
        let cell = |number| Cell::Vacant { next: Place::from_number(number + 1).filter(|_| number < last) };
        self.chunks.push((first..=last).map(cell).collect());
        Place::from_number(first).expect("counted from 1")
    }
}

const FOREIGN: &str = "a ticket of another gate";

impl<T> Index<Place> for Slab<T> {
    type Output = T;

    fn index(&self, place: Place) -> &T {
        let (chunk, offset) = place.split();
        match &self.chunks[chunk][offset] {
            Cell::Full(node) => node,
            Cell::Vacant { .. } => panic!("{}", FOREIGN),
        }
    }
}

impl<T> IndexMut<Place> for Slab<T> {
    fn index_mut(&mut self, place: Place) -> &mut T {
        match self.cell(place) {
            Cell::Full(node) => node,
            Cell::Vacant { .. } => panic!("{}", FOREIGN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_reused_and_nodes_stay_where_they_are() {
        let mut slab = Slab::new();
        let places: Vec<Place> = (0..256).map(|n| slab.insert(n)).collect();
        assert_eq!(slab.chunks.len(), 4, "no cell is lost");
        let address = &raw const slab[places[70]];
        for n in (0..200).filter(|n| n % 3 == 0) {
            assert_eq!(slab.remove(places[n]), n);
        }
        let chunks = slab.chunks.len();
        for n in 0..67 {
            slab.insert(1000 + n);
        }
        assert_eq!(slab.chunks.len(), chunks, "67 places were free");
        assert_eq!((slab[places[70]], &raw const slab[places[70]]), (70, address));
    }
}
