//! A capacity that many bulkheads share: the pool under its lock, and the cycle of each input to
//! one of its bulkheads.
//!
//! The order of locks: that of partitions, that of the pool, that of a bulkhead. Each input to a
//! bulkhead of a pool holds the pool's lock, and under it one bulkhead's lock at a time. While no
//! call waits for its turn, the words of some bulkheads are live, and decide without any lock.

mod enter;
mod members;
mod setup;
mod share;

use alloc::sync::Arc;
use core::task::Waker;

use bulklink_core::plumbing::Wakes;
pub use bulklink_core::pool::Bound;
use bulklink_core::pool::{Class, Demand, Key, Limits, LineId, Pool};
use bulklink_core::{Instant, InvalidArgument};

pub(crate) use setup::{OwnShare, Setup};
pub use share::{Share, SharedStatus};

use crate::foreign::{attempt, wake};
use crate::gate::delivery::Events;
use crate::gate::lock::Lock;
use crate::gate::outputs::{deliver_all, has_no_outputs};
use crate::gate::patience::inside;
use crate::gate::shared::{Shared, hint};
use crate::gate::state::GateState;
use crate::identity::Identity;
use members::Members;
pub(crate) use members::Reach;

/// A capacity that many bulkheads share.
#[derive(Debug)]
pub(crate) struct SharedPool {
    state: Lock<PoolState>,
    /// The identities in rejections, by the limit that rejects.
    identities: [Arc<Identity>; BOUNDS.len()],
}

const BOUNDS: [Bound; 3] = [Bound::Key, Bound::Shared, Bound::Headroom];

/// The state that the lock of a pool protects.
#[derive(Debug)]
struct PoolState {
    pool: Pool,
    members: Members,
    /// The share of a key that has none of its own.
    share: Share,
    /// The latest time of an input, for inputs without one.
    mark: Instant,
}

impl PoolState {
    /// Returns the time of an input: without one, the latest.
    fn at(&mut self, now: Option<Instant>) -> Instant {
        let now = now.unwrap_or(self.mark);
        self.mark = self.mark.max(now);
        now
    }

    /// Adds a key with the share of all, which was [checked](Share::check_for_all).
    fn add(&mut self) -> Key {
        self.pool.add(self.share.inner()).expect("nothing is kept for it")
    }

    /// Ends an input to the bulkhead of a line, and lends units to those whose turn it is.
    fn finish(&mut self, shared: &Shared, line: LineId, demand: &Demand, reach: &mut Reach, now: Instant) {
        let mut lines = self.members.lines(reach);
        if let Some(units) = self.pool.finish(&mut lines, line, demand, now) {
            shared.publish_lent(units);
        }
    }

    /// Works with all lines, and lends units to those whose turn it is.
    fn with_lines<T>(&mut self, reach: &mut Reach, work: impl FnOnce(&mut Pool, &mut members::Lines<'_>) -> T) -> T {
        let (mark, mut lines) = (self.mark, self.members.lines(reach));
        let worked = work(&mut self.pool, &mut lines);
        self.pool.serve(&mut lines, mark);
        worked
    }
}

impl SharedPool {
    /// Creates a pool in which keys have this share, which was [checked](Share::check_for_all).
    pub(crate) fn new(limits: Limits, share: Share, identity: &Identity) -> Result<Self, InvalidArgument> {
        let pool = Pool::new(limits)?;
        let state = Lock::new(PoolState { pool, members: Members::default(), share, mark: Instant::EPOCH });
        Ok(SharedPool { state, identities: BOUNDS.map(|bound| Arc::new(identity.bound_by(bound))) })
    }

    /// Returns the identity in rejections by this limit.
    fn identity(&self, bound: Bound) -> Arc<Identity> {
        let place = BOUNDS.iter().position(|&known| known == bound).unwrap_or(0);
        Arc::clone(&self.identities[place])
    }

    /// Returns the key of a bulkhead, unless that has left.
    pub(crate) fn key_of(&self, shared: &Shared) -> Option<Key> {
        self.state.with(|state| state.members.line_of(shared).map(|line| line.key))
    }

    /// Has the bulkhead of a partition be that of a class of the key that is known, or of a new one
    /// with the share of all. It is not in use.
    pub(crate) fn join(&self, known: Option<Key>, class: Class, shared: &Shared) {
        self.state.with(|state| {
            // The partition that has made room may have been the last of the key.
            let known = known.filter(|&key| state.members.has(key));
            let key = known.unwrap_or_else(|| state.add());
            let line = LineId { key, class };
            state.members.join(line, shared);
            // It has its line from now on, so the key has a line for as long as it has a bulkhead.
            state.pool.begin(line);
            shared.give_hint(hint::POOLED, true);
            shared.member(|_| ());
        });
    }

