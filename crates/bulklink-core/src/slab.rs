//! Storage in chunks that never move: growing copies nothing, and freed places are reused. The
//! first chunks are small, because most slabs of a program with many bulkheads are.

#[cfg(target_pointer_width = "64")]
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};

/// The number of places in the first chunk.
const FIRST: u32 = 4;
/// The number of places in the largest chunk. Place numbers of consecutive chunks are this far
/// apart, whatever their sizes.
const CHUNK: u32 = 128;

// A chunk never grows. On a small target it is a vector nevertheless, which takes less code to
// make.
#[cfg(target_pointer_width = "64")]
type Chunk<T> = Box<[Cell<T>]>;
#[cfg(not(target_pointer_width = "64"))]
type Chunk<T> = Vec<Cell<T>>;

/// The place of an item: its position counted from 1, so that an `Option` of it takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(NonZeroU32);

impl Place {
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Place)
    }

    pub(crate) fn number(self) -> NonZeroU32 {
        self.0
    }

    #[inline]
    const fn split(self) -> (usize, usize) {
        let position = self.0.get() - 1;
        ((position / CHUNK) as usize, (position % CHUNK) as usize)
    }
}

#[derive(Clone, Debug)]
enum Cell<T> {
    Full(T),
    Vacant { next: Option<Place> },
}

#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Chunk<T>>,
    vacant: Option<Place>,
    /// The number of places in all chunks.
    places: u32,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Slab { chunks: Vec::new(), vacant: None, places: 0 }
    }

    /// Allocates at most the `expected` places unless more are needed. Always the same number is
    /// passed: a slab has no room to keep it.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    pub(crate) fn insert(&mut self, item: T, expected: u32) -> Place {
        let place = self.next_place(expected);
        let cell = self.cell(place);
        // Always true: the head of the vacant list is vacant. The pattern only reads its link.
        if let Cell::Vacant { next } = *cell {
            *cell = Cell::Full(item);
            self.vacant = next;
        }
        place
    }

    /// Returns the place of the next item. `expected` is as for [`insert`](Slab::insert).
    #[inline]
    pub(crate) fn next_place(&mut self, expected: u32) -> Place {
        match self.vacant {
            Some(place) => place,
            None => self.grow(expected),
        }
    }

    /// Adds a chunk of vacant cells, linked in order, and returns the first.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, expected: u32) -> Place {
        let places = next_chunk(self.places, expected);
        #[expect(clippy::cast_possible_truncation, reason = "memory runs out before 32 bits of places do")]
        let first = self.chunks.len() as u32 * CHUNK + 1;
        let mut cells: Chunk<T> =
            (first..first + places).map(|number| Cell::Vacant { next: Place::from_number(number + 1) }).collect();
        // The last cell of a chunk ends the list; the number after it belongs to no cell of this
        // chunk.
        if let Some(last) = cells.last_mut() {
            *last = Cell::Vacant { next: None };
        }
        self.chunks.push(cells);
        self.places += places;
        let place = Place(NonZeroU32::MIN.saturating_add(first - 1));
        self.vacant = Some(place);
        place
    }

    /// Frees the place. `take` takes the needed parts of the item: moving all of it out would cost
    /// more.
    #[inline]
    pub(crate) fn vacate<R>(&mut self, place: Place, take: impl FnOnce(&mut T) -> R) -> R {
        let (chunk, offset) = place.split();
        let cell = &mut self.chunks[chunk][offset];
        let Cell::Full(item) = cell else { invalid_place() };
        let taken = take(item);
        *cell = Cell::Vacant { next: self.vacant.replace(place) };
        taken
    }

    /// Frees the place, if `take` takes something of the item.
    #[inline]
    pub(crate) fn vacate_if<R>(&mut self, place: Place, take: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
        let (chunk, offset) = place.split();
        let cell = &mut self.chunks[chunk][offset];
        let Cell::Full(item) = cell else { invalid_place() };
        let taken = take(item)?;
        *cell = Cell::Vacant { next: self.vacant.replace(place) };
        Some(taken)
    }

    /// Frees the place and returns the item.
    pub(crate) fn remove(&mut self, place: Place) -> T {
        let next = self.vacant.replace(place);
        match core::mem::replace(self.cell(place), Cell::Vacant { next }) {
            Cell::Full(item) => item,
            Cell::Vacant { .. } => invalid_place(),
        }
    }

    /// Returns the item at this place, if there is one.
    pub(crate) fn get(&self, place: Place) -> Option<&T> {
        let (chunk, offset) = place.split();
        match self.chunks.get(chunk)?.get(offset)? {
            Cell::Full(item) => Some(item),
            Cell::Vacant { .. } => None,
        }
    }

    /// Visits all items, in no particular order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(Place, &T)) {
        // The number of the first place of a chunk.
        let mut first = 1;
        for cells in &self.chunks {
            for (number, cell) in (first..).zip(cells) {
                if let (Cell::Full(item), Some(place)) = (cell, Place::from_number(number)) {
                    visit(place, item);
                }
            }
            first += CHUNK;
        }
    }

    #[inline]
    fn cell(&mut self, place: Place) -> &mut Cell<T> {
        let (chunk, offset) = place.split();
        &mut self.chunks[chunk][offset]
    }
}

/// Returns how many places to add to `places`: as many again, between `FIRST` and `CHUNK`, but none
/// beyond the expected ones until all of those are used.
fn next_chunk(places: u32, expected: u32) -> u32 {
    let step = places.clamp(FIRST, CHUNK);
    match expected.saturating_sub(places) {
        0 => step,
        left => step.min(left),
    }
}

#[cold]
pub(crate) fn invalid_place() -> ! {
    panic!("a ticket or a grant of another gate, or the id of a removed partition")
}

impl<T> Index<Place> for Slab<T> {
    type Output = T;

    #[cfg_attr(target_pointer_width = "64", inline)]
    fn index(&self, place: Place) -> &T {
        let (chunk, offset) = place.split();
        match &self.chunks[chunk][offset] {
            Cell::Full(item) => item,
            Cell::Vacant { .. } => invalid_place(),
        }
    }
}

impl<T> IndexMut<Place> for Slab<T> {
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn index_mut(&mut self, place: Place) -> &mut T {
        match self.cell(place) {
            Cell::Full(item) => item,
            Cell::Vacant { .. } => invalid_place(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_reused_and_items_stay_where_they_are() {
        let mut slab = Slab::new();
        let places: Vec<Place> = (0..256).map(|n| slab.insert(n, 1000)).collect();
        assert_eq!((slab.chunks.len(), slab.places), (7, 256), "no cell is lost");
        let address = &raw const slab[places[70]];
        for n in (0..200).filter(|n| n % 3 == 0) {
            assert_eq!(slab.vacate(places[n], |item| *item), n);
        }
        let chunks = slab.chunks.len();
        for n in 0..67 {
            slab.insert(1000 + n, 1000);
        }
        assert_eq!(slab.chunks.len(), chunks, "67 places were free");
        assert_eq!((slab[places[70]], &raw const slab[places[70]]), (70, address));
    }

    #[test]
    fn chunks_start_small_and_stop_at_the_expected_number() {
        let allocated = |expected, inserted: u32| {
            let mut slab = Slab::new();
            (0..inserted).for_each(|n| _ = slab.insert(n, expected));
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
