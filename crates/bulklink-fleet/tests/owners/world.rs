//! A server, a replica, two processes, and what can happen to them.

use std::collections::BTreeSet;
use std::time::Duration;

use bulklink_fleet::{CallId, Command, Notice, Outcome, Owner, OwnerId, ServerTime, Status, Table};
use bulklink_model::search;

use crate::net::{BEAT, Line, Process, Received, TERMS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Want(usize),
    /// Asks for two units.
    WantTwo(usize),
    /// The oldest call of the process ends.
    End(usize),
    EndNewest(usize),
    /// The next command begins its way.
    Send(usize),
    /// A command reaches the server.
    Arrive(usize),
    /// An answer or a notice reaches the process.
    Deliver(usize),
    /// All that is on its way arrives, and all that follows from it.
    Run(usize),
    /// A notice is lost.
    Lose(usize),
    /// A notice arrives, and will do so again.
    Double(usize),
    /// The connection ends, and the server knows.
    Cut(usize),
    /// The connection ends, and the server does not know.
    Hole(usize),
    Connect(usize),
    /// A command of an earlier connection arrives.
    Late(usize),
    Replicate,
    /// The replica becomes the server.
    Promote,
    /// The server loses its data while it runs.
    Flush,
    /// The server starts again, without its data.
    RestartEmpty,
    /// The server starts again, with its data.
    Restart,
    /// Milliseconds pass.
    Tick(u64),
}

use Input::{
    Arrive, Connect, Cut, Deliver, Double, End, EndNewest, Flush, Hole, Late, Lose, Promote, Replicate, Restart,
    RestartEmpty, Run, Send, Tick, Want, WantTwo,
};

/// What random scripts choose from; what is here more than once is more frequent.
pub(crate) const ALL: [Input; 64] = [
    Want(0),
    Want(1),
    Want(0),
    Want(1),
    Want(0),
    Want(1),
    WantTwo(0),
    WantTwo(1),
    End(0),
    End(1),
    End(0),
    End(1),
    EndNewest(0),
    EndNewest(1),
    Send(0),
    Send(1),
    Send(0),
    Send(1),
    Send(0),
    Send(1),
    Arrive(0),
    Arrive(1),
    Arrive(0),
    Arrive(1),
    Arrive(0),
    Arrive(1),
    Deliver(0),
    Deliver(1),
    Deliver(0),
    Deliver(1),
    Deliver(0),
    Deliver(1),
    Run(0),
    Run(1),
    Run(0),
    Run(1),
    Run(0),
    Run(1),
    Run(0),
    Run(1),
    Lose(0),
    Lose(1),
    Double(0),
    Double(1),
    Cut(0),
    Cut(1),
    Hole(0),
    Hole(1),
    Connect(0),
    Connect(1),
    Connect(0),
    Connect(1),
    Late(0),
    Late(1),
    Replicate,
    Promote,
    RestartEmpty,
    Restart,
    Tick(1),
    Tick(11),
    Tick(11),
    Tick(20),
    Tick(45),
    Tick(90),
];

/// What a short script begins with. Both processes have joined before.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) limit: u64,
    pub(crate) prelude: Vec<Input>,
}

#[derive(Clone)]
pub(crate) struct World {
    limit: u64,
    now: Duration,
    table: Table,
    replica: Table,
    run: u64,
    started: Duration,
    promoted: Option<Duration>,
    processes: [Process; 2],
    /// Calls in the order in which the server saw them first.
    arrived: Vec<CallId>,
    /// Whether a fault may have cost a call its place.
    is_disturbed: bool,
    /// Whether notices that a command causes for its own process follow its answer, as Valkey 8 and
    /// later send them.
    pub(crate) is_deferring: bool,
}

impl search::World for World {
    type Start = Start;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        let mut world = Self::new(start.limit);
        for input in [&[Connect(0), Run(0), Connect(1), Run(1)], &start.prelude[..]].concat() {
            world.apply(input);
        }
        world
    }

    fn options(&self) -> Vec<Input> {
        let all = (0..2).flat_map(|at| {
            [Want(at), End(at), Send(at), Arrive(at), Deliver(at), Run(at), Lose(at), Double(at), Cut(at), Connect(at)]
        });
        all.chain([WantTwo(1), Late(0), Tick(11), Tick(45)]).collect()
    }

    fn last_options(&self) -> Vec<Input> {
        let more = [Hole(0), Hole(1), EndNewest(0), Late(1), Restart, RestartEmpty, Tick(90)];
        self.options().into_iter().chain(more).collect()
    }

    fn replay(&mut self, input: Input) {
        self.apply(input);
    }

    fn check(&mut self, input: Input) {
        self.apply(input);
        self.clone().settle();
    }
}

