//! What the server does, case by case.

use std::time::Duration;

use bulklink_fleet::{
    Answer, CallId, Command, Cuts, Epoch, Era, Head, Notice, Outcome, OwnerId, RunId, ServerTime, Settings, Status,
    Table, Terms, Ticket, Token,
};

const A: u128 = 1;
const B: u128 = 2;
const TERMS: Terms = Terms { ttl: Duration::from_millis(1), claim: Duration::from_micros(300), block: 1 };

fn id(owner: u128, seq: u64, cost: u64) -> CallId {
    CallId { owner: owner.into(), seq, cost }
}

/// A server with a bulkhead of two units, and processes that open it as they like.
struct Server {
    table: Table,
    now: ServerTime,
    era: Era,
    highest: Option<Token>,
    notices: Vec<Notice>,
    deaf: Vec<u128>,
}

impl Server {
    fn empty() -> Self {
        let era = Era { epoch: Epoch::default(), run: Some(RunId::from(1)) };
        let now = ServerTime::from(5_000_000);
        Self { table: Table::default(), now, era, highest: None, notices: vec![], deaf: vec![] }
    }

    /// Both processes have joined.
    fn new() -> Self {
        let mut server = Self::empty();
        server.open(A, |_| {});
        server.open(B, |_| {});
        server
    }

    fn run(&mut self, command: &Command) -> Answer {
        let Self { table, notices, deaf, .. } = self;
        table.apply(self.now, command, &mut |owner, notice| {
            let hears = !deaf.contains(&owner.into());
            notices.extend(hears.then_some(notice));
            hears
        })
    }

    fn outcome(&mut self, command: &Command) -> Outcome {
        self.run(command).outcome
    }

    fn open(&mut self, owner: u128, change: impl Fn(&mut Declared)) -> Outcome {
        let mut declared =
            Declared { limit: 2, config: 1, terms: TERMS, run: self.era.run, known: None, young: false, generation: 1 };
        change(&mut declared);
        let Declared { limit, config, terms, run, known, young, generation } = declared;
        let owner = owner.into();
        let (highest, info) = (self.highest, "x".into());
        let answer =
            self.run(&Command::Open { owner, generation, limit, config, terms, known, highest, run, young, info });
        self.era.epoch = answer.head.and_then(|head| head.epoch).unwrap_or_default();
        answer.outcome
    }

    fn ask(&mut self, id: CallId, wait: bool, queue: u64, give_back: Vec<CallId>) -> Outcome {
        self.outcome(&Command::Acquire { id, wait, queue, era: self.era, terms: TERMS, give_back })
    }

    fn acquire(&mut self, id: CallId) -> Outcome {
        self.ask(id, true, 100, vec![])
    }

    fn release(&mut self, id: CallId) {
        self.run(&Command::Release { ids: vec![id] });
    }

    fn beat(&mut self, owner: u128, leases: &[CallId], waiters: &[(CallId, Ticket)], generation: u64) -> Outcome {
        let (leases, waiters) = (leases.to_vec(), waiters.to_vec());
        let (owner, era, info) = (OwnerId::from(owner), self.era, "x".into());
        let gone = vec![];
        self.outcome(&Command::Beat { owner, generation, era, terms: TERMS, info, leases, waiters, gone })
    }

    fn set_limit(&mut self, limit: u64, expected: u64) -> Outcome {
        self.outcome(&Command::SetLimit { limit, expected: expected.into() })
    }

    fn pass(&mut self, micros: u64) {
        self.now = self.now.after(Duration::from_micros(micros));
    }

    /// Returns the ids that were granted by notices, since it was asked before.
    fn granted(&mut self) -> Vec<CallId> {
        let grants = self.notices.drain(..).filter_map(|notice| match notice {
            Notice::Granted { id, .. } => Some(id),
            _ => None,
        });
        grants.collect()
    }

    fn status(&mut self) -> Status {
        let Outcome::Status(status) = self.outcome(&Command::Status { offset: 0, count: 100 }) else { panic!() };
        *status
    }

