//! A server, processes that use arbitrary shares, and a network that delays, reorders, loses and
//! doubles.

use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink_fleet::share::{Allocator, Connection, Demand, Grant, Notice, Refusal, Reply, Share, Statement, Status};
use bulklink_fleet::{ProcessId, RunId, ServerTime};
use bulklink_model::merged;

use crate::faults::Fault;
use crate::releases::lease_and_claim;
use crate::rules;

/// The server's clock is this much ahead, in milliseconds.
const SERVER_AHEAD: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// A process states one of five conditions.
    Send(usize, usize),
    /// A statement reaches the server. It can do so again if the flag is set.
    Arrive(usize, bool),
    /// A message reaches its process. It can do so again if the flag is set.
    Deliver(usize, bool),
    /// The connection of a process ends, with the messages on their way.
    Cut(usize),
    /// An operation begins.
    Start(usize),
    /// An operation ends.
    End(usize),
    /// Another process takes the place of one that ends without a word.
    Crash(usize),
    /// The same, with the next declaration.
    Upgrade(usize),
    /// A process has the next declaration from now on; if the flag is set, one that another process
    /// may contradict.
    Change(usize, bool),
    /// Milliseconds pass.
    Tick(u64),
    /// The server's clock goes back by milliseconds.
    StepBack(u64),
    SetLimit(u32),
    Replicate,
    /// The replica becomes the server.
    Promote,
    /// The server starts again without data.
    Restart,
}

/// How many events of a kind are still to come.
#[derive(Clone, Hash)]
pub(crate) struct Budget {
    pub(crate) losses: u8,
    pub(crate) crashes: u8,
    pub(crate) upgrades: u8,
    pub(crate) limits: u8,
    pub(crate) doubles: u8,
    pub(crate) steps_back: u8,
    /// The most messages on their way in each direction. One more, and the first one is lost.
    pub(crate) bag: usize,
}

impl Budget {
    pub(crate) const SMALL: Self =
        Self { losses: 2, crashes: 1, upgrades: 1, limits: 2, doubles: 2, steps_back: 1, bag: 3 };
}

#[derive(Clone, Hash)]
pub(crate) struct Member {
    pub(crate) share: Share,
    pub(crate) running: u32,
    pub(crate) id: ProcessId,
    pub(crate) weight: u32,
    /// Which declaration it has.
    pub(crate) release: usize,
    /// The end of its last lease.
    deadline: Instant,
    /// Its latest statement, and when it was sent.
    pub(crate) seq: u64,
    pub(crate) sent: u64,
    /// The units that it has lost since then, and how often.
    pub(crate) lost: u32,
    pub(crate) voids: u64,
}

#[derive(Clone, Hash)]
pub(crate) enum Message {
    Reply(Reply),
    Refusal(ProcessId, Refusal),
    Notice(ProcessId, Notice),
}

#[derive(Clone, Hash)]
pub(crate) struct World {
    /// Milliseconds of the processes' clock.
    pub(crate) now: u64,
    /// The step back of the server's clock, in milliseconds.
    behind: u64,
    born: u64,
    pub(crate) run: u64,
    pub(crate) server: Allocator,
    copy: Option<Allocator>,
    pub(crate) members: Vec<Member>,
    next_id: u128,
    pub(crate) up: Vec<Statement>,
    pub(crate) down: Vec<Message>,
    pub(crate) budget: Budget,
    pub(crate) fault: Fault,
    pub(crate) recovers: bool,
    pub(crate) limit: u32,
    pub(crate) judge: rules::Judge,
}

/// The conditions that a process can state, of the units that it has.
fn demand(kind: usize, granted: u32) -> Demand {
    let (keep, need, least, spare) = match kind {
        0 => (granted, granted, 0, 0),
        1 => (granted, 3, 2, 0),
        2 => (0, 0, 0, 0),
        3 => (granted / 2, 2, 0, 0),
        _ => (0, 1, 1, 4),
    };
    Demand { keep, need, least, spare }
}

