//! Short contests in real processes, judged by the witness.

#![cfg(unix)]

use std::time::Duration;

use bulklink_contest::scene::{Arena, Played, Postgresql, Storm, attempts, storm};
use bulklink_contest::task::Kind;
use bulklink_contest::witness::{Outcome, false_rejections, jain, overtaken, peak, unfenced};
use bulklink_servers::{Missing, require};

fn arena() -> Result<Arena, Missing> {
    Arena::start(env!("CARGO_BIN_EXE_fleet-contest").into())
}

fn saturated(played: &Played) -> usize {
    played.calls.iter().filter(|call| call.outcome == Outcome::Saturated).count()
}

#[test]
fn no_rejection_is_false_where_those_of_another_scheme_are() {
    let arena = require!(arena());
    let play = |kind| {
        let plan = attempts(&arena, kind, 6_000, true);
        (arena.play_all(&plan).unwrap(), plan.task.limit)
    };
    let (ours, limit) = play(Kind::Ours);
    assert!(ours.calls.len() >= 6_000 && saturated(&ours) > 0, "{} of {}", saturated(&ours), ours.calls.len());
    assert!(ours.calls.iter().all(|call| call.outcome != Outcome::Refused));
    assert_eq!(false_rejections(&ours.calls, limit), Vec::<usize>::new());
    assert!(peak(&ours.calls).units <= limit);
    // That the witness sees anything.
    let (theirs, limit) = play(Kind::Polling);
    assert_ne!(false_rejections(&theirs.calls, limit), Vec::<usize>::new());
}

#[test]
fn no_waiting_call_is_overtaken_where_those_of_another_scheme_are() {
    let arena = require!(arena());
    let play = |kind| arena.play(&arena.plan(kind), Duration::from_secs(1)).unwrap();
    let ours = play(Kind::Ours);
    assert_eq!((overtaken(&ours.calls), unfenced(&ours.calls)), (vec![], vec![]));
    assert!(ours.admissions() > 100 && jain(&ours.calls, &ours.span) > 0.95, "{}", jain(&ours.calls, &ours.span));
    assert!(peak(&ours.calls).units <= 10);
    assert_ne!(overtaken(&play(Kind::Polling).calls), Vec::<usize>::new());
}

#[test]
fn the_limit_holds_while_processes_are_killed_and_nothing_stays_lost() {
    let arena = require!(arena());
    let storm = storm(&arena, &arena, Duration::from_secs(5), Duration::from_millis(400)).unwrap();
    judge(&storm);
}

fn judge(storm: &Storm) {
    assert!(storm.kills >= 5 && storm.cuts >= 2 && storm.stops >= 1, "{} kills", storm.kills);
    assert!(storm.calls.iter().filter(|call| call.admitted().is_some()).count() > 100);
    let peak = storm.peak();
    let holders: Vec<_> = peak.calls.iter().map(|place| &storm.calls[*place]).collect();
    assert!(peak.units <= storm.limit, "{} of {} units: {holders:#?}", peak.units, storm.limit);
    assert_eq!((unfenced(&storm.calls), storm.stuck, storm.left), (vec![], 0, 0));
}

#[test]
fn on_postgresql_no_rejection_is_false_and_no_call_is_overtaken() {
    let arena = require!(arena());
    let server = require!(Postgresql::start(&arena));
    let plan = server.plan(attempts(&arena, Kind::Ours, 3_000, true));
    let fast = arena.play_all(&plan).unwrap();
    assert!(saturated(&fast) > 0 && fast.calls.iter().all(|call| call.outcome != Outcome::Refused));
    assert_eq!(false_rejections(&fast.calls, plan.task.limit), Vec::<usize>::new());
    assert!(peak(&fast.calls).units <= plan.task.limit);
    let slow = arena.play(&server.plan(arena.plan(Kind::Ours)), Duration::from_secs(1)).unwrap();
    assert_eq!((overtaken(&slow.calls), unfenced(&slow.calls)), (vec![], vec![]));
    assert!(slow.admissions() > 20 && peak(&slow.calls).units <= 10, "{} admissions", slow.admissions());
}

#[test]
fn on_postgresql_the_limit_holds_while_processes_are_killed_and_nothing_stays_lost() {
    let arena = require!(arena());
    let server = require!(Postgresql::start(&arena));
    judge(&storm(&arena, &server, Duration::from_secs(5), Duration::from_millis(400)).unwrap());
}
