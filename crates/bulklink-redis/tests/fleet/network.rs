//! A network that drops every packet, between one of two processes and the server.

use std::time::Instant;

use bulklink_redis::{Permit, Reason, RedisStore};
use bulklink_servers::{Network, Server, require};
use futures_util::future::join;

use crate::world::{LEASE, Pair, Platform, on_smol, on_tokio, pass};

#[test]
fn a_black_hole_costs_no_permit_and_admits_no_call_twice_on_tokio() {
    run("network::a_black_hole_costs_no_permit_and_admits_no_call_twice_on_tokio", |network| {
        on_tokio(black_hole(bulklink_redis::tokio::Tokio, network));
    });
}

#[test]
fn a_black_hole_costs_no_permit_and_admits_no_call_twice_on_smol() {
    run("network::a_black_hole_costs_no_permit_and_admits_no_call_twice_on_smol", |network| {
        on_smol(black_hole(bulklink_redis::smol::Smol, network));
    });
}

/// A machine that permits no namespaces cannot be given them, so this is skipped under CI too. The
/// same faults are in the other tests, by a proxy that keeps all bytes to itself.
fn run(test: &str, body: impl FnOnce(&Network)) {
    if let Err(missing) = Network::run(test, body) {
        missing.say_skipped(test);
    }
}

async fn black_hole<R: Platform>(runtime: R, network: &Network) {
    let server = require!(Server::builder().beyond(network).start());
    let stores = [server.url(), server.socket_url()].map(|url| RedisStore::new(&url).expect("the address is valid"));
    let pair = Pair::new(&runtime, stores, 3).await;
    let [cut, other] = &pair.bulkheads;

    let late = cut.acquire().await.unwrap();
    network.black_hole();
    late.lost().await;
    // All that there is, and so what the lost permit had.
    let permits = [other.acquire().await.unwrap(), other.acquire().await.unwrap(), other.acquire().await.unwrap()];
    assert!(permits.iter().all(|permit| permit.token() > late.token()), "{late:?} {permits:?}");
    let begun = Instant::now();
    assert_eq!(cut.acquire().await.unwrap_err().reason(), Reason::Unavailable);
    assert!(begun.elapsed() < LEASE * 8, "a call hangs");
    network.heal();
    // What was sent into the black hole arrives now.
    drop(late);
    pass(LEASE).await;
    assert!(permits.iter().all(Permit::is_valid));
    drop(permits);
    pair.drains(3).await;

    let holes = async {
        for _ in 0..2 {
            pass(LEASE / 2).await;
            network.black_hole();
            pass(LEASE * 3 / 2).await;
            network.heal();
        }
    };
    join(pair.load(20, LEASE * 6), holes).await.0.kept_to(3);
    pair.drains(3).await;
}
