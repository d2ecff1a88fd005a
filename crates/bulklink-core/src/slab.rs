//! Storage in chunks that never move: growing copies nothing, and freed places are used again. The first
//! chunks are small, as most slabs of a program with many bulkheads are.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};

/// The places of the first chunk, and of the largest, by which the numbers of all chunks are apart.
const FIRST: u32 = 4;
const CHUNK: u32 = 128;

/// Where something lies: its position counted from 1, so that an `Option` of it takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(NonZeroU32);

impl Place {
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Place)
    }

    #[inline]
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
    /// How many places there are.
    places: u32,
    /// How many are expected at most; there may come to be more.
    expected: u32,
}

impl<T> Slab<T> {
    /// A slab that allocates no more than the `expected` places, unless more are needed.
    pub(crate) const fn new(expected: u32) -> Self {
        Slab { chunks: Vec::new(), vacant: None, places: 0, expected }
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

    /// Adds a chunk of vacant cells, linked in order, and returns the first.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Place {
        let places = next_chunk(self.places, self.expected);
        #[expect(clippy::cast_possible_truncation, reason = "memory ends before the numbers do")]
        let first = self.chunks.len() as u32 * CHUNK + 1;
        let mut cells: Box<[Cell<T>]> =
            (first..first + places).map(|number| Cell::Vacant { next: Place::from_number(number + 1) }).collect();
        if let Some(last) = cells.last_mut() {
            *last = Cell::Vacant { next: None };
        }
        self.chunks.push(cells);
        self.places += places;
        Place(NonZeroU32::MIN.saturating_add(first - 1))
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
}

/// How many places to add to these: as many again, within bounds, but none beyond those that are expected
/// before all of them are used.
fn next_chunk(places: u32, expected: u32) -> u32 {
    let step = places.clamp(FIRST, CHUNK);
    match expected.saturating_sub(places) {
        0 => step,
        left => step.min(left),
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
        let mut slab = Slab::new(1000);
        let places: Vec<Place> = (0..256).map(|n| slab.insert(n)).collect();
        assert_eq!((slab.chunks.len(), slab.places), (7, 256), "no cell is lost");
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

    #[test]
    fn chunks_begin_small_and_end_with_what_is_expected() {
        let allocated = |expected, inserted: u32| {
            let mut slab = Slab::new(expected);
            (0..inserted).for_each(|n| _ = slab.insert(n));
            slab.chunks.iter().map(|chunk| chunk.len()).collect::<Vec<_>>()
        };
        assert_eq!(allocated(1, 1), [1]);
        assert_eq!(allocated(3, 2), [3]);
        assert_eq!(allocated(5, 5), [4, 1]);
        assert_eq!(allocated(100, 65), [4, 4, 8, 16, 32, 36]);
        assert_eq!(allocated(1000, 400), [4, 4, 8, 16, 32, 64, 128, 128, 128]);
        assert_eq!(allocated(0, 17), [4, 4, 8, 16], "more than expected");
        assert_eq!(allocated(6, 8), [4, 2, 6]);
    }
}
