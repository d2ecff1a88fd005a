//! What breaks a link: it ends once, nothing is believed afterwards, and a new link works.

use std::time::{Duration, Instant};

use bulklink_redis::{Link, Outcome, RedisStore, StoreError};
use bulklink_servers::{Data, Proxy, Server, require};
use futures_util::future::{join_all, poll_immediate};

use crate::world::{Process, Told, is_granted, name, on_both};

on_both! {
    commands_go_on_after_script_flush
    a_beat_is_not_repeated_after_script_flush
    a_killed_client_hears_of_its_end
    a_cut_connection_ends_what_is_on_the_way
    a_lost_reply_is_an_end_and_the_command_may_have_happened
    a_black_hole_delays_and_does_not_end
    connecting_into_a_black_hole_takes_as_long_as_it_may
    a_server_that_restarts_is_another_one
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
    let process = Process::at(&server.url(), 1).await;
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
    let process = Process::at(&server.url(), 1).await;
    let name = name("flush");
    let epoch = process.open(&name, 1).await.unwrap();
    server.call(&["SCRIPT", "FLUSH"]);
    // It would bring a lease back.
    assert_eq!(process.beat(&name, &[1], epoch).await, Err(StoreError::Unreachable));
    assert_ended(&process).await;
    let next = Process::at(&server.url(), 1).await;
    assert_eq!(next.leases(&name).await, 0);
    assert!(matches!(next.beat(&name, &[], epoch).await, Ok(Outcome::Beaten { .. })));
}

async fn a_killed_client_hears_of_its_end() {
    let server = require!(Server::start());
    let process = Process::at(&server.url(), 1).await;
    let name = name("killed");
    let epoch = process.open(&name, 1).await.unwrap();
    process.acquire(&name, 1, epoch).await.unwrap();
    assert_eq!(server.call(&["CLIENT", "KILL", "TYPE", "pubsub"]).text(), "1");
    // Though it sends nothing.
    assert_ended(&process).await;
    let next = Process::at(&server.url(), 1).await;
    assert_eq!(next.open(&name, 1).await, Ok(epoch));
    assert_eq!(next.release(&name, 1).await, Ok(Outcome::Done));
    assert_eq!(next.leases(&name).await, 0);
}

async fn a_cut_connection_ends_what_is_on_the_way() {
    let server = require!(Server::start());
    let proxy = Proxy::start(&server);
    let process = Process::at(&proxy.url(), 1).await;
    let name = name("cut");
    let epoch = process.open(&name, 5).await.unwrap();
    proxy.black_hole();
    let mut calls: Vec<_> = (0..10).map(|seq| Box::pin(process.acquire(&name, seq, epoch))).collect();
    for call in &mut calls {
        assert!(poll_immediate(call).await.is_none());
    }
    proxy.cut();
    for outcome in join_all(calls).await {
        assert_eq!(outcome, Err(StoreError::Unreachable));
    }
    assert_ended(&process).await;
    proxy.heal();
    let next = Process::at(&proxy.url(), 1).await;
    assert_eq!(next.open(&name, 5).await, Ok(epoch));
}

async fn a_lost_reply_is_an_end_and_the_command_may_have_happened() {
    let server = require!(Server::start());
    let proxy = Proxy::start(&server);
    let process = Process::at(&proxy.url(), 1).await;
    let name = name("lost");
    let epoch = process.open(&name, 5).await.unwrap();
    proxy.drop_replies(1);
    assert_eq!(process.acquire(&name, 1, epoch).await, Err(StoreError::Unreachable));
    assert_ended(&process).await;
    let next = Process::at(&proxy.url(), 1).await;
    assert_eq!(next.leases(&name).await, 1);
    // The same id is the same lease.
    assert!(is_granted(&next.acquire(&name, 1, epoch).await.unwrap()));
    assert_eq!(next.leases(&name).await, 1);
}

async fn a_black_hole_delays_and_does_not_end() {
    let server = require!(Server::start());
    let proxy = Proxy::start(&server);
    let process = Process::at(&proxy.url(), 1).await;
    let name = name("hole");
    let epoch = process.open(&name, 5).await.unwrap();
    proxy.black_hole();
    let mut call = Box::pin(process.acquire(&name, 1, epoch));
    assert!(poll_immediate(&mut call).await.is_none());
    smol::Timer::after(Duration::from_millis(50)).await;
    assert!(poll_immediate(&mut call).await.is_none());
    proxy.heal();
    assert!(is_granted(&call.await.unwrap()));
    assert_eq!(process.ears.told(), []);
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

async fn a_server_that_restarts_is_another_one() {
    let mut server = require!(Server::builder().tcp().start());
    let name = name("restart");
    let mut runs = vec![];
    for (data, leases) in [(Data::Keep, 1), (Data::Empty, 0)] {
        let process = Process::at(&server.url(), 1).await;
        let epoch = process.open(&name, 5).await.unwrap();
        runs.push(process.link.listen(&name).await.unwrap().run.unwrap());
        process.acquire(&name, 1, epoch).await.unwrap();
        server.restart(data);
        assert_ended(&process).await;
        let next = Process::at(&server.url(), 1).await;
        assert_eq!(next.leases(&name).await, leases);
        runs.push(next.link.listen(&name).await.unwrap().run.unwrap());
    }
    // The second link of the first turn, and the first of the second, are of one run.
    assert_eq!(runs[1], runs[2]);
    runs.dedup();
    assert_eq!(runs.len(), 3, "{runs:?}");
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
    let process = Process::at(&primary.url(), 1).await;
    let name = name("replica");
    let epoch = process.open(&name, 1).await.unwrap();
    let run = process.link.listen(&name).await.unwrap().run;
    process.acquire(&name, 1, epoch).await.unwrap();
    let other = Process::at(&replica.url(), 2).await;
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
