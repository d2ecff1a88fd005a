//! What breaks a link: it ends once, nothing is believed afterwards, and a new link works.

use std::time::{Duration, Instant};

use bulklink_redis::{Link, Outcome, RedisStore, StoreError};
use bulklink_servers::{Proxy, Server, require};
use futures_util::future::join_all;

use crate::world::{Process, Told, at, is_granted, name, on_both};

on_both! {
    commands_go_on_after_script_flush
    a_beat_is_not_repeated_after_script_flush
    connecting_into_a_black_hole_takes_as_long_as_it_may
    no_server_is_unreachable
    a_promoted_replica_has_another_run
}

/// The link has ended, and says so always and everywhere.
async fn assert_ended(process: &Process) {
    assert_eq!(process.ears.wait(1).last(), Some(&Told::Ended));
    for _ in 0..3 {
        let name = name("after");
        assert_eq!(process.link.listen(&name).await, Err(StoreError::Unreachable));
        assert_eq!(process.call(&name, process.opening(1)).await, Err(StoreError::Unreachable));
    }
    assert_eq!(process.ears.ends(), 1);
}

async fn commands_go_on_after_script_flush() {
    let server = require!(Server::start());
    let process = at(&server.url(), 1).await;
    let name = name("flush");
    let epoch = process.open(&name, 1000).await.unwrap();
    for round in 0..20 {
        server.call(&["SCRIPT", "FLUSH"]);
        // All of them find that their script is missing.
        let calls = (0..20).map(|number| process.acquire(&name, round * 20 + number, epoch));
        for outcome in join_all(calls).await {
            assert!(is_granted(&outcome.unwrap()));
        }
        let releases = (0..20).map(|number| process.release(&name, round * 20 + number));
        for outcome in join_all(releases).await {
            assert_eq!(outcome, Ok(Outcome::Done));
        }
    }
    assert_eq!(process.leases(&name).await, 0);
    server.call(&["SCRIPT", "FLUSH"]);
    assert_eq!(process.open(&name, 1000).await, Ok(epoch));
    assert_eq!(process.ears.told(), []);
}

async fn a_beat_is_not_repeated_after_script_flush() {
    let server = require!(Server::start());
    let process = at(&server.url(), 1).await;
    let name = name("flush");
    let epoch = process.open(&name, 1).await.unwrap();
    server.call(&["SCRIPT", "FLUSH"]);
    // It would bring a lease back.
    assert_eq!(process.beat(&name, &[1], epoch).await, Err(StoreError::Unreachable));
    assert_ended(&process).await;
    let next = at(&server.url(), 1).await;
    assert_eq!(next.leases(&name).await, 0);
    assert!(matches!(next.beat(&name, &[], epoch).await, Ok(Outcome::Beaten { .. })));
}

async fn connecting_into_a_black_hole_takes_as_long_as_it_may() {
    let server = require!(Server::start());
    let proxy = Proxy::start(&server);
    proxy.black_hole();
    let store = RedisStore::builder(&proxy.url()).connect_timeout(Duration::from_millis(100)).build().unwrap();
    let start = Instant::now();
    assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::TimedOut));
    let time = start.elapsed();
    assert!((Duration::from_millis(100)..Duration::from_secs(5)).contains(&time), "{time:?}");
    proxy.heal();
    Process::connect(&store, 1).await.unwrap();
}

async fn no_server_is_unreachable() {
    let mut server = require!(Server::builder().tcp().start());
    let urls = [server.url(), format!("unix://{}", server.socket().display())];
    server.kill();
    for url in urls {
        let store = RedisStore::new(&url).unwrap();
        assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::Unreachable), "{url}");
    }
    let store = RedisStore::new("redis://no-such-host.invalid").unwrap();
    assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::Unreachable));
}

async fn a_promoted_replica_has_another_run() {
    let primary = require!(Server::builder().tcp().start());
    let mut replica = require!(Server::builder().tcp().replica_of(&primary).start());
    let process = at(&primary.url(), 1).await;
    let name = name("replica");
    let epoch = process.open(&name, 1).await.unwrap();
    let run = process.link.listen(&name).await.unwrap().run;
    process.acquire(&name, 1, epoch).await.unwrap();
    let other = at(&replica.url(), 2).await;
    // What writes is refused, and the link stays.
    let readonly = StoreError::Refused { code: "READONLY".into() };
    assert_eq!(other.open(&name, 1).await, Err(readonly.clone()));
    assert_eq!(other.acquire(&name, 1, epoch).await, Err(readonly));
    let deadline = Instant::now() + crate::world::PATIENCE;
    while other.leases(&name).await == 0 {
        assert!(Instant::now() < deadline, "the replica has no data");
        smol::Timer::after(Duration::from_millis(5)).await;
    }
    replica.promote();
    assert_ne!(other.link.listen(&name).await.unwrap().run, run);
    assert_eq!(other.open(&name, 1).await, Ok(epoch));
    assert!(matches!(other.acquire(&name, 1, epoch).await, Ok(Outcome::Queued { .. })));
}
