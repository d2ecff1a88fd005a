//! The server's machine of shares: levels, notices, limits, terms, and values of bad processes.

mod costs;
mod hostile;
mod level;
mod texts;

use std::time::Duration;

use bulklink_fleet::share::{
    Allocator, Declaration, Difference, Level, LimitRefusal, Notice, Refusal, Reply, Statement, Terms,
};
use bulklink_fleet::{Epoch, ProcessId, RunId, ServerTime, Token, Version};

pub(crate) const TERMS: Terms = Terms {
    lease: Duration::from_millis(100),
    claim: Duration::from_millis(30),
    calm: Duration::from_millis(10),
    recovers: true,
};

pub(crate) const START: u64 = 1_000_000;

/// A server, with a clock in milliseconds.
pub(crate) struct Server {
    pub(crate) allocator: Allocator,
    pub(crate) now: u64,
    pub(crate) seq: u64,
    pub(crate) notices: Vec<Notice>,
    /// The processes that do not listen.
    pub(crate) deaf: Vec<ProcessId>,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self { allocator: Allocator::default(), now: START, seq: 0, notices: vec![], deaf: vec![] }
    }

    pub(crate) fn time(&self) -> ServerTime {
        ServerTime::from(self.now * 1_000)
    }

    pub(crate) fn sync(&mut self, statement: Statement) -> Result<Reply, Refusal> {
        let (now, notices, deaf) = (self.time(), &mut self.notices, &self.deaf);
        self.allocator.sync(now, &statement, &mut |notice| {
            let listens = !matches!(notice, Notice::Granted(grant) if deaf.contains(&grant.process));
            notices.push(notice);
            listens
        })
    }

    /// A statement of a process: the units that it keeps, needs, and would like to have.
    pub(crate) fn state(&mut self, process: u128, keep: u32, need: u32, spare: u32) -> Reply {
        self.seq += 1;
        let statement = Statement { seq: self.seq, keep, need, spare, ..statement(process) };
        self.sync(statement).unwrap()
    }

    pub(crate) fn units(&mut self, process: u128, keep: u32, need: u32) -> u32 {
        self.state(process, keep, need, 0).grant.units
    }

    pub(crate) fn set_limit(&mut self, limit: u32) {
        let version = self.allocator.status(self.time()).unwrap().version;
        self.allocator.set_limit(self.time(), limit, version, &mut |_| true).unwrap();
    }

    pub(crate) fn granted(&self) -> u64 {
        self.allocator.status(self.time()).unwrap().granted
    }

    /// Returns the notices since the last call, as processes with their units.
    pub(crate) fn grants(&mut self) -> Vec<(ProcessId, u32)> {
        let grants = self.notices.drain(..).filter_map(|notice| match notice {
            Notice::Granted(grant) => Some((grant.process, grant.units)),
            _ => None,
        });
        grants.collect()
    }

    /// Returns how often all processes were notified since the last call.
    pub(crate) fn tights(&mut self) -> usize {
        self.notices.drain(..).filter(|notice| matches!(notice, Notice::Tight(_))).count()
    }
}

pub(crate) fn statement(process: u128) -> Statement {
    Statement {
        process: ProcessId::from(process),
        seq: 1,
        declaration: Declaration { config: 1, limit: 10, terms: TERMS },
        epoch: None,
        run: Some(RunId::from(1)),
        is_young: false,
        longest: TERMS.lease,
        token: Token::default(),
        keep: 0,
        need: 0,
        least: 0,
        spare: 0,
        weight: 1,
    }
}

/// A lower limit leaves units as they are until they are given back.
#[test]
fn lowered_limit_drains() {
    let mut server = Server::new();
    assert_eq!((server.units(1, 0, 5), server.units(2, 0, 5)), (5, 5));
    server.set_limit(4);
    assert_eq!(server.granted(), 10);
    assert_eq!(server.state(1, 5, 5, 0).grant.level, Some(Level::from(2)));
    assert_eq!(server.units(1, 2, 5), 2, "nothing of what is given back");
    assert_eq!(server.units(2, 1, 5), 2);
    assert_eq!(server.granted(), 4);
    server.set_limit(6);
    assert_eq!(server.granted(), 6, "more is handed out immediately");
}

