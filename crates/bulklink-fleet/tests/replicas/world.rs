//! A server with one circuit, its backup, two processes, and their events.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bulklink_breaker::plumbing::Access;
use bulklink_breaker::{Circuit, Instant, Mark, Pass, ProbeId, Settings, State};
use bulklink_fleet::StoreError;
use bulklink_fleet::circuits::replica::{Answer, Work};
use bulklink_fleet::circuits::{Force, Refused, Report, Row};
use bulklink_model::search;

use crate::process::{PACE, Process};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Call(usize),
    Succeed(usize),
    Fail(usize),
    /// A call is dropped while it runs.
    Drop(usize),
    /// A call is dropped while it asks.
    Cancel(usize),
    ForceOpen(usize),
    ForceClosed(usize),
    /// The next command begins its way.
    Send(usize),
    /// A command reaches the server.
    Arrive(usize),
    Answer(usize),
    Notice(usize),
    /// All that is on its way arrives, and all that follows from it.
    Run(usize),
    LoseAnswer(usize),
    LoseNotice(usize),
    /// The server refuses a command.
    Refuse(usize),
    Cut(usize),
    Connect(usize),
    /// The process ends, and another one begins.
    Replace(usize),
    /// A command of an earlier connection arrives.
    Late,
    Backup,
    /// The backup becomes the server.
    Restore,
    /// The server loses its data.
    Forget,
    /// Milliseconds pass.
    Tick(u64),
}

use Input::{
    Answer as Answered, Arrive, Backup, Call, Cancel, Connect, Cut, Drop, Fail, ForceClosed, ForceOpen, Forget, Late,
    LoseAnswer, LoseNotice, Notice, Refuse, Replace, Restore, Run, Send, Succeed, Tick,
};

/// Outcomes that are older when the server is reached count no more.
const YOUNG: Duration = Duration::from_secs(1);

pub(crate) const FAILED: Mark = Mark { failed: true, slow: false };

/// What random scripts choose from, with how often.
pub(crate) fn all() -> Vec<Input> {
    let of_each = |at: usize| {
        let often = [Call(at), Call(at), Fail(at), Run(at), Send(at), Arrive(at), Answered(at), Notice(at)];
        let seldom = [
            Succeed(at),
            Drop(at),
            Cancel(at),
            ForceOpen(at),
            ForceClosed(at),
            LoseAnswer(at),
            LoseNotice(at),
            Refuse(at),
            Cut(at),
            Connect(at),
            Connect(at),
            Replace(at),
        ];
        [&often[..], &often, &seldom].concat()
    };
    let rest = [Late, Backup, Restore, Forget, Tick(10), Tick(100), Tick(100), Tick(1_100), Tick(3_000), Tick(3_000)];
    [of_each(0), of_each(1), rest.to_vec()].concat()
}

/// The prelude of a short script. Both processes are connected before.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) probes: u32,
    pub(crate) prelude: Vec<Input>,
}

#[derive(Clone)]
pub(crate) struct World {
    settings: Settings,
    now: Instant,
    server: Circuit,
    backup: Circuit,
    processes: [Process; 2],
    /// Commands of earlier connections that may still arrive.
    late: VecDeque<Work>,
    /// Outcomes that reached the server, and those of processes that have ended.
    reported: u64,
    counted: u64,
    /// The ends of the leases of the server's probes.
    leases: BTreeMap<ProbeId, Instant>,
    /// Whether something was lost.
    is_disturbed: bool,
    /// Whether the server has gone back.
    has_lost_data: bool,
    /// Whether a process has ended without the server.
    has_lost_process: bool,
    was_forced: [bool; 2],
}

impl search::World for World {
    type Start = Start;
    type Input = Input;

    fn begin(start: &Start) -> Self {
        let mut world = World::new(start.probes);
        for input in &start.prelude {
            world.apply(*input);
        }
        world
    }

    fn fork(&self) -> Self {
        self.clone()
    }