impl World {
    pub(crate) fn new(members: usize, limit: u32, has_weights: bool, budget: Budget) -> Self {
        let mut world = Self {
            now: 100,
            behind: 0,
            born: 0,
            run: 1,
            server: Allocator::default(),
            copy: None,
            members: vec![],
            next_id: 0,
            up: vec![],
            down: vec![],
            budget,
            fault: Fault::None,
            recovers: true,
            limit,
            judge: rules::Judge::new(limit),
        };
        for place in 0..members {
            let weight = if has_weights { 1 + u32::try_from(place).unwrap() } else { 1 };
            let member = world.join(weight, 0);
            world.members.push(member);
        }
        world
    }

    pub(crate) fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self
    }

    /// Makes a world in which a loss of data begins no quarantine.
    pub(crate) fn without_recovery(mut self) -> Self {
        self.recovers = false;
        for place in 0..self.members.len() {
            self.members[place] = self.join(self.members[place].weight, 0);
        }
        self
    }

    fn join(&mut self, weight: u32, release: usize) -> Member {
        self.next_id += 1;
        let id = ProcessId::from(self.next_id);
        Member {
            share: Share::new(id, weight, self.declaration(release)).yielding(self.next_id % 2 == 0),
            running: 0,
            id,
            weight,
            release,
            deadline: Instant::EPOCH,
            seq: 0,
            sent: 0,
            lost: 0,
            voids: 0,
        }
    }

    pub(crate) fn instant(&self) -> Instant {
        Instant::EPOCH.saturating_add(Duration::from_millis(self.now))
    }

    /// Returns the server's time.
    pub(crate) fn server_time(&self) -> ServerTime {
        ServerTime::from((SERVER_AHEAD + self.now - self.behind) * 1_000)
    }

    pub(crate) fn status(&self) -> Option<Status> {
        self.server.status(self.server_time())
    }

    /// Gives one input, and checks all rules.
    pub(crate) fn apply(&mut self, input: Input) -> Result<(), String> {
        let before = rules::Before::new(self);
        self.act(input)?;
        self.lapse();
        rules::check(self, &before)
    }

    fn lapse(&mut self) {
        let now = self.process_time();
        for member in &mut self.members {
            member.lapse(now);
            // Operations that go on after the loss of their units are beyond the limit.
            if now >= member.deadline {
                member.running = 0;
            }
        }
    }

    pub(crate) fn usable(&self, place: usize) -> u32 {
        self.members[place].share.usable(self.process_time())
    }

    pub(crate) fn has_recovery(&self) -> bool {
        self.recovers
    }

    pub(crate) fn has_replica(&self) -> bool {
        self.copy.is_some()
    }

    fn process_time(&self) -> Instant {
        self.fault.clock(self.instant())
    }

    fn act(&mut self, input: Input) -> Result<(), String> {
        match input {
            Input::Send(place, kind) => self.send(place, kind),
            Input::Arrive(place, again) => self.arrive(place, again)?,
            Input::Deliver(place, again) => self.deliver(place, again),
            Input::Cut(place) => {
                let id = self.members[place].id;
                self.up.retain(|statement| statement.process != id);
                self.down.retain(|message| message.process() != id);
                self.members[place].share.give_up();
            }
            Input::Start(place) => self.members[place].running += 1,
            Input::End(place) => self.members[place].running -= 1,
            Input::Crash(place) => {
                self.budget.crashes -= 1;
                let Member { weight, release, .. } = self.members[place];
                self.members[place] = self.join(weight, release);
            }
            Input::Upgrade(place) => {
                self.budget.upgrades -= 1;
                let Member { weight, release, .. } = self.members[place];
                self.members[place] = self.join(weight, release + 1);
            }
            Input::Change(place, contradicts) => self.change_release(place, contradicts),
            Input::Tick(time) => self.now += time,
            Input::StepBack(time) => {
                self.budget.steps_back -= 1;
                self.behind += time;
                if self.status().is_none_or(|status| status.run != Some(self.run.into())) {
                    // The new server has not seen the time of before.
                    self.judge.lose_clock(self.server_time());
                }
            }
            Input::SetLimit(limit) => self.set_limit(limit)?,
            Input::Replicate => self.copy = Some(self.server.clone()),
            Input::Promote => {
                let copy = self.copy.take().expect("there is a replica");
                self.replace_server(copy);
            }
            Input::Restart => self.replace_server(Allocator::default()),
        }
        Ok(())
    }

    fn set_limit(&mut self, limit: u32) -> Result<(), String> {
        self.budget.limits -= 1;
        let Some(version) = self.status().map(|status| status.version) else { return Ok(()) };
        let mut notices = vec![];
        let set = self.server.set_limit(self.server_time(), limit, version, &mut |notice| push(&mut notices, notice));
        set.map_err(|refusal| format!("{refusal}, in version {version}"))?;
        self.judge.has_moved = true;
        self.publish(notices)
    }

    fn replace_server(&mut self, server: Allocator) {
        self.budget.losses -= 1;
        // It takes a moment, so tokens are behind the time.
        self.now += 1;
        self.server = server;
        if self.server == Allocator::default() {
            self.born = self.now;
        }
        self.run += 1;
        // A statement never reaches another run of the server.
        self.up.clear();
        self.judge.lose_server();
        self.judge.lose_clock(self.server_time());
    }

    fn connection(&self) -> Connection {
        Connection { run: Some(RunId::from(self.run)), uptime: Some(Duration::from_millis(self.now - self.born)) }
    }

    fn send(&mut self, place: usize, kind: usize) {
        let (now, connection) = (self.process_time(), self.connection());
        let member = &mut self.members[place];
        member.lapse(now);
        let mut demand = demand(kind, member.share.usable(now));
        demand.keep = demand.keep.max(member.running);
        let statement = self.fault.send(member, now, connection, demand);
        (member.seq, member.sent, member.lost, member.voids) = (statement.seq, self.now, 0, 0);
        if self.up.len() == self.budget.bag {
            self.up.remove(0);
        }
        self.up.push(statement);
    }

    fn arrive(&mut self, place: usize, again: bool) -> Result<(), String> {
        let mut statement = self.up[place];
        if again {
            self.budget.doubles -= 1;
        } else {
            self.up.remove(place);
        }
        self.fault.arrival(&mut statement, self.status().as_ref());
        self.sync(&statement)
    }

    fn sync(&mut self, statement: &Statement) -> Result<(), String> {
        let mut notices = vec![];
        let before = self.server.clone();
        self.judge.expect(statement, self.status().as_ref(), self.now);
        let now = self.fault.server_clock(self.server_time());
        let reply = self.server.sync(now, statement, &mut |notice| push(&mut notices, notice));
        self.publish(notices)?;
        match reply {
            Ok(reply) => {
                self.judge.has_moved = true;
                self.push_down(Message::Reply(reply))
            }
            Err(_) if self.server != before => Err("a refusal has changed something".to_owned()),
            Err(refusal) => self.push_down(Message::Refusal(statement.process, refusal)),
        }
    }

    fn publish(&mut self, notices: Vec<Notice>) -> Result<(), String> {
        for notice in notices {
            if let Notice::Granted(grant) = notice {
                self.push_down(Message::Notice(grant.process, notice))?;
                continue;
            }
            self.judge.tight(self.now)?;
            for place in 0..self.members.len() {
                self.push_down(Message::Notice(self.members[place].id, notice))?;
            }
        }
        Ok(())
    }

    fn push_down(&mut self, message: Message) -> Result<(), String> {
        self.judge.token(&message)?;
        if self.down.len() == self.budget.bag {
            self.down.remove(0);
        }
        self.down.push(message);
        Ok(())
    }

    fn deliver(&mut self, place: usize, again: bool) {
        let mut message = self.down[place].clone();
        if again {
            self.budget.doubles -= 1;
        } else {
            self.down.remove(place);
        }
        let (time, now) = (self.process_time(), self.now);
        let Some(member) = self.members.iter_mut().find(|member| member.id == message.process()) else { return };
        member.lapse(time);
        self.fault.message(member, now, &mut message);
        match message {
            Message::Reply(reply) => _ = member.share.take(time, &reply),
            Message::Refusal(_, refusal) => _ = member.share.refuse(&refusal),
            Message::Notice(_, notice) => _ = member.share.take_notice(time, &notice),
        }
        member.deadline = member.share.deadline().unwrap_or(member.deadline);
    }

    /// Exchanges one statement and all that follows from it, without loss.
    pub(crate) fn exchange(&mut self, place: usize, demand: Demand) -> Result<(), String> {
        let before = rules::Before::new(self);
        let (now, connection) = (self.process_time(), self.connection());
        let member = &mut self.members[place];
        member.lapse(now);
        let mut statement = self.fault.send(member, now, connection, demand);
        (member.seq, member.sent, member.lost, member.voids) = (statement.seq, self.now, 0, 0);
        self.fault.arrival(&mut statement, self.status().as_ref());
        self.sync(&statement)?;
        rules::check(self, &before)?;
        while !self.down.is_empty() {
            self.apply(Input::Deliver(0, false))?;
        }
        Ok(())
    }
}

