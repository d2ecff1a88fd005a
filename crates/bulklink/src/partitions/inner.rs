//! The state that all clones of partitions share: how a call enters its partition and leaves it.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::hash::BuildHasher;
use core::panic::{RefUnwindSafe, UnwindSafe};

use bulklink_core::partitions::{self, Id};
use bulklink_core::{Instant, InvalidArgument, Snapshot, pool};

use super::control::Held;
use super::histograms::SharedHistograms;
use super::keys::{Marks, ShowKey, ShownKey};
use super::state::{Changed, HandlersChanged, LimitsFor, Partition, PartitionsState};
use super::{Class, Limits, Lookup, Share, SharedStatus, Status, Sums};
use crate::acquire::claim::LeaseOwner;
use crate::foreign::{attempt, discard};
use crate::gate::latch::Latch;
use crate::gate::lock::Lock;
use crate::gate::outputs::{Undelivered, deliver_all};
use crate::gate::shared::Shared;
use crate::identity::Identity;
use crate::limit::Adaptive;
use crate::observe::channel::EventSource;
use crate::observe::event::{Handler, Handlers};
use crate::pool::SharedPool;
use crate::reconfigure::{Refused, unused_wait_limit};
use crate::{Builder, Clock, Handle, HandlerId, ReconfigureError, Reconfigured, Rejection};

/// The state that all clones of partitions share.
pub(crate) struct Inner<K, R, S> {
    /// The configuration of each partition, checked.
    pub(super) each: Builder<R>,
    pub(super) identity: Arc<Identity>,
    pub(super) limits_for: Option<LimitsFor<K>>,
    pub(super) show_key: Option<ShowKey<K>>,
    pub(super) hasher: S,
    /// Whether the end of a lease needs the time, because there is an idle timeout.
    needs_now: bool,
    /// The lengths of waits and holds in all partitions.
    pub(super) histograms: SharedHistograms,
    pub(super) state: Lock<PartitionsState<K>>,
    /// Held while all partitions are changed one after the other, so that two changes come in the
    /// same order to all. Calls do not need it.
    walk: Lock<()>,
    /// Held while the keys of all partitions are read one after the other. Calls do not need it.
    pub(super) marks: Lock<Marks>,
    /// Opens when all partitions are closed and the last lease has ended.
    pub(super) drained: Latch,
}

pub(super) fn invalid(argument: InvalidArgument) -> Refused {
    Refused::Invalid(alloc::vec![argument])
}

/// A panic cannot leave a change incomplete: the only foreign code under the lock compares keys and
/// gives them limits, and runs before anything changes.
impl<K, R, S> UnwindSafe for Inner<K, R, S> {}
impl<K, R, S> RefUnwindSafe for Inner<K, R, S> {}

