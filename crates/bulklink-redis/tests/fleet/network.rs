//! A network that drops every packet, between one of two processes and the server.

use bulklink_redis::RedisStore;
use bulklink_servers::{Network, Server, require};
use futures_util::future::FutureExt;

use crate::world::{LEASE, Load, Pair, Platform, on_smol, on_tokio, pass};

#[test]
fn a_black_hole_costs_no_permit_and_admits_no_call_twice_on_tokio() {
    run("network::a_black_hole_costs_no_permit_and_admits_no_call_twice_on_tokio", |network| {
        on_tokio(black_hole(bulklink_tokio::Tokio, network));
    });
}

#[test]
fn a_black_hole_costs_no_permit_and_admits_no_call_twice_on_smol() {
    run("network::a_black_hole_costs_no_permit_and_admits_no_call_twice_on_smol", |network| {
        on_smol(black_hole(bulklink_smol::Smol, network));
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
    let [cut, other] = &pair.0;

    let late = cut.bulkhead.owned().slot().await.unwrap();
    let (token, lost) = (cut.share.token(), cut.share.lost());
    network.black_hole();
    lost.await;
    // All units, and so those of the lost share.
    let mut slots = vec![];
    for _ in 0..3 {
        slots.push(other.bulkhead.within(LEASE * 8).slot().await.unwrap());
    }
    assert!(other.share.token() > token);
    let lost = other.share.lost();
    assert!(cut.bulkhead.within(LEASE).slot().await.is_err(), "a call waits for the store");
    network.heal();
    // The messages into the black hole arrive now.
    drop(late);
    pass(LEASE).await;
    assert!(lost.now_or_never().is_none());
    drop(slots);
    pair.drains(3).await;

    let holes = async |load: &Load| {
        for _ in 0..2 {
            load.goes_on(LEASE / 2).await;
            network.black_hole();
            pass(LEASE * 3 / 2).await;
            network.heal();
        }
        load.goes_on(LEASE * 2).await;
    };
    pair.load(20, holes).await.kept_to(3);
    pair.drains(3).await;
}