    fn settings(&mut self) -> Settings {
        self.status().settings.unwrap()
    }

    fn leases(&mut self) -> Vec<CallId> {
        self.status().lease_page.into_iter().map(|(id, _)| id).collect()
    }
}

struct Declared {
    limit: u64,
    config: u64,
    terms: Terms,
    run: Option<RunId>,
    known: Option<Epoch>,
    young: bool,
    generation: u64,
}

fn is_granted(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Granted { .. })
}

fn ticket(outcome: &Outcome) -> Ticket {
    let Outcome::Queued { ticket, .. } = outcome else { panic!("{outcome:?}") };
    *ticket
}

#[test]
fn without_a_bulkhead_all_commands_are_stale() {
    let mut server = Server::empty();
    assert_eq!(server.acquire(id(A, 1, 1)), Outcome::Stale);
    assert_eq!(server.beat(A, &[id(A, 1, 1)], &[], 1), Outcome::Stale);
    assert_eq!(server.set_limit(3, 1), Outcome::Stale);
    let answer = server.run(&Command::Release { ids: vec![id(A, 1, 1)] });
    assert_eq!(answer.outcome, Outcome::Stale);
    assert!(matches!(answer.head, Some(Head { epoch: None, used: 0, waiting: 0, .. })));
    assert_eq!(server.status().settings, None);
}

#[test]
fn a_process_that_declares_something_else_is_refused_and_changes_nothing() {
    let mut server = Server::new();
    let before = server.settings();
    assert_eq!(server.open(B, |it| it.limit = 3), Outcome::LimitConflict { limit: 2, config: 1 });
    let theirs = Outcome::TermsConflict { ttl: TERMS.ttl, claim: TERMS.claim };
    for change in [
        |it: &mut Declared| it.terms.ttl *= 2,
        |it: &mut Declared| it.terms.claim *= 2,
        |it: &mut Declared| it.terms.block = 5,
        |it: &mut Declared| (it.terms.block, it.limit, it.config) = (5, 3, 2),
    ] {
        assert_eq!(server.open(B, change), theirs);
    }
    assert_eq!(server.open(B, |it| (it.run, it.limit, it.config) = (None, 3, 2)), Outcome::RecoveryConflict);
    assert_eq!(server.settings(), before);
}

#[test]
fn the_limit_of_a_newer_configuration_wins_and_an_older_one_follows() {
    let mut server = Server::new();
    assert!(matches!(server.open(A, |it| (it.limit, it.config) = (5, 2)), Outcome::Opened { .. }));
    assert!(matches!(server.open(B, |_| {}), Outcome::Opened { owners: 2, .. }));
    let m = server.settings();
    assert_eq!((m.limit, m.declared, m.config, m.version), (5, 5, 2, 2.into()));
}

#[test]
fn a_repeated_acquire_renews_the_same_lease_with_a_new_token() {
    let mut server = Server::new();
    let first = server.acquire(id(A, 1, 1));
    server.pass(10);
    let Outcome::Granted { token } = server.acquire(id(A, 1, 1)) else { panic!() };
    assert!(matches!(first, Outcome::Granted { token: before } if before < token));
    assert_eq!(server.status().lease_page, [(id(A, 1, 1), server.now.after(TERMS.ttl))]);
}

#[test]
fn after_a_server_came_back_with_older_data_tokens_are_larger_than_those_it_lost() {
    let mut server = Server::new();
    let before = server.settings().token;
    server.pass(50);
    // Ten grants, of which the data that was kept knows nothing.
    let lost = Token::from(u64::from(before) + 10);
    server.open(A, |declared| declared.run = Some(RunId::from(2)));
    server.era.run = Some(RunId::from(2));
    server.pass(2_000);
    let Outcome::Granted { token } = server.acquire(id(A, 1, 1)) else { panic!("the quarantine is over") };
    assert!(token > lost, "{token:?} after {lost:?}");
}

