//! Short contests in real processes, judged by the witness.

#![cfg(unix)]

use std::time::Duration;

use bulklink_contest::scene::{
    Arena, Effort, Named, Played, Postgresql, Scene, Storm, attempts, overtaken_at_home, storm,
};
use bulklink_contest::task::Kind;
use bulklink_contest::witness::{Outcome, false_rejections, jain, peak, unfenced};
use bulklink_servers::{Missing, require};

fn arena() -> Result<Arena, Missing> {
    Arena::start(env!("CARGO_BIN_EXE_fleet-contest").into())
}

fn saturated(played: &Played) -> usize {
    played.calls.iter().filter(|call| call.outcome == Outcome::Saturated).count()
}

#[test]
fn few_rejections_are_false_where_those_of_another_scheme_are() {
    let arena = require!(arena());
    let play = |kind| {
        let plan = attempts(&arena, kind, 6_000, true);
        (arena.play_all(&plan).unwrap(), plan.task.limit)
    };
    let (ours, limit) = play(Kind::Ours);
    assert!(ours.calls.len() >= 6_000 && saturated(&ours) > 0, "{} of {}", saturated(&ours), ours.calls.len());
    assert!(ours.calls.iter().all(|call| call.outcome != Outcome::Refused));
    let wrong = false_rejections(&ours.calls, limit).len();
    assert!(wrong * 50 < ours.calls.len(), "{wrong} of {}", ours.calls.len());
    assert!(peak(&ours.calls).units <= limit);
    // That the witness sees anything.
    let (theirs, limit) = play(Kind::Polling);
    assert_ne!(false_rejections(&theirs.calls, limit), Vec::<usize>::new());
}

#[test]
fn no_waiting_call_is_overtaken_in_its_process_where_those_of_another_scheme_are() {
    let arena = require!(arena());
    let play = |kind| arena.play(&arena.plan(kind), Duration::from_secs(1)).unwrap();
    let ours = play(Kind::Ours);
    assert_eq!(overtaken_at_home(&ours), 0);
    assert!(ours.admissions() > 100 && jain(&ours.calls, &ours.span) > 0.95, "{}", jain(&ours.calls, &ours.span));
    assert!(peak(&ours.calls).units <= 10);
    assert_ne!(overtaken_at_home(&play(Kind::Polling)), 0);
}

/// With a limit of 1, each token is larger than those before.
#[test]
fn tokens_order_the_operations_of_all_processes() {
    let arena = require!(arena());
    let mut plan = arena.plan(Kind::Ours);
    (plan.task.limit, plan.task.is_strict, plan.task.hold) = (1, true, Duration::from_millis(1));
    let ours = arena.play(&plan, Duration::from_secs(1)).unwrap();
    assert!(ours.admissions() > 50 && peak(&ours.calls).units <= 1, "{}", ours.admissions());
    assert_eq!((unfenced(&ours.calls), overtaken_at_home(&ours)), (vec![], 0));
}

#[test]
fn units_move_to_the_process_that_needs_them() {
    let arena = require!(arena());
    let effort = Effort { time: Duration::from_secs(1), crashes: 1, ..Effort::QUICK };
    let rows = Scene::Moves.run(&arena, &effort).unwrap();
    // A busy machine may need more time than is promised.
    assert!(rows.iter().all(|row| row.ours.as_ref().is_ok_and(|millis| *millis > 0.0)), "{rows:#?}");
}

#[test]
fn the_limit_holds_while_processes_are_killed_and_nothing_stays_lost() {
    let mut arena = require!(arena());
    judge(&storm(&mut arena, Duration::from_secs(8), Duration::from_millis(300)).unwrap());
}

fn judge(storm: &Storm) {
    assert!(storm.kills >= 5 && storm.cuts >= 5 && storm.stops >= 1 && storm.restarts >= 1, "{} kills", storm.kills);
    for Named { calls, limit, stuck, left } in &storm.names {
        assert!(calls.iter().filter(|call| call.admitted().is_some()).count() > 100);
        let peak = peak(calls);
        let holders: Vec<_> = peak.calls.iter().map(|place| &calls[*place]).collect();
        assert!(peak.units <= *limit, "{} of {limit} units: {holders:#?}", peak.units);
        assert_eq!((*stuck, *left), (0, 0), "limit {limit}");
    }
}

#[test]
fn on_postgresql_few_rejections_are_false_and_no_call_is_overtaken_in_its_process() {
    let arena = require!(arena());
    let server = require!(Postgresql::start(&arena));
    let plan = server.plan(attempts(&arena, Kind::Ours, 3_000, true));
    let fast = arena.play_all(&plan).unwrap();
    assert!(saturated(&fast) > 0 && fast.calls.iter().all(|call| call.outcome != Outcome::Refused));
    assert!(peak(&fast.calls).units <= plan.task.limit);
    let slow = arena.play(&server.plan(arena.plan(Kind::Ours)), Duration::from_secs(1)).unwrap();
    assert_eq!(overtaken_at_home(&slow), 0);
    assert!(slow.admissions() > 20 && peak(&slow.calls).units <= 10, "{} admissions", slow.admissions());
}

#[test]
fn on_postgresql_the_limit_holds_while_processes_are_killed_and_nothing_stays_lost() {
    let arena = require!(arena());
    let mut server = require!(Postgresql::start(&arena));
    judge(&storm(&mut server, Duration::from_secs(8), Duration::from_millis(300)).unwrap());
}
