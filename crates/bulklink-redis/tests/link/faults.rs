//! What breaks a link: it ends once, nothing is believed afterwards, and a new link works.

use std::time::{Duration, Instant};

use bulklink_fleet::Link;
use bulklink_redis::{RedisStore, StoreError};
use bulklink_servers::{Proxy, Server, require};
use futures_util::future::join_all;

use crate::world::{Process, at, name, on_both};

on_both! {
    commands_go_on_after_script_flush
    connecting_into_a_black_hole_takes_as_long_as_it_may
    no_server_is_unreachable
    a_promoted_replica_has_another_run
}

async fn commands_go_on_after_script_flush() {
    let server = require!(Server::start());
    let process = at(&server.url(), 1).await;
    let names: Vec<_> = (0..20).map(|number| name(&format!("flush-{number}"))).collect();
    for name in &names {
        process.join(name, 0).await.unwrap();
    }
    for need in 0..10 {
        server.call(&["SCRIPT", "FLUSH"]);
        // All of them find that their script is missing.
        let calls = names.iter().map(|name| process.state(name, 10, need));
        for answer in join_all(calls).await {
            assert_eq!(answer, Ok(need));
        }
    }
    assert_eq!(process.ears.told(), []);
}

async fn connecting_into_a_black_hole_takes_as_long_as_it_may() {
    let server = require!(Server::start());
    let proxy = Proxy::start(&server);
    proxy.black_hole();
    let store = RedisStore::builder(&proxy.url()).connect_timeout(Duration::from_millis(100)).build().unwrap();
    let start = Instant::now();
    assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::TIMED_OUT));
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
        assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::UNREACHABLE), "{url}");
    }
    let store = RedisStore::new("redis://no-such-host.invalid").unwrap();
    assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::UNREACHABLE));
}

async fn a_promoted_replica_has_another_run() {
    let primary = require!(Server::builder().tcp().start());
    let mut replica = require!(Server::builder().tcp().replica_of(&primary).start());
    let process = at(&primary.url(), 1).await;
    let name = name("replica");
    process.join(&name, 6).await.unwrap();
    let run = process.link.listen(&name).await.unwrap().run;
    let other = at(&replica.url(), 2).await;
    // What writes is refused, and the link stays.
    let readonly = StoreError::refused("READONLY");
    other.link.listen(&name).await.unwrap();
    assert_eq!(other.state(&name, 0, 1).await, Err(readonly));
    let deadline = Instant::now() + crate::world::PATIENCE;
    while other.link.look(&name).await.unwrap().is_none_or(|status| status.granted < 6) {
        assert!(Instant::now() < deadline, "the replica has no data");
        smol::Timer::after(Duration::from_millis(5)).await;
    }
    replica.promote();
    assert_ne!(other.link.listen(&name).await.unwrap().run, run);
    assert_eq!(other.state(&name, 0, 9).await, Ok(4));
}