#[test]
fn units_pass_on_in_order_and_a_call_that_does_not_wait_overtakes_none() {
    let mut server = Server::new();
    assert!(is_granted(&server.acquire(id(A, 1, 1))) && is_granted(&server.acquire(id(B, 1, 1))));
    let first = ticket(&server.acquire(id(B, 2, 1)));
    assert!(first < ticket(&server.acquire(id(A, 3, 2))));
    server.acquire(id(B, 4, 1));
    server.release(id(A, 1, 1));
    assert_eq!(server.granted(), [id(B, 2, 1)]);
    server.release(id(B, 1, 1));
    assert_eq!(server.granted(), [], "the head costs two units");
    assert!(matches!(server.ask(id(B, 5, 1), false, 100, vec![]), Outcome::Saturated { .. }));
    server.release(id(B, 2, 1));
    assert_eq!(server.granted(), [id(A, 3, 2)]);
    server.release(id(A, 3, 2));
    assert_eq!(server.granted(), [id(B, 4, 1)]);
}

#[test]
fn the_queue_is_bounded_for_new_waiters_only() {
    let mut server = Server::new();
    server.acquire(id(A, 1, 2));
    ticket(&server.ask(id(A, 2, 1), true, 1, vec![]));
    assert!(matches!(server.ask(id(A, 3, 1), true, 1, vec![]), Outcome::QueueFull { .. }));
    ticket(&server.ask(id(A, 2, 1), true, 1, vec![]));
}

#[test]
fn a_second_release_changes_nothing() {
    let mut server = Server::new();
    server.acquire(id(A, 1, 1));
    server.acquire(id(A, 2, 1));
    (0..3).for_each(|_| server.release(id(A, 1, 1)));
    assert_eq!(server.leases(), [id(A, 2, 1)]);
}

#[test]
fn a_beat_tells_of_a_grant_whose_notice_was_lost() {
    let mut server = Server::new();
    server.acquire(id(A, 1, 2));
    let place = ticket(&server.acquire(id(B, 1, 1)));
    server.release(id(A, 1, 2));
    let Outcome::Beaten { granted, .. } = server.beat(B, &[], &[(id(B, 1, 1), place)], 1) else { panic!() };
    assert_eq!(granted[0].0, id(B, 1, 1));
    assert_eq!(server.status().lease_page, [(id(B, 1, 1), server.now.after(TERMS.ttl))], "a full lease");
}

#[test]
fn a_waiter_that_is_not_heard_is_passed_over_and_keeps_its_place() {
    let mut server = Server::new();
    server.acquire(id(A, 1, 2));
    let place = ticket(&server.acquire(id(A, 2, 1)));
    ticket(&server.acquire(id(B, 2, 2)));
    ticket(&server.acquire(id(B, 3, 1)));
    server.deaf = vec![A];
    server.release(id(A, 1, 2));
    assert_eq!(server.granted(), [id(B, 2, 2)]);
    server.deaf = vec![];
    server.beat(A, &[], &[(id(A, 2, 1), place)], 1);
    server.beat(A, &[], &[(id(A, 2, 1), Ticket::from(u64::MAX >> 1))], 1);
    assert_eq!(server.status().waiter_page[0], (id(A, 2, 1), place), "the first ticket stays");
}

#[test]
fn a_waiter_whose_process_is_dead_gets_nothing_and_waiting_counts_as_a_sign_of_life() {
    let mut server = Server::new();
    server.acquire(id(A, 1, 2));
    ticket(&server.acquire(id(B, 1, 1)));
    server.pass(299);
    ticket(&server.acquire(id(A, 2, 1)));
    server.pass(1);
    server.release(id(A, 1, 2));
    assert_eq!(server.granted(), [id(A, 2, 1)]);
}