impl<K, R: Clock + Clone + Send + Sync + 'static, S> Inner<K, R, S> {
    /// Drops the partitions that have reached the idle timeout, and returns their number.
    pub(super) fn cleanup_idle(&self) -> usize {
        let now = self.now_if_sound();
        self.drop_batches(|state| state.take_idle(now))
    }

    /// Drops all partitions, once they are closed and the last lease has ended.
    pub(super) fn drop_drained(&self) {
        self.drop_batches(PartitionsState::take_drained);
    }

    /// Takes partitions under the lock, a batch at a time, and drops them outside it: keys and
    /// handlers are foreign. Returns their number.
    fn drop_batches(&self, take: impl Fn(&mut PartitionsState<K>) -> Vec<Partition<K>>) -> usize {
        let mut taken = 0;
        loop {
            let batch = self.state.with(&take);
            if batch.is_empty() {
                return taken;
            }
            taken += batch.len();
            batch.into_iter().for_each(discard);
        }
    }

    /// Reads the bulkheads of all partitions, and passes each to `look`. Returns the status and the
    /// sums.
    pub(super) fn read(&self, now: Option<Instant>, look: impl FnMut(&Snapshot, Option<&Adaptive>)) -> (Status, Sums) {
        // In one hold of the lock: a partition that leaves later is read here, and one that has
        // left is among those that are gone, with its final counters. So each is counted once, and
        // no counter runs back from one reading to the next.
        let (status, gone, bulkheads) = self.state.with(|state| {
            state.read_at = state.read_at.max(now);
            let bulkheads = state.partitions().map(|kept| (kept.class, Arc::clone(&kept.shared))).collect();
            (self.status_of(state), state.gone, bulkheads)
        });
        let status = Status { shared: self.shared_status(), ..status };
        let sums = Sums::read(&status, gone, bulkheads, now, look);
        (status, sums)
    }

    /// Returns the figures of this moment.
    pub(super) fn status(&self) -> Status {
        let status = self.state.with(|state| self.status_of(state));
        Status { shared: self.shared_status(), ..status }
    }

    /// Returns the figures of the shared capacity. Not under a lock, because waiters may be woken.
    fn shared_status(&self) -> Option<SharedStatus> {
        Some(self.identity.pool.as_ref()?.status())
    }

    fn status_of(&self, state: &mut PartitionsState<K>) -> Status {
        Status {
            label: Arc::clone(&self.identity.label),
            each: self.each(state).each,
            is_paused: state.is_paused(),
            handler_panics: self.identity.handler_panics(),
            dropped_events: self.identity.dropped_events(),
            snapshot: state.account.snapshot(),
            shared: None,
        }
    }

    /// Reads the clock as [`Shared::now_if_sound`] does. Without the time, no partition has been
    /// idle for longer than zero.
    pub(super) fn now_if_sound(&self) -> Instant {
        attempt(|| self.each.runtime.now()).unwrap_or(Instant::EPOCH)
    }

    pub(super) fn close(&self) -> bool {
        let (was_open, bulkheads, bolt) = self.state.with(PartitionsState::close);
        for shared in bulkheads {
            let handle = Handle { shared };
            handle.close();
            // A handler may have discarded the partition, whose own handlers are foreign.
            discard(handle);
        }
        drop(bolt);
        self.drained.open();
        was_open
    }

    /// Returns the limits of a new partition, and the identity in the rejections of calls that got
    /// none.
    pub(super) fn each(&self, state: &PartitionsState<K>) -> Changed {
        let unchanged = (&self.each.limits, &self.identity);
        let (each, identity) = state.changed.as_ref().map_or(unchanged, |changed| (&changed.each, &changed.identity));
        Changed { each: *each, identity: Arc::clone(identity) }
    }

    pub(super) fn pool(&self) -> Option<&SharedPool> {
        self.identity.pool.as_deref()
    }

    /// Changes the shared capacity, and the capacity of each partition with it, if nothing else has
    /// bounded that.
    pub(super) fn resize_shared(&self, units: usize) -> Result<(), ReconfigureError> {
        let (capacity, now) = (u32::try_from(units).unwrap_or(u32::MAX), self.now_if_sound());
        // In one hold of the lock: of two changes, one is the last of the whole and of each.
        let (resized, deliveries) = self.state.with(|state| {
            let mut deliveries = Vec::new();
            let resized = self.try_resize_shared(state, capacity, now, &mut deliveries);
            (resized, deliveries)
        });
        deliver_all(deliveries);
        resized.map_err(|refused| self.refused(refused))
    }

    fn try_resize_shared(
        &self,
        state: &mut PartitionsState<K>,
        capacity: u32,
        now: Instant,
        deliveries: &mut Vec<Undelivered>,
    ) -> Result<(), Refused> {
        let nothing = || InvalidArgument::new("shared_capacity", "nothing", "must be set by the builder");
        let pool = self.pool().ok_or_else(|| invalid(nothing()))?;
        if state.account.is_closed() {
            return Err(Refused::Closed);
        }
        let previous = pool.limits();
        previous.clone().with_capacity(capacity).check().map_err(invalid)?;
        let (before, limits_for) = (self.each(state), self.limits_for.as_ref());
        let limits = before.each.with_capacity(capacity as usize);
        let follows = self.each.is_bounded_by_shared && before.each.capacity == previous.capacity as usize;
        if follows {
            // All is checked before the first is changed.
            let (checked, outputs) = state.check(&limits, limits_for, now);
            deliveries.extend(outputs);
            checked?;
        }
        let (resized, outputs) = pool.reconfigure(|limits| limits.with_capacity(capacity), now);
        deliveries.extend(outputs);
        resized.map_err(invalid)?;
        if !follows {
            return Ok(());
        }
        let (changed, outputs) = state.reconfigure(&before, &limits, limits_for, now);
        deliveries.extend(outputs);
        if changed.is_err() {
            // A call that costs more has begun to wait since the check.
            let (_, outputs) = pool.reconfigure(|_| previous, now);
            deliveries.extend(outputs);
        }
        changed.map(drop)
    }

    pub(super) fn reconfigure(&self, limits: &crate::Limits) -> Result<Reconfigured, ReconfigureError> {
        self.try_reconfigure(limits).map_err(|refused| self.refused(refused))
    }

    fn refused(&self, refused: Refused) -> ReconfigureError {
        match refused {
            Refused::Closed => ReconfigureError::Closed { label: Arc::clone(&self.identity.label) },
            Refused::Invalid(reasons) => {
                let (reasons, capacity) = (reasons.into_iter(), self.each.capacity_field());
                ReconfigureError::invalid(reasons, format_args!("partitions {}", self.identity.label), capacity)
            }
        }
    }

    pub(super) fn try_reconfigure(&self, limits: &crate::Limits) -> Result<Reconfigured, Refused> {
        self.try_reconfigure_with(limits, self.limits_for.as_ref(), || ())
    }

    /// Changes the limits, with these limits of keys. If that is not refused, calls `commit` before
    /// another partition can be created.
    pub(super) fn try_reconfigure_with(
        &self,
        limits: &crate::Limits,
        limits_for: Option<&LimitsFor<K>>,
        commit: impl FnOnce(),
    ) -> Result<Reconfigured, Refused> {
        let now = self.now_if_sound();
        let (changed, deliveries) = self.state.with(|state| {
            let before = self.each(state);
            let (changed, deliveries) = state.reconfigure(&before, limits, limits_for, now);
            if changed.is_ok() {
                commit();
            }
            (changed, deliveries)
        });
        deliver_all(deliveries);
        changed
    }

    /// Returns why the limits could not be changed so now, with other limits of keys if there are
    /// any.
    pub(super) fn check(&self, limits: &crate::Limits, limits_for: Option<&LimitsFor<K>>) -> Result<(), Refused> {
        let (now, limits_for) = (self.now_if_sound(), limits_for.or(self.limits_for.as_ref()));
        let (checked, deliveries) = self.state.with(|state| state.check(limits, limits_for, now));
        deliver_all(deliveries);
        checked
    }

    /// Pauses all partitions, present and future, or resumes them. Returns whether that changed
    /// anything.
    pub(super) fn set_paused(&self, is_paused: bool) -> bool {
        let now = self.now_if_sound();
        let (changed, deliveries) = self.walk.with(|()| {
            let (mut changed, kept) = self.state.with(|state| state.set_paused(is_paused));
            let give = |shared: &Arc<Shared>| {
                shared.input_undelivered(now, |state| {
                    changed |= if is_paused { state.gate.pause() } else { state.resume(now) };
                })
            };
            let deliveries = kept.iter().flat_map(give).collect();
            (changed, deliveries)
        });
        deliver_all(deliveries);
        changed
    }

    /// Changes the handlers of all partitions, present and future. Returns whether that changed
    /// anything.
    ///
    /// Partitions share one list, except those with additional handlers; for these the change is
    /// applied to their own list.
    pub(super) fn change_handlers(&self, change: impl Fn(&Handlers) -> Option<Handlers>) -> bool {
        let changed = self.walk.with(|()| {
            let HandlersChanged { before, after, kept } = self.state.with(|state| state.change_handlers(&change))?;
            let change_in = |shared: Arc<Shared>| {
                let displaced = shared.with_gate(|state| {
                    let is_shared = state.observers.handlers().is(&before);
                    let changed = if is_shared { Some(after.clone()) } else { change(state.observers.handlers()) };
                    changed.map(|changed| state.set_handlers(&shared, changed))
                });
                (displaced, shared)
            };
            let displaced: Vec<_> = kept.into_iter().map(change_in).collect();
            Some((before, after, displaced))
        });
        // A displaced value, and a partition that is gone by now, have foreign handlers.
        let Some((before, after, displaced)) = changed else { return false };
        discard(before);
        discard(after);
        for (displaced, shared) in displaced {
            drop(displaced);
            discard(shared);
        }
        true
    }
}

