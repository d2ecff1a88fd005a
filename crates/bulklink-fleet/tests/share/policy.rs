//! The policy: when a process states its condition, and which units it uses and keeps.

use std::time::Duration;

use bulklink::Load;
use bulklink::runtime::Instant;
use bulklink_fleet::share::{
    Allocator, Connection, Decision, Declaration, Demand, Grant, Level, Notice, Policy, Reply, Share, Terms, Tuning,
};
use bulklink_fleet::{ProcessId, ServerTime};

use crate::{at, granted, need, share};

/// The load of a bulkhead of 100 units.
fn load(change: impl FnOnce(&mut Load)) -> Load {
    let mut load = Load::default();
    load.capacity = 100;
    change(&mut load);
    load
}

/// A process with its policy, and a server that answers at once.
struct Process {
    policy: Policy,
    share: Share,
    server: Allocator,
    load: Load,
    sent: Vec<Demand>,
}

impl Process {
    fn new(tuning: Tuning) -> Self {
        let (policy, server) = (Policy::new(tuning), Allocator::default());
        Self { policy, share: share(), server, load: load(|_| ()), sent: vec![] }
    }

    /// Looks until nothing is left to do now. Returns the last ceiling, and when to look again.
    fn look(&mut self, now: u64) -> (u32, Option<Instant>) {
        for _ in 0..9 {
            let Decision { ceiling, demand, next } = self.policy.look(at(now), &self.load, &self.share);
            (self.load.refused, self.load.peak_in_use) = (0, 0);
            if let Some(demand) = demand {
                self.sent.push(demand);
                let statement = self.share.send(at(now), Connection::default(), demand);
                let reply = self.server.sync(ServerTime::from(now * 1_000), &statement, &mut |_| true).unwrap();
                self.share.take(at(now), &reply);
            } else if next.is_none_or(|next| next > at(now)) {
                return (ceiling, next);
            }
        }
        panic!("it never ends: {:?}", self.sent);
    }

    /// Another process states its condition.
    fn other(&mut self, now: u64, demand: Demand) {
        let declaration = Declaration { config: 1, limit: 10, terms: Terms::default() };
        let mut other = Share::new(ProcessId::from(8), 1, declaration);
        let statement = other.send(at(now), Connection::default(), Demand { keep: 0, ..demand });
        let mut notices = vec![];
        let mut publish = |notice| {
            notices.push(notice);
            true
        };
        self.server.sync(ServerTime::from(now * 1_000), &statement, &mut publish).unwrap();
        for notice in &notices {
            self.share.take_notice(at(now), notice);
        }
    }

    fn take_sent(&mut self) -> Vec<Demand> {
        std::mem::take(&mut self.sent)
    }
}

/// A process without units and without calls sends nothing: after the first statement, and after
/// two beats without a call.
#[test]
fn an_idle_process_sends_nothing() {
    let mut process = Process::new(Tuning::default());
    assert_eq!(process.look(1), (0, None));
    assert_eq!(process.take_sent(), [Demand::default()]);
    process.load.in_use = 4;
    assert_eq!(process.look(5_000).0, 5, "one is spare");
    process.load.in_use = 0;
    let mut looks = 0;
    let mut next = process.look(5_001).1;
    while let Some(time) = next {
        next = process.look(u64::try_from(time.saturating_since(at(0)).as_millis()).unwrap()).1;
        looks += 1;
    }
    assert!(looks <= 4, "{looks}");
    assert_eq!(process.take_sent().last(), Some(&Demand::default()));
    assert_eq!(process.look(99_000), (0, None));
    assert_eq!(process.take_sent(), []);
}

/// Its calls have gone before it had units: so it needs none, which the next beat states.
#[test]
fn a_process_that_needs_nothing_any_more_says_so_once() {
    let mut process = Process::new(Tuning::default().with_headroom(0));
    process.other(100, need(0, 10));
    process.load.waiting = 5;
    process.look(101);
    assert_eq!(process.take_sent(), [need(0, 5)]);
    process.load.waiting = 0;
    assert_eq!(process.look(102).1, Some(at(1_101)));
    assert_eq!(process.take_sent(), []);
    assert_eq!(process.look(1_101), (0, None));
    assert_eq!(process.take_sent(), [Demand::default()]);
}

/// Also long before the next beat: no other process may be left that hands out units.
#[test]
fn a_process_that_waits_asks_again_when_units_can_be_free() {
    let mut process = Process::new(Tuning::default().with_beat(Duration::from_secs(60)).with_headroom(0));
    process.other(100, need(0, 10));
    process.load.waiting = 5;
    assert_eq!(process.look(101).1, Some(at(3_100)), "the other is silent then");
    assert_eq!(process.take_sent().len(), 1);
    assert_eq!(process.look(3_100).1, Some(at(10_100)), "its lease is over then");
    assert_eq!(process.look(10_100).0, 5);
    assert_eq!(process.take_sent(), [need(0, 5); 2]);
}