#[test]
fn a_full_reap_drops_the_waiters_of_dead_processes() {
    let mut server = Server::new();
    server.acquire(id(A, 1, 2));
    server.acquire(id(A, 2, 1));
    server.acquire(id(B, 1, 1));
    server.pass(300);
    server.beat(B, &[], &[], 1);
    let reaped = server.outcome(&Command::Reap { full: false, offset: 0 });
    assert_eq!(reaped, Outcome::Reaped { freed: 0, dropped: 0, next: 0 });
    let reaped = server.outcome(&Command::Reap { full: true, offset: 0 });
    assert_eq!(reaped, Outcome::Reaped { freed: 0, dropped: 1, next: 1 });
    server.pass(700);
    server.beat(B, &[], &[], 1);
    assert_eq!((server.granted(), server.status().session_page.len()), (vec![id(B, 1, 1)], 1));
}

#[test]
fn work_that_is_cut_off_goes_on_with_the_next_reap() {
    let mut server = Server::empty();
    server.table = Table::with_cuts(Cuts { page: 3, grants: 3 });
    server.open(A, |it| it.limit = 7);
    (0..7).for_each(|seq| assert!(is_granted(&server.acquire(id(A, seq, 1)))));
    (7..14).for_each(|seq| _ = ticket(&server.acquire(id(A, seq, 1))));
    server.pass(1000);
    server.open(A, |it| it.limit = 7);
    let mut granted = vec![server.granted().len()];
    while server.run(&Command::Reap { full: false, offset: 0 }).head.unwrap().more {
        granted.push(server.granted().len());
    }
    granted.push(server.granted().len());
    assert_eq!(granted, [3, 3, 1]);
}

#[test]
fn a_swap_gives_back_and_asks_in_one_step() {
    let mut server = Server::new();
    server.acquire(id(A, 1, 2));
    assert!(is_granted(&server.ask(id(A, 2, 2), true, 100, vec![id(A, 1, 2)])));
    ticket(&server.acquire(id(B, 1, 1)));
    ticket(&server.ask(id(A, 3, 2), true, 100, vec![id(A, 2, 2)]));
    assert_eq!(server.granted(), [id(B, 1, 1)], "a waiter is first");
}

#[test]
fn a_limit_changes_by_version_grants_when_it_grows_and_revokes_nothing() {
    let mut server = Server::new();
    server.acquire(id(A, 1, 2));
    server.acquire(id(B, 1, 1));
    assert_eq!(server.set_limit(3, 1), Outcome::Done);
    assert_eq!(server.granted(), [id(B, 1, 1)]);
    assert_eq!(server.set_limit(9, 1), Outcome::VersionConflict);
    ticket(&server.acquire(id(B, 2, 3)));
    assert_eq!(server.set_limit(1, 2), Outcome::Done);
    assert_eq!(server.leases().len(), 2);
    assert_eq!(server.acquire(id(B, 3, 2)), Outcome::TooLarge);
    server.release(id(A, 1, 2));
    assert_eq!(server.notices, [], "one unit is still in use");
    server.release(id(B, 1, 1));
    assert_eq!(server.notices, [Notice::TooLarge { id: id(B, 2, 3) }]);
}

#[test]
fn a_beat_of_an_earlier_link_is_refused() {
    let mut server = Server::new();
    server.open(A, |it| it.generation = 3);
    assert_eq!(server.beat(A, &[id(A, 1, 1)], &[], 2), Outcome::OldGeneration);
    assert_eq!(server.leases(), []);
    assert!(matches!(server.beat(A, &[id(A, 1, 1)], &[], 3), Outcome::Beaten { .. }));
}

#[test]
fn a_lease_that_is_over_is_adopted_again_only_if_there_is_room() {
    let mut server = Server::new();
    let [old, new] = [id(A, 1, 2), id(B, 1, 1)];
    server.acquire(old);
    server.pass(1000);
    server.set_limit(2, 1);
    assert!(matches!(server.beat(A, &[old], &[], 1), Outcome::Beaten { lost, .. } if lost.is_empty()));
    server.pass(1000);
    server.set_limit(2, 2);
    assert!(is_granted(&server.acquire(new)));
    assert!(matches!(server.beat(A, &[old], &[], 1), Outcome::Beaten { lost, .. } if lost == [old]));
}

