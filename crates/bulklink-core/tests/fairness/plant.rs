//! Calls of several sources to one pool, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bulklink_core::Instant;
use bulklink_core::pool::{Class, Share};

use crate::HOLD;
use crate::front::{Front, Line};

/// The nanoseconds of a second.
const SECOND: f64 = 1e9;

/// The calls of one key. Their operations take a time in an exponential distribution.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub share: Share,
    pub class: Class,
    pub cost: u32,
    /// The mean time of an operation, in seconds.
    pub hold: f64,
    pub arrivals: Arrivals,
}

#[derive(Clone, Copy, Debug)]
pub enum Arrivals {
    /// So many times per second, at random, so many calls at once.
    Open { rate: f64, at_once: usize },
    /// From so many clients, each of which calls again at once when its operation has ended.
    Closed { clients: usize },
}

impl Source {
    pub fn open(rate: f64) -> Self {
        Source::of(Arrivals::Open { rate, at_once: 1 })
    }

    pub fn closed(clients: usize) -> Self {
        Source::of(Arrivals::Closed { clients })
    }

    pub fn of(arrivals: Arrivals) -> Self {
        Source { share: Share::PLAIN, class: Class::Normal, cost: 1, hold: HOLD, arrivals }
    }

    pub fn holds(self, hold: f64) -> Self {
        Source { hold, ..self }
    }

    pub fn costs(self, cost: u32) -> Self {
        Source { cost, ..self }
    }

    pub fn class(self, class: Class) -> Self {
        Source { class, ..self }
    }

    pub fn weight(mut self, weight: u32) -> Self {
        self.share.weight = weight;
        self
    }
}

/// What came of the calls of each source after the first tenth of a run.
pub struct Figures {
    pub tallies: Vec<Tally>,
    /// The counted time.
    time: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub asked: u64,
    /// The nanoseconds that each admitted call waited.
    pub waits: Vec<u64>,
    /// The nanoseconds of all operations within the counted time.
    busy: u128,
}

impl Tally {
    pub fn success(&self) -> f64 {
        float(self.waits.len() as u64) / float(self.asked)
    }

    /// Returns a quantile of the waits, in milliseconds.
    pub fn quantile(&mut self, part: f64) -> f64 {
        self.waits.sort_unstable();
        let last = float(self.waits.len() as u64 - 1);
        float(self.waits[index(last * part)]) / 1e6
    }

    /// Returns the mean of the waits, in milliseconds.
    pub fn mean(&self) -> f64 {
        float(self.waits.iter().sum()) / float(self.waits.len() as u64) / 1e6
    }
}

impl Figures {
    /// Returns the tally of several sources.
    pub fn of(&self, sources: impl IntoIterator<Item = usize>) -> Tally {
        let mut sum = Tally::default();
        for tally in sources.into_iter().map(|source| &self.tallies[source]) {
            sum.asked += tally.asked;
            sum.waits.extend(&tally.waits);
            sum.busy += tally.busy;
        }
        sum
    }

    /// Returns how many operations of each source ran, in the mean over time.
    pub fn running(&self) -> Vec<f64> {
        self.tallies.iter().map(|tally| float_of(tally.busy) / self.time).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival { source: usize },
    End { call: usize },
    Deadline { call: usize },
}

struct Call {
    source: usize,
    asked: u64,
    waits: bool,
}

struct Run<'a> {
    sources: &'a [Source],
    random: Random,
    warm: u64,
    end: u64,
    now: u64,
    /// By time; of equal ones the first to be noted.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    noted: u64,
    calls: Vec<Call>,
    tallies: Vec<Tally>,
}