impl<K, R: Clock + Clone + Send + Sync + 'static, S: BuildHasher> Inner<K, R, S> {
    /// Leases the partition of this key, and creates it if there is none. The caller counts a
    /// rejection, which is of the usual request.
    #[inline]
    pub(super) fn enter<Q: Lookup<K> + ?Sized>(&self, key: &Q, class: Class) -> Result<Arc<Shared>, Rejection> {
        let hash = self.hasher.hash_one(key);
        match self.state.with(|state| state.enter(hash, key, class)) {
            Ok(Some(entered)) => Ok(entered),
            Ok(None) => self.create(hash, key, class),
            Err(rejection) => Err(self.rejected(rejection)),
        }
    }

    /// Creates the partition outside the lock, because cloning a key and dropping it are foreign
    /// code.
    #[cold]
    fn create<Q: Lookup<K> + ?Sized>(&self, hash: u64, key: &Q, class: Class) -> Result<Arc<Shared>, Rejection> {
        let controllers = self.state.with(|state| state.controllers.clone());
        let new_key = key.to_key();
        let shown = self.show_key.as_ref().and_then(|show| {
            let shown = ShownKey::new(show, &new_key, class);
            if shown.is_none() {
                self.identity.count_handler_panic();
            }
            shown
        });
        let shared = self.each.make(&self.identity, shown, |gate, calls| self.histograms.share(gate, calls));
        let held = controllers.as_deref().map(|controllers| Held::new(controllers, key.to_key(), &shared));
        let mut spare = Some(Partition { hash, key: new_key, class, shared });
        // Another call may have created this partition meanwhile: look it up again.
        let entered = self.state.with(|state| {
            if let Some(id) = state.find(hash, key, class) {
                return Ok(Some(state.lease(id)));
            }
            // No partition escapes a controller that was added meanwhile.
            if state.controllers.as_ref().map(Arc::as_ptr) != controllers.as_ref().map(Arc::as_ptr) {
                return Ok(None);
            }
            let limits = self.limits_of(state, spare.as_ref().map(|new| &new.key))?;
            let changed = Some(limits).filter(|limits| *limits != self.each.limits);
            let pooled = self.pool().map(|pool| (pool, state.pool_key(hash, key, pool).0));
            Ok(Some(state.create(&mut spare, changed, pooled)))
        });
        // The evicted partition, or the new one if it was not needed.
        discard(spare);
        match entered? {
            Some(Ok(entered)) => {
                if let Some(held) = held {
                    held.begin(&entered);
                }
                Ok(entered)
            }
            Some(Err(rejection)) => Err(self.rejected(rejection)),
            None => {
                discard(held);
                self.create(hash, key, class)
            }
        }
    }

    /// Returns the limits of a new partition with this key. Rejects invalid ones before a partition
    /// is created or evicted.
    fn limits_of(&self, state: &PartitionsState<K>, key: Option<&K>) -> Result<crate::Limits, Rejection> {
        let Changed { each, identity } = self.each(state);
        let (Some(limits_for), Some(key)) = (&self.limits_for, key) else { return Ok(each) };
        let limits = limits_for(key, each);
        let invalid = limits.validate().err().or_else(|| unused_wait_limit(&limits));
        let Some(invalid) = invalid else { return Ok(limits) };
        let named = match invalid.field() {
            "capacity" => invalid.for_field(self.each.capacity_field()),
            _ => invalid,
        };
        Err(Rejection::invalid_limits(identity, named))
    }

    #[cold]
    fn rejected(&self, rejection: partitions::Rejection) -> Rejection {
        let Changed { identity, .. } = self.state.with(|state| self.each(state));
        Rejection::by_partitions(identity, rejection)
    }

    pub(super) fn get<Q: Lookup<K> + ?Sized>(&self, key: &Q, class: Class) -> Option<Handle> {
        let hash = self.hasher.hash_one(key);
        self.state.with(|state| state.get(hash, key, class)).map(|shared| Handle { shared })
    }

    pub(super) fn discard<Q: Lookup<K> + ?Sized>(&self, key: &Q, class: Class) -> bool {
        let hash = self.hasher.hash_one(key);
        self.state.with(|state| state.discard(hash, key, class)).map(discard).is_some()
    }
}