/// With the units of a notice, the time at which others could become free is of no interest.
#[test]
fn a_process_that_has_what_it_needs_does_not_ask_for_more() {
    let mut policy = Policy::new(Tuning::default().with_beat(Duration::from_secs(60)).with_headroom(0));
    let (mut share, waiting) = (share(), load(|load| load.waiting = 5));
    let demand = policy.look(at(0), &waiting, &share).demand.unwrap();
    let reply = granted(&mut share, 0, demand, 0, 90_000);
    share.take(at(0), &Reply { due: Some(Duration::from_secs(3)), ..reply });
    assert_eq!(policy.look(at(1), &waiting, &share).next, Some(at(3_000)));
    share.take_notice(at(2), &Notice::Granted(Grant { units: 5, ..reply.grant }));
    let running = load(|load| load.in_use = 5);
    assert_eq!(policy.look(at(2), &running, &share).next, Some(at(2)), "it uses them first");
    for now in [2, 3_000] {
        let decision = policy.look(at(now), &running, &share);
        assert_eq!((decision.demand, decision.next), (None, Some(at(60_000))));
    }
}

/// All of its units are in use: there is no idle one with a time that could come.
#[test]
fn a_process_without_idle_units_is_not_looked_at_for_them() {
    let mut process = Process::new(Tuning::default());
    process.load.in_use = 5;
    process.look(0);
    process.other(100, need(0, 10));
    assert_eq!(process.look(110).0, 5);
    let (ceiling, next) = process.look(120);
    assert_eq!((ceiling, process.share.usable(at(120)), next), (5, 5, Some(at(1_110))));
}

#[test]
fn a_process_asks_when_its_load_exceeds_its_units_and_again_when_it_has_grown() {
    let mut process = Process::new(Tuning::default().with_headroom(0));
    process.look(0);
    process.take_sent();
    process.load.waiting = 12;
    assert_eq!(process.look(1).0, 10);
    assert_eq!(process.take_sent(), [need(0, 12)]);
    for (waiting, sent) in [(13, 0), (14, 0), (15, 1), (17, 0), (18, 1)] {
        process.load.waiting = waiting;
        process.look(2);
        assert_eq!(process.take_sent().len(), sent, "{waiting}");
    }
    process.load = load(|load| (load.in_use, load.refused) = (10, 11));
    process.look(3);
    assert_eq!(process.take_sent(), [], "it has not grown by a quarter");
    assert_eq!(process.look(1_002).1, Some(at(2_002)));
    process.look(2_002);
    assert_eq!(process.take_sent(), [need(10, 21), need(10, 10)], "refused calls count until the next statement");
}

#[test]
fn idle_units_go_back_after_linger_while_others_wait() {
    let mut process = Process::new(Tuning::default());
    process.load.in_use = 10;
    process.look(0);
    process.take_sent();
    process.other(100, need(0, 8));
    assert_eq!(process.share.firm(), Some(5));
    assert_eq!(process.look(100).0, 5);
    process.load.in_use = 7;
    process.look(101);
    assert_eq!(process.take_sent().last().map(|demand| demand.keep), Some(7), "above the level, immediately");
    process.load = load(|load| (load.in_use, load.peak_in_use) = (2, 7));
    let (_, next) = process.look(107);
    assert_eq!(process.take_sent().last().map(|demand| demand.keep), Some(5));
    assert!(next.is_some_and(|next| next <= at(109)), "{next:?}");
    process.look(109);
    process.look(111);
    assert_eq!(process.take_sent().last().map(|demand| demand.keep), Some(2));
}

/// New units above the level are used for a turn, and then no more.
#[test]
fn units_above_the_level_have_a_turn() {
    let mut process = Process::new(Tuning::default());
    process.load.in_use = 1;
    process.look(0);
    process.load.waiting = 9;
    process.look(100);
    process.other(100, need(0, 9));
    assert_eq!(process.share.firm(), Some(5));
    process.load = load(|load| load.in_use = 10);
    assert_eq!(process.look(104).0, 10);
    assert_eq!(process.look(105).0, 5);
}

/// With `strict`, new units are offered to waiting calls once, and idle units go back immediately.
#[test]
fn a_strict_process_gives_each_unit_back_after_one_use() {
    let mut process = Process::new(Tuning::default().strict());
    process.load.waiting = 10;
    process.look(0);
    process.other(100, need(0, 10));
    process.load = load(|load| (load.in_use, load.waiting) = (10, 20));
    assert_eq!(process.look(100).0, 5);
    process.take_sent();
    (process.load.in_use, process.load.peak_in_use) = (9, 30);
    process.look(100);
    assert_eq!(process.take_sent().first().map(|demand| (demand.keep, demand.spare)), Some((9, 0)));
}

/// Others have new units above the level for a turn.
#[test]
fn a_strict_process_uses_new_units_above_the_level_once() {
    for (tuning, ceiling) in [(Tuning::default(), 5), (Tuning::default().strict(), 2)] {
        let (mut policy, mut share, load) = (Policy::new(tuning), share(), load(|load| load.in_use = 5));
        let demand = policy.look(at(0), &load, &share).demand.unwrap();
        granted(&mut share, 0, demand, 5, 90_000);
        share.tighten(Level::from(2));
        assert_eq!([1, 1].map(|now| policy.look(at(now), &load, &share).ceiling), [5, ceiling]);
    }
}

