//! One process and its connection to the server.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use bulklink_fleet::{Answer, CallId, Command, Declaration, Notice, Output, Owner, OwnerId, RunId, Terms};

pub(crate) const TERMS: Terms = Terms { ttl: Duration::from_millis(100), claim: Duration::from_millis(40), block: 1 };

pub(crate) const BEAT: Duration = Duration::from_millis(10);

/// How the server sees the connection of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Down,
    Up,
    /// It is cut, and the server has not noticed.
    Dead,
}

#[derive(Clone)]
pub(crate) enum Received {
    Answer(u64, Answer),
    Notice(Notice),
}

#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) owner: Owner,
    pub(crate) line: Line,
    generation: u64,
    /// Commands on their way to the server.
    pub(crate) up: VecDeque<(u64, Command)>,
    /// Commands of earlier connections that may still arrive, and when their connection ended.
    pub(crate) late: VecDeque<(Duration, Command)>,
    /// Answers and notices on their way to the process, in the order of the server.
    pub(crate) down: VecDeque<Received>,
    /// Calls that have not ended, in their order.
    pub(crate) calls: Vec<CallId>,
    /// Calls that got a permit.
    granted: BTreeSet<CallId>,
}

impl Process {
    pub(crate) fn new(id: OwnerId, limit: u64) -> Self {
        let owner = Owner::new(
            Duration::from_secs(1),
            Declaration {
                owner: id,
                limit,
                config: 1,
                terms: TERMS,
                queue: 3,
                beat: BEAT,
                patience: Duration::from_millis(25),
                recovers: true,
                info: "-".into(),
            },
        );
        Self {
            owner,
            line: Line::Down,
            generation: 0,
            up: VecDeque::new(),
            late: VecDeque::new(),
            down: VecDeque::new(),
            calls: vec![],
            granted: BTreeSet::new(),
        }
    }

    pub(crate) fn connect(&mut self, now: Duration, run: u64, young: bool) {
        self.disconnect(now, Line::Down);
        self.generation = self.owner.link_up(now, Some(RunId::from(run)), young);
        self.line = Line::Up;
    }

    pub(crate) fn disconnect(&mut self, now: Duration, line: Line) {
        if self.line == Line::Up {
            self.owner.link_down(now);
            self.late.extend(self.up.drain(..).map(|(_, command)| (now, command)));
            self.down.clear();
        }
        self.line = line;
    }

    pub(crate) fn want(&mut self, now: Duration, cost: u64) {
        let id = self.owner.want(now, cost, true);
        self.calls.push(id);
        self.take_outputs(now);
    }

    /// The process' oldest call ends, or its newest one.
    pub(crate) fn end(&mut self, now: Duration, oldest: bool) {
        let at = if oldest { 0 } else { self.calls.len().saturating_sub(1) };
        if at < self.calls.len() {
            let id = self.calls.remove(at);
            self.owner.end(now, id);
        }
    }

    pub(crate) fn send(&mut self, now: Duration) -> bool {
        let next = self.owner.poll_command(now);
        let has_sent = next.is_some();
        assert!(!has_sent || self.line == Line::Up, "{next:?} is sent without a link");
        self.up.extend(next);
        self.take_outputs(now);
        has_sent
    }

    pub(crate) fn deliver(&mut self, now: Duration, received: Received) {
        match received {
            Received::Answer(request, answer) => self.owner.answer(now, request, Ok(answer)),
            Received::Notice(notice) => self.owner.notice(now, self.generation, notice),
        }
        self.take_outputs(now);
    }

    pub(crate) fn take_outputs(&mut self, now: Duration) {
        while let Some(output) = self.owner.poll_output() {
            match output {
                Output::Granted(id) => {
                    assert!(self.calls.contains(&id), "{id} has ended and gets a permit");
                    assert!(self.granted.insert(id), "{id} gets a second permit");
                }
                Output::Rejected(id, _) | Output::Unavailable(id) | Output::TooLarge(id) => {
                    assert!(!self.granted.contains(&id), "{id} is rejected and has a permit");
                    self.calls.retain(|call| *call != id);
                }
                Output::Lost(id) => assert!(self.granted.contains(&id), "{id} has lost what it never had"),
                Output::Opened => {}
                // Only an old generation is refused here: the link is made again.
                Output::Broken(_) => self.disconnect(now, Line::Down),
                _ => unreachable!("{output:?} is new"),
            }
        }
    }

    /// Returns the units of the permits that the process believes to be valid.
    pub(crate) fn valid_units(&self, now: Duration) -> u64 {
        let valid = self.granted.iter().filter(|id| self.owner.token(now, **id).is_some());
        valid.map(|id| id.cost).sum()
    }
}
