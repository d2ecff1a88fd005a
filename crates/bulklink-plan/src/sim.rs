//! The simulation: a gate of `bulklink-core`, and coming events, in virtual time.
//!
//! It decides nothing. It calls the gate as its contract demands, at exact instants.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use bulklink_core::{
    Answer, Calls, Gate, Grant, Instant, InvalidArgument, Limits, Reason, Request, Reserve, Snapshot, Ticket,
};

use crate::Distribution;
use crate::load::{Arrivals, Load, ScriptedCall};
use crate::random::Random;

/// A bulkhead under a load, in virtual time.
///
/// The same seed gives the same calls, whatever the limits are: a call's gap, kind, hold and limit
/// are drawn when it comes. So two limits are compared on the same calls.
///
/// ```
/// use bulklink_plan::{Arrivals, Distribution, Limits, Load, Sim};
/// use std::time::Duration;
///
/// let hold = Distribution::exponential(Duration::from_millis(10));
/// let load = Load::new(Arrivals::poisson(800.0), hold);
/// let mut sim = Sim::new(Limits::new(10), load, 1)?;
/// let mut rejected = 0;
/// sim.run(100_000, |decision| rejected += u64::from(decision.admitted.is_err()));
/// // Erlang's formula has 12.17 %.
/// assert!((11_800..12_600).contains(&rejected));
/// # Ok::<(), bulklink_plan::InvalidArgument>(())
/// ```
#[derive(Debug)]
pub struct Sim {
    gate: Gate<u32>,
    calls: Calls,
    load: Load,
    random: Random,
    now: u64,
    /// Coming events, beside the next call of an open load: the instant, a number that keeps the
    /// order of equal instants, and the event.
    future: BinaryHeap<Reverse<(u64, u64, Next)>>,
    planned: u64,
    next_call: u64,
    /// The calls of a batch that are still to come, at the same instant.
    left_in_batch: u64,
    phase: usize,
    /// The deadline at which the gate was advanced last: never twice at the same.
    advanced: Option<Instant>,
    places: Vec<Place>,
    vacant: Vec<u32>,
    arrivals: u64,
    unit_nanos: u128,
}

/// The decision of the gate on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// The number of the call, in the order of arrival, from zero on.
    pub call: u64,
    /// The number of its kind.
    pub kind: usize,
    /// The units that it costs.
    pub cost: usize,
    /// When it came.
    pub arrived: Instant,
    /// When this was decided.
    pub at: Instant,
    /// How long it holds its slot if it has one.
    pub hold: Duration,
    /// Whether it was admitted, or why it was rejected.
    pub admitted: Result<(), Reason>,
}

impl Decision {
    /// Returns how long the call has waited for the decision.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.at.saturating_since(self.arrived)
    }
}

/// In the order of its variants only where instant and number are equal, which never happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    End(u32),
    Caller,
    Phase,
}

/// A call between its arrival and its end.
#[derive(Debug)]
struct Place {
    decision: Decision,
    ticket: Option<Ticket>,
    grant: Option<Grant>,
}

const NEVER: u64 = u64::MAX;

/// Receives each decision.
type Decided<'a> = &'a mut dyn FnMut(&Decision);