/// An idle unit is not kept because of the call that has just ended.
#[test]
fn a_strict_process_keeps_nothing_for_a_past_load() {
    let mut process = Process::new(Tuning::default().strict());
    process.load.in_use = 10;
    process.look(0);
    process.other(100, need(0, 10));
    process.take_sent();
    process.load = load(|load| load.peak_in_use = 10);
    process.look(100);
    assert_eq!(process.take_sent(), [Demand::default()]);
}

#[test]
fn a_new_connection_is_owed_a_statement() {
    let mut process = Process::new(Tuning::default());
    process.look(0);
    process.policy.set_connected(true);
    process.look(1);
    assert_eq!(process.take_sent().len(), 2);
    process.load.capacity = 3;
    process.load.waiting = 9;
    process.look(2);
    assert_eq!(process.take_sent(), [need(0, 3)], "at most the capacity");
}

/// One without a need sends nothing until the next beat, and is not looked at before.
#[test]
fn a_process_states_its_spare_units_with_each_beat_and_nothing_in_between() {
    let mut process = Process::new(Tuning::default().with_headroom(50));
    process.load.in_use = 4;
    process.look(0);
    assert_eq!(process.take_sent().last(), Some(&Demand { spare: 2, ..need(0, 4) }));
    process.load.in_use = 3;
    assert_eq!(process.look(500).1, Some(at(1_000)));
    assert_eq!(process.take_sent(), []);
    process.look(1_000);
    assert_eq!(process.take_sent().len(), 1);
}

/// Units that go back while nothing is granted would serve no other process.
#[test]
fn units_stay_while_they_cannot_move() {
    let mut process = Process::new(Tuning::default());
    process.load.in_use = 10;
    process.look(0);
    process.other(100, need(0, 8));
    process.take_sent();
    process.policy.set_fixed(at(200));
    process.load.in_use = 2;
    assert_eq!(process.look(150).0, 10);
    assert_eq!(process.take_sent(), []);
    assert_eq!(process.look(200).0, 2);
}

#[test]
fn units_stay_without_a_connection_and_until_the_first_statement_on_one() {
    let mut process = Process::new(Tuning::default());
    process.load.in_use = 10;
    process.look(0);
    process.other(100, need(0, 8));
    process.take_sent();
    process.load.in_use = 2;
    process.policy.set_connected(false);
    assert_eq!(process.look(200).0, 10);
    process.policy.set_connected(true);
    process.look(201);
    let keeps: Vec<_> = process.take_sent().iter().map(|demand| demand.keep).collect();
    assert_eq!(keeps, [10, 2], "the first statement on a connection says what there is");
}

#[test]
fn nothing_is_stated_without_a_connection_or_beside_another_statement() {
    let mut process = Process::new(Tuning::default());
    process.look(0);
    process.take_sent();
    process.policy.set_connected(false);
    process.load.waiting = 5;
    process.look(2_000);
    assert_eq!(process.take_sent(), []);
    process.policy.set_connected(true);
    process.share.send(at(2_000), Connection::default(), need(0, 1));
    let decision = process.policy.look(at(2_000), &process.load, &process.share);
    assert_eq!(decision.demand, None, "one is on its way");
}

/// The units of the call that waits first, beside those in use. Fewer are stated as soon as fewer
/// are enough.
#[test]
fn a_process_says_with_how_many_units_it_can_go_on() {
    let mut process = Process::new(Tuning::default().with_headroom(0));
    process.look(0);
    process.other(0, need(0, 8));
    process.take_sent();
    process.load = load(|load| (load.waiting, load.first) = (9, 9));
    process.look(1);
    assert_eq!(process.take_sent().last(), Some(&Demand { least: 9, ..need(0, 9) }));
    process.look(2);
    assert_eq!(process.take_sent(), [], "nothing has changed");
    let usable = process.share.usable(at(2));
    process.load = load(|load| (load.in_use, load.waiting, load.first) = (usable as usize, 6, 2));
    process.look(3);
    let least = process.take_sent().first().map(|demand| demand.least);
    assert_eq!(least, Some(usable + 2));
}

/// The units that it has are enough for the call that waited first, so fewer would change nothing.
#[test]
fn a_process_that_can_go_on_does_not_state_fewer_units() {
    let mut process = Process::new(Tuning::default().with_headroom(0));
    process.look(0);
    process.other(0, need(0, 8));
    process.load = load(|load| (load.waiting, load.first) = (9, 2));
    process.look(1);
    assert_eq!(process.take_sent().last(), Some(&Demand { least: 2, ..need(0, 9) }));
    process.load = load(|load| load.in_use = 2);
    assert_eq!(process.look(2).0, 2);
    assert_eq!(process.take_sent(), []);
}

#[test]
fn only_a_strict_process_is_looked_at_after_each_operation() {
    let lingers = |tuning| Policy::new(tuning).lingers();
    assert!(lingers(Tuning::default()) && !lingers(Tuning::default().strict()));
}
