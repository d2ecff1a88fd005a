//! The level, and the notices about it.

use std::time::Duration;

use bulklink_fleet::ProcessId;
use bulklink_fleet::share::{Declaration, Level, Statement};
use fastrand::Rng;

use crate::{Server, statement};

/// Compares the level with all levels, for random needs and weights.
#[test]
fn level_is_the_largest() {
    for seed in 0..300 {
        let mut random = Rng::with_seed(seed);
        let mut server = Server::new();
        let (mut last, mut rows) = (None, vec![]);
        for process in 0..random.u128(1..6) {
            let (need, weight) = (random.u32(0..12), random.u32(0..4));
            server.now += 1;
            server.seq += 1;
            let own = Statement { seq: server.seq, need, weight, ..statement(process) };
            last = server.sync(own).unwrap().grant.level;
            rows.push((need, weight.max(1)));
        }
        let sum =
            |level: u32| rows.iter().map(|(need, weight)| u64::from(level * weight).min((*need).into())).sum::<u64>();
        let needs: u64 = rows.iter().map(|(need, _)| u64::from(*need)).sum();
        match last.map(u32::from) {
            Some(level) if level < u32::MAX => assert!(sum(level) <= 10 && 10 < sum(level + 1), "{level} of {rows:?}"),
            level => assert!(level.is_some() || needs <= 10, "{rows:?}"),
        }
    }
}

/// Each process has its part of the limit by its weight, less if it needs less.
#[test]
fn units_are_max_min_fair() {
    let mut server = Server::new();
    assert_eq!(server.units(1, 0, 10), 10);
    assert_eq!(server.state(2, 0, 2, 0).grant.level, Some(Level::from(8)));
    server.seq += 1;
    let heavy = Statement { seq: server.seq, need: 10, weight: 3, ..statement(3) };
    server.now += 1;
    assert_eq!(server.sync(heavy).unwrap().grant.level, Some(Level::from(2)));
    server.notices.clear();
    assert_eq!(server.units(1, 0, 10), 2);
    assert_eq!(server.grants(), [(ProcessId::from(2), 2), (ProcessId::from(3), 6)]);
}

/// It is computed once in 20 µs for each process, however many statements there are.
#[test]
fn a_level_is_kept_for_a_moment() {
    let mut server = Server::new();
    server.units(1, 0, 10);
    let level = |server: &mut Server, process| server.state(process, 0, 5, 0).grant.level;
    assert_eq!(level(&mut server, 2), Some(Level::from(5)));
    assert_eq!(level(&mut server, 3), Some(Level::from(5)), "not 3 yet");
    server.now += 1;
    assert_eq!(level(&mut server, 3), Some(Level::from(3)));
}

/// A process that was granted a unit above its level goes to the end of the queue.
#[test]
fn units_above_the_level_are_granted_in_turn() {
    let mut server = Server::new();
    server.seq += 1;
    let declaration = Declaration { limit: 1, ..statement(1).declaration };
    let mut state = |process, keep| {
        server.now += 1;
        server.seq += 1;
        server.sync(Statement { seq: server.seq, declaration, keep, need: 2, ..statement(process) }).unwrap();
        let status = server.allocator.status(server.time()).unwrap();
        status.rows.iter().find(|row| row.granted == 1).map(|row| u128::from(row.process))
    };
    assert_eq!([state(1, 0), state(2, 0), state(3, 0)], [Some(1); 3]);
    // Its second unit was needed before the others stated their needs. Then each has its turn.
    for (holder, next) in [(1, 1), (1, 2), (2, 3), (3, 1), (1, 2)] {
        assert_eq!(state(holder, 0), Some(next));
    }
}

/// As long as a process waits, however long ago the last statement was.
#[test]
fn a_status_has_the_level_while_processes_wait() {
    let mut server = Server::new();
    let level = |server: &Server| server.allocator.status(server.time()).unwrap().level;
    server.units(1, 0, 10);
    assert_eq!(level(&server), None);
    server.units(2, 0, 10);
    // The calm is over after 10 ms, and the claim after 30 ms.
    for expected in [Some(5), Some(5), Some(5), None] {
        assert_eq!(level(&server), expected.map(Level::from));
        server.now += 12;
    }
}