impl Sim {
    /// Creates a bulkhead with these limits, to which no call has come yet.
    ///
    /// # Errors
    ///
    /// If a limit is out of range, if the load has no kind of calls, or if a kind costs more than
    /// the capacity.
    pub fn new(limits: Limits, load: Load, seed: u64) -> Result<Self, InvalidArgument> {
        if load.kinds.is_empty() {
            return Err(InvalidArgument::new("kinds", "none", "must be at least one"));
        }
        for kind in &load.kinds {
            limits.check_cost(&Request::new().cost(kind.cost))?;
        }
        if let Arrivals::Script(calls) = &load.arrivals {
            calls.iter().try_for_each(|call| limits.check_cost(&Request::new().cost(call.cost)))?;
        }
        let mut gate = Gate::new(limits)?;
        gate.measure_waits(true);
        let reserve = load.deadline.map_or(Reserve::None, |(_, reserve)| reserve);
        let mut sim = Sim {
            gate,
            calls: Calls::new(reserve),
            load,
            random: Random::new(seed),
            now: 0,
            future: BinaryHeap::new(),
            planned: 0,
            next_call: NEVER,
            left_in_batch: 0,
            phase: 0,
            advanced: None,
            places: Vec::new(),
            vacant: Vec::new(),
            arrivals: 0,
            unit_nanos: 0,
        };
        sim.begin();
        Ok(sim)
    }

    fn begin(&mut self) {
        match &self.load.arrivals {
            Arrivals::Callers { count, .. } => (0..*count).for_each(|_| self.think()),
            Arrivals::Phases { .. } => self.plan_phase(),
            _ => {}
        }
        self.plan_call();
    }

    /// Runs until so many more calls have come, or until nothing is to come any more. Each decision
    /// is passed on when it is made.
    pub fn run(&mut self, arrivals: u64, mut decided: impl FnMut(&Decision)) {
        self.run_to(self.arrivals.saturating_add(arrivals), &mut decided);
    }

    /// Not generic, so that it is compiled here, as fast as this crate is.
    fn run_to(&mut self, arrivals: u64, decided: Decided<'_>) {
        while self.arrivals < arrivals && self.step(decided) {}
    }

    /// Returns the virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    /// Returns the integral of the units in use over the time so far, in nanoseconds.
    #[must_use]
    pub fn unit_nanos(&self) -> u128 {
        self.unit_nanos
    }

    /// Returns the figures of the bulkhead.
    pub fn snapshot(&mut self) -> Snapshot {
        let mut snapshot = self.gate.snapshot(Some(self.now()));
        self.calls.complete(&mut snapshot);
        snapshot
    }

    /// The next thing that happens. At the same instant, a deadline comes before the end of a call,
    /// and that before a new call. Returns `false` if nothing is to come.
    fn step(&mut self, decided: Decided<'_>) -> bool {
        let planned = self.future.peek().map_or(NEVER, |Reverse((at, ..))| *at);
        let at = planned.min(self.next_call);
        let deadline = self.calls.next_deadline(&self.gate).filter(|due| due.as_nanos() <= at);
        if let Some(due) = deadline.filter(|due| self.advanced != Some(*due)) {
            self.advanced = Some(due);
            self.pass_to(due.as_nanos());
            self.calls.advance(&mut self.gate, due);
        } else if at == NEVER {
            return false;
        } else if planned <= self.next_call {
            self.pass_to(at);
            self.happen(decided);
        } else {
            self.pass_to(at);
            self.arrive(decided);
            self.plan_call();
        }
        self.collect(decided);
        true
    }

    /// Between two inputs the units in use stay the same.
    fn pass_to(&mut self, at: u64) {
        let in_use = self.gate.occupancy().in_use() as u128;
        self.unit_nanos += in_use * u128::from(at - self.now);
        self.now = at;
    }

    fn plan(&mut self, after: u64, next: Next) {
        self.planned += 1;
        self.future.push(Reverse((self.now.saturating_add(after), self.planned, next)));
    }

    fn happen(&mut self, decided: Decided<'_>) {
        let Some(Reverse((_, _, next))) = self.future.pop() else { return };
        match next {
            Next::End(place) => self.end(place),
            Next::Caller => self.arrive(decided),
            Next::Phase => {
                self.phase ^= 1;
                self.plan_phase();
                self.plan_call();
            }
        }
    }

    fn plan_phase(&mut self) {
        let Arrivals::Phases { stay, .. } = &self.load.arrivals else { return };
        let after = Distribution::exponential(*stay).draw(&mut self.random);
        self.plan(after, Next::Phase);
    }

