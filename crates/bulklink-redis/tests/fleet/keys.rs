//! A limit for each key of partitions, while keys come and go.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use bulklink::Partitions;
use bulklink_fleet::share::Tuning;
use bulklink_redis::ShareBuilder;
use bulklink_servers::{Server, require};
use futures_util::future::join_all;

use crate::world::{LEASE, Platform, on_both, pass, process};

on_both! {
    keys_that_come_and_go_keep_their_limits_and_leave_nothing_behind
}

const KEYS: usize = 40;

/// Partitions that each process keeps.
const KEPT: usize = 8;

const TIME: Duration = Duration::from_secs(2);

async fn keys_that_come_and_go_keep_their_limits_and_leave_nothing_behind<R: Platform>(runtime: R) {
    let server = require!(Server::builder().aged(LEASE).start());
    let fleets = [(); 2].map(|()| process(runtime.clone(), &server.url()));
    let tenants = [&fleets[0], &fleets[1]].map(|fleet| {
        let builder = Partitions::<usize, _>::builder_on(runtime.clone(), "tenants").parallelism(4).waiting_room(20);
        let tenants = builder.max_partitions(KEPT).wait_limit(Duration::from_secs(5)).build().unwrap();
        let tuning = Tuning::default().with_beat(Duration::from_millis(100));
        let options =
            move |_: &usize, share: ShareBuilder<R>| share.limit(2).lease(LEASE).claim(LEASE / 2).tuning(tuning);
        fleet.share_partitions(&tenants, options).unwrap();
        tenants
    });
    let (used, admitted) = ([const { AtomicUsize::new(0) }; KEYS], AtomicUsize::new(0));
    let start = Instant::now();
    let evicted = || tenants.each_ref().map(|tenants| tenants.status().totals.evicted);
    let is_enough = || admitted.load(SeqCst) > 200 && evicted().iter().all(|number| *number > 20);
    let client = async |number: usize| {
        let mut random = fastrand::Rng::with_seed(number as u64);
        while start.elapsed() < TIME || !is_enough() {
            // Some keys are asked for far more often than others.
            let most = random.usize(..KEYS);
            let key = random.usize(..=most);
            if let Ok(slot) = tenants[number % 2].key(&key).slot().await {
                let before = used[key].fetch_add(1, SeqCst);
                assert!(before < 2, "{} units of key {key}", before + 1);
                admitted.fetch_add(1, SeqCst);
                pass(Duration::from_millis(random.u64(..3))).await;
                used[key].fetch_sub(1, SeqCst);
                drop(slot);
            } else {
                // Without a place for the key.
                pass(Duration::from_millis(1)).await;
            }
        }
    };
    join_all((0..24).map(client)).await;
    // A channel for each process and name, and one for each name.
    let channels = || server.call(&["PUBSUB", "SHARDCHANNELS"]).list().len();
    let end = Instant::now() + Duration::from_secs(10);
    while channels() > 2 * 2 * KEPT {
        assert!(Instant::now() < end, "{} channels", channels());
        pass(Duration::from_millis(20)).await;
    }
    for fleet in fleets {
        fleet.close().await;
    }
}