#[test]
fn after_a_loss_of_data_nothing_is_granted_for_one_ttl_and_all_that_lives_is_adopted() {
    let mut server = Server::new();
    let leases = [id(A, 1, 1), id(A, 2, 1)];
    assert!(leases.into_iter().all(|id| is_granted(&server.acquire(id))));
    let place = ticket(&server.acquire(id(A, 3, 1)));
    let before = server.era.epoch;
    server.highest = Some(Token::from(7_000_000));
    server.table.forget();
    assert_eq!(server.acquire(id(B, 1, 1)), Outcome::Stale);
    let end = server.now.after(TERMS.ttl);
    let opened = server.open(B, |it| it.known = Some(before));
    assert_eq!(opened, Outcome::Opened { quarantine: end, owners: 1 });
    assert_eq!(server.era.epoch, Epoch::from(7_000_001), "above the highest token");
    assert_eq!(server.ask(id(B, 1, 1), false, 9, vec![]), Outcome::Recovering { until: end });
    let later = ticket(&server.acquire(id(B, 2, 1)));
    assert!(place < later, "a call that waited before is first");
    let all = [leases[0], leases[1], id(A, 9, 2)];
    let answer = server.beat(A, &all, &[(id(A, 3, 1), place)], 1);
    assert!(matches!(answer, Outcome::Beaten { lost, .. } if lost.is_empty()), "above the limit, too");
    server.pass(800);
    server.beat(B, &[], &[], 1);
    assert_eq!(server.granted(), []);
    server.pass(200);
    server.open(A, |_| {});
    assert_eq!(server.granted(), [id(A, 3, 1), id(B, 2, 1)]);
}

#[test]
fn another_run_of_the_server_begins_a_quarantine() {
    let mut server = Server::new();
    server.era.run = Some(RunId::from(2));
    assert_eq!(server.acquire(id(A, 1, 1)), Outcome::Stale);
    let end = server.now.after(TERMS.ttl);
    assert_eq!(server.open(A, |_| {}), Outcome::Opened { quarantine: end, owners: 2 });
    server.era.run = Some(RunId::from(1));
    assert_eq!(server.acquire(id(A, 1, 1)), Outcome::Stale, "a link to the old server");
}

#[test]
fn a_new_bulkhead_begins_with_a_quarantine_if_data_may_have_been_lost_just_before() {
    let opened = |server: &mut Server, change: fn(&mut Declared)| {
        let Outcome::Opened { quarantine, .. } = server.open(A, change) else { panic!() };
        quarantine != ServerTime::default()
    };
    assert!(!opened(&mut Server::empty(), |_| {}));
    assert!(opened(&mut Server::empty(), |it| it.young = true));
    assert!(opened(&mut Server::empty(), |it| it.known = Some(9.into())));
    assert!(!opened(&mut Server::empty(), |it| (it.young, it.run) = (true, None)), "without recovery");
    let mut torn = Server::new();
    torn.table.forget_settings();
    assert!(opened(&mut torn, |_| {}));
}

#[test]
fn closing_gives_back_what_a_process_has() {
    let mut server = Server::new();
    server.acquire(id(A, 1, 2));
    server.acquire(id(B, 1, 1));
    server.acquire(id(A, 2, 1));
    server.run(&Command::Close { owner: A.into(), ids: vec![id(A, 1, 2), id(A, 2, 1)] });
    let Status { lease_page, waiting, session_page, .. } = server.status();
    assert_eq!((lease_page[0].0, waiting, session_page.len()), (id(B, 1, 1), 0, 1));
}

#[test]
fn a_clock_that_goes_back_makes_leases_last_longer_and_loses_none() {
    let mut server = Server::new();
    server.acquire(id(A, 1, 1));
    server.now = ServerTime::from(4_000_000);
    assert!(is_granted(&server.acquire(id(A, 2, 1))));
    assert!(matches!(server.ask(id(A, 3, 1), false, 9, vec![]), Outcome::Saturated { .. }));
    server.pass(1000);
    assert!(is_granted(&server.acquire(id(A, 3, 1))));
    assert_eq!(server.leases(), [id(A, 3, 1), id(A, 1, 1)]);
}