impl World {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            now: Duration::from_secs(1),
            table: Table::default(),
            replica: Table::default(),
            run: 1,
            started: Duration::ZERO,
            promoted: None,
            processes: [0, 1].map(|at| Process::new(OwnerId::from(at), limit)),
            arrived: vec![],
            is_disturbed: false,
            is_deferring: false,
        }
    }

    pub(crate) fn apply(&mut self, input: Input) {
        let now = self.now;
        self.is_disturbed |= matches!(
            input,
            Cut(_) | Hole(_) | Lose(_) | Late(_) | Promote | Flush | Restart | RestartEmpty | Tick(20..)
        );
        match input {
            Want(at) => self.processes[at].want(now, 1),
            WantTwo(at) => self.processes[at].want(now, 2),
            End(at) => self.processes[at].end(now, true),
            EndNewest(at) => self.processes[at].end(now, false),
            Send(at) => _ = self.processes[at].send(now),
            Arrive(at) => _ = self.arrive(at),
            Deliver(at) => _ = self.deliver(at),
            Run(at) => self.run_one(at),
            Lose(at) => _ = self.notice(at, true),
            Double(at) => {
                if let Some(notice) = self.notice(at, false) {
                    self.processes[at].deliver(now, notice);
                }
            }
            Cut(at) => self.processes[at].disconnect(now, Line::Down),
            Hole(at) => self.processes[at].disconnect(now, Line::Dead),
            Connect(at) => self.connect(at),
            Late(at) => self.late(at),
            Replicate => self.replica = self.table.clone(),
            Promote => {
                self.table = self.replica.clone();
                self.promoted = Some(self.now);
                self.replace_server();
            }
            Flush => self.table.forget(),
            Restart => self.replace_server(),
            RestartEmpty => {
                self.table.forget();
                self.replace_server();
            }
            Tick(millis) => self.pass(Duration::from_millis(millis)),
        }
        let valid: u64 = self.processes.iter().map(|process| process.valid_units(self.now)).sum();
        assert!(valid <= self.limit, "{valid} units of {} are in use after {input:?}", self.limit);
    }

    fn replace_server(&mut self) {
        self.run += 1;
        self.started = self.now;
        for process in &mut self.processes {
            process.disconnect(self.now, Line::Down);
            // What was sent to the old server does not reach the new one.
            process.late.clear();
        }
    }

    fn connect(&mut self, at: usize) {
        let young = self.now < self.started + TERMS.ttl;
        self.processes[at].connect(self.now, self.run, young);
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        for process in &mut self.processes {
            process.owner.tick(self.now);
            process.take_outputs(self.now);
        }
    }

    fn arrive(&mut self, at: usize) -> bool {
        let Some((request, command)) = self.processes[at].up.pop_front() else { return false };
        let notices = self.processes[at].down.len();
        let answer = self.serve(&command);
        let down = &mut self.processes[at].down;
        let place = if self.is_deferring { notices } else { down.len() };
        down.insert(place, Received::Answer(request, answer));
        true
    }

    fn late(&mut self, at: usize) {
        let late = self.processes[at].late.pop_front();
        // A net that delays a command for longer loses it.
        if let Some((_, command)) = late.filter(|(ended, _)| self.now < *ended + TERMS.ttl) {
            self.serve(&command);
        }
    }

    fn serve(&mut self, command: &Command) -> bulklink_fleet::Answer {
        let now = ServerTime::from(5_000_000).after(self.now);
        let before: BTreeSet<_> = self.status().lease_page.into_iter().map(|(id, _)| id).collect();
        let processes = &mut self.processes;
        let answer = self.table.apply(now, command, &mut |owner, notice| {
            let process = &mut processes[usize::from(owner != OwnerId::from(0))];
            if process.line == Line::Up {
                process.down.push_back(Received::Notice(notice));
            }
            process.line != Line::Down
        });
        if let (Command::Acquire { id, .. }, Outcome::Granted { .. } | Outcome::Queued { .. }) =
            (command, &answer.outcome)
        {
            if !self.arrived.contains(id) {
                self.arrived.push(*id);
            }
        }
        self.check_order(&before);
        answer
    }

    /// No call that came before a new grant still waits.
    fn check_order(&self, before: &BTreeSet<CallId>) {
        let Status { lease_page, waiter_page, .. } = self.status();
        let place = |id: &CallId| self.arrived.iter().position(|found| found == id);
        for (id, _) in lease_page.iter().filter(|(id, _)| !self.is_disturbed && !before.contains(id)) {
            let overtaken = waiter_page.iter().find(|(waiter, _)| place(waiter) < place(id));
            assert_eq!(overtaken, None, "{id} overtakes");
        }
    }

    fn deliver(&mut self, at: usize) -> bool {
        let Some(received) = self.processes[at].down.pop_front() else { return false };
        self.processes[at].deliver(self.now, received);
        true
    }

    /// Takes the first notice of those on their way, or copies it.
    fn notice(&mut self, at: usize, remove: bool) -> Option<Received> {
        let down = &mut self.processes[at].down;
        let is_notice = |received: &Received| matches!(received, Received::Notice(Notice::Granted { .. }));
        // Only the first one: a notice does not overtake an answer.
        let first = down.front().filter(|received| is_notice(received)).cloned()?;
        if remove {
            down.pop_front();
        } else {
            // Its copy comes later than all that is on its way.
            down.rotate_left(1);
        }
        Some(first)
    }

    fn run_one(&mut self, at: usize) {
        while self.processes[at].send(self.now) || self.arrive(at) || self.deliver(at) {}
    }

    fn status(&self) -> Status {
        let all = Command::Status { offset: 0, count: 100 };
        let outcome = self.table.clone().apply(ServerTime::from(0), &all, &mut |_, _| false).outcome;
        let Outcome::Status(status) = outcome else { unreachable!("{outcome:?}") };
        *status
    }

    /// No lease is left whose call has ended, long before it would expire.
    fn check_ghosts(&self) {
        let owners = || self.processes.iter().map(|process| &process.owner);
        for (id, _) in self.status().lease_page {
            let is_known = owners().any(|owner| owner.is_lost(id) || owner.held().any(|held| held == id));
            assert!(is_known, "{id} has a lease without a permit");
        }
    }

    /// When the net is well again and time passes, server and processes agree, and nothing is left
    /// over.
    pub(crate) fn settle(&mut self) {
        for at in 0..2 {
            while !self.processes[at].late.is_empty() {
                self.apply(Late(at));
            }
        }
        let mut held = BTreeSet::new();
        for round in 0..35 {
            if round == 3 {
                held = self.processes.iter().flat_map(|process| process.owner.held()).collect();
            }
            // A release that a replica has not got is lost with its promotion: the lease expires,
            // and the next command drops it.
            if round == 6 && self.promoted.is_none_or(|at| self.now >= at + TERMS.ttl + BEAT) {
                self.check_ghosts();
            }
            for at in 0..2 {
                if self.processes[at].line != Line::Up {
                    self.apply(Connect(at));
                }
                self.apply(Run(at));
            }
            self.apply(Run(0));
            self.pass(BEAT);
        }
        (0..2).for_each(|at| self.apply(Run(at)));
        self.apply(Run(0));
        let Status { lease_page, waiter_page, settings, .. } = self.status();
        let leases: BTreeSet<_> = lease_page.into_iter().map(|(id, _)| id).collect();
        let waiters: BTreeSet<_> = waiter_page.iter().map(|(id, _)| *id).collect();
        let owners = || self.processes.iter().map(|process| &process.owner);
        assert!(held.is_subset(&leases), "a permit is lost on a good link");
        assert_eq!(leases, owners().flat_map(Owner::held).collect(), "leases and permits");
        let mut queued: BTreeSet<_> = owners().flat_map(Owner::queued).collect();
        if self.promoted.is_some() {
            // A cancelled waiter that is back is in the queue until its turn, and declines it then.
            queued.extend(waiters.iter().filter(|id| !owners().any(|owner| owner.is_lost(**id))));
        }
        assert_eq!(waiters, queued, "waiters on both sides");
        let used: u64 = leases.iter().map(|id| id.cost).sum();
        let extra: u64 = leases.iter().map(|id| id.cost - 1).sum();
        assert!(used <= self.limit && settings.is_some_and(|m| m.extra == extra), "{used} units are in use");
        if let Some((id, _)) = waiter_page.first() {
            assert!(used + id.cost > self.limit, "{id} waits although there is room");
        }
        let calls = self.processes.iter().flat_map(|process| &process.calls);
        for id in calls.filter(|id| !leases.contains(id) && !waiters.contains(id)) {
            let is_lost = owners().any(|owner| owner.is_lost(*id));
            assert!(is_lost, "{id} has been forgotten");
        }
    }
}
