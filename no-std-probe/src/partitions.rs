//! Keyed bulkheads, with the hasher that there is without the standard library.

use alloc::string::String;
use core::time::Duration;

use bulklink::{Partitions, Reason};

use crate::say::say;
use crate::time::{self, Ticks};

const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Plays a script of its own.
pub(crate) fn drive() {
    let builder = Partitions::<String, Ticks>::builder("probe").parallelism(1).max_partitions(2);
    let tenants = builder.idle_timeout(IDLE_TIMEOUT).build().expect("a valid configuration");
    let (ann, bob) = (tenants.try_slot("ann").expect("free"), tenants.try_slot("bob").expect("free"));
    assert_eq!(tenants.try_slot("ann").expect_err("taken").reason(), Reason::Saturated);
    let rejection = tenants.try_slot("cid").expect_err("no room");
    assert_eq!(rejection.reason(), Reason::PartitionLimit);
    say!("partitions: rejected: {rejection}");
    drop((ann, bob));
    drop(tenants.try_slot("cid").expect("the longest idle makes room"));
    assert!(tenants.handle("ann").is_none() && tenants.handle("bob").is_some());
    time::pass(IDLE_TIMEOUT);
    assert_eq!(tenants.cleanup_idle(), 2, "both have been idle for long enough");
    let totals = tenants.status().totals;
    say!("partitions: counted {} created, {} evicted", totals.created, totals.evicted);
}
