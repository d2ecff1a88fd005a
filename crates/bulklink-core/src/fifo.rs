//! First in, first out, in two stacks.

use alloc::vec::Vec;
use core::mem;

/// Pushes grow at one end and never move what is there but to a larger block; what comes out is turned round when the other
/// stack has run out. Each item is moved once, and it takes less code than a ring.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    incoming: Vec<T>,
    /// The first is last.
    outgoing: Vec<T>,
    /// Of both: whether there is anything is asked at every turn.
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
            if self.incoming.len() < 2 {
                return self.incoming.pop();
            }
            self.turn_round();
        }
        self.outgoing.pop()
    }

    #[cfg_attr(target_pointer_width = "64", cold)]
    fn turn_round(&mut self) {
        mem::swap(&mut self.incoming, &mut self.outgoing);
        self.outgoing.reverse();
    }

    /// Those that came since the last were turned round, in order. While nothing is popped, each keeps its position.
    pub(crate) fn incoming(&mut self) -> &mut [T] {
        &mut self.incoming
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_order_of_pushes_and_pops_they_come_out_as_they_came_in() {
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
