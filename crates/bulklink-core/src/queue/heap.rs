//! A binary heap of deadlines in which every node knows its position, so that any can be taken out in O(log n).

use alloc::vec::Vec;

use super::node::Node;
use super::slab::{Place, Slab};

#[derive(Debug)]
pub(super) struct Heap {
    places: Vec<Place>,
}

impl Heap {
    pub(super) const fn new() -> Self {
        Heap { places: Vec::new() }
    }

    pub(super) fn first(&self) -> Option<Place> {
        self.places.first().copied()
    }

    pub(super) fn push<W>(&mut self, nodes: &mut Slab<Node<W>>, place: Place) {
        self.places.push(place);
        let last = self.places.len() - 1;
        self.put(nodes, last, place);
        self.rise(nodes, last);
    }

    /// Takes out whatever is at `position`: the last one fills the gap and finds its level from there.
    pub(super) fn remove<W>(&mut self, nodes: &mut Slab<Node<W>>, position: usize) {
        self.places.swap_remove(position);
        if let Some(&moved) = self.places.get(position) {
            self.put(nodes, position, moved);
            let level = self.rise(nodes, position);
            self.sink(nodes, level);
        }
    }

    /// Moves the one at `position` up to its level, and returns that.
    fn rise<W>(&mut self, nodes: &mut Slab<Node<W>>, mut position: usize) -> usize {
        while position > 0 {
            let parent = (position - 1) / 2;
            if !is_earlier(nodes, self.places[position], self.places[parent]) {
                break;
            }
            self.swap(nodes, position, parent);
            position = parent;
        }
        position
    }

    fn sink<W>(&mut self, nodes: &mut Slab<Node<W>>, mut position: usize) {
        while let Some(child) = self.earlier_child(nodes, position) {
            if !is_earlier(nodes, self.places[child], self.places[position]) {
                break;
            }
            self.swap(nodes, position, child);
            position = child;
        }
    }

    fn earlier_child<W>(&self, nodes: &Slab<Node<W>>, position: usize) -> Option<usize> {
        let (left, right) = (2 * position + 1, 2 * position + 2);
        match (self.places.get(left), self.places.get(right)) {
            (Some(&a), Some(&b)) if is_earlier(nodes, b, a) => Some(right),
            (Some(_), _) => Some(left),
            (None, _) => None,
        }
    }

    fn swap<W>(&mut self, nodes: &mut Slab<Node<W>>, one: usize, other: usize) {
        self.places.swap(one, other);
        self.put(nodes, one, self.places[one]);
        self.put(nodes, other, self.places[other]);
    }

    #[cfg(test)]
    pub(super) fn assert_sound<W>(&self, nodes: &Slab<Node<W>>) {
        for (position, &place) in self.places.iter().enumerate() {
            assert_eq!(nodes[place].heap_position, u32::try_from(position).ok());
            assert!(position == 0 || !is_earlier(nodes, place, self.places[(position - 1) / 2]), "not a heap");
        }
    }

    fn put<W>(&self, nodes: &mut Slab<Node<W>>, position: usize, place: Place) {
        debug_assert_eq!(self.places[position], place);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "no more positions than places, which are numbered in 32 bits"
        )]
        let position = position as u32;
        nodes[place].heap_position = Some(position);
    }
}

/// Whether the deadline of `one` comes first; of equal deadlines, that of whoever came first.
pub(super) fn is_earlier<W>(nodes: &Slab<Node<W>>, one: Place, other: Place) -> bool {
    let (one, other) = (&nodes[one], &nodes[other]);
    one.deadline() < other.deadline() || (one.deadline() == other.deadline() && one.came_before(other))
}
