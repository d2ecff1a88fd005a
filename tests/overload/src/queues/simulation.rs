//! One run of a queue: slots, a bounded room, and calls that are never cut short.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::mem;

use super::discipline::{Discipline, Drops, Order};
use super::holds::{Holds, Served};
use super::plant::Plant;
use crate::random::Random;

/// The calls that come in a run; the first tenth of the time is not counted.
const CALLS: f64 = 60_000.0;

/// The figures of a run.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Calls in time, divided by those offered or by those possible, if these are fewer.
    pub good: f64,
    /// The share of the served calls that was late.
    pub late: f64,
    /// The share of the calls given up while waiting that a younger one had overtaken.
    pub overtaken: f64,
}

#[derive(Clone, Copy)]
struct Waiting {
    number: u64,
    arrived: f64,
    /// The end of its wait.
    until: f64,
    deadline: f64,
}

/// A call that is served, ordered by its end.
#[derive(PartialEq)]
struct Busy {
    end: f64,
    number: u64,
    served: Served,
}

impl Eq for Busy {}

impl Ord for Busy {
    fn cmp(&self, other: &Self) -> Ordering {
        self.end.total_cmp(&other.end).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Busy {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Default)]
struct Counts {
    good: u64,
    late: u64,
    given_up: u64,
    overtaken: u64,
}

/// The state of `CoDel`: the end of its interval, the least delay in it, and whether it was above
/// the target in the last one.
struct CoDel {
    end: f64,
    least: f64,
    is_over: bool,
}

struct Queue<'a> {
    plant: &'a Plant,
    discipline: Discipline,
    rate: f64,
    span: f64,
    arrivals: Random,
    service: Random,
    waiting: VecDeque<Waiting>,
    busy: BinaryHeap<Reverse<Busy>>,
    holds: Holds,
    codel: CoDel,
    counts: Counts,
    number: u64,
    newest_served: u64,
}

/// Runs a discipline at a load, which is a multiple of what the slots can serve.
pub fn run(plant: &Plant, discipline: Discipline, load: f64, seed: u64) -> Figures {
    let rate = load * plant.slots as f64 / plant.mean();
    let mut queue = Queue {
        plant,
        discipline,
        rate,
        span: CALLS / rate,
        arrivals: Random::new(seed * 77 + 5),
        service: Random::new(seed * 77 + 6),
        waiting: VecDeque::new(),
        busy: BinaryHeap::new(),
        holds: Holds::new(discipline.reserve, plant),
        codel: CoDel { end: 0.0, least: f64::MAX, is_over: false },
        counts: Counts::default(),
        number: 0,
        newest_served: 0,
    };
    queue.run_to_end();
    queue.figures()
}

