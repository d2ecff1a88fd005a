//! The queue against a sorted list, on long random scripts.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use super::*;
use crate::{Occupancy, Reason};

/// A small xorshift generator: the script is the same in every run.
struct Random(u64);

impl Random {
    fn number(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.number(bound as u64)).expect("less than a usize")
    }
}

struct Expected {
    id: u64,
    cost: NonZeroU32,
    deadline: Instant,
    ticket: Ticket,
}

fn check(queue: &Queue<u64>, expected: &[Expected]) {
    assert_eq!(queue.len() as usize, expected.len());
    assert_eq!(queue.units(), expected.iter().map(|e| u64::from(e.cost.get())).sum::<u64>());
    assert_eq!(queue.largest_cost(), expected.iter().map(|e| e.cost.get()).max().unwrap_or(0));
    assert_eq!(queue.first().map(|(place, _)| place), expected.first().map(|e| e.ticket.place));
    let timed = expected.iter().filter(|e| e.deadline < Instant::FAR_FUTURE);
    let first = timed.min_by_key(|e| (e.deadline, e.id));
    assert_eq!(queue.next_deadline(), first.map(|e| e.deadline));
    assert_eq!(queue.due(Instant::FAR_FUTURE), first.map(|e| e.ticket.place));
    queue.deadlines.assert_sound();
}

fn deadline(random: &mut Random, id: u64) -> Instant {
    match random.number(6) {
        0 => Instant::FAR_FUTURE,
        2 => Instant::from_nanos(random.number(50)),
        1 => Instant::from_nanos(id / 4 + random.number(100)),
        _ => Instant::from_nanos(id / 4),
    }
}

#[test]
fn the_queue_agrees_with_a_sorted_list() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut queue: Queue<u64> = Queue::new(1000);
    // Starts just before the stamps wrap.
    queue.stamp = Stamp(NonZeroU32::new(u32::MAX - 1000).expect("not zero"));
    let mut expected: Vec<Expected> = Vec::new();
    let mut highest = 0;
    for id in 0..20_000 {
        // The queue grows for a while, then shrinks, so that long and empty queues both occur.
        if random.number(100) < if id % 4000 < 2000 { 65 } else { 35 } {
            let cost = NonZeroU32::new([1, 1, 2, 3][random.below(4)]).expect("not zero");
            let deadline = deadline(&mut random, id);
            let ticket = queue.push(cost, Instant::EPOCH, deadline, &mut Joining::new(Some(id)));
            highest = highest.max(ticket.place.number().get());
            expected.push(Expected { id, cost, deadline, ticket });
        } else if !expected.is_empty() {
            match random.number(3) {
                0 => grant(&mut queue, expected.remove(0)),
                1 => reject(&mut queue, expected.remove(random.below(expected.len()))),
                _ => cancel(&mut queue, expected.remove(random.below(expected.len()))),
            }
        }
        check(&queue, &expected);
    }
    assert!(highest < 2_000, "places are used again, however their tickets ended: {highest}");
}

fn grant(queue: &mut Queue<u64>, chosen: Expected) {
    let (cost, now) = (chosen.cost.get(), Instant::from_nanos(chosen.id));
    assert!(queue.grant_first(cost - 1, now).is_none(), "it costs more");
    let granted = queue.grant_first(cost, now).expect("it fits");
    assert_eq!((granted.cost, granted.waited_nanos, granted.waker), (chosen.cost, chosen.id, Some(chosen.id)));
    assert!(queue.get(&chosen.ticket).is_none());
    assert_eq!(queue.uncollected(), (1, cost));
    let granted = queue.redeem_granted(&chosen.ticket).expect("granted");
    assert_eq!((granted.cost, granted.waited_nanos, granted.at), (chosen.cost, chosen.id, now));
    assert_eq!(queue.uncollected(), (0, 0));
}

fn reject(queue: &mut Queue<u64>, chosen: Expected) {
    let occupancy = Occupancy { in_flight: 1, in_use: 2, waiting: 3, capacity: 4, waiting_room: 5 };
    let rejection = Rejection::new(Reason::Expired, occupancy);
    assert_eq!(queue.leave(chosen.ticket.place), Some(chosen.id));
    queue.reject(chosen.ticket.place, rejection);
    assert_eq!(queue.uncollected(), (0, 0));
    assert!(queue.redeem_granted(&chosen.ticket).is_none());
    assert_eq!(queue.redeem_rejected(&chosen.ticket), Some(rejection));
}

fn cancel(queue: &mut Queue<u64>, chosen: Expected) {
    assert!(queue.redeem_granted(&chosen.ticket).is_none());
    assert!(queue.redeem_rejected(&chosen.ticket).is_none());
    let (cost, _, waker) = queue.withdraw(&chosen.ticket).expect("it waits");
    assert_eq!((cost, waker), (chosen.cost, Some(chosen.id)));
}

#[test]
fn stamps_keep_the_order_within_half_their_range() {
    let stamp = |number| Stamp(NonZeroU32::new(number).expect("not zero"));
    for (first, second) in [(1, 2), (u32::MAX, 1), (1, 1 << 31), (1 << 31, u32::MAX), (3 << 30, 1 << 30)] {
        assert!(stamp(first).is_before(stamp(second)), "{first} {second}");
    }
    for (second, first) in [(2, 1), (1, u32::MAX), (1 << 31, 1), (7, 7)] {
        assert!(!stamp(second).is_before(stamp(first)), "{first} {second}");
    }
}