#[test]
fn a_limit_is_changed_only_in_the_expected_version() {
    let mut server = Server::new();
    let now = server.time();
    let absent = server.allocator.set_limit(now, 5, Version::from(1), &mut |_| true);
    assert_eq!(absent, Err(LimitRefusal::Absent));
    server.units(1, 0, 1);
    assert_eq!(server.allocator.set_limit(now, 5, Version::from(1), &mut |_| true), Ok(Version::from(2)));
    let other = server.allocator.set_limit(now, 7, Version::from(1), &mut |_| true);
    assert_eq!(other, Err(LimitRefusal::Version { current: Version::from(2), limit: 5 }));
}

/// A grant to a process that does not listen goes to the next one, until it states its condition.
#[test]
fn no_receiver_no_grant() {
    let mut server = Server::new();
    server.units(1, 0, 10);
    assert_eq!((server.units(2, 0, 3), server.units(3, 0, 3)), (0, 0));
    server.deaf.push(ProcessId::from(2));
    server.notices.clear();
    server.units(1, 0, 0);
    assert_eq!(server.granted(), 3);
    assert_eq!(server.grants().last(), Some(&(ProcessId::from(3), 3)));
    assert_eq!(server.units(2, 0, 3), 3, "it speaks again");
}

/// It waits behind those that have waited before it was passed over, not behind later ones.
#[test]
fn a_process_that_did_not_listen_keeps_its_place() {
    let mut server = Server::new();
    server.units(1, 0, 10);
    server.units(2, 0, 3);
    server.deaf.push(ProcessId::from(2));
    server.units(1, 7, 7);
    assert_eq!((server.units(4, 0, 3), server.units(3, 0, 3)), (3, 0));
    server.deaf.clear();
    assert_eq!(server.units(2, 0, 3), 0);
    server.notices.clear();
    server.units(4, 0, 0);
    assert_eq!(server.grants(), [(ProcessId::from(2), 3)]);
}

/// Rows of processes that have ended expire by themselves, and are not counted as living before.
#[test]
fn a_dead_process_is_not_counted_and_ends() {
    let mut server = Server::new();
    server.units(1, 0, 4);
    assert_eq!(server.state(2, 0, 1, 0).processes, 2);
    server.now += 40;
    let reply = server.state(2, 1, 7, 0);
    assert_eq!((reply.processes, reply.grant.units), (1, 6), "the other is silent, and still has its units");
    assert_eq!(reply.due, Some(Duration::from_millis(60)));
    server.now += 60;
    assert_eq!(server.allocator.status(server.time()).unwrap().rows.len(), 1);
    assert_eq!(server.units(2, 6, 7), 7);
}

/// A silent process is granted nothing, and does not lower the level of the others.
#[test]
fn a_silent_process_is_passed_over() {
    let mut server = Server::new();
    server.units(1, 0, 2);
    server.units(2, 0, 10);
    assert_eq!(server.units(1, 2, 10), 2);
    server.now += 40;
    let reply = server.state(2, 8, 10, 0);
    assert_eq!((reply.grant.units, reply.grant.level), (8, Some(Level::from(8))));
}

/// Before any step, a status shows the findings of a step at its time.
#[test]
fn a_status_is_of_its_time() {
    let mut server = Server::new();
    server.units(1, 0, 4);
    for (later, rows) in [(29, &[true][..]), (30, &[false]), (99, &[false]), (100, &[])] {
        let time = ServerTime::from((START + later) * 1_000);
        let status = server.allocator.status(time).unwrap();
        assert_eq!(status.rows.iter().map(|row| row.is_served).collect::<Vec<_>>(), rows, "{later}");
        assert_eq!(status.granted, 4 * rows.len() as u64);
    }
}