    fn think(&mut self) {
        let Arrivals::Callers { think, .. } = &self.load.arrivals else { return };
        let after = think.draw(&mut self.random);
        self.plan(after, Next::Caller);
    }

    /// Plans the next call of an open load.
    fn plan_call(&mut self) {
        let random = &mut self.random;
        self.next_call = match &self.load.arrivals {
            Arrivals::Single(gap) => self.now.saturating_add(gap.draw(random)),
            Arrivals::Batches { .. } if self.left_in_batch > 0 => {
                self.left_in_batch -= 1;
                self.now
            }
            Arrivals::Batches { gap, size } => {
                self.left_in_batch = random.tries(*size) - 1;
                self.now.saturating_add(gap.draw(random))
            }
            Arrivals::Phases { rates, .. } => {
                let gap = Distribution::exponential_nanos(1e9 / rates[self.phase]);
                self.now.saturating_add(gap.draw(random))
            }
            Arrivals::Callers { .. } => NEVER,
            Arrivals::Script(calls) => self.scripted(calls).map_or(NEVER, |call| call.at.as_nanos().max(self.now)),
        }
    }

    fn scripted<'a>(&self, calls: &'a Arc<[ScriptedCall]>) -> Option<&'a ScriptedCall> {
        calls.get(usize::try_from(self.arrivals).ok()?)
    }

    /// Draws the call that comes now.
    fn draw(&mut self) -> (Decision, Request) {
        let now = self.now();
        let of = |call, kind, cost, hold| Decision { call, kind, cost, arrived: now, at: now, hold, admitted: Ok(()) };
        let (decision, within) = if let Arrivals::Script(calls) = &self.load.arrivals {
            let call = self.scripted(calls).expect("it was planned");
            (of(self.arrivals, 0, call.cost, call.hold), call.within)
        } else {
            let kind = self.draw_kind();
            let hold = Duration::from_nanos(self.load.kinds[kind].hold.draw(&mut self.random));
            let within = self.load.within.as_ref().map(|within| Duration::from_nanos(within.draw(&mut self.random)));
            (of(self.arrivals, kind, self.load.kinds[kind].cost, hold), within)
        };
        let request = Request::new().cost(decision.cost);
        let request = within.map_or(request, |within| request.within(within));
        let deadline = self.load.deadline.map(|(time, _)| now + time);
        (decision, deadline.map_or(request, |deadline| request.deadline(deadline)))
    }

    fn draw_kind(&mut self) -> usize {
        let kinds = &self.load.kinds;
        if kinds.len() == 1 {
            return 0;
        }
        let mut left = self.random.unit() * kinds.iter().map(|kind| kind.weight).sum::<f64>();
        let found = kinds.iter().position(|kind| {
            left -= kind.weight;
            left < 0.0
        });
        found.unwrap_or(kinds.len() - 1)
    }

    fn arrive(&mut self, decided: Decided<'_>) {
        let ((decision, request), now) = (self.draw(), self.now());
        self.arrivals += 1;
        let place = self.place(decision);
        let answer = self.calls.enter(&mut self.gate, &request, now).expect("costs are checked at the beginning");
        if let Answer::Queued(ticket) = &answer {
            self.gate.waker_mut(ticket).expect("it waits").replace(place);
        }
        self.answer(place, answer, decided);
    }

    fn place(&mut self, decision: Decision) -> u32 {
        let place = Place { decision, ticket: None, grant: None };
        if let Some(vacant) = self.vacant.pop() {
            self.places[vacant as usize] = place;
            return vacant;
        }
        self.places.push(place);
        u32::try_from(self.places.len() - 1).expect("fewer calls than 2^32 at a time")
    }

    /// The answer to a call: at once, or when its ticket is settled.
    fn answer(&mut self, place: u32, answer: Answer, decided: Decided<'_>) {
        let (now, here) = (self.now(), &mut self.places[place as usize]);
        here.decision.at = now;
        match answer {
            Answer::Queued(ticket) => here.ticket = Some(ticket),
            Answer::Granted(grant) => {
                here.grant = Some(grant);
                let hold = u64::try_from(here.decision.hold.as_nanos()).unwrap_or(NEVER);
                decided(&here.decision);
                self.plan(hold, Next::End(place));
            }
            Answer::Rejected(rejection) => {
                here.decision.admitted = Err(rejection.reason());
                decided(&here.decision);
                self.leave(place);
            }
            Answer::NeedsNow => unreachable!("the time is passed"),
        }
    }

    fn end(&mut self, place: u32) {
        let (now, grant) = (self.now(), self.places[place as usize].grant.take().expect("it runs"));
        self.gate.release(self.calls.end(grant, now));
        if self.gate.wants_now() {
            self.calls.advance(&mut self.gate, now);
        }
        self.leave(place);
    }

    fn leave(&mut self, place: u32) {
        self.vacant.push(place);
        self.think();
    }

    /// Collects the tickets that were settled.
    fn collect(&mut self, decided: Decided<'_>) {
        while let Some(place) = self.gate.poll_wake() {
            let ticket = self.places[place as usize].ticket.take().expect("it waited");
            let answer = self.calls.collect(&mut self.gate, ticket);
            self.answer(place, answer, decided);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn bursts() -> Load {
        let mut load = Load::new(Arrivals::phases(900.0, 4.0, MS(50)), Distribution::exponential(MS(10)));
        let hold = Distribution::quantiles(MS(5), MS(50)).unwrap();
        load.kinds.push(Kind { weight: 0.5, cost: 3, hold });
        load.within = Some(Distribution::exponential(MS(20)));
        load
    }

    #[test]
    fn the_same_seed_gives_the_same_calls_whatever_the_limits_are() {
        let calls = |limits| {
            let (mut sim, mut calls) = (Sim::new(limits, bursts(), 3).unwrap(), vec![None; 20_000]);
            sim.run(20_000, |decision| {
                let Decision { call, kind, cost, arrived, hold, .. } = *decision;
                calls[usize::try_from(call).unwrap()] = Some((kind, cost, arrived, hold));
            });
            calls
        };
        let (few, many) = (calls(Limits::new(3)), calls(Limits::new(9).with_waiting_room(20)));
        let both = few.iter().zip(&many).filter(|(few, many)| few.is_some() && many.is_some());
        assert!(both.clone().count() > 19_900 && both.clone().all(|(few, many)| few == many));
    }

    #[test]
    fn calls_that_no_bulkhead_could_admit_are_refused() {
        let text = |limits, load| Sim::new(limits, load, 1).unwrap_err().to_string();
        assert_eq!(text(Limits::new(2), bursts()), "cost must be from 1 to the capacity, 2, got 3");
        let none = Load { kinds: vec![], ..bursts() };
        assert_eq!(text(Limits::new(3), none), "kinds must be at least one, got none");
        let call = ScriptedCall { at: Instant::EPOCH, hold: MS(1), cost: 0, within: None };
        let script = Load::new(Arrivals::Script([call].into()), Distribution::constant(MS(1)));
        assert!(Sim::new(Limits::new(1), script, 1).is_err());
    }

    #[test]
    fn what_never_ends_ends_the_run() {
        let hold = Distribution::constant(Duration::MAX);
        let load = Load::new(Arrivals::callers(3, Distribution::constant(MS(1))), hold);
        let mut sim = Sim::new(Limits::new(3), load, 1).unwrap();
        let mut admitted = 0;
        sim.run(u64::MAX, |decision| admitted += u32::from(decision.admitted.is_ok()));
        assert_eq!((admitted, sim.snapshot().in_flight, sim.now().as_nanos()), (3, 3, 1_000_000));
    }
}