    /// Has the bulkhead of a partition, which is idle, no longer be that of its key: from then on
    /// no call is admitted by it. The units that it was lent are free, for which no call waits. The
    /// key is removed, unless it has other bulkheads or a share of its own.
    pub(crate) fn leave(&self, shared: &Shared) {
        self.state.with(|state| {
            let Some((line, stays)) = state.members.leave(shared) else { return };
            shared.give_hint(hint::POOLED, false);
            let in_use = shared.member(|state| state.demand().in_use);
            state.pool.vacate(line, in_use);
            if !stays {
                state.pool.remove(line.key);
            }
        });
    }

    /// Returns the share of a key, or that of all.
    pub(crate) fn share(&self, own: Option<Key>) -> Share {
        self.state.with(|state| own.map_or(state.share, |key| Share::of(state.pool.share(key))))
    }

    /// Returns the limits in force.
    pub(crate) fn limits(&self) -> Limits {
        self.state.with(|state| state.pool.limits().clone())
    }

    /// Changes the limits. Returns the outputs too, which the caller must deliver.
    pub(crate) fn reconfigure(
        &self,
        change: impl FnOnce(Limits) -> Limits,
        now: Instant,
    ) -> (Result<(), InvalidArgument>, Reach) {
        let mut reach = Reach::new();
        let changed = self.state.with(|state| {
            state.at(Some(now));
            let limits = change(state.pool.limits().clone());
            state.with_lines(&mut reach, |pool, lines| pool.reconfigure(lines, limits))
        });
        (changed, reach)
    }

    /// Returns whether a call of this cost would have to wait, by the rules of the pool, if it came
    /// to this bulkhead now.
    pub(crate) fn is_short(&self, shared: &Shared, cost: usize) -> bool {
        let (cost, mut reach) = (u32::try_from(cost).unwrap_or(u32::MAX), Reach::new());
        let is_short = self.state.with(|state| {
            let line = state.members.line_of(shared);
            state.with_lines(&mut reach, |pool, lines| {
                pool.take_back_all(lines);
                line.is_some_and(|line| !pool.admits_now(line, cost))
            })
        });
        deliver_all(reach);
        is_short
    }

    /// Returns the figures of the whole.
    pub(crate) fn status(&self) -> SharedStatus {
        let mut reach = Reach::new();
        let status = self.state.with(|state| {
            state.with_lines(&mut reach, |pool, lines| {
                // Units that are lent and not in use are free.
                pool.take_back_all(lines);
                SharedStatus::of(pool)
            })
        });
        deliver_all(reach);
        status
    }
}

impl Shared {
    pub(crate) fn pool(&self) -> Option<&SharedPool> {
        self.identity().pool.as_deref()
    }

    /// Works with the gate of a bulkhead of a pool as [`with_gate`](Shared::with_gate) does.
    /// Returns the outputs of other bulkheads, which the caller must deliver.
    #[cold]
    pub(crate) fn with_pooled<T>(
        &self,
        now: Option<Instant>,
        reach: &mut Reach,
        work: impl FnOnce(&mut GateState) -> T,
    ) -> T {
        let Some(pool) = self.pool() else { return self.with_own_gate(work) };
        pool.state.with(|state| {
            let Some(line) = state.members.line_of(self) else { return self.with_own_gate(work) };
            state.pool.begin(line);
            let (worked, mark, demand) = self.member(|state| (work(state), state.mark(), state.demand()));
            state.mark = state.mark.max(mark);
            let now = state.at(now);
            state.finish(self, line, &demand, reach, now);
            worked
        })
    }

    /// Gives the gate of a bulkhead of a pool an input as [`input`](Shared::input) does.
    #[cold]
    #[inline(never)]
    pub(crate) fn pooled_input<T>(&self, input: impl FnOnce(&mut GateState) -> T) -> T {
        // For the waiters of others. The clock is foreign, and is read before the locks are taken.
        let now = attempt(|| self.now());
        let mut reach = Reach::new();
        let (answer, outputs) = self.with_pooled(now, &mut reach, |state| {
            let answer = input(state);
            (answer, Outputs::of(state))
        });
        self.deliver_pooled(outputs, reach);
        answer
    }

    /// Wakes the waiters of all bulkheads before a handler is called, this bulkhead's first.
    fn deliver_pooled(&self, Outputs { waker, rest }: Outputs, mut reach: Reach) {
        if let (true, Some(shared)) = (rest.is_some(), self.this.upgrade()) {
            reach.insert(0, (shared, rest));
        }
        if has_no_outputs(&reach) {
            wake(waker);
        } else {
            inside(|| wake(waker));
        }
        deliver_all(reach);
    }
}

/// The outputs of the bulkhead that an input is for: the first waker, and what follows, if there is
/// anything.
struct Outputs {
    waker: Option<Waker>,
    rest: Option<(Wakes<Waker>, Events)>,
}

impl Outputs {
    const NONE: Self = Outputs { waker: None, rest: None };

    fn of(state: &mut GateState) -> Self {
        let waker = state.gate.poll_wake();
        Outputs { waker, rest: Shared::take_undelivered(state) }
    }
}
