//! Lines that are plain lists, with all classes.

use bulklink_core::Instant;
use bulklink_core::pool::{Class, Demand, Head, LineId, Lines};

use super::lines::{Driven, Settled};
use super::model::{CLASSES, Call, Cost};

/// All lines, by the number of the key and the class.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    lines: Vec<List>,
    settled: Vec<(Call, Settled)>,
}

#[derive(Clone, Debug, Default)]
struct List {
    running: Vec<(Call, Cost)>,
    waiting: Vec<(Call, Cost, Option<Instant>)>,
    /// The units that are lent to the line, while its word is live.
    live: Option<u32>,
    is_held_up: bool,
}

impl List {
    fn in_use(&self) -> Cost {
        self.running.iter().map(|operation| operation.1).sum()
    }

    fn demand(&self) -> Demand {
        let head = self.waiting.first().map(|&(_, cost, _)| Head { cost, may_run: !self.is_held_up });
        let waiting = u32::try_from(self.waiting.len()).expect("few wait");
        Demand { in_use: self.in_use(), waiting, head }
    }
}

impl Lists {
    fn line(&mut self, line: LineId) -> &mut List {
        let place = place(line);
        if self.lines.len() <= place {
            self.lines.resize_with(place + 1, List::default);
        }
        &mut self.lines[place]
    }

    /// While a call waits, or none may run, the word of a gate neither admits nor releases.
    fn is_usable(&self, line: LineId) -> bool {
        let list = self.lines.get(place(line));
        list.is_some_and(|list| list.live.is_some() && list.waiting.is_empty() && !list.is_held_up)
    }

    fn expire_due(&mut self, line: LineId, now: Instant) {
        let list = self.line(line);
        let mut due: Vec<_> = list.waiting.iter().filter_map(|&(call, _, deadline)| Some((deadline?, call))).collect();
        due.retain(|due| due.0 <= now);
        due.sort_unstable();
        for (_, call) in due {
            self.line(line).waiting.retain(|waiter| waiter.0 != call);
            self.settled.push((call, Settled::Expired));
        }
    }
}

fn place(LineId { key, class }: LineId) -> usize {
    key.number() * CLASSES + class as usize
}

impl Lines for Lists {
    fn recall(&mut self, line: LineId) -> Demand {
        let list = self.line(line);
        list.live.take().expect("only live words are recalled");
        list.demand()
    }

    fn admit(&mut self, line: LineId, cost: Cost, now: Instant) -> (bool, Demand) {
        assert!(self.line(line).live.is_none(), "no word is live while any line waits for its turn");
        self.expire_due(line, now);
        let list = self.line(line);
        assert!(!list.is_held_up, "a line that admits nothing is not asked to");
        let first = list.waiting.first().filter(|waiter| waiter.1 == cost).map(|waiter| waiter.0);
        let Some(call) = first else { return (false, list.demand()) };
        list.waiting.remove(0);
        list.running.push((call, cost));
        let demand = list.demand();
        self.settled.push((call, Settled::Admitted));
        (true, demand)
    }

    fn largest_cost(&mut self, line: LineId) -> Cost {
        self.line(line).waiting.iter().map(|waiter| waiter.1).max().unwrap_or(0)
    }

    fn displace(&mut self, line: LineId, _now: Instant) -> Demand {
        let list = self.line(line);
        let (call, ..) = list.waiting.pop().expect("a waiter to displace");
        let demand = list.demand();
        self.settled.push((call, Settled::Displaced));
        demand
    }
}

impl Driven for Lists {
    const HOLDS_UP: bool = true;

    fn fold(&mut self, line: LineId) {
        self.line(line).live = None;
    }

    fn publish(&mut self, line: LineId, lent: Option<u32>) {
        let list = self.line(line);
        list.live = lent;
        assert!(lent.is_none_or(|lent| lent >= list.in_use()), "the units in use are lent");
    }

    fn offered(&self, line: LineId) -> u32 {
        let list = self.lines.get(place(line));
        list.and_then(|list| Some(list.live? - list.in_use())).unwrap_or(0)
    }

    fn is_live(&self, line: LineId) -> bool {
        self.lines.get(place(line)).is_some_and(|list| list.live.is_some())
    }

    fn enter_by_word(&mut self, line: LineId, call: Call) -> bool {
        let is_offered = line.class == Class::Normal && self.is_usable(line) && self.offered(line) > 0;
        if is_offered {
            self.line(line).running.push((call, 1));
        }
        is_offered
    }

    fn release_by_word(&mut self, line: LineId, call: Call) -> bool {
        let is_usable = self.is_usable(line);
        let running = &mut self.line(line).running;
        let place = running.iter().position(|&operation| operation == (call, 1));
        let place = place.filter(|_| is_usable);
        place.map(|place| running.remove(place)).is_some()
    }

    fn expire(&mut self, line: LineId, now: Instant) {
        self.expire_due(line, now);
    }

    fn demand(&self, line: LineId) -> Demand {
        assert!(!self.is_live(line));
        self.lines.get(place(line)).map_or(Demand::NONE, List::demand)
    }

    fn admit_newcomer(&mut self, line: LineId, call: Call, cost: Cost, _now: Instant) {
        self.line(line).running.push((call, cost));
    }

    fn queue(&mut self, line: LineId, call: Call, cost: Cost, deadline: Option<Instant>, _now: Instant) {
        self.line(line).waiting.push((call, cost, deadline));
    }

    fn release(&mut self, line: LineId, call: Call) {
        self.line(line).running.retain(|operation| operation.0 != call);
    }

    fn cancel(&mut self, line: LineId, call: Call, _now: Instant) {
        self.line(line).waiting.retain(|waiter| waiter.0 != call);
    }

    fn hold_up(&mut self, line: LineId) {
        let list = self.line(line);
        list.is_held_up = !list.is_held_up;
    }

    fn forget(&mut self, line: LineId) {
        *self.line(line) = List::default();
    }

    fn take_settled(&mut self) -> Vec<(Call, Settled)> {
        std::mem::take(&mut self.settled)
    }
}
