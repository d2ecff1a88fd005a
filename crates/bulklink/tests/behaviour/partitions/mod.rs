//! Keyed bulkheads: which partition a call gets, how long it is kept, and the reports of it.

mod admission;
mod blocking;
mod closing;
mod controlling;
mod delivering;
mod events;
mod foreign;
mod keeping;
mod limits_for;
mod pausing;
mod reconfiguring;
mod seen;
mod shown;
mod submitting;
mod sums;

use std::time::Duration;

use bulklink::Partitions;
use bulklink::partitions::{Builder, Status, Totals};
use bulklink::testing::{Executor, FakeClock};

use crate::{Call, ms};

type Tenants = Partitions<String, FakeClock>;

const IDLE_TIMEOUT: Duration = Duration::from_millis(100);

fn builder(executor: &Executor) -> Builder<String, FakeClock> {
    Partitions::builder_on(executor.clock(), "tenants")
}

/// Returns partitions with one slot and two places to wait each.
fn tenants(executor: &Executor, max_partitions: usize) -> Tenants {
    let builder = builder(executor).parallelism(1).waiting_room(2).max_partitions(max_partitions);
    builder.idle_timeout(IDLE_TIMEOUT).build().expect("valid")
}

/// Spawns a task that acquires a slot, and polls it once.
fn call(executor: &mut Executor, tenants: &Tenants, key: &str) -> Call {
    let call = executor.spawn(tenants.key(key).slot());
    executor.run_until_idle();
    call
}

/// Acquires a slot of the partition and releases it.
fn touch(tenants: &Tenants, key: &str) {
    drop(tenants.key(key).try_slot().expect("free"));
}

fn touch_each<const N: usize>(tenants: &Tenants, keys: [&str; N]) {
    for key in keys {
        touch(tenants, key);
    }
}

fn is_kept(tenants: &Tenants, key: &str) -> bool {
    tenants.partition(key).is_some()
}

/// Returns the numbers of partitions, of active ones, and of leases.
fn occupancy(status: &Status) -> (usize, usize, u64) {
    (status.partitions, status.active_partitions, status.leased_operations)
}

/// Returns the numbers of partitions created, evicted, discarded, and of calls rejected by the
/// limit.
fn counts(totals: &Totals) -> [u64; 4] {
    [totals.created, totals.evicted, totals.discarded, totals.limit_rejected]
}

#[test]
fn a_configuration_can_be_named_later() {
    let shared = builder(&crate::executor()).parallelism(1).max_partitions(2);
    let named = [shared.clone().label("hosts"), shared].map(|builder| builder.build().expect("valid"));
    assert_eq!(named.each_ref().map(|partitions| partitions.label().to_owned()), ["hosts", "tenants"]);
}

#[test]
fn without_use_there_is_no_partition() {
    let executor = crate::executor();
    let status = tenants(&executor, 3).status();
    assert_eq!((occupancy(&status), counts(&status.totals)), ((0, 0, 0), [0; 4]));
    assert_eq!((status.each.capacity, status.each.waiting_room, status.limits.max_partitions), (1, 2, 3));
    assert_eq!(status.limits.idle_timeout, Some(ms(100)));
}
