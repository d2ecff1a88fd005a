//! Who is late first: a list for deadlines that come in order, a heap for the others.

use super::heap::{Heap, is_earlier};
use super::list::{Chain, List};
use super::node::Node;
use super::slab::{Place, Slab};
use crate::Instant;

/// With one limit for all, deadlines come in the order in which they end, and the list does it all in O(1).
#[derive(Debug)]
pub(super) struct Deadlines {
    in_order: List,
    others: Heap,
}

impl Deadlines {
    pub(super) const fn new() -> Self {
        Deadlines { in_order: List::new(Chain::Deadlines), others: Heap::new() }
    }

    /// The one whose deadline comes first; of equal deadlines, whoever came first.
    pub(super) fn first<W>(&self, nodes: &Slab<Node<W>>) -> Option<Place> {
        match (self.in_order.first(), self.others.first()) {
            (Some(listed), Some(heaped)) if is_earlier(nodes, heaped, listed) => Some(heaped),
            (listed, heaped) => listed.or(heaped),
        }
    }

    pub(super) fn add<W>(&mut self, nodes: &mut Slab<Node<W>>, place: Place) {
        let deadline = nodes[place].deadline();
        if deadline == Instant::FAR_FUTURE {
            return;
        }
        if self.in_order.last().is_none_or(|last| nodes[last].deadline() <= deadline) {
            self.in_order.push_back(nodes, place);
        } else {
            self.others.push(nodes, place);
        }
    }

    #[cfg(test)]
    pub(super) fn assert_sound<W>(&self, nodes: &Slab<Node<W>>) {
        self.others.assert_sound(nodes);
    }

    pub(super) fn remove<W>(&mut self, nodes: &mut Slab<Node<W>>, place: Place) {
        match nodes[place].heap_position {
            Some(position) => self.others.remove(nodes, position as usize),
            None if nodes[place].deadline() < Instant::FAR_FUTURE => self.in_order.remove(nodes, place),
            None => {}
        }
    }
}
