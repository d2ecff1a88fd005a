//! One run of the simulation: processes, a server, and messages that take half a round trip.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink_fleet::share::{
    Allocator, Connection, Declaration, Demand, Notice, Policy, Reply, Share, Statement, Terms, Tuning,
};
use bulklink_fleet::{ProcessId, ServerTime};
use fastrand::Rng;

use super::Scheme;
use super::bulkhead::{Bulkhead, Entered};
use super::load::{Case, hot};
use super::measure::Measured;

/// The server's clock is this much ahead, in microseconds.
const SERVER_AHEAD: u64 = 1_000_000_000;

/// The time after which a client calls again, in microseconds.
const THINK: u64 = 10;

#[derive(Debug)]
enum Event {
    Arrive(usize),
    End(usize),
    /// A process looks at its share.
    Look(usize),
    Statement(Statement),
    Reply(usize, Reply),
    Notice(usize, Notice),
    /// A call reaches the server of the scheme without shares, and its units come back.
    Ask(usize, u64),
    Granted(usize, u64),
    Returned,
}

struct Process {
    bulkhead: Bulkhead,
    share: Share,
    policy: Policy,
    /// When it looks again, if nothing happens before.
    look: u64,
}

pub(super) struct World {
    case: Case,
    scheme: Scheme,
    half: u64,
    now: u64,
    events: BTreeMap<(u64, u64), Event>,
    /// The number of events so far, which orders those of one time.
    count: u64,
    processes: Vec<Process>,
    server: Allocator,
    /// The queue of the scheme without shares, and its units in use.
    queue: VecDeque<(usize, u64)>,
    taken: u32,
    running: u32,
    random: Rng,
    measured: Measured,
    /// The last second in which a hot process got half of the limit.
    moved: u64,
}

impl World {
    pub(super) fn new(case: Case, scheme: Scheme, round_trip: u64) -> Self {
        let part = case.limit / u32::try_from(case.processes).unwrap_or(u32::MAX);
        let declaration = Declaration { config: 1, limit: case.limit, terms: Terms::default() };
        let process = |number| {
            let tuning = if let Scheme::Shares(tuning) = scheme { tuning } else { Tuning::default() };
            let ceiling = if scheme == Scheme::Split { part } else { 0 };
            Process {
                bulkhead: Bulkhead::new(ceiling, case.room),
                share: Share::new(ProcessId::from(number as u128), 1, declaration),
                policy: Policy::new(tuning),
                look: u64::MAX,
            }
        };
        let measured = Measured {
            limit: case.limit,
            span: case.time - case.time * 3 / 10,
            shares: vec![0; case.processes],
            ..Measured::default()
        };
        Self {
            case,
            scheme,
            half: round_trip / 2,
            now: 0,
            events: BTreeMap::new(),
            count: 0,
            processes: (0..case.processes).map(process).collect(),
            server: Allocator::default(),
            queue: VecDeque::new(),
            taken: 0,
            running: 0,
            random: Rng::with_seed(7),
            measured,
            moved: 0,
        }
    }

    pub(super) fn run(mut self) -> Measured {
        for process in 0..self.case.processes {
            let start = process as u64;
            for client in 0..self.case.load.clients(process) {
                self.at(u64::from(client) * 97 + start * 31, Event::Arrive(process));
            }
            if !self.case.load.is_closed() {
                self.next_arrival(process);
            }
            if matches!(self.scheme, Scheme::Shares(_)) {
                self.at(start * 997 % 1_000_000, Event::Look(process));
            }
        }
        while let Some(((time, _), event)) = self.events.pop_first().filter(|((time, _), _)| *time < self.case.time) {
            self.pass(time);
            self.handle(event);
        }
        self.measured
    }

    fn at(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    fn after(&mut self, time: u64, event: Event) {
        self.at(self.now + time, event);
    }

    /// Whether the time to warm up is over.
    fn is_measured(&self) -> bool {
        self.now >= self.case.time * 3 / 10
    }

    fn pass(&mut self, time: u64) {
        if self.is_measured() {
            self.measured.busy += (time - self.now) * u64::from(self.running);
        }
        self.now = time;
    }

    /// Returns a random time with this mean.
    fn exponential(&mut self, mean: f64) -> u64 {
        (-mean * (1.0 - self.random.f64()).ln()).clamp(1.0, 1e6) as u64
    }

    fn next_arrival(&mut self, process: usize) {
        let rate = self.case.load.rate(&self.case, process, self.now);
        let time = self.exponential(1.0 / rate.max(1e-9));
        self.after(time, Event::Arrive(process));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive(process) => {
                if !self.case.load.is_closed() {
                    self.next_arrival(process);
                }
                self.arrive(process);
            }
            Event::End(process) => self.end(process),
            Event::Look(process) => self.look(process),
            Event::Statement(statement) => self.sync(&statement),
            Event::Reply(process, reply) => {
                let now = self.instant();
                self.processes[process].share.take(now, &reply);
                self.look(process);
                self.note_move(process);
            }
            Event::Notice(process, notice) => {
                let now = self.instant();
                self.processes[process].share.take_notice(now, &notice);
                self.look(process);
                self.note_move(process);
            }
            Event::Ask(process, arrived) => {
                self.queue.push_back((process, arrived));
                let is_push = self.queue.len() > 1 || self.taken >= self.case.limit;
                self.serve();
                // A free unit comes with the reply.
                self.measured.pushes -= u64::from(!is_push && self.is_measured());
            }
            Event::Granted(process, arrived) => self.start(process, arrived),
            Event::Returned => {
                self.taken -= 1;
                self.serve();
            }
        }
    }