/// Units above the level go first to processes that got nothing up to it.
#[test]
fn a_process_that_was_granted_units_up_to_the_level_is_last_above_it() {
    let mut server = Server::new();
    assert_eq!([server.units(2, 0, 3), server.units(3, 0, 3)], [3, 3]);
    server.set_limit(6);
    assert_eq!(server.units(1, 0, 9), 0, "it is the first in line");
    assert_eq!([server.units(2, 3, 5), server.units(3, 3, 5)], [3, 3]);
    server.set_limit(10);
    let status = server.allocator.status(server.time()).unwrap();
    assert_eq!(status.rows.iter().map(|row| row.granted).collect::<Vec<_>>(), [3, 4, 3]);
}

/// With weights, more units can be left above the level than there are processes.
#[test]
fn units_above_the_level_are_divided_equally() {
    for (weight, needs, units) in [(3, &[9, 9, 9][..], &[5, 5, 4][..]), (5, &[6, 9], &[6, 8])] {
        let mut server = Server::new();
        server.units(9, 0, 1);
        server.set_limit(14);
        assert_eq!(server.units(9, 1, 14), 14);
        for (process, need) in (1..).zip(needs) {
            server.seq += 1;
            let own = Statement { seq: server.seq, need: *need, weight, ..statement(process) };
            assert_eq!(server.sync(own).unwrap().grant.units, 0);
        }
        server.now += 1;
        server.units(9, 0, 0);
        let status = server.allocator.status(server.time()).unwrap();
        assert_eq!(status.rows.iter().map(|row| row.granted).collect::<Vec<_>>(), units);
    }
}

/// As long as no process waits: no units are called back.
#[test]
fn a_process_that_has_the_whole_limit_has_no_level() {
    let mut server = Server::new();
    server.units(1, 0, 10);
    assert_eq!(server.state(1, 10, 10, 0).grant.level, None);
}

#[test]
fn tight_is_told_once_a_calm() {
    let mut server = Server::new();
    server.units(1, 0, 10);
    assert_eq!(server.tights(), 0);
    server.units(2, 0, 5);
    assert_eq!(server.tights(), 1);
    for process in 3..9 {
        server.units(process, 0, 5);
    }
    assert_eq!(server.tights(), 0, "the level has fallen, but a moment ago");
    server.now += 9;
    server.units(2, 0, 5);
    assert_eq!(server.tights(), 0);
    server.now += 1;
    server.units(2, 0, 5);
    assert_eq!(server.tights(), 1, "the level has fallen");
    for _ in 0..3 {
        server.now += 9;
        server.units(2, 0, 5);
        assert_eq!(server.tights(), 0, "the level is as before");
    }
    server.now += 10;
    server.units(2, 0, 5);
    assert_eq!(server.tights(), 1, "for a moment, none has waited");
}

/// All processes with units may be silent when another comes within a calm: it asks again.
#[test]
fn news_within_a_calm_is_told_after_it() {
    let mut server = Server::new();
    server.units(1, 0, 20);
    assert_eq!(server.tights(), 1);
    server.now += 4;
    let reply = server.state(2, 0, 5, 0);
    assert_eq!((server.tights(), reply.due), (0, Some(Duration::from_millis(6))));
    server.now += 6;
    let reply = server.state(2, 0, 5, 0);
    assert_eq!(server.tights(), 1, "the level has fallen to 5");
    assert_eq!(reply.due, Some(Duration::from_millis(20)), "when the first has been silent for a claim");
}

/// A process that was given a higher level meanwhile is notified of one that was given before.
#[test]
fn a_level_that_has_risen_and_falls_again_is_news() {
    let mut server = Server::new();
    server.units(1, 0, 20);
    server.now += 10;
    server.units(2, 0, 20);
    assert_eq!(server.tights(), 2, "10, then 5");
    server.now += 1;
    server.units(2, 0, 0);
    server.now += 1;
    assert_eq!(server.state(1, 10, 20, 0).grant.level, Some(Level::from(10)));
    server.now += 10;
    server.units(2, 0, 20);
    assert_eq!(server.tights(), 1, "the first believes in 10");
}