impl Queue<'_> {
    fn run_to_end(&mut self) {
        let mut next = 0.0;
        loop {
            let end = self.busy.peek().map_or(f64::MAX, |Reverse(busy)| busy.end);
            let (now, comes) = if next <= end { (next, self.plant.batch) } else { (end, 0) };
            if now > self.span {
                break;
            }
            if comes > 0 {
                next = now + self.arrivals.exponential() * f64::from(comes) / self.rate;
            } else if let Some(Reverse(Busy { served, .. })) = self.busy.pop() {
                self.holds.learn(&served, now);
            }
            self.expire(now);
            for _ in 0..comes {
                self.arrive(now);
            }
            self.hand_out(now);
            if self.is_idle() && now > self.codel.end {
                self.codel = CoDel { end: now, least: f64::MAX, is_over: false };
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.busy.len() < self.plant.slots && self.waiting.is_empty()
    }

    /// Gives up the calls whose wait is over.
    fn expire(&mut self, now: f64) {
        let [first, second] = self.plant.deadlines;
        let is_ordered = self.discipline.order != Order::EarliestDeadline && first.total_cmp(&second).is_eq();
        if is_ordered {
            while let Some(waiting) = self.waiting.front().copied().filter(|waiting| waiting.until <= now) {
                self.waiting.pop_front();
                self.give_up(waiting);
            }
        } else if self.waiting.iter().any(|waiting| waiting.until <= now) {
            let all = mem::take(&mut self.waiting).into_iter();
            let (over, stay) = all.partition::<VecDeque<_>, _>(|waiting| waiting.until <= now);
            self.waiting = stay;
            for waiting in over {
                self.give_up(waiting);
            }
        }
    }

    fn give_up(&mut self, waiting: Waiting) {
        self.counts.given_up += 1;
        self.counts.overtaken += u64::from(waiting.number < self.newest_served);
    }

    fn arrive(&mut self, now: f64) {
        self.number += 1;
        let time = self.plant.deadlines[usize::from(self.arrivals.unit() >= 0.5)];
        let until = now + time - self.holds.reserve(time);
        let call = Waiting { number: self.number, arrived: now, until, deadline: now + time };
        if self.is_idle() {
            self.serve(call, now);
            return;
        }
        let wait = (self.waiting.len() as f64 + 1.0) * self.holds.mean / self.plant.slots as f64;
        if self.discipline.drops == Drops::Predicted && now + wait > until {
            return;
        }
        if self.waiting.len() < self.plant.room || self.make_room(&call) {
            self.waiting.push_back(call);
        }
    }

    /// Gives up a call for a newcomer. Returns whether there was one to give up.
    fn make_room(&mut self, newcomer: &Waiting) -> bool {
        let index = match self.discipline.order {
            Order::Fifo => None,
            Order::Lifo | Order::Adaptive => Some(0),
            Order::EarliestDeadline => {
                let deadlines = self.waiting.iter().map(|waiting| waiting.deadline).enumerate();
                let last = deadlines.max_by(|one, other| one.1.total_cmp(&other.1));
                last.filter(|(_, deadline)| *deadline > newcomer.deadline).map(|(index, _)| index)
            }
        };
        let given_up = index.and_then(|index| self.waiting.remove(index));
        given_up.map(|waiting| self.give_up(waiting)).is_some()
    }

    fn hand_out(&mut self, now: f64) {
        while self.busy.len() < self.plant.slots {
            let Some(call) = self.next() else { break };
            if self.drops(&call, now) {
                self.give_up(call);
            } else {
                self.serve(call, now);
            }
        }
    }

    fn next(&mut self) -> Option<Waiting> {
        match self.discipline.order {
            Order::Lifo => self.waiting.pop_back(),
            Order::Adaptive if self.waiting.len() > self.plant.slots => self.waiting.pop_back(),
            Order::Fifo | Order::Adaptive => self.waiting.pop_front(),
            Order::EarliestDeadline => {
                let deadlines = self.waiting.iter().map(|waiting| waiting.deadline).enumerate();
                let (index, _) = deadlines.min_by(|one, other| one.1.total_cmp(&other.1))?;
                self.waiting.remove(index)
            }
        }
    }

    /// Returns whether `CoDel` gives up a call.
    fn drops(&mut self, call: &Waiting, now: f64) -> bool {
        let (target, interval) = match self.discipline.drops {
            Drops::CoDel => (0.005, 0.1),
            Drops::ScaledCoDel => {
                let time = call.deadline - call.arrived;
                ((time - self.holds.reserve(time)) / 8.0, (4.0 * self.holds.mean).max(0.02))
            }
            _ => return false,
        };
        let (delay, codel) = (now - call.arrived, &mut self.codel);
        if now > codel.end {
            let is_over = codel.least > target && codel.least < f64::MAX;
            *codel = CoDel { end: now + interval, least: delay, is_over };
        } else {
            codel.least = codel.least.min(delay);
        }
        codel.is_over && delay > 2.0 * target
    }

    fn serve(&mut self, call: Waiting, now: f64) {
        let plant = self.plant;
        let mut hold = plant.distribution.draw(&mut self.service) * plant.service;
        if plant.slow.0 > 0.0 && self.service.unit() < plant.slow.0 {
            hold *= plant.slow.1;
        }
        let (from, to, factor) = plant.step;
        if now > from * self.span && now < to * self.span {
            hold *= factor;
        }
        let Waiting { number, arrived, deadline, .. } = call;
        let served = Served { arrived, deadline, hold };
        self.busy.push(Reverse(Busy { end: now + hold, number, served }));
        self.newest_served = self.newest_served.max(number);
        if now >= self.warm() {
            let count = if now + hold <= deadline { &mut self.counts.good } else { &mut self.counts.late };
            *count += 1;
        }
    }

    fn warm(&self) -> f64 {
        self.span * 0.1
    }

    fn figures(&self) -> Figures {
        let Counts { good, late, given_up, overtaken } = self.counts;
        let possible = self.rate.min(self.plant.slots as f64 / self.plant.mean());
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        Figures {
            good: good as f64 / (self.span - self.warm()) / possible,
            late: share(late, good + late),
            overtaken: share(overtaken, given_up),
        }
    }
}