    fn arrive(&mut self, process: usize) {
        if self.scheme == Scheme::PerCall {
            if self.queue.len() >= self.case.room * self.case.processes {
                return self.reject(process);
            }
            self.measured.commands += u64::from(self.is_measured());
            return self.after(self.half, Event::Ask(process, self.now));
        }
        match self.processes[process].bulkhead.enter(self.now) {
            Entered::Admitted => self.start(process, self.now),
            Entered::Queued => {}
            Entered::Rejected => self.reject(process),
        }
        self.look(process);
    }

    fn reject(&mut self, process: usize) {
        self.measured.rejected += u64::from(self.is_measured());
        if self.case.load.is_closed() {
            self.after(1_000, Event::Arrive(process));
        }
    }

    fn start(&mut self, process: usize, arrived: u64) {
        self.running += 1;
        self.measured.over += u64::from(self.running > self.case.limit);
        if self.is_measured() {
            self.measured.admitted += 1;
            self.measured.shares[process] += 1;
            self.measured.waits.push(self.now - arrived);
        }
        let hold = if self.case.load.is_closed() { self.case.hold as u64 } else { self.exponential(self.case.hold) };
        self.after(hold, Event::End(process));
    }

    fn end(&mut self, process: usize) {
        self.running -= 1;
        if self.case.load.is_closed() {
            self.after(THINK, Event::Arrive(process));
        }
        if self.scheme == Scheme::PerCall {
            self.measured.commands += u64::from(self.is_measured());
            return self.after(self.half, Event::Returned);
        }
        self.processes[process].bulkhead.leave();
        self.admit(process);
        self.look(process);
    }

    /// Starts the calls that wait, as far as units are free.
    fn admit(&mut self, process: usize) {
        while let Some(arrived) = self.processes[process].bulkhead.admit() {
            self.start(process, arrived);
        }
    }

    /// Hands out the units of the scheme without shares.
    fn serve(&mut self) {
        while self.taken < self.case.limit {
            let Some((process, arrived)) = self.queue.pop_front() else { return };
            self.taken += 1;
            self.measured.pushes += u64::from(self.is_measured());
            self.after(self.half, Event::Granted(process, arrived));
        }
    }

    fn instant(&self) -> Instant {
        Instant::EPOCH.saturating_add(Duration::from_micros(self.now))
    }

    /// Carries out the decisions of the policy of a process.
    fn look(&mut self, number: usize) {
        if !matches!(self.scheme, Scheme::Shares(_)) {
            return;
        }
        let now = self.instant();
        loop {
            let process = &mut self.processes[number];
            let bulkhead = &mut process.bulkhead;
            let current = bulkhead.in_use + bulkhead.waiting();
            let mut load = bulklink::Load::default();
            load.capacity = self.case.limit as usize;
            load.in_use = bulkhead.in_use as usize;
            load.waiting = bulkhead.waiting().into();
            load.first = usize::from(bulkhead.waiting() > 0);
            load.refused = std::mem::take(&mut bulkhead.refused).into();
            load.peak_in_use = std::mem::replace(&mut bulkhead.peak, current) as usize;
            process.share.lapse(now);
            let decision = process.policy.look(now, &load, &process.share);
            bulkhead.ceiling = decision.ceiling;
            self.admit(number);
            if let Some(demand) = decision.demand {
                self.state(number, demand);
            }
            match decision.next {
                Some(next) if next <= now => {}
                next => return self.wake(number, next),
            }
        }
    }

    fn state(&mut self, number: usize, demand: Demand) {
        let now = self.instant();
        let process = &mut self.processes[number];
        let keep = demand.keep.max(process.bulkhead.in_use);
        let statement = process.share.send(now, Connection::default(), Demand { keep, ..demand });
        self.measured.commands += u64::from(self.is_measured());
        self.after(self.half, Event::Statement(statement));
    }

    /// Looks again at this time, unless it does so before.
    fn wake(&mut self, number: usize, next: Option<Instant>) {
        let Some(next) = next else { return };
        let time = next.as_nanos().div_ceil(1_000);
        let look = &mut self.processes[number].look;
        if *look <= self.now || time < *look {
            *look = time;
            self.at(time, Event::Look(number));
        }
    }

    fn sync(&mut self, statement: &Statement) {
        let mut notices = vec![];
        let mut publish = |notice| {
            notices.push(notice);
            true
        };
        let reply = self.server.sync(ServerTime::from(SERVER_AHEAD + self.now), statement, &mut publish);
        for notice in notices {
            if let Notice::Granted(grant) = notice {
                self.push(number(grant.process), notice);
            } else {
                (0..self.case.processes).for_each(|process| self.push(process, notice));
            }
        }
        let reply = reply.expect("no statement is doubled, and all declare the same");
        self.after(self.half, Event::Reply(number(statement.process), reply));
    }

    fn push(&mut self, process: usize, notice: Notice) {
        self.measured.pushes += u64::from(self.is_measured());
        self.after(self.half, Event::Notice(process, notice));
    }

    /// Notes when the hot process of this second has half of the limit.
    fn note_move(&mut self, process: usize) {
        let second = self.now / 1_000_000;
        let has_half = self.processes[process].share.usable(self.instant()) * 2 >= self.case.limit;
        let is_hot = matches!(self.case.load, super::load::Load::Moving(_)) && process == hot(&self.case, self.now);
        if is_hot && has_half && second > self.moved {
            self.moved = second;
            self.measured.moved.push(self.now % 1_000_000);
        }
    }
}

fn number(process: ProcessId) -> usize {
    usize::try_from(u128::from(process)).expect("a small number")
}
