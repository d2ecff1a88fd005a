//! How much of what an upstream can answer is answered in time, with a deadline for each call: a
//! simulation with the real gate, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use bulklink_core::{Answer, Calls, Gate, Grant, Instant, Limits, Request, Reserve, Ticket};

const MS: u64 = 1_000_000;
const SLOTS: usize = 16;
/// The mean time of an operation.
const MEAN: u64 = 50 * MS;
/// How long calls come, after a time in which nothing is counted.
const WARM_UP: u64 = 5_000 * MS;
const COUNTED: u64 = 15_000 * MS;

/// An upstream: the time that each call has in all, and how long operations take.
struct Upstream {
    name: &'static str,
    budget: u64,
    hold: fn(&mut Random) -> f64,
}

const UPSTREAMS: [Upstream; 8] = [
    Upstream { name: "constant, little time", budget: 80 * MS, hold: |_| 1.0 },
    Upstream { name: "constant", budget: 130 * MS, hold: |_| 1.0 },
    Upstream { name: "spread by 10 %", budget: 130 * MS, hold: |random| 0.9 + 0.2 * random.unit() },
    Upstream { name: "spread by 30 %", budget: 200 * MS, hold: |random| 0.7 + 0.6 * random.unit() },
    Upstream { name: "spread by 90 %", budget: 300 * MS, hold: |random| 0.1 + 1.8 * random.unit() },
    Upstream { name: "exponential", budget: 500 * MS, hold: |random| -(1.0 - random.unit()).ln() },
    Upstream { name: "two kinds", budget: 400 * MS, hold: |random| if random.unit() < 0.9 { 0.5 } else { 5.5 } },
    Upstream { name: "much time", budget: 2_000 * MS, hold: |random| 0.5 + random.unit() },
];

/// Calls per unit of time that the upstream can answer.
const LOADS: [f64; 6] = [0.5, 0.9, 1.2, 2.0, 4.0, 10.0];

#[test]
fn by_lateness_nearly_all_that_can_be_answered_is_answered_in_time() {
    let by_lateness = geometric_mean(Reserve::ByLateness);
    let fixed = geometric_mean(Reserve::Fixed(Duration::from_nanos(MEAN / 10 * 11)));
    let without = geometric_mean(Reserve::None);
    println!("goodput: {by_lateness:.3} by lateness, {fixed:.3} fixed, {without:.3} without a reserve");
    assert!(by_lateness > 0.97 && by_lateness > fixed, "{by_lateness}, {fixed}");
    assert!(without < 0.2, "{without}");
}

/// Returns the geometric mean over all upstreams and loads of the goodput.
fn geometric_mean(reserve: Reserve) -> f64 {
    let mut logarithms = 0.0;
    for upstream in &UPSTREAMS {
        let goodputs = LOADS.map(|load| goodput(upstream, load, reserve));
        println!("{reserve:?}, {}: {goodputs:.3?}", upstream.name);
        logarithms += goodputs.iter().map(|goodput| goodput.max(0.001).ln()).sum::<f64>();
    }
    (logarithms / count(UPSTREAMS.len() * LOADS.len())).exp()
}

/// Returns the number of calls that were answered in time, per call that came or could have been
/// answered, whichever is less.
fn goodput(upstream: &Upstream, load: f64, reserve: Reserve) -> f64 {
    let mut run = Run::new(upstream, reserve);
    let interval = count(1) * nanos(MEAN) / (count(SLOTS) * load);
    let mut next = 0.0;
    while next < nanos(WARM_UP + COUNTED) {
        run.pass_until(whole(next));
        run.enter();
        // Calls come at random.
        next -= interval * (1.0 - run.random.unit()).ln();
    }
    let possible = load.min(1.0) * count(SLOTS) * nanos(COUNTED) / nanos(MEAN);
    count(run.in_time) / possible
}

struct Run<'a> {
    upstream: &'a Upstream,
    random: Random,
    gate: Gate<usize>,
    calls: Calls,
    now: u64,
    /// The deadline and the ticket of each call, while it has one.
    came: Vec<(u64, Option<Ticket>)>,
    /// The operations that run: their end, and the call.
    running: BinaryHeap<Reverse<(u64, usize)>>,
    grants: Vec<Option<Grant>>,
    in_time: usize,
}

impl<'a> Run<'a> {
    fn new(upstream: &'a Upstream, reserve: Reserve) -> Self {
        // So large that only the deadlines bound the queue.
        let limits = Limits::new(SLOTS).with_waiting_room(100 * SLOTS);
        Run {
            upstream,
            random: Random(0x9E37_79B9_7F4A_7C15),
            gate: Gate::new(limits).expect("valid"),
            calls: Calls::new(reserve),
            now: 0,
            came: vec![],
            running: BinaryHeap::new(),
            grants: vec![],
            in_time: 0,
        }
    }

    fn enter(&mut self) {
        let deadline = self.now + self.upstream.budget;
        let request = Request::new().deadline(Instant::from_nanos(deadline));
        let call = self.came.len();
        self.came.push((deadline, None));
        self.grants.push(None);
        let answer = self.calls.enter(&mut self.gate, &request, Instant::from_nanos(self.now)).expect("one unit");
        self.take(call, answer);
        self.wake();
    }

    fn take(&mut self, call: usize, answer: Answer) {
        match answer {
            Answer::Granted(grant) => {
                let hold = whole((self.upstream.hold)(&mut self.random) * nanos(MEAN));
                // A call is given up at its deadline.
                let (deadline, end) = (self.came[call].0, self.now + hold);
                self.in_time += usize::from(end < deadline && self.now >= WARM_UP);
                self.running.push(Reverse((end.min(deadline), call)));
                self.grants[call] = Some(grant);
            }
            Answer::Queued(ticket) => {
                *self.gate.waker_mut(&ticket).expect("it waits") = Some(call);
                self.came[call].1 = Some(ticket);
            }
            Answer::Rejected(_) => {}
            Answer::NeedsNow => unreachable!("the time is known"),
        }
    }

    fn wake(&mut self) {
        while let Some(call) = self.gate.poll_wake() {
            let ticket = self.came[call].1.take().expect("it waited");
            let answer = self.calls.collect(&mut self.gate, ticket);
            self.take(call, answer);
        }
    }

    /// Lets operations end and waits expire until then.
    fn pass_until(&mut self, until: u64) {
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

struct Random(u64);

impl Random {
    /// Returns a number from zero up to one.
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        count(usize::try_from(self.0 >> 40).expect("24 bits")) / count(1 << 24)
    }
}

#[expect(clippy::cast_precision_loss, reason = "small")]
fn count(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "less than two days")]
fn nanos(nanos: u64) -> f64 {
    nanos as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and less than two days")]
fn whole(nanos: f64) -> u64 {
    nanos as u64
}