fn push(notices: &mut Vec<Notice>, notice: Notice) -> bool {
    notices.push(notice);
    true
}

impl Member {
    /// The lease that it declares.
    pub(crate) fn lease(&self) -> Duration {
        lease_and_claim(self.release)[0]
    }

    fn lapse(&mut self, now: Instant) {
        let units = self.share.usable(Instant::EPOCH);
        if self.share.lapse(now) {
            self.lost = units;
            self.voids += 1;
        }
    }
}

impl Message {
    pub(crate) fn process(&self) -> ProcessId {
        match self {
            Self::Reply(Reply { grant: Grant { process, .. }, .. })
            | Self::Refusal(process, _)
            | Self::Notice(process, _) => *process,
        }
    }
}

impl merged::World for World {
    type Input = Input;

    fn options(&self) -> Vec<Input> {
        let mut all = vec![];
        for (place, member) in self.members.iter().enumerate() {
            all.extend((0..5).map(|kind| Input::Send(place, kind)));
            if member.running < self.usable(place) {
                all.push(Input::Start(place));
            }
            if member.running > 0 {
                all.push(Input::End(place));
            }
            if self.budget.crashes > 0 {
                all.push(Input::Crash(place));
            }
            if self.budget.upgrades > 0 {
                all.extend([Input::Upgrade(place), Input::Change(place, false), Input::Change(place, true)]);
            }
            let is_on_its_way = |statement: &Statement| statement.process == member.id;
            if self.up.iter().any(is_on_its_way) || self.down.iter().any(|message| message.process() == member.id) {
                all.push(Input::Cut(place));
            }
        }
        for again in [false, true].into_iter().filter(|again| !again || self.budget.doubles > 0) {
            all.extend((0..self.up.len()).map(|place| Input::Arrive(place, again)));
            all.extend((0..self.down.len()).map(|place| Input::Deliver(place, again)));
        }
        all.extend([1, 2, 4].map(Input::Tick));
        if self.budget.steps_back > 0 {
            all.push(Input::StepBack(3));
        }
        if self.budget.losses > 0 {
            all.extend([Input::Restart, if self.copy.is_some() { Input::Promote } else { Input::Replicate }]);
        }
        if let Some(status) = self.status().filter(|_| self.budget.limits > 0) {
            all.extend((1..=3).filter(|limit| *limit != status.limit).map(Input::SetLimit));
        }
        all
    }

    fn step(&mut self, input: Input) {
        self.apply(input).unwrap_or_else(|broken| panic!("{broken}"));
    }
}
