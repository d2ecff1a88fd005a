//! Calls to an upstream behind a real gate, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bulklink_core::{Answer, Calls, Gate, Grant, Instant, Limits, Request, Reserve, Ticket};

pub const MS: u64 = 1_000_000;

pub struct Upstream {
    pub slots: usize,
    pub waiting_room: usize,
    pub reserve: Reserve,
    /// Whether an operation is given up at its deadline.
    pub is_cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    InTime,
    Late,
    /// Or waiting.
    Rejected,
}

pub struct Run<H> {
    is_cut: bool,
    hold: H,
    gate: Gate<usize>,
    calls: Calls,
    now: u64,
    deadlines: Vec<Option<u64>>,
    /// The ticket of each call that waits, and the grant of each that runs.
    tickets: Vec<Option<Ticket>>,
    grants: Vec<Option<Grant>>,
    /// The operations that run: their end, and the call.
    running: BinaryHeap<Reverse<(u64, usize)>>,
    /// Of each call, and when it was granted.
    pub fates: Vec<(Fate, u64)>,
}

impl<H: FnMut(usize) -> u64> Run<H> {
    /// Asks how long an operation takes when its call is granted.
    pub fn new(upstream: &Upstream, hold: H) -> Self {
        let limits = Limits::new(upstream.slots).with_waiting_room(upstream.waiting_room);
        Run {
            is_cut: upstream.is_cut,
            hold,
            gate: Gate::new(limits).expect("valid"),
            calls: Calls::new(upstream.reserve),
            now: 0,
            deadlines: vec![],
            tickets: vec![],
            grants: vec![],
            running: BinaryHeap::new(),
            fates: vec![],
        }
    }

    /// A call comes then, and may have a time in which all of it is to be over.
    pub fn enter(&mut self, at: u64, budget: Option<u64>) {
        self.pass_until(at);
        let (call, deadline) = (self.fates.len(), budget.map(|budget| at + budget));
        self.deadlines.push(deadline);
        self.tickets.push(None);
        self.grants.push(None);
        self.fates.push((Fate::Rejected, 0));
        let request = deadline.map_or(Request::new(), |at| Request::new().deadline(Instant::from_nanos(at)));
        let answer = self.calls.enter(&mut self.gate, &request, Instant::from_nanos(at)).expect("one unit");
        self.take(call, answer);
        self.wake();
    }

    fn take(&mut self, call: usize, answer: Answer) {
        match answer {
            Answer::Granted(grant) => {
                let (end, deadline) = (self.now + (self.hold)(call), self.deadlines[call].unwrap_or(u64::MAX));
                self.fates[call] = (if end < deadline { Fate::InTime } else { Fate::Late }, self.now);
                self.running.push(Reverse((if self.is_cut { end.min(deadline) } else { end }, call)));
                self.grants[call] = Some(grant);
            }
            Answer::Queued(ticket) => {
                *self.gate.waker_mut(&ticket).expect("it waits") = Some(call);
                self.tickets[call] = Some(ticket);
            }
            Answer::Rejected(_) => {}
            Answer::NeedsNow => unreachable!("the time is known"),
        }
    }

    fn wake(&mut self) {
        while let Some(call) = self.gate.poll_wake() {
            let ticket = self.tickets[call].take().expect("it waited");
            let answer = self.calls.collect(&mut self.gate, ticket);
            self.take(call, answer);
        }
    }

    /// Lets operations end and waits expire until then.
    pub fn pass_until(&mut self, until: u64) {
        loop {
            let ends = self.running.peek().map(|Reverse((end, _))| *end);
            let expires = self.gate.next_deadline().map(Instant::as_nanos);
            let Some(next) = ends.into_iter().chain(expires).min().filter(|&next| next <= until) else { break };
            self.now = next;
            if ends == Some(next) {
                let Reverse((_, call)) = self.running.pop().expect("just seen");
                let grant = self.grants[call].take().expect("it runs");
                self.gate.release(self.calls.end(grant, Instant::from_nanos(next)));
            }
            self.calls.advance(&mut self.gate, Instant::from_nanos(next));
            self.wake();
        }
        self.now = until;
    }
}

pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        Random(0x9E37_79B9_7F4A_7C15)
    }

    /// Returns a number from zero up to one.
    pub fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        count(usize::try_from(self.0 >> 40).expect("24 bits")) / count(1 << 24)
    }

    /// Returns a number around one, in an exponential distribution.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

#[expect(clippy::cast_precision_loss, reason = "small")]
pub fn count(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "less than two days")]
pub fn nanos(nanos: u64) -> f64 {
    nanos as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and less than two days")]
pub fn whole(nanos: f64) -> u64 {
    nanos as u64
}
