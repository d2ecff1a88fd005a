//! The entries of keys in the order of their last use: at most so many, and which is evicted.

use std::iter;

use hashbrown::HashTable;

/// How many entries one eviction looks at, at most.
const LOOKS: usize = 32;
const NONE: usize = usize::MAX;

/// The loss by the eviction of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Calm,
    /// Something that is worth less than room.
    Marked,
    /// More than may be lost.
    Kept,
}

/// Entries by the hashes of their keys, in the order of their last use.
///
/// It never compares keys, as that is foreign code: entries with one hash are told apart by the
/// caller. It asks for a standing only where it needs room, and of a bounded number of entries.
pub(super) struct Shelf<T> {
    order: Order<T>,
    index: HashTable<usize>,
    max: usize,
}

/// The entries that have one hash: one, nearly always.
#[derive(Debug)]
pub(super) struct Found<T> {
    first: Option<T>,
    others: Vec<T>,
}

/// A list from the coldest entry, unused for the longest time, to the warmest.
struct Order<T> {
    nodes: Vec<Node<T>>,
    coldest: usize,
    warmest: usize,
}

struct Node<T> {
    value: T,
    hash: u64,
    colder: usize,
    warmer: usize,
}

impl<T> Found<T> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.others)
    }
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Found { first: None, others: Vec::new() }
    }
}

impl<T: Clone> Shelf<T> {
    pub(super) fn new(max: usize) -> Self {
        let order = Order { nodes: Vec::new(), coldest: NONE, warmest: NONE };
        Shelf { order, index: HashTable::new(), max }
    }

    pub(super) fn max(&self) -> usize {
        self.max
    }

    pub(super) fn len(&self) -> usize {
        self.order.nodes.len()
    }

    /// Returns the entries with this hash, which are used now.
    pub(super) fn touch(&mut self, hash: u64) -> Found<T> {
        let mut found = Found::default();
        for &id in self.index.iter_hash(hash) {
            let Some(node) = self.order.nodes.get(id).filter(|node| node.hash == hash) else { continue };
            let value = node.value.clone();
            match &found.first {
                None => found.first = Some(value),
                Some(_) => found.others.push(value),
            }
            self.order.warm(id);
        }
        found
    }

    /// Adds an entry, used now. Returns the one that was evicted for it: of those looked at, the
    /// coldest that is calm, or else the coldest that is marked. A kept one that was looked at
    /// counts as used now.
    ///
    /// # Errors
    ///
    /// With the new entry, if all that it looks at are kept.
    pub(super) fn insert(&mut self, hash: u64, value: T, standing: impl Fn(&T) -> Standing) -> Result<Option<T>, T> {
        let (id, evicted) = if self.len() < self.max {
            (self.order.push(value, hash), None)
        } else {
            let Some(id) = self.order.find_room(standing) else { return Err(value) };
            let (before, evicted) = self.order.replace(id, value, hash);
            if let Ok(entry) = self.index.find_entry(before, |found| *found == id) {
                entry.remove();
            }
            (id, Some(evicted))
        };
        let nodes = &self.order.nodes;
        self.index.insert_unique(hash, id, |id| nodes[*id].hash);
        Ok(evicted)
    }

    /// Returns all entries, the last used first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let nodes = &self.order.nodes;
        let ids = iter::successors(nodes.get(self.order.warmest), |node| nodes.get(node.colder));
        ids.map(|node| &node.value)
    }
}

impl<T> Order<T> {
    fn push(&mut self, value: T, hash: u64) -> usize {
        let id = self.nodes.len();
        self.nodes.push(Node { value, hash, colder: NONE, warmer: NONE });
        self.append(id);
        id
    }

    /// Puts an entry in the place of another. Returns the hash and the value of that.
    fn replace(&mut self, id: usize, value: T, hash: u64) -> (u64, T) {
        self.warm(id);
        let node = &mut self.nodes[id];
        (std::mem::replace(&mut node.hash, hash), std::mem::replace(&mut node.value, value))
    }

    fn find_room(&mut self, standing: impl Fn(&T) -> Standing) -> Option<usize> {
        let (mut at, mut marked) = (self.coldest, None);
        for _ in 0..LOOKS.min(self.nodes.len()) {
            let Node { value, warmer, .. } = &self.nodes[at];
            let next = *warmer;
            match standing(value) {
                Standing::Calm => return Some(at),
                Standing::Marked => marked = marked.or(Some(at)),
                // So that the next search looks at others.
                Standing::Kept => self.warm(at),
            }
            at = next;
        }
        marked
    }

    /// Moves an entry to the warm end.
    fn warm(&mut self, id: usize) {
        if self.warmest == id {
            return;
        }
        let Node { colder, warmer, .. } = self.nodes[id];
        *self.warmer_of(colder) = warmer;
        self.nodes[warmer].colder = colder;
        self.append(id);
    }

    fn append(&mut self, id: usize) {
        let colder = self.warmest;
        *self.warmer_of(colder) = id;
        let node = &mut self.nodes[id];
        (node.colder, node.warmer) = (colder, NONE);
        self.warmest = id;
    }

    /// The place with the entry that is warmer than this, or than none.
    fn warmer_of(&mut self, id: usize) -> &mut usize {
        match self.nodes.get_mut(id) {
            Some(node) => &mut node.warmer,
            None => &mut self.coldest,
        }
    }
}

#[cfg(test)]
mod tests;