impl<K, R, S> Inner<K, R, S>
where
    K: Send + 'static,
    R: Clock + Clone + Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    pub(super) fn new(
        each: Builder<R>,
        identity: &Identity,
        limits: Limits,
        limits_for: Option<LimitsFor<K>>,
        shared: Option<(pool::Limits, Share)>,
        show_key: Option<ShowKey<K>>,
        hasher: S,
    ) -> Result<Arc<Self>, InvalidArgument> {
        let drained = Latch::new(Arc::clone(&identity.label), Arc::new(each.runtime.clone()));
        let state = PartitionsState::new(limits, drained.bolt())?;
        let pool = shared.map(|(limits, share)| SharedPool::new(limits, share, identity)).transpose()?.map(Arc::new);
        Ok(Arc::new_cyclic(|this: &Weak<Self>| {
            let identity = Arc::new(identity.owned_by(Weak::<Self>::clone(this), pool));
            let needs_now = state.account.needs_now();
            let histograms = SharedHistograms::new(each.measures_holds());
            Inner {
                each,
                identity,
                limits_for,
                show_key,
                hasher,
                needs_now,
                histograms,
                state: Lock::new(state),
                walk: Lock::new(()),
                marks: Lock::new(Marks::default()),
                drained,
            }
        }))
    }
}

impl<K: Send, R: Clock + Clone + Send + Sync + 'static, S: Send + Sync> LeaseOwner for Inner<K, R, S> {
    fn lease_again(&self, partition: Id) {
        self.state.with(|state| state.account.lease_again(partition));
    }

    #[inline]
    fn end(&self, partition: Id, shared: &Shared) {
        // Without the time, the partition counts as idle since the last one that became so.
        let now = if self.needs_now { attempt(|| shared.now()) } else { None }.unwrap_or(Instant::EPOCH);
        let (is_idle, bolt) = self.state.with(|state| state.end(partition, now));
        if is_idle {
            // Without this, a driver would keep its timer until its next run.
            shared.dismiss_drivers();
        }
        drop(bolt);
    }

    #[cold]
    fn count(&self, rejection: &partitions::Rejection) {
        self.state.with(|state| state.account.count(rejection));
    }
}

impl<K: Send, R: Clock + Clone + Send + Sync + 'static, S: Send + Sync> EventSource for Inner<K, R, S> {
    fn add(&self, handler: &Handler) {
        self.change_handlers(|handlers| Some(handlers.with(handler)));
    }

    fn remove(&self, handler: HandlerId) {
        self.change_handlers(|handlers| handlers.without(handler));
    }
}