    fn options(&self) -> Vec<Input> {
        let each = |at| [Call(at), Fail(at), Send(at), Arrive(at), Answered(at), Notice(at), Run(at), Cut(at)];
        let all = (0..2).flat_map(each).chain([Cancel(0), Connect(0), ForceOpen(0), ForceClosed(0), ForceOpen(1)]);
        all.chain([Late, Tick(100), Tick(3_000)]).collect()
    }

    fn last_options(&self) -> Vec<Input> {
        let more = [Succeed(0), Drop(0), LoseAnswer(0), LoseNotice(0), Refuse(0), Replace(0), Forget, Restore];
        self.options().into_iter().chain(more).chain([ForceClosed(1), Tick(1_100)]).collect()
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
    pub(crate) fn new(probes: u32) -> Self {
        let settings = Settings::of_last(3).failures(2).cool_down(Duration::from_secs(3));
        let settings = settings.probes(probes).probe_lease(Duration::from_secs(2));
        let now = Instant::EPOCH + Duration::from_secs(100);
        let server = Circuit::in_generation(settings, 1_000).expect("the settings are possible");
        let mut world = World {
            settings,
            now,
            backup: server.clone(),
            server,
            processes: [0, 1].map(|_| Process::new(settings, now)),
            late: VecDeque::new(),
            reported: 0,
            counted: 0,
            leases: BTreeMap::new(),
            is_disturbed: false,
            has_lost_data: false,
            has_lost_process: false,
            was_forced: [false; 2],
        };
        for input in [Connect(0), Connect(1), Run(0), Run(1)] {
            world.apply(input);
        }
        world
    }

    pub(crate) fn apply(&mut self, input: Input) {
        let now = self.now;
        self.is_disturbed |=
            matches!(input, LoseAnswer(_) | LoseNotice(_) | Refuse(_) | Cut(_) | Late | Restore | Forget);
        if matches!(input, Restore | Forget) {
            self.has_lost_data = true;
            self.processes.iter_mut().for_each(|process| process.may_repeat = true);
        }
        match input {
            Call(at) => self.processes[at].call(now),
            Succeed(at) => self.processes[at].end(now, Some(Mark::default())),
            Fail(at) => self.processes[at].end(now, Some(FAILED)),
            Drop(at) => self.processes[at].end(now, None),
            Cancel(at) => self.processes[at].cancel(),
            ForceOpen(at) | ForceClosed(at) => {
                let is_open = matches!(input, ForceOpen(_));
                self.was_forced[usize::from(is_open)] = true;
                self.processes[at].force(is_open);
            }
            Send(at) => _ = self.processes[at].send(now),
            Arrive(at) => _ = self.arrive(at),
            Answered(at) => _ = self.processes[at].receive_answer(now),
            Notice(at) => _ = self.processes[at].receive_notice(now),
            Run(at) => self.run(at),
            LoseAnswer(at) => self.fail(at, StoreError::TIMED_OUT),
            Refuse(at) => {
                if self.processes[at].up.take().is_some() {
                    self.processes[at].answer = Some(Err(StoreError::FULL));
                }
            }
            LoseNotice(at) => _ = self.processes[at].notices.pop_front(),
            Cut(at) => self.late.extend(self.processes[at].cut(now)),
            Connect(at) => self.processes[at].connect(),
            Replace(at) => self.replace(at),
            Late => {
                if let Some(work) = self.late.pop_front() {
                    self.serve(&work);
                }
            }
            Backup => self.backup = self.server.clone(),
            Restore => {
                self.server = self.backup.clone();
                // It has not heard of probes that have ended since.
                let is_over = |pass: &Pass| !self.server.clone().settle(now, *pass, None);
                self.processes.iter_mut().for_each(|process| process.ended.retain(is_over));
            }
            Forget => {
                let generation = self.server.generation() + 1_000;
                self.server = Circuit::in_generation(self.settings, generation).expect("the settings are possible");
            }
            Tick(millis) => {
                self.now = now + Duration::from_millis(millis);
                // Counts of a process that have not reached the server may be too old now.
                let is_history = |process: &Process| process.replica.sharing(self.now).down_for > YOUNG;
                self.is_disturbed |= self.processes.iter().any(is_history);
            }
        }
        self.check_probes(input);
    }

    /// No more probes run than may: in all processes, and in one without the server.
    fn check_probes(&self, input: Input) {
        let most = self.settings.parts().probes as usize;
        let has_lease = |pass: Pass| pass.probe.is_some_and(|id| self.leases.get(&id).is_some_and(|at| *at > self.now));
        let calls = self.processes.iter().flat_map(|process| &process.calls);
        let running = calls.filter(|pass| has_lease(**pass) && pass.generation == self.server.generation()).count();
        assert!(self.has_lost_data || running <= most, "{running} probes run after {input:?}");
        if let (Call(at), false) = (input, self.has_lost_data) {
            let known = self.processes[at].known_probes(self.now, has_lease);
            assert!(known <= most, "a process has {known} probes after {input:?}");
        }
    }

    fn fail(&mut self, at: usize, error: StoreError) {
        let process = &mut self.processes[at];
        let late = process.up.take();
        if late.is_some() || process.answer.is_some() {
            process.answer = Some(Err(error));
        }
        self.late.extend(late);
    }

    fn replace(&mut self, at: usize) {
        // A command keeps its breaker.
        while self.arrive(at) || self.processes[at].receive_answer(self.now) {}
        while !self.processes[at].calls.is_empty() {
            self.processes[at].end(self.now, None);
        }
        let (is_up, rest) = (self.processes[at].is_up, self.processes[at].replica.end());
        self.has_lost_process |= !is_up || !self.processes[at].replica.is_connected();
        for work in rest.iter().filter(|_| is_up) {
            self.serve(work);
        }
        self.counted += self.processes[at].counted;
        self.is_disturbed |= self.has_lost_process;
        self.processes[at] = Process::new(self.settings, self.now);
        self.processes[at].may_repeat = self.has_lost_data;
        self.processes[at].connect();
    }

    fn arrive(&mut self, at: usize) -> bool {
        let Some(work) = self.processes[at].up.take() else { return false };
        let answer = self.serve(&work);
        self.processes[at].answer = Some(Ok(answer));
        true
    }

    /// Does a command on the server, and sends notices of a transition to both.
    fn serve(&mut self, work: &Work) -> Answer {
        let (now, before) = (self.now, self.server.generation());
        let server = &mut self.server;
        let mut admission = None;
        match work {
            Work::Load => {}
            Work::Force(Force::Open) => server.force_open(),
            Work::Force(Force::Closed) => server.force_closed(),
            Work::Ask(_) => {
                let id = ProbeId(self.leases.len() as u64);
                let admitted = server.admit(now, id);
                self.leases.insert(id, now + self.settings.parts().probe_lease);
                admission = Some(admitted.map_err(|refusal| Refused {
                    state: refusal.state,
                    retry_after: refusal.retry_at.map(|at| at.saturating_since(now)),
                }));
            }
            Work::Report(Report::Closed { generation, outcomes }) => {
                self.reported += outcomes.counts().calls;
                server.report(now, *generation, outcomes);
            }
            Work::Report(Report::Probe { generation, id, outcome }) => {
                let pass = Pass::new(*generation, Some(*id));
                let running = self.processes.iter().flat_map(|process| &process.calls);
                assert!(running.into_iter().all(|call| *call != pass), "a probe is reported while it runs");
                server.settle(now, pass, *outcome);
            }
        }
        let row = Row::of(&server.view(now), now);
        if row.generation != before {
            for process in self.processes.iter_mut().filter(|process| process.is_up) {
                process.notices.push_back(row);
            }
        }
        Answer { row, admission }
    }

    fn run(&mut self, at: usize) {
        for _ in 0..100 {
            let (now, process) = (self.now, &mut self.processes[at]);
            let has_sent = process.send(now);
            if !(has_sent
                | self.arrive(at)
                | self.processes[at].receive_answer(now)
                | self.processes[at].receive_notice(now))
            {
                return;
            }
        }
        panic!("a process sends without an end");
    }

    /// When the network is well again and time passes, both processes agree with the server, and
    /// nothing is left.
    pub(crate) fn settle(&mut self) {
        for at in 0..2 {
            let must_open = self.processes[at].must_open(self.now, self.server.generation());
            let was_up = self.processes[at].is_up;
            self.apply(Connect(at));
            self.apply(Run(at));
            let is_closed = self.server.view(self.now).state == State::Closed;
            assert!(was_up || !must_open || !is_closed, "a trip without the server is not reported");
        }
        (0..4).for_each(|at| self.apply(Run(at % 2)));
        self.check_places();
        self.check_agreement();
        while !self.late.is_empty() {
            self.apply(Late);
        }
        self.pass(1_100);
        for at in 0..2 {
            while !self.processes[at].calls.is_empty() {
                self.apply(Drop(at));
            }
        }
        self.pass(1_100);
        self.pass(PACE.refresh.as_millis().try_into().expect("it is short"));
        let server = self.server.view(self.now);
        assert_eq!(server.probes, 0, "a place is left");
        for process in &self.processes {
            let view = process.circuit.view(self.now);
            assert!(process.replica.is_connected() && process.asks.is_empty());
            assert_eq!((view.state, view.is_forced), (server.state, server.is_forced), "{server:?}");
            assert_eq!(process.replica.clone().end(), [], "something is left to send");
        }
        let [was_closed, was_opened] = self.was_forced;
        if !was_closed && !self.has_lost_data && !self.has_lost_process {
            assert_eq!(was_opened, server.is_forced, "a change by hand is lost");
        }
        if !self.is_disturbed && server.generation == 1_000 {
            let counted: u64 = self.processes.iter().map(|process| process.counted).sum();
            assert_eq!(self.reported, self.counted + counted, "an outcome is lost");
        }
        let ended = self.processes.iter().flat_map(|process| &process.ended);
        for pass in ended.copied().collect::<Vec<_>>() {
            assert!(!self.server.clone().settle(self.now, pass, None), "{pass:?} was not reported");
        }
        self.check_trip();
    }

    /// The processes still open the circuit for each other.
    fn check_trip(&mut self) {
        if self.server.view(self.now).state == State::Closed {
            // Begins with windows that are empty.
            let begin = [ForceClosed(0), Run(0), Run(1)];
            for input in begin.into_iter().chain([Call(1), Call(1), Fail(1), Fail(1), Run(1), Run(0)]) {
                self.apply(input);
            }
            let processes = self.processes.iter().map(|process| &process.circuit);
            let is_open = |circuit: &Circuit| circuit.view(self.now).state == State::Open;
            assert!(processes.chain([&self.server]).all(is_open), "a trip stays in its process");
        }
    }

    /// On a good link, the processes follow the server immediately.
    fn check_agreement(&self) {
        let server = self.server.view(self.now);
        for process in self.processes.iter().filter(|_| !self.is_disturbed) {
            let view = process.circuit.view(self.now);
            let states = [view, server].map(|view| (view.state == State::Closed, view.is_forced));
            assert_eq!(states[0], states[1], "a process has another state");
        }
    }

    /// On a good link, the server's places are those of calls that run.
    fn check_places(&self) {
        if self.is_disturbed || self.server.view(self.now).state != State::HalfOpen {
            return;
        }
        let is_live = |pass: &&Pass| {
            let until = pass.probe.and_then(|id| self.leases.get(&id));
            pass.generation == self.server.generation() && until.is_some_and(|at| *at > self.now)
        };
        let running = self.processes.iter().flat_map(|process| &process.calls).filter(is_live).count();
        assert_eq!(self.server.view(self.now).probes, running, "places and probes");
        for process in self.processes.iter().filter(|process| process.calls.is_empty() && process.asks.is_empty()) {
            let access = process.replica.access(&process.circuit, self.now);
            assert_ne!(access, Access::Full, "a place is taken by nothing");
        }
    }

    fn pass(&mut self, millis: u64) {
        self.apply(Tick(millis));
        (0..4).for_each(|at| self.apply(Run(at % 2)));
    }
}
