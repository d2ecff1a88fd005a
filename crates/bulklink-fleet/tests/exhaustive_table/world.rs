//! One bulkhead of two units, and two processes that use it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bulklink_fleet::{
    Answer, CallId, Command, Cuts, Epoch, Era, Notice, Outcome, OwnerId, RunId, ServerTime, Settings, Status, Table,
    Terms, Ticket, Token,
};
use bulklink_model::search;

use crate::rules;

pub(crate) const TERMS: Terms = Terms { ttl: Duration::from_micros(10), claim: Duration::from_micros(4), block: 2 };

/// Owner and cost of the calls.
const CALLS: [(usize, u64); 4] = [(0, 1), (0, 2), (1, 1), (1, 1)];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    Open(usize),
    Acquire(usize, bool),
    /// Gives back the first call in the same step.
    Swap(usize, usize),
    Release(usize),
    /// Lists what the process believes to have.
    Beat(usize),
    /// Lists all calls of the process as leases.
    BeatLeases(usize),
    /// Lists all calls of the process as waiters, the last one first.
    BeatWaiters(usize),
    /// Lists all calls of the process as gone.
    BeatGone(usize),
    Reap(bool),
    Resize(u64),
    Close(usize),
    Forget,
    ForgetSettings,
    /// Another server takes over, with the data.
    Restart,
    /// Cuts the subscription of a process, or restores it.
    Deafen(usize),
    Tick(u64),
}

/// What one process knows.
#[derive(Clone, Debug, Default)]
struct Process {
    era: Option<Era>,
    leases: BTreeSet<CallId>,
    waiters: BTreeMap<CallId, Ticket>,
    is_deaf: bool,
}

pub(crate) struct World {
    table: Table,
    now: ServerTime,
    run: u64,
    highest: Token,
    processes: [Process; 2],
}

/// All of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) settings: Option<Settings>,
    pub(crate) leases: BTreeMap<CallId, ServerTime>,
    pub(crate) queue: BTreeMap<CallId, Ticket>,
    pub(crate) owners: BTreeMap<OwnerId, ServerTime>,
}

/// One command, and all that came of it.
pub(crate) struct Turn {
    pub(crate) now: ServerTime,
    pub(crate) command: Command,
    pub(crate) before: State,
    pub(crate) answer: Answer,
    pub(crate) notices: Vec<Notice>,
    pub(crate) deaf: Vec<OwnerId>,
    pub(crate) after: State,
    /// The largest token of before.
    pub(crate) highest: Token,
}

impl search::World for World {
    type Start = Vec<Input>;
    type Input = Input;

    fn begin(start: &Vec<Input>) -> Self {
        let table = Table::with_cuts(Cuts { page: 3, grants: 3 });
        let mut world =
            Self { table, now: 100.into(), run: 1, highest: Token::default(), processes: Default::default() };
        for input in start {
            world.replay(*input);
        }
        world
    }

    fn options(&self) -> Vec<Input> {
        let of_calls = (0..CALLS.len()).flat_map(|call| [Input::Acquire(call, true), Input::Release(call)]);
        let of_processes = (0..2).flat_map(|process| [Input::Open(process), Input::Beat(process)]);
        let others = [Input::Acquire(0, false), Input::Resize(1), Input::Tick(3), Input::Tick(8), Input::Restart];
        of_calls.chain(of_processes).chain(others).chain([Input::Deafen(1), Input::Forget]).collect()
    }

    fn last_options(&self) -> Vec<Input> {
        let of_processes = (0..2).flat_map(|process| {
            [Input::BeatLeases(process), Input::BeatWaiters(process), Input::BeatGone(process), Input::Close(process)]
        });
        let swaps = [Input::Swap(0, 1), Input::Swap(2, 3)];
        let others = [Input::Reap(false), Input::Reap(true), Input::Resize(3), Input::ForgetSettings];
        self.options().into_iter().chain(of_processes).chain(swaps).chain(others).collect()
    }

    fn replay(&mut self, input: Input) {
        self.apply(input);
    }

    fn check(&mut self, input: Input) {
        if let Some(turn) = self.apply(input) {
            rules::check(&turn);
        }
    }
}

impl World {
    fn apply(&mut self, input: Input) -> Option<Turn> {
        match input {
            Input::Forget => self.table.forget(),
            Input::ForgetSettings => self.table.forget_settings(),
            Input::Restart => self.run += 1,
            Input::Deafen(process) => self.processes[process].is_deaf ^= true,
            Input::Tick(time) => self.now = self.now.after(Duration::from_micros(time)),
            _ => return Some(self.turn(input)),
        }
        None
    }

    fn turn(&mut self, input: Input) -> Turn {
        let before = self.state();
        let command = self.command(input);
        let mut notices = vec![];
        let deaf: Vec<_> = (0..2).filter(|process| self.processes[*process].is_deaf).map(owner).collect();
        let answer = self.table.apply(self.now, &command, &mut |owner, notice| {
            let hears = !deaf.contains(&owner);
            notices.extend(hears.then_some(notice));
            hears
        });
        let turn =
            Turn { now: self.now, command, before, answer, notices, deaf, after: self.state(), highest: self.highest };
        self.learn(&turn);
        turn
    }