#[test]
fn a_token_grows_only_with_the_units() {
    let mut server = Server::new();
    let token = server.state(1, 0, 3, 0).grant.token;
    assert_eq!(server.state(1, 3, 3, 0).grant.token, token);
    assert_eq!(server.state(1, 2, 2, 0).grant.token, token);
    assert!(server.state(1, 2, 3, 0).grant.token > token);
}

#[test]
fn spare_units_are_a_part_of_what_is_free() {
    let mut server = Server::new();
    assert_eq!(server.state(1, 0, 2, 9).grant.units, 4, "two of the eight that are free");
    assert_eq!(server.state(1, 4, 2, 3).grant.units, 5);
    assert_eq!(server.state(1, 5, 2, 3).grant.units, 5);
    server.units(2, 0, 9);
    assert_eq!(server.state(1, 2, 2, 9).grant.units, 2, "another one waits");
    server.units(2, 0, 0);
    assert_eq!(server.state(1, 2, 2, 9).grant.units, 2, "another one has just waited");
    server.now += 10;
    assert_eq!(server.state(1, 2, 2, 9).grant.units, 4);
}

#[test]
fn a_process_that_was_served_waits_behind_those_that_wait() {
    let mut server = Server::new();
    server.units(1, 0, 1);
    server.set_limit(1);
    assert_eq!(server.units(2, 0, 1), 0);
    server.units(1, 0, 0);
    assert_eq!(server.grants(), [(ProcessId::from(2), 1)]);
    assert_eq!((server.units(2, 1, 1), server.units(3, 0, 1), server.units(2, 1, 2)), (1, 0, 1));
    assert_eq!(server.units(2, 0, 1), 0);
    assert_eq!(server.grants(), [(ProcessId::from(3), 1)]);
}

/// A process without units keeps its place for a claim, not for the lease of units that it had.
#[test]
fn a_process_that_waits_without_units_is_kept_for_a_claim() {
    let mut server = Server::new();
    server.units(1, 0, 1);
    server.set_limit(1);
    server.units(2, 0, 1);
    assert_eq!(server.units(1, 0, 1), 0, "the other was first");
    let status = server.allocator.status(server.time()).unwrap();
    assert_eq!(
        status.rows.iter().map(|row| (row.granted, row.lease)).collect::<Vec<_>>(),
        [(0, TERMS.claim), (1, TERMS.claim)]
    );
}

/// The longest lease that a process knows matters only for units that the server did not know of.
#[test]
fn units_that_are_kept_are_valid_for_a_lease() {
    let mut server = Server::new();
    server.units(1, 0, 3);
    server.now += 5;
    let statement = Statement { seq: 2, keep: 3, need: 3, longest: 10 * TERMS.lease, ..statement(1) };
    assert_eq!(server.sync(statement).unwrap().grant.valid, TERMS.lease);
}

#[test]
fn an_old_statement_changes_nothing() {
    let mut server = Server::new();
    server.units(1, 0, 3);
    server.units(1, 3, 5);
    let before = server.allocator.clone();
    for seq in 0..=2 {
        assert_eq!(server.sync(Statement { seq, need: 9, ..statement(1) }), Err(Refusal::Stale));
    }
    assert_eq!(server.allocator, before);
}

/// A process that has left is not brought back by an older statement.
#[test]
fn a_late_statement_of_a_process_that_left_is_stale() {
    let mut server = Server::new();
    server.units(1, 0, 3);
    server.units(1, 0, 0);
    assert_eq!(server.granted(), 0);
    assert!(server.allocator.status(server.time()).unwrap().rows.is_empty());
    assert_eq!(server.sync(Statement { seq: 1, need: 3, ..statement(1) }), Err(Refusal::Stale));
}

