//! Lines that are gates with their words: calls of one class or of several.

use std::collections::BTreeMap;

use bulklink_core::plumbing::Word;
use bulklink_core::pool::{Class, Demand, LineId, Lines};
use bulklink_core::{Answer, Gate, Grant, Instant, Limits, Reason, Request, Ticket};

use super::lines::{Driven, Settled};
use super::model::{CLASSES, Call, Cost};

/// All lines, by the number of the key and the class.
#[derive(Debug, Default)]
pub struct Gates {
    lines: BTreeMap<usize, Line>,
    settled: Vec<(Call, Settled)>,
}

#[derive(Debug)]
struct Line {
    gate: Gate<Call>,
    /// The word, and the units that are lent with it, while it is live.
    live: Option<(Word, u32)>,
    grants: BTreeMap<Call, (Grant, u32)>,
    tickets: BTreeMap<Call, (Ticket, u32)>,
}

impl Line {
    fn new() -> Self {
        let mut gate = Gate::new(Limits::new(1_000).with_waiting_room(1_000)).expect("valid limits");
        gate.lend(0);
        Line { gate, live: None, grants: BTreeMap::new(), tickets: BTreeMap::new() }
    }

    fn fold(&mut self) {
        if let Some((word, _)) = self.live.take() {
            self.gate.fold(word);
            self.gate.lend(0);
        }
    }

    fn in_use(&self) -> u32 {
        self.grants.values().map(|grant| grant.1).sum()
    }

    fn answered(&mut self, call: Call, cost: u32, answer: Answer) {
        match answer {
            Answer::Granted(grant) => {
                self.grants.insert(call, (grant, cost));
            }
            Answer::Queued(ticket) => {
                *self.gate.waker_mut(&ticket).expect("it waits") = Some(call);
                self.tickets.insert(call, (ticket, cost));
            }
            other => panic!("an answer to a call that was prepared for, but {other:?}"),
        }
    }
}

impl Gates {
    fn line(&mut self, line: LineId) -> &mut Line {
        self.lines.entry(place(line)).or_insert_with(Line::new)
    }

    fn get(&self, line: LineId) -> Option<&Line> {
        self.lines.get(&place(line))
    }

    /// Collects the calls that have been woken.
    fn settle(&mut self, id: LineId) {
        let line = self.lines.entry(place(id)).or_insert_with(Line::new);
        while let Some(call) = line.gate.poll_wake() {
            let (ticket, cost) = line.tickets.remove(&call).expect("it has waited");
            let settled = match line.gate.collect(ticket) {
                Answer::Granted(grant) => {
                    line.grants.insert(call, (grant, cost));
                    Settled::Admitted
                }
                Answer::Rejected(rejection) if rejection.reason() == Reason::Displaced => Settled::Displaced,
                Answer::Rejected(rejection) if rejection.reason() == Reason::Expired => Settled::Expired,
                other => panic!("a call that was woken is settled, but {other:?}"),
            };
            self.settled.push((call, settled));
        }
    }
}

fn place(LineId { key, class }: LineId) -> usize {
    key.number() * CLASSES + class as usize
}

impl Lines for Gates {
    fn recall(&mut self, id: LineId) -> Demand {
        let line = self.line(id);
        assert!(line.live.is_some(), "only live words are recalled");
        line.fold();
        line.gate.demand()
    }

    fn admit(&mut self, id: LineId, cost: Cost, now: Instant) -> (bool, Demand) {
        let line = self.line(id);
        assert!(line.live.is_none(), "no word is live while any line waits for its turn");
        let is_admitted = line.gate.admit_first(cost, now);
        let demand = line.gate.demand();
        self.settle(id);
        (is_admitted, demand)
    }

    fn largest_cost(&mut self, id: LineId) -> Cost {
        let largest = self.line(id).gate.largest_waiting_cost();
        u32::try_from(largest).expect("it fits the gate")
    }

    fn displace(&mut self, id: LineId, now: Instant) -> Demand {
        let line = self.line(id);
        assert!(line.gate.displace_last(now), "a waiter to displace");
        let demand = line.gate.demand();
        self.settle(id);
        demand
    }
}

impl Driven for Gates {
    const HOLDS_UP: bool = false;

    fn fold(&mut self, id: LineId) {
        self.line(id).fold();
    }

    fn publish(&mut self, id: LineId, lent: Option<u32>) {
        let line = self.line(id);
        line.gate.lend(lent.unwrap_or(0));
        line.live = lent.map(|lent| (line.gate.publish(), lent));
    }

    fn offered(&self, id: LineId) -> u32 {
        self.get(id).and_then(|line| Some(line.live?.1 - line.in_use())).unwrap_or(0)
    }

    fn is_live(&self, id: LineId) -> bool {
        self.get(id).is_some_and(|line| line.live.is_some())
    }

    fn enter_by_word(&mut self, id: LineId, call: Call) -> bool {
        let line = self.line(id);
        let acquired = line.live.filter(|_| id.class == Class::Normal).and_then(|live| live.0.acquire());
        let Some((word, grant)) = acquired else { return false };
        line.live = line.live.map(|(_, lent)| (word, lent));
        line.grants.insert(call, (grant, 1));
        true
    }

    fn release_by_word(&mut self, id: LineId, call: Call) -> bool {
        let line = self.line(id);
        let Some((word, lent)) = line.live.filter(|(word, _)| word.has_released(&line.grants[&call].0)) else {
            return false;
        };
        line.grants.remove(&call);
        line.live = Some((Word::from_bits(word.to_bits() + Word::RELEASE), lent));
        true
    }

    fn expire(&mut self, id: LineId, now: Instant) {
        self.line(id).gate.advance(Some(now));
        self.settle(id);
    }

    fn demand(&self, id: LineId) -> Demand {
        self.get(id).map_or(Demand::NONE, |line| line.gate.demand())
    }

    fn admit_newcomer(&mut self, id: LineId, call: Call, cost: Cost, now: Instant) {
        let line = self.line(id);
        let in_use = line.gate.demand().in_use;
        line.gate.lend(in_use + cost);
        let answer = line.gate.enter(&Request::new().cost(cost as usize), Some(now)).expect("a valid cost");
        assert!(matches!(answer, Answer::Granted(_)), "it is lent its units");
        line.answered(call, cost, answer);
        line.gate.lend(0);
    }

    fn queue(&mut self, id: LineId, call: Call, cost: Cost, deadline: Option<Instant>, now: Instant) {
        let mut request = Request::new().cost(cost as usize);
        if let Some(deadline) = deadline {
            request = request.before(deadline);
        }
        let line = self.line(id);
        let answer = line.gate.enter(&request, Some(now)).expect("a valid cost");
        assert!(matches!(answer, Answer::Queued(_)), "it is lent no units");
        line.answered(call, cost, answer);
    }

    fn release(&mut self, id: LineId, call: Call) {
        let line = self.line(id);
        let (grant, _) = line.grants.remove(&call).expect("it runs");
        line.gate.release(grant);
    }

    fn cancel(&mut self, id: LineId, call: Call, now: Instant) {
        let line = self.line(id);
        let (ticket, _) = line.tickets.remove(&call).expect("it waits");
        let waker = line.gate.cancel(ticket, Some(now)).expect("the time is given");
        assert_eq!(waker, Some(call));
    }

    fn hold_up(&mut self, _id: LineId) {
        unreachable!("no script of gates has it");
    }

    fn forget(&mut self, id: LineId) {
        self.lines.remove(&place(id));
    }

    fn take_settled(&mut self) -> Vec<(Call, Settled)> {
        std::mem::take(&mut self.settled)
    }
}
