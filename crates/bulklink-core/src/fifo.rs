//! A first-in, first-out queue made of two stacks.

use alloc::vec::Vec;
use core::mem;

/// A first-in, first-out queue.
///
/// Items are pushed on one stack and popped from the other; when that is empty, the first is
/// reversed and takes its place. A push never moves other items, except to a larger allocation, and
/// each item is moved once. It takes less code than a ring buffer.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    incoming: Vec<T>,
    /// In reverse order: the next item is last.
    outgoing: Vec<T>,
    /// The length of both stacks together, stored because every turn asks whether there is an item.
    len: usize,
}

impl<T> Fifo<T> {
    pub(crate) const fn new() -> Self {
        Fifo { incoming: Vec::new(), outgoing: Vec::new(), len: 0 }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        self.len += 1;
        self.incoming.push(item);
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.len = self.len.saturating_sub(1);
        if self.outgoing.is_empty() {
            // A single item needs no reversal, and an empty queue ends here.
            if self.incoming.len() < 2 {
                return self.incoming.pop();
            }
            self.refill_outgoing();
        }
        self.outgoing.pop()
    }

    #[cfg_attr(target_pointer_width = "64", cold)]
    fn refill_outgoing(&mut self) {
        mem::swap(&mut self.incoming, &mut self.outgoing);
        self.outgoing.reverse();
    }

    /// Returns the items pushed since the last reversal, in order. Each keeps its position while
    /// nothing is popped.
    pub(crate) fn incoming(&mut self) -> &mut [T] {
        &mut self.incoming
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_out_in_order_for_every_script_of_pushes_and_pops() {
        for script in 0_u32..1 << 12 {
            let (mut fifo, mut pushed, mut popped) = (Fifo::new(), 0, 0);
            for step in 0..12 {
                if script >> step & 1 == 0 {
                    fifo.push(pushed);
                    pushed += 1;
                } else if popped < pushed {
                    assert_eq!(fifo.pop(), Some(popped));
                    popped += 1;
                } else {
                    assert_eq!(fifo.pop(), None);
                }
                assert_eq!(fifo.is_empty(), popped == pushed);
            }
        }
    }
}