/// Each value of the terms can be changed by a higher configuration; a refusal names the value.
#[test]
fn terms_change_with_the_configuration() {
    let (own, fleet) = (Duration::from_millis(50), TERMS.lease);
    let others = [
        (Declaration { limit: 4, ..statement(2).declaration }, Difference::Limit { own: 4, fleet: 10 }),
        (with(Terms { lease: own, ..TERMS }), Difference::Lease { own, fleet }),
        (with(Terms { claim: own, ..TERMS }), Difference::Claim { own, fleet: TERMS.claim }),
        (with(Terms { calm: own, ..TERMS }), Difference::Calm { own, fleet: TERMS.calm }),
        (with(Terms { recovers: false, ..TERMS }), Difference::Recovery { own: false, fleet: true }),
    ];
    for (declaration, difference) in others {
        let mut server = Server::new();
        server.units(1, 0, 1);
        let before = server.allocator.clone();
        let refusal = server.sync(Statement { declaration, ..statement(2) }).unwrap_err();
        let Refusal::Conflict(conflict) = refusal else { panic!("{refusal:?}") };
        assert_eq!(
            (conflict.fleet.config, conflict.declarer, conflict.difference),
            (1, ProcessId::from(1), difference)
        );
        assert_eq!(server.allocator, before, "a refusal changes nothing");
        let later = Declaration { config: 2, ..declaration };
        server.sync(Statement { declaration: later, ..statement(2) }).unwrap();
        assert_eq!(server.allocator.status(server.time()).unwrap().declaration, later);
        server.seq = 7;
        let reply = server.state(1, 1, 1, 0);
        assert_eq!((reply.limit, reply.grant.units), (later.limit, 1), "the earlier configuration is ignored");
    }
}

pub(crate) fn with(terms: Terms) -> Declaration {
    Declaration { terms, ..statement(1).declaration }
}

#[test]
fn a_conflict_names_both_values_and_the_other_process() {
    let mut server = Server::new();
    server.units(1, 0, 1);
    let declaration = with(Terms { lease: Duration::from_secs(3), ..TERMS });
    let refusal = server.sync(Statement { declaration, ..statement(2) }).unwrap_err();
    let text = format!("lease 3s differs from 100ms of process {}, both for config 1", ProcessId::from(1));
    let Refusal::Conflict(conflict) = refusal else { panic!("{refusal}") };
    assert_eq!(conflict.to_string(), text);
}

/// When all have left, and a lease later, any declaration is taken.
#[test]
fn an_abandoned_name_takes_new_terms() {
    let mut server = Server::new();
    server.units(1, 0, 1);
    server.units(1, 0, 0);
    let declaration = Declaration { config: 0, limit: 4, terms: Terms { lease: Duration::from_secs(3), ..TERMS } };
    let new = Statement { declaration: Declaration { config: 1, ..declaration }, need: 9, ..statement(2) };
    server.now += 99;
    assert!(matches!(server.sync(new), Err(Refusal::Conflict(_))));
    server.now += 1;
    let reply = server.sync(Statement { declaration, ..new }).unwrap();
    assert_eq!((reply.grant.units, reply.grant.valid), (4, Duration::from_secs(3)), "an earlier one too");
}

#[test]
fn a_live_limit_outlasts_an_equal_declaration() {
    let mut server = Server::new();
    server.units(1, 0, 1);
    server.set_limit(6);
    server.now += 1_000;
    assert_eq!(server.state(2, 0, 9, 0).limit, 6);
    let declaration = Declaration { config: 2, ..statement(1).declaration };
    assert_eq!(server.sync(Statement { seq: 9, declaration, ..statement(3) }).unwrap().limit, 10);
}

