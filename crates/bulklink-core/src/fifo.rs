//! A first-in, first-out queue made of two stacks.

use alloc::vec::Vec;
use core::mem;

/// The largest number of items for which memory is kept.
const KEPT: usize = 64;

/// A first-in, first-out queue.
///
/// Items are pushed on one stack and popped from the other; when that is empty, the first is
/// reversed and takes its place. A push never moves other items, except to a larger allocation, and
/// each item is moved once. It takes less code than a ring buffer. The memory of a burst is given
/// back with its last item.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<T> {
    incoming: Vec<T>,
    /// In reverse order: the next item is last.
    outgoing: Vec<T>,
}

impl<T> Fifo<T> {
    pub(crate) const fn new() -> Self {
        Fifo { incoming: Vec::new(), outgoing: Vec::new() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.incoming.is_empty() && self.outgoing.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        self.incoming.push(item);
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.has_at_most_one() { self.incoming.pop() } else { self.pop_of_several() }
    }

    /// Moves the next item to `place`. Returns whether there was one.
    #[inline]
    pub(crate) fn pop_into(&mut self, place: &mut T) -> bool
    where
        T: Copy,
    {
        // Only the large processors are slow to move an item that was just written.
        if cfg!(not(target_pointer_width = "64")) || !self.has_at_most_one() {
            return self.pop().map(|item| *place = item).is_some();
        }
        let Some(&item) = self.incoming.last() else { return false };
        *place = item;
        self.incoming.clear();
        true
    }

    /// Returns whether there is nothing to reverse.
    #[inline]
    fn has_at_most_one(&self) -> bool {
        self.outgoing.is_empty() && self.incoming.len() < 2
    }

    /// Apart, so that the usual case is small enough to be inlined.
    #[cfg_attr(target_pointer_width = "64", cold, inline(never))]
    fn pop_of_several(&mut self) -> Option<T> {
        if self.outgoing.is_empty() {
            mem::swap(&mut self.incoming, &mut self.outgoing);
            self.outgoing.reverse();
        }
        let item = self.outgoing.pop();
        self.trim();
        item
    }

    /// Gives back the memory of a burst that is over. The stack for incoming items never has it: it
    /// takes the place of this one before it is empty again. A small target keeps its memory, and
    /// saves the code.
    #[inline]
    fn trim(&mut self) {
        let is_large = cfg!(target_pointer_width = "64") && self.outgoing.capacity() > KEPT;
        if is_large && self.outgoing.is_empty() {
            self.outgoing = Vec::new();
        }
    }

    /// Returns the items pushed since the last reversal, in order. Each keeps its position while
    /// nothing is popped.
    pub(crate) fn incoming(&mut self) -> &mut [T] {
        &mut self.incoming
    }
}

/// Wakers that were [taken](crate::plumbing::take_wakes) out of a gate, in the order in which their
/// tickets were settled.
#[derive(Debug)]
pub struct Wakes<W>(pub(crate) Fifo<W>);

impl<W> Iterator for Wakes<W> {
    type Item = W;

    fn next(&mut self) -> Option<W> {
        self.0.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_burst_is_given_back() {
        let (mut fifo, mut item) = (Fifo::new(), 0);
        let capacity = |fifo: &Fifo<usize>| fifo.incoming.capacity() + fifo.outgoing.capacity();
        for burst in [10 * KEPT, KEPT] {
            (0..burst).for_each(|item| fifo.push(item));
            // One way of removal after the other.
            while if item % 2 == 0 { fifo.pop_into(&mut item) } else { fifo.pop().is_some() } {}
            assert!(capacity(&fifo) <= KEPT, "{burst}: {}", capacity(&fifo));
        }
        assert_eq!(capacity(&fifo), KEPT, "a usual burst allocates nothing");
    }

    #[test]
    fn items_come_out_in_order_for_every_script_of_pushes_and_pops() {
        for script in 0_u32..1 << 12 {
            let (mut fifo, mut pushed, mut popped) = (Fifo::new(), 0, 0);
            for step in 0..12 {
                if script >> step & 1 == 0 {
                    fifo.push(pushed);
                    pushed += 1;
                } else if popped < pushed {
                    // One way of removal after the other.
                    let mut item = -1;
                    if popped % 2 == 0 {
                        assert_eq!(fifo.pop(), Some(popped));
                    } else {
                        assert!(fifo.pop_into(&mut item) && item == popped);
                    }
                    popped += 1;
                } else {
                    assert!(fifo.pop().is_none() && !fifo.pop_into(&mut -1));
                }
                assert_eq!(fifo.is_empty(), popped == pushed);
            }
        }
    }
}
