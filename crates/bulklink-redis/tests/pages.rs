//! The scripts as they are, with their real cut-offs and the server's clock.

#![cfg(unix)]

mod common;

use std::thread::sleep;
use std::time::Duration;

use bulklink_redis::{Answer, CallId, Command, Era, Outcome, ServerTime, Terms};
use bulklink_servers::{Server, require};

use common::{Client, name, owner};

const COUNT: u64 = 1_200;

fn terms(ttl: Duration) -> Terms {
    Terms { ttl, claim: Duration::from_secs(3600), block: 1 }
}

/// Opens the bulkhead and begins a quarantine, in which a beat adopts every lease.
fn opened(client: &mut Client, ttl: Duration) -> Era {
    let terms = Terms { ttl: Duration::from_secs(3600), ..terms(ttl) };
    let Answer { head, .. } = client.run(&common::open(owner(), 10, terms)).unwrap();
    let (epoch, quarantine) = (head.unwrap().epoch.unwrap(), "q");
    let settings = client.keys.all()[3].clone();
    redis::cmd("HSET").arg(settings).arg(quarantine).arg(1_u64 << 52).exec(&mut client.connection).unwrap();
    Era { epoch, run: None }
}

fn beat(era: Era, ttl: Duration, leases: &[CallId], waiters: &[CallId]) -> Command {
    Command::Beat {
        owner: owner(),
        generation: 1,
        era,
        terms: terms(ttl),
        info: "host/1/program".into(),
        leases: leases.to_vec(),
        waiters: waiters.iter().map(|id| (*id, id.seq.into())).collect(),
        gone: vec![],
    }
}

#[test]
fn a_beat_of_many_pages_renews_everything() {
    let server = require!(Server::start());
    let mut client = Client::new(&server.url(), &name("beat"), str::to_owned);
    let hour = Duration::from_secs(3600);
    let era = opened(&mut client, hour);
    let ids: Vec<_> = (1..=2 * COUNT).map(|seq| CallId { owner: owner(), seq, cost: 2 }).collect();
    let (leases, waiters) = ids.split_at(ids.len() / 2);
    for _ in 0..2 {
        let Answer { outcome, head } = client.run(&beat(era, hour, leases, waiters)).unwrap();
        let head = head.unwrap();
        assert_eq!((head.used, head.waiting, head.more), (2 * COUNT, COUNT, false));
        let Outcome::Beaten { first_expiry, lost, granted, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!((first_expiry, lost.len(), granted.len()), (head.now.after(hour), 0, 0));
    }
    let answer = client.run(&Command::Close { owner: owner(), ids: leases.to_vec() }).unwrap();
    let head = answer.head.unwrap();
    assert_eq!((answer.outcome, head.used, head.waiting), (Outcome::Done, 0, COUNT));
}

#[test]
fn what_expires_together_is_dropped_over_several_calls() {
    let server = require!(Server::start());
    let mut client = Client::new(&server.url(), &name("reap"), str::to_owned);
    let short = Duration::from_millis(1);
    let era = opened(&mut client, short);
    let ids: Vec<_> = (1..=COUNT).map(|seq| CallId { owner: owner(), seq, cost: 1 }).collect();
    // The beat may drop the first of them itself, if the server is slow.
    client.run(&beat(era, Duration::from_secs(5), &ids, &[])).unwrap();
    client.run(&beat(era, short, &ids, &[])).unwrap();
    sleep(Duration::from_millis(20));
    let mut reap = || {
        let Answer { outcome, head } = client.run(&Command::Reap { full: false, offset: 0 }).unwrap();
        let Outcome::Reaped { freed, .. } = outcome else { panic!("{outcome:?}") };
        (freed, head.unwrap().more)
    };
    assert_eq!([reap(), reap(), reap()], [(500, true), (500, true), (200, false)]);
}

#[test]
fn the_state_is_read_in_pages() {
    let server = require!(Server::start());
    let mut client = Client::new(&server.url(), &name("status"), str::to_owned);
    let status = |client: &mut Client, offset, count| {
        let answer = client.run(&Command::Status { offset, count }).unwrap();
        let Outcome::Status(status) = answer.outcome else { panic!("{:?}", answer.outcome) };
        *status
    };
    let none = status(&mut client, 0, 10);
    assert_eq!((none.settings, none.leases, none.waiting, none.session_page.len()), (None, 0, 0, 0));
    let hour = Duration::from_secs(3600);
    let era = opened(&mut client, hour);
    let ids: Vec<_> = (1..=9).map(|seq| CallId { owner: owner(), seq, cost: 3 }).collect();
    let (leases, waiters) = ids.split_at(5);
    client.run(&beat(era, hour, leases, waiters)).unwrap();
    let page = status(&mut client, 1, 2);
    let settings = page.settings.unwrap();
    assert_eq!((settings.epoch, settings.limit, settings.extra, settings.run), (era.epoch, 10, 10, None));
    assert_eq!((settings.terms, settings.quarantine), (terms(hour), ServerTime::from(1 << 52)));
    assert_eq!((page.leases, page.waiting, page.expired), (5, 4, 0));
    assert_eq!(page.lease_page.iter().map(|(id, _)| *id).collect::<Vec<_>>(), leases[1..3]);
    assert_eq!(page.waiter_page, [(waiters[1], 7.into()), (waiters[2], 8.into())]);
    assert!(page.session_page.is_empty());
    let [session] = &status(&mut client, 0, 1).session_page[..] else { panic!("one session") };
    assert_eq!((session.owner, session.generation, &*session.info), (owner(), 1, "host/1/program"));
    assert!(session.until > page.now);
    let empty = status(&mut client, 0, 0);
    assert_eq!((empty.leases, empty.lease_page.len(), empty.session_page.len()), (5, 0, 0));
    assert_eq!(status(&mut client, u64::MAX, u64::MAX).lease_page.len(), 0);
}