    fn command(&self, input: Input) -> Command {
        let era = |process: usize| self.processes[process].era.unwrap_or(Era { epoch: Epoch::from(1), run: None });
        let acquire = |call: usize, wait, give_back| {
            let (process, _) = CALLS[call];
            Command::Acquire { id: id(call), wait, queue: 3, era: era(process), terms: TERMS, give_back }
        };
        let beat = |process: usize, leases, waiters, gone| Command::Beat {
            owner: owner(process),
            generation: 1,
            era: era(process),
            terms: TERMS,
            info: "-".into(),
            leases,
            waiters,
            gone,
        };
        match input {
            Input::Open(process) => Command::Open {
                owner: owner(process),
                generation: 1,
                limit: 2,
                config: 1,
                terms: TERMS,
                known: self.processes[process].era.map(|era| era.epoch),
                highest: Some(self.highest),
                run: Some(RunId::from(self.run)),
                young: false,
                info: "-".into(),
            },
            Input::Acquire(call, wait) => acquire(call, wait, vec![]),
            Input::Swap(old, call) => acquire(call, true, vec![id(old)]),
            Input::Release(call) => Command::Release { ids: vec![id(call)] },
            Input::Beat(process) => {
                let Process { leases, waiters, .. } = self.processes[process].clone();
                beat(process, leases.into_iter().collect(), waiters.into_iter().collect(), vec![])
            }
            Input::BeatLeases(process) => beat(process, ids(process), vec![], vec![]),
            Input::BeatWaiters(process) => {
                let waiters = ids(process).into_iter().rev().zip((101..).map(Ticket::from)).collect();
                beat(process, vec![], waiters, vec![])
            }
            Input::BeatGone(process) => beat(process, vec![], vec![], ids(process)),
            Input::Reap(full) => Command::Reap { full, offset: 0 },
            Input::Resize(limit) => {
                let version = self.state().settings.map(|m| m.version);
                Command::SetLimit { limit, expected: version.unwrap_or_default() }
            }
            Input::Close(process) => Command::Close { owner: owner(process), ids: ids(process) },
            _ => unreachable!("{input:?} is no command"),
        }
    }

    /// The processes take note of the answer and of the notices.
    fn learn(&mut self, turn: &Turn) {
        match (&turn.command, &turn.answer.outcome) {
            (Command::Open { owner, run, .. }, Outcome::Opened { .. }) => {
                let epoch = self.state().settings.expect("it is open").epoch;
                self.process(*owner).era = Some(Era { epoch, run: *run });
            }
            (Command::Acquire { id, .. }, Outcome::Granted { token }) => self.granted(*id, *token),
            (Command::Acquire { id, .. }, Outcome::Queued { ticket, .. }) => {
                self.process(id.owner).waiters.insert(*id, *ticket);
            }
            (Command::Beat { owner, .. }, Outcome::Beaten { lost, granted, .. }) => {
                for id in lost {
                    self.process(*owner).leases.remove(id);
                }
                for (id, token) in granted {
                    self.granted(*id, *token);
                }
            }
            (Command::Release { ids } | Command::Close { ids, .. }, _) => self.ended(ids),
            _ => {}
        }
        if let Command::Acquire { give_back, .. } = &turn.command {
            self.ended(give_back);
        }
        for notice in &turn.notices {
            match *notice {
                Notice::Granted { id, token, .. } => self.granted(id, token),
                Notice::TooLarge { id } => self.ended(&[id]),
                _ => unreachable!("{notice:?} is new"),
            }
        }
    }

    fn granted(&mut self, id: CallId, token: Token) {
        self.highest = self.highest.max(token);
        let process = self.process(id.owner);
        process.waiters.remove(&id);
        process.leases.insert(id);
    }

    fn ended(&mut self, ids: &[CallId]) {
        for id in ids {
            let process = self.process(id.owner);
            process.waiters.remove(id);
            process.leases.remove(id);
        }
    }

    fn process(&mut self, id: OwnerId) -> &mut Process {
        &mut self.processes[usize::from(id != owner(0))]
    }

    fn state(&self) -> State {
        let all = Command::Status { offset: 0, count: 100 };
        let answer = self.table.clone().apply(self.now, &all, &mut |_, _| unreachable!("a status tells no process"));
        let Outcome::Status(status) = answer.outcome else { unreachable!("{answer:?}") };
        let Status { settings, lease_page, waiter_page, session_page, .. } = *status;
        State {
            settings,
            leases: lease_page.into_iter().collect(),
            queue: waiter_page.into_iter().collect(),
            owners: session_page.into_iter().map(|session| (session.owner, session.until)).collect(),
        }
    }
}

fn owner(process: usize) -> OwnerId {
    OwnerId::from(process as u128)
}

fn id(call: usize) -> CallId {
    let (process, cost) = CALLS[call];
    CallId { owner: owner(process), seq: call as u64 + 8, cost }
}

fn ids(process: usize) -> Vec<CallId> {
    (0..CALLS.len()).filter(|call| CALLS[*call].0 == process).map(id).collect()
}