/// Runs the sources for this time. The wait of each call has this limit, in seconds.
pub fn run<L: Line>(
    front: &mut Front<L>,
    sources: &[Source],
    seconds: f64,
    wait_limit: Option<f64>,
    seed: u64,
) -> Figures {
    let end = whole(seconds * SECOND);
    let mut run = Run {
        sources,
        random: Random::new(seed),
        warm: end / 10,
        end,
        now: 0,
        events: BinaryHeap::new(),
        noted: 0,
        calls: vec![],
        tallies: vec![Tally::default(); sources.len()],
    };
    run.begin();
    let wait_limit = wait_limit.map(|limit| whole(limit * SECOND));
    while let Some(Reverse((at, _, event))) = run.events.pop().filter(|Reverse((at, ..))| *at < end) {
        run.now = at;
        let now = Instant::from_nanos(at);
        match event {
            Event::Arrival { source } => run.arrive(front, source, wait_limit),
            Event::End { call } => {
                let source = run.calls[call].source;
                front.release(source, call, now);
                if let Arrivals::Closed { .. } = sources[source].arrivals {
                    run.note(at, Event::Arrival { source });
                }
            }
            Event::Deadline { call } => {
                if run.calls[call].waits {
                    front.expire(run.calls[call].source, now);
                }
            }
        }
        while let Some((call, is_admitted)) = front.settled() {
            run.calls[call].waits = false;
            if is_admitted {
                run.start(call);
            }
        }
    }
    Figures { tallies: run.tallies, time: float(end - run.warm) }
}

impl Run<'_> {
    fn note(&mut self, at: u64, event: Event) {
        self.noted += 1;
        self.events.push(Reverse((at, self.noted, event)));
    }

    fn begin(&mut self) {
        for (source, of) in self.sources.iter().enumerate() {
            match of.arrivals {
                Arrivals::Open { rate, .. } => self.note_next(source, rate),
                Arrivals::Closed { clients } => {
                    (0..clients as u64).for_each(|at| self.note(at, Event::Arrival { source }));
                }
            }
        }
    }

    /// Notes the next arrival of an open source.
    fn note_next(&mut self, source: usize, rate: f64) {
        let gap = whole(self.random.exponential() * SECOND / rate);
        self.note(self.now + gap, Event::Arrival { source });
    }

    fn arrive<L: Line>(&mut self, front: &mut Front<L>, source: usize, wait_limit: Option<u64>) {
        let at_once = match self.sources[source].arrivals {
            Arrivals::Open { rate, at_once } => {
                self.note_next(source, rate);
                at_once
            }
            Arrivals::Closed { .. } => 1,
        };
        for _ in 0..at_once {
            let call = self.calls.len();
            self.calls.push(Call { source, asked: self.now, waits: false });
            self.tallies[source].asked += u64::from(self.now >= self.warm);
            let deadline = wait_limit.map(|limit| self.now + limit);
            let far = deadline.map_or(Instant::FAR_FUTURE, Instant::from_nanos);
            match front.enter(source, call, far, Instant::from_nanos(self.now)) {
                Some(true) => self.start(call),
                Some(false) => {}
                None => {
                    self.calls[call].waits = true;
                    if let Some(deadline) = deadline {
                        self.note(deadline, Event::Deadline { call });
                    }
                }
            }
        }
    }

    /// An operation begins.
    fn start(&mut self, call: usize) {
        let Call { source, asked, .. } = self.calls[call];
        let end = self.now + 1 + whole(self.random.exponential() * self.sources[source].hold * SECOND);
        let tally = &mut self.tallies[source];
        if asked >= self.warm {
            tally.waits.push(self.now - asked);
        }
        tally.busy += u128::from(end.min(self.end).saturating_sub(self.now.max(self.warm)));
        self.note(end, Event::End { call });
    }
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        // The first numbers of small seeds are alike.
        (0..10).for_each(|_| _ = random.unit());
        random
    }

    /// Returns a number between zero and one.
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (float(self.0 >> 11) + 0.5) / float(1 << 53)
    }

    /// Returns a number around one, in an exponential distribution.
    fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most 2⁵³")]
pub fn float(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "a relative error of 2⁻⁵³")]
fn float_of(number: u128) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and less than 2⁵³")]
fn whole(number: f64) -> u64 {
    number as u64
}

fn index(number: f64) -> usize {
    usize::try_from(whole(number)).expect("an index")
}
