//! Values of bad processes.

use std::time::Duration;

use bulklink_fleet::share::{Declaration, Statement, Terms};
use bulklink_fleet::{Epoch, Token};
use fastrand::Rng;

use crate::{Server, TERMS, statement, with};

/// Values at the ends of their ranges make no step panic or long, and no process waits for ever.
#[test]
fn hostile_values_are_harmless() {
    let ends = [0, 1, u32::MAX / 2, u32::MAX];
    let durations = [Duration::ZERO, Duration::from_millis(7), Duration::MAX];
    let numbers = [0, 1, u64::MAX];
    for seed in 0..2_000 {
        let mut random = Rng::with_seed(seed);
        let mut server = Server::new();
        for _ in 0..12 {
            let mut duration = || durations[random.usize(..3)];
            let terms = Terms { lease: duration(), claim: duration(), calm: duration(), recovers: true };
            let longest = duration();
            let mut unit = || ends[random.usize(..4)];
            let (keep, need, least, spare, weight, limit) = (unit(), unit(), unit(), unit(), unit(), unit());
            let mut number = || numbers[random.usize(..3)];
            let (seq, config, epoch, token) = (number(), number(), number(), number());
            let hostile = Statement {
                seq,
                declaration: Declaration { config, limit, terms },
                epoch: Some(Epoch::from(epoch)),
                longest,
                token: Token::from(token),
                keep,
                need,
                least,
                spare,
                weight,
                ..statement(random.u128(0..3))
            };
            server.now = [server.now, 0, u64::MAX / 1_000, server.now / 2][random.usize(..4)];
            _ = server.sync(hostile);
            server.allocator.status(server.time());
        }
    }
}

#[test]
fn a_lease_is_at_most_a_day() {
    let declaration = with(Terms { lease: Duration::MAX, ..TERMS });
    let reply = Server::new().sync(Statement { declaration, need: 1, ..statement(1) }).unwrap();
    assert_eq!([reply.grant.valid, reply.longest], [Duration::from_secs(86_400); 2]);
}

/// A process that claims all units for ever loses them a lease after its last statement.
#[test]
fn a_hostile_process_ends_with_its_lease() {
    let mut server = Server::new();
    server.units(1, 0, 1);
    let hostile = Statement {
        epoch: Some(Epoch::from(1)),
        longest: Duration::MAX,
        keep: u32::MAX,
        need: u32::MAX,
        spare: u32::MAX,
        weight: u32::MAX,
        ..statement(2)
    };
    assert_eq!(server.sync(hostile).unwrap().quarantine, Duration::from_secs(86_400), "at most a day");
    let mut server = Server::new();
    server.units(1, 0, 1);
    assert_eq!(server.sync(Statement { epoch: None, ..hostile }).unwrap().grant.units, 9);
    server.now += 100;
    server.seq = 9;
    assert_eq!(server.units(1, 0, 10), 10);
}
