//! Keys that share one capacity: turns, shares, rooms, and all ways of a bulkhead.

mod attack;
mod classes;
mod random;
mod rooms;
mod settings;
mod shares;
mod soak;
mod turns;
mod ways;

use bulklink::Partitions;
use bulklink::partitions::{Builder, SharedStatus};
use bulklink::testing::{Executor, FakeClock};

use crate::Call;

type Models = Partitions<String, FakeClock>;

fn builder(executor: &Executor) -> Builder<String, FakeClock> {
    Partitions::builder_on(executor.clock(), "models").max_partitions(100)
}

/// Returns keys that share this capacity, with room for a hundred waiters.
fn models(executor: &Executor, capacity: usize) -> Models {
    builder(executor).shared_capacity(capacity).shared_waiting_room(100).build().expect("valid")
}

/// Spawns a task that acquires a slot, and polls it once.
fn call(executor: &mut Executor, models: &Models, key: &str) -> Call {
    let call = executor.spawn(models.key(key).slot());
    executor.run_until_idle();
    call
}

fn shared(models: &Models) -> SharedStatus {
    models.status().shared.expect("they share a capacity")
}

/// Returns the units in use, and the calls that wait, of the whole and as the sum of all keys.
fn load(models: &Models) -> [(usize, usize); 2] {
    let (whole, sums) = (shared(models), models.handle().sums());
    [(whole.in_use, whole.waiting), (sums.in_use, sums.waiting)]
}

/// Returns which of these calls have ended.
fn ended(calls: &[Call]) -> Vec<bool> {
    calls.iter().map(Call::is_finished).collect()
}
