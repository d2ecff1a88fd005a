//! Doubly linked lists through the nodes of a slab.

use super::node::{Links, Node};
use super::slab::{Place, Slab};

/// Which list of a node's two: each has links of its own there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chain {
    /// Everyone who waits, in the order of arrival.
    Line,
    /// Those whose deadlines came in order.
    Deadlines,
}

#[derive(Debug)]
pub(super) struct List {
    chain: Chain,
    first: Option<Place>,
    last: Option<Place>,
}

impl List {
    pub(super) const fn new(chain: Chain) -> Self {
        List { chain, first: None, last: None }
    }

    pub(super) fn first(&self) -> Option<Place> {
        self.first
    }

    pub(super) fn last(&self) -> Option<Place> {
        self.last
    }

    pub(super) fn next<W>(&self, nodes: &Slab<Node<W>>, place: Place) -> Option<Place> {
        nodes[place].links[self.chain as usize].next
    }

    pub(super) fn push_back<W>(&mut self, nodes: &mut Slab<Node<W>>, place: Place) {
        let previous = self.last.replace(place);
        nodes[place].links[self.chain as usize] = Links { previous, next: None };
        match previous {
            Some(previous) => nodes[previous].links[self.chain as usize].next = Some(place),
            None => self.first = Some(place),
        }
    }

    pub(super) fn remove<W>(&mut self, nodes: &mut Slab<Node<W>>, place: Place) {
        let Links { previous, next } = nodes[place].links[self.chain as usize];
        match previous {
            Some(previous) => nodes[previous].links[self.chain as usize].next = next,
            None => self.first = next,
        }
        match next {
            Some(next) => nodes[next].links[self.chain as usize].previous = previous,
            None => self.last = previous,
        }
    }
}
