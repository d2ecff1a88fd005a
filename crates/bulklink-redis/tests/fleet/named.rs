//! Faults that other limiters had, each by the name of its report.

use std::time::Duration;

use bulklink_redis::Reason;
use bulklink_servers::{Proxy, Server, require};

use crate::world::{LEASE, Pair, Platform, on_both, open, pass, process};

on_both! {
    solid_queue_761_a_stale_holder_does_not_free_what_another_has
    redisson_3046_a_permit_is_renewed_as_long_as_it_is_held
    redisson_4462_the_count_is_right_after_crashes
    redis_semaphore_205_nothing_is_lost_under_contention
    redis_semaphore_127_tokens_fence_late_holders
    sentinel_3428_a_limit_of_one_runs_one
}

async fn solid_queue_761_a_stale_holder_does_not_free_what_another_has<R: Platform>(runtime: R) {
    let server = require!(Server::builder().tcp().start());
    let proxy = Proxy::start(&server);
    let Pair { bulkheads: [stale, other], fleets: _fleets } =
        Pair::new(&runtime, [&proxy.url(), &server.url()], 1).await;
    let late = stale.acquire().await.unwrap();
    proxy.black_hole();
    let permit = other.acquire().await.unwrap();
    assert!(!late.is_valid());
    proxy.heal();
    // Twice: by its drop, and by the beats that list it as gone.
    drop(late);
    pass(LEASE / 2).await;
    assert!(permit.is_valid());
    assert_eq!(other.try_acquire().await.unwrap_err().reason(), Reason::Saturated);
    assert_eq!(other.status().await.unwrap().leases, 1);
}

async fn redisson_3046_a_permit_is_renewed_as_long_as_it_is_held<R: Platform>(runtime: R) {
    let server = require!(Server::start());
    let Pair { bulkheads: [one, two], fleets: _fleets } = Pair::new(&runtime, [&server.url(), &server.url()], 1).await;
    let permit = one.acquire().await.unwrap();
    pass(LEASE * 3).await;
    assert!(permit.is_valid());
    assert_eq!(two.try_acquire().await.unwrap_err().reason(), Reason::Saturated);
}

async fn redisson_4462_the_count_is_right_after_crashes<R: Platform>(runtime: R) {
    let server = require!(Server::builder().tcp().start());
    let pair = Pair::new(&runtime, [&server.url(), &server.url()], 3).await;
    for _ in 0..3 {
        // A process that is cut off for ever is dead for the others.
        let proxy = Proxy::start(&server);
        let fleet = process(runtime.clone(), &proxy.url());
        let dead = open(&fleet, 3).await;
        let permits = [dead.acquire().await.unwrap(), dead.acquire().await.unwrap()];
        proxy.black_hole();
        std::mem::forget(permits);
        drop(dead);
        // One unit is left meanwhile.
        drop(pair.bulkheads[0].acquire().await.unwrap());
    }
    pair.drains(3).await;
}

async fn redis_semaphore_205_nothing_is_lost_under_contention<R: Platform>(runtime: R) {
    let server = require!(Server::start());
    let pair = Pair::new(&runtime, [&server.url(), &server.url()], 5).await;
    pair.load(60, Duration::from_secs(3)).await.kept_to(5);
    pair.drains(5).await;
}

async fn redis_semaphore_127_tokens_fence_late_holders<R: Platform>(runtime: R) {
    let server = require!(Server::builder().tcp().start());
    let proxy = Proxy::start(&server);
    let Pair { bulkheads: [late, other], fleets: _fleets } =
        Pair::new(&runtime, [&proxy.url(), &server.url()], 1).await;
    let first = late.acquire().await.unwrap();
    proxy.black_hole();
    let second = other.acquire().await.unwrap();
    assert!(second.token() > first.token(), "{:?} after {:?}", second.token(), first.token());
    first.lost().await;
}

async fn sentinel_3428_a_limit_of_one_runs_one<R: Platform>(runtime: R) {
    let server = require!(Server::start());
    let pair = Pair::new(&runtime, [&server.url(), &server.url()], 1).await;
    pair.load(20, Duration::from_secs(2)).await.kept_to(1);
    pair.drains(1).await;
}