/// In a quarantine nothing is granted, and all that is kept is adopted, also above the limit.
#[test]
fn a_quarantine_adopts_what_is_kept() {
    let mut server = Server::new();
    let known = |process, epoch| Statement { epoch: Some(Epoch::from(epoch)), ..statement(process) };
    let reply = server.sync(Statement { keep: 7, need: 9, ..known(1, 5) }).unwrap();
    assert_eq!((reply.grant.units, reply.quarantine, reply.due), (7, TERMS.lease, Some(TERMS.lease)));
    let epoch = reply.grant.epoch.into();
    server.now += 50;
    let reply = server.sync(Statement { keep: 6, need: 6, ..known(2, epoch) }).unwrap();
    assert_eq!((reply.grant.units, reply.quarantine), (6, TERMS.lease / 2), "the same epoch begins no other");
    assert_eq!(server.granted(), 13);
    server.now += 50;
    assert_eq!(
        server.sync(Statement { keep: 9, need: 9, ..known(3, epoch) }).unwrap().grant.units,
        4,
        "the first has expired"
    );
}

/// At its end, units are granted again, also spare ones, and the next time to ask is a later one.
#[test]
fn a_quarantine_is_over_at_its_end() {
    let mut server = Server::new();
    assert_eq!(server.sync(Statement { is_young: true, ..statement(1) }).unwrap().quarantine, TERMS.lease);
    (server.now, server.seq) = (server.now + 100, 1);
    assert_eq!(server.state(1, 0, 2, 8).grant.units, 4);
    let reply = server.state(2, 0, 9, 0);
    assert_eq!((reply.grant.units, reply.due), (6, Some(TERMS.claim)), "when the other is silent");
}

#[test]
fn a_quarantine_begins_after_each_loss() {
    let lost = |change: &dyn Fn(&mut Statement)| {
        let mut server = Server::new();
        server.units(1, 0, 1);
        let mut second = statement(2);
        change(&mut second);
        server.sync(second).unwrap().quarantine
    };
    assert_eq!(lost(&|_| {}), Duration::ZERO);
    assert_eq!(lost(&|second| second.is_young = true), Duration::ZERO, "there is data");
    assert_eq!(lost(&|second| second.run = None), Duration::ZERO);
    assert_eq!(lost(&|second| second.run = Some(RunId::from(2))), TERMS.lease);
    assert_eq!(lost(&|second| second.epoch = Some(Epoch::from(1))), TERMS.lease);
    let mut server = Server::new();
    assert_eq!(server.sync(Statement { is_young: true, ..statement(1) }).unwrap().quarantine, TERMS.lease);
    let calm = Declaration { terms: Terms { recovers: false, ..TERMS }, ..statement(1).declaration };
    let mut server = Server::new();
    let young = Statement { is_young: true, declaration: calm, ..statement(1) };
    assert_eq!(server.sync(young).unwrap().quarantine, Duration::ZERO);
}

/// A clock that goes back moves no end away: a quarantine, the units of a dead process, and the
/// place of a silent one end when they would have.
#[test]
fn a_clock_that_goes_back_stops_nothing() {
    let mut server = Server::new();
    server.units(1, 0, 10);
    let other = Statement { run: Some(RunId::from(2)), need: 1, seq: 2, ..statement(2) };
    assert_eq!(server.sync(other).unwrap().quarantine, TERMS.lease);
    server.now -= 30_000;
    server.seq = 2;
    for _ in 0..10 {
        assert_eq!(server.sync(Statement { seq: server.seq + 1, ..other }).unwrap().grant.units, 0);
        server.seq += 1;
        server.now += 10;
    }
    assert_eq!(server.sync(Statement { seq: 99, ..other }).unwrap().grant.units, 1);
}

/// Tokens grow though the data and the server's clock go back, if a process knows them.
#[test]
fn a_known_token_is_not_handed_out_again() {
    let mut server = Server::new();
    let token = server.state(1, 0, 1, 0).grant.token;
    server.allocator = Allocator::default();
    server.now -= 30_000;
    let next = server.sync(Statement { token, need: 1, ..statement(2) }).unwrap().grant;
    assert!(next.token > token);
}
