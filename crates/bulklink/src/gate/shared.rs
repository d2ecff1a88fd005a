//! The state that all clones of a bulkhead share: the gate in its lock, and the cycle of each
//! input.

#[cfg(all(test, feature = "std", target_has_atomic = "64", not(any(bulklink_loom, bulklink_lock_only))))]
mod tests;

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use core::task::{Poll, Waker};

use bulklink_core::partitions::Id;
use bulklink_core::plumbing::{Refusal, Word};
use bulklink_core::{Calls, Gate, Grant, Instant, InvalidArgument, Limits, Occupancy, Request, ResizeError};

use crate::builder::{CapacityIs, Options};
use crate::foreign::attempt;
use crate::gate::delivery::Observers;
use crate::gate::drivers::Drivers;
use crate::gate::fast::FastPath;
use crate::gate::lock::Lock;
use crate::gate::outputs::{Rest, Undelivered, deliver_all};
use crate::gate::park::look_or_park;
use crate::gate::state::{GateState, Rare};
use crate::identity::Identity;
use crate::observe::event::Handlers;
use crate::observe::trace;
use crate::partitions::ShownKey;
use crate::pool::Reach;
use crate::time::runtime::DynClock;
use crate::{Reconfigured, Rejection};

/// The needs of a call's wait, and whether there can be one.
pub(crate) mod hint {
    /// It can be late by the limit of the bulkhead.
    pub(in crate::gate) const WAIT_LIMIT: u8 = 1;
    /// It waits for a higher ceiling if it finds no unit.
    pub(in crate::gate) const FETCH: u8 = 2;
    /// A slot that is not collected is taken back, for which each waiting call needs a driver.
    pub(in crate::gate) const TAKE_BACK: u8 = 4;
    /// It was a partition, and is none any more: no call enters it again.
    pub(crate) const GONE: u8 = 8;
    /// The least ceiling has a cause, so that the gate rejects, and not the word.
    pub(in crate::gate) const CAUSE: u8 = 16;
    /// The least ceiling lets no call wait.
    pub(in crate::gate) const TURN_AWAY: u8 = 32;
    /// It has an adaptive limit, which judges the calls that end.
    pub(crate) const ADAPTIVE: u8 = 64;
    /// It is lent its units by the pool of a shared capacity, which takes part in each input.
    pub(crate) const POOLED: u8 = 128;
}

/// The state that all clones of a bulkhead share.
pub struct Shared {
    pub(crate) fast: FastPath,
    state: Lock<GateState>,
    /// Drivers keep a clone of this, because a driver must not keep its bulkhead alive.
    pub(crate) this: Weak<Shared>,
    identity: Arc<Identity>,
    /// How the user set the capacity. In one byte, because there can be many partitions.
    capacity_is: CapacityIs,
    /// Hints, so that a call need not lock to find what its wait needs, and more: see [`hint`]. In
    /// one byte, because there can be many partitions.
    hints: AtomicU8,
    /// A hint, so that most calls that leave a partition need not lock to find that it has no
    /// driver.
    pub(crate) has_drivers: AtomicBool,
    /// The id of the partition that has this bulkhead, as a number; zero if none has.
    partition: AtomicU32,
    pub(crate) runtime: Arc<dyn DynClock>,
}

/// A panic cannot leave a change incomplete: foreign code never runs in the middle of one.
impl UnwindSafe for Shared {}
impl RefUnwindSafe for Shared {}

/// Why limits were not set.
pub(crate) enum LimitsRefused {
    Closed,
    Invalid { largest_cost: usize },
}

impl Shared {
    pub(crate) fn new(
        gate: Gate<Waker>,
        identity: Arc<Identity>,
        capacity_is: CapacityIs,
        runtime: Arc<dyn DynClock>,
        calls: Option<Box<Calls>>,
        key: Option<Arc<ShownKey>>,
    ) -> Arc<Self> {
        let wait_limit = if gate.limits().wait_limit.is_some() { hint::WAIT_LIMIT } else { 0 };
        let take_back = if calls.as_ref().is_some_and(|calls| calls.takes_back()) { hint::TAKE_BACK } else { 0 };
        let hints = wait_limit | take_back;
        let shared = Arc::new_cyclic(|this| Shared {
            fast: FastPath::new(),
            identity,
            capacity_is,
            hints: AtomicU8::new(hints),
            has_drivers: AtomicBool::new(false),
            partition: AtomicU32::new(0),
            state: Lock::new(GateState {
                gate,
                observers: Observers::default(),
                drivers: Drivers::default(),
                calls,
                ceilings: None,
                rare: key.map(|key| Box::new(Rare::of_key(key))),
            }),
            this: this.clone(),
            runtime,
        });
        // Publishes the first word: until then, the fast path decides nothing.
        shared.with_own_gate(|_| ());
        shared
    }

    /// Returns the builder method by which the user set the capacity, for error messages.
    pub(crate) fn capacity_field(&self) -> &'static str {
        self.capacity_is.field()
    }

    /// Returns whether a hint is set.
    #[inline]
    pub(crate) fn has(&self, hint: u8) -> bool {
        self.hints.load(Ordering::Relaxed) & hint != 0
    }

    /// Sets a hint, or clears it. Called under the lock: no other thread changes one meanwhile.
    pub(crate) fn give_hint(&self, hint: u8, is_set: bool) {
        let others = self.hints.load(Ordering::Relaxed) & !hint;
        self.hints.store(if is_set { others | hint } else { others }, Ordering::Relaxed);
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the bulkhead's name.
    pub(crate) fn label(&self) -> &Arc<str> {
        &self.identity.label
    }

    /// Returns the key of the partition that has this bulkhead, if operators may see it.
    pub(crate) fn key(&self) -> Option<Arc<ShownKey>> {
        self.beside_the_word(|state| state.rare.as_ref()?.key.clone())
    }

    pub(crate) fn options(&self) -> Options {
        self.identity.options()
    }

    pub(crate) fn now(&self) -> Instant {
        self.runtime.now()
    }

    /// Reads the clock for an input that must succeed even if the clock panics. Then the time is
    /// that of the latest input, so no wait expires.
    pub(crate) fn now_if_sound(&self) -> Instant {
        attempt(|| self.now()).unwrap_or_else(|| self.latest())
    }

    /// Returns the time of the latest input.
    #[cold]
    fn latest(&self) -> Instant {
        self.with_gate(|state| state.snapshot(None).at)
    }

    /// Gives the gate an input, then wakes tasks and delivers events as it requires. An input that
    /// frees units must also pass the time to `Gate::advance`. The caller drops all that the input
    /// displaced, such as a waker, after this returns and so outside the lock.
    pub(crate) fn input<T>(&self, input: impl FnOnce(&mut GateState) -> T) -> T {
        if self.has(hint::POOLED) { self.pooled_input(input) } else { self.own_input(input) }
    }

    /// Gives the gate an input as [`input`](Shared::input) does, of a bulkhead that is known to be
    /// of no pool: usual inputs ask for that where they ask for more.
    #[inline]
    pub(crate) fn own_input<T>(&self, input: impl FnOnce(&mut GateState) -> T) -> T {
        // Stored where it is needed: it is slow to move.
        let mut rest = Rest::Nothing;
        let (answer, waker) = self.with_own_gate(|state| {
            let answer = input(state);
            debug_assert!(!state.gate.wants_now(), "an input that frees units advances");
            (answer, self.take_outputs(state, &mut rest))
        });
        self.deliver(waker, rest);
        answer
    }

    /// Gives the gate an input as [`input`](Shared::input) does, at `now` for waiters of other
    /// bulkheads, and returns its outputs, which the caller must
    /// [deliver](crate::gate::outputs::deliver_all) outside all locks.
    pub(crate) fn input_undelivered(
        self: &Arc<Self>,
        now: Instant,
        input: impl FnOnce(&mut GateState),
    ) -> Vec<Undelivered> {
        let mut reach = Reach::new();
        let outputs = self.with_reach(Some(now), &mut reach, |state| {
            input(state);
            Shared::take_undelivered(state)
        });
        reach.push((Arc::clone(self), outputs));
        reach
    }

    /// Works with the gate without giving it an input that has outputs. Until it returns, the word
    /// grants and releases nothing, so the gate's figures are complete.
    #[inline]
    pub(crate) fn with_gate<T>(&self, work: impl FnOnce(&mut GateState) -> T) -> T {
        let mut reach = Reach::new();
        let worked = self.with_reach(None, &mut reach, work);
        deliver_all(reach);
        worked
    }

    /// Works with the gate, and with others of its pool.
    #[inline]
    fn with_reach<T>(&self, now: Option<Instant>, reach: &mut Reach, work: impl FnOnce(&mut GateState) -> T) -> T {
        if self.has(hint::POOLED) { self.with_pooled(now, reach, work) } else { self.with_own_gate(work) }
    }

    /// Works with the gate as a member of a pool, under the pool's lock: its word is taken back,
    /// and no unit is lent to it.
    pub(crate) fn member<T>(&self, work: impl FnOnce(&mut GateState) -> T) -> T {
        self.state.with(|state| {
            if let Some(word) = self.fast.take() {
                state.gate.fold(word);
            }
            state.gate.lend(0);
            let answer = work(state);
            state.gate.lend(0);
            self.fast.put(Word::TIMED_GATE);
            answer
        })
    }

    /// Publishes the word of a member of a pool with these units, under the pool's lock.
    pub(crate) fn publish_lent(&self, units: u32) {
        self.state.with(|state| {
            state.gate.lend(units);
            self.fast.put(state.publish());
        });
    }

    /// Works with the gate as [`with_gate`](Shared::with_gate) does, by the bulkhead's own lock.
    #[inline]
    pub(crate) fn with_own_gate<T>(&self, work: impl FnOnce(&mut GateState) -> T) -> T {
        self.state.with(|state| {
            // The word's counts must be in the gate before the gate is read or changed.
            if let Some(word) = self.fast.take() {
                state.gate.fold(word);
            }
            let answer = work(state);
            self.fast.put(state.publish());
            answer
        })
    }

    /// Works with state that the word does not cover: tickets, watches, outputs and handlers. The
    /// word stays in place and may change meanwhile.
    #[inline]
    pub(crate) fn beside_the_word<T>(&self, work: impl FnOnce(&mut GateState) -> T) -> T {
        self.state.with(|state| {
            let covered = cfg!(debug_assertions).then(|| state.gate.publish());
            let answer = work(state);
            debug_assert!(covered.is_none_or(|word| word == state.gate.publish()), "the word covers this change");
            answer
        })
    }

    /// Looks at the state beside the word, and leaves the waker of the task if that is needed.
    #[inline]
    pub(crate) fn look_or_park<T>(
        &self,
        waker: &Waker,
        find: impl FnMut(&mut GateState) -> Result<T, &mut Option<Waker>>,
    ) -> Poll<T> {
        look_or_park(&self.state, waker, find)
    }

    /// Asks for admission without waiting. Small enough to be inlined into the caller.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the compiler would count the cold path and not inline it")]
    pub(crate) fn try_enter<T>(&self, request: &Request, make: impl FnOnce(Grant) -> T) -> Result<T, Rejection> {
        let decided = if request.is_simple() { self.fast.decide() } else { None };
        match decided {
            Some(Ok(grant)) => Ok(make(grant)),
            Some(Err(refusal)) if trace::is_on() => Err(self.reject_and_log(refusal)),
            Some(Err(refusal)) => Err(Rejection::refused(Arc::clone(&self.identity), refusal)),
            None => self.try_enter_undecided(request).map(make),
        }
    }

    /// Apart from the usual answers, which would otherwise need more registers.
    #[inline(never)]
    fn try_enter_undecided(&self, request: &Request) -> Result<Grant, Rejection> {
        // A rejection with a cause is the gate's.
        let refused = if self.has(hint::CAUSE) { None } else { self.fast.reject_now_restricted(request) };
        match refused {
            Some(refusal) if trace::is_on() => Err(self.reject_and_log(refusal)),
            Some(refusal) => Err(self.restricted(refusal)),
            None => self.try_enter_gate(request),
        }
    }

    /// Apart from the usual rejection, which would otherwise be copied to memory first.
    #[cold]
    #[inline(never)]
    fn reject_and_log(&self, refusal: Refusal) -> Rejection {
        let rejection = match refusal.restricted_to() {
            Some(_) => self.restricted(refusal),
            None => Rejection::refused(Arc::clone(&self.identity), refusal),
        };
        trace::rejected(Some(self), &rejection);
        rejection
    }

    /// Rejects the request if the word shows that the gate, which is not restricted, would.
    #[inline]
    pub(crate) fn reject(&self, request: &Request) -> Option<Rejection> {
        let refused = if request.is_simple() { self.fast.reject(request, self.identity.waiting_room) } else { None };
        refused.map(|refusal| Rejection::refused(Arc::clone(&self.identity), refusal))
    }

    /// The same, while it is restricted.
    #[cold]
    #[inline(never)]
    pub(crate) fn reject_restricted(&self, request: &Request) -> Option<Rejection> {
        // A rejection with a cause is the gate's.
        if self.has(hint::CAUSE) {
            return None;
        }
        let refused = self.fast.reject_restricted(request, self.identity.waiting_room);
        refused.map(|refusal| self.restricted(refusal))
    }

    /// The rejection by a word that is restricted.
    #[inline]
    fn restricted(&self, refusal: Refusal) -> Rejection {
        Rejection::restricted(Arc::clone(&self.identity), refusal, self.fast.noted())
    }

    /// Returns how many operations the runtime should count for a call that the word did not admit.
    /// If the word is full, that is all admissions that it has counted: so a loop of calls that the
    /// word always admits also uses up the task's budget, and yields.
    #[inline]
    pub(crate) fn operations(&self) -> u32 {
        if self.fast.peek().is_full() { Word::MAX_ADMITTED } else { 1 }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn rejected(&self, state: &GateState, rejection: bulklink_core::Rejection) -> Rejection {
        let by = state.restricted_identity().unwrap_or_else(|| Arc::clone(&self.identity));
        Rejection::rejected(by, rejection)
    }

    #[cold]
    pub(crate) fn invalid(&self, occupancy: Occupancy, invalid: InvalidArgument, request: &Request) -> Rejection {
        Rejection::invalid(Arc::clone(&self.identity), occupancy, invalid, request)
    }

    /// Gives the grant back to the gate, after the word has not taken it. At the end of a call with
    /// a deadline, and while a call waits with a measured or limited wait, the clock is read first,
    /// and the grant and the time reach the gate in one step. So an older reading by another thread
    /// cannot hand the slot to a waiter whose deadline had passed when the slot was freed.
    #[inline(never)]
    pub(crate) fn release(&self, grant: Grant) {
        let word = self.fast.peek();
        // Without this look, only grants that a word gave are added to the word: that bounds what
        // can be added to a held word.
        if !grant.is_recorded() && word.has_released(&grant) && self.fast.release(&grant) {
            return;
        }
        if grant.is_recorded() {
            return self.release_recorded(grant);
        }
        if self.has(hint::POOLED) {
            return self.release_now(grant);
        }
        let now = word.needs_now(None).then(|| self.now_if_sound());
        if let Err(grant) = self.own_input(|state| state.finish(grant, now)) {
            self.release_now(grant);
        }
    }

    /// Gives a grant back that the account of single calls has recorded, which needs the time.
    #[inline(never)]
    fn release_recorded(&self, grant: Grant) {
        if self.has(hint::ADAPTIVE) { self.release_judged(grant) } else { self.release_now(grant) }
    }

    /// Gives the grant back, where a call has begun to wait since the word was looked at: reads the
    /// clock outside the lock, and comes again.
    #[cold]
    #[inline(never)]
    fn release_now(&self, grant: Grant) {
        let now = Some(self.now_if_sound());
        let released = self.input(|state| state.finish_any(grant, now));
        debug_assert_eq!(released, Ok(()), "the time is known");
    }

    pub(crate) fn advance(&self, now: Instant) {
        self.input(|state| state.advance(Some(now)));
    }

    /// Makes this the bulkhead of a partition. Called under the lock of the partitions, from which
    /// every call gets the bulkhead later: so relaxed accesses suffice.
    pub(crate) fn join(&self, partition: Id) {
        self.partition.store(partition.to_bits(), Ordering::Relaxed);
    }

    /// Returns the partition that has this bulkhead, if one has. The id is valid while the
    /// partition is leased.
    #[inline]
    pub(crate) fn partition(&self) -> Option<Id> {
        Id::from_bits(self.partition.load(Ordering::Relaxed))
    }

    /// Leases the partition that has this bulkhead once more, unless the partitions are gone.
    pub(crate) fn lease_again(&self, partition: Id) {
        if let Some(owner) = self.identity.owner() {
            owner.lease_again(partition);
        }
    }

    /// Ends a lease of the partition that has this bulkhead, unless the partitions are gone.
    #[cold]
    #[inline(never)]
    pub(crate) fn end_lease(&self, partition: Id) {
        if let Some(owner) = self.identity.owner() {
            owner.end(partition, self);
        }
    }

    /// Sets the limits, as an input of the gate. Returns how many waiters that admits. The error
    /// has the largest cost of a waiter, if limits are invalid.
    #[cold]
    pub(crate) fn set_limits(
        &self,
        state: &mut GateState,
        limits: &Limits,
        now: Instant,
    ) -> Result<Reconfigured, LimitsRefused> {
        state.take_back_due(now);
        let previous = state.gate.limits();
        let changed = state.gate.reconfigure(limits, now);
        state.note_use(now);
        self.note_restriction(state);
        match changed {
            Ok(admitted) => {
                self.give_hint(hint::WAIT_LIMIT, limits.wait_limit.is_some());
                Ok(Reconfigured { previous, limits: *limits, admitted, keys_changed: false })
            }
            Err(ResizeError::Closed) => Err(LimitsRefused::Closed),
            Err(_) => Err(LimitsRefused::Invalid { largest_cost: state.gate.largest_waiting_cost() }),
        }
    }

    /// Changes the handlers, unless `change` returns `None`. Returns whether they changed. The
    /// replaced list is dropped outside the lock.
    pub(crate) fn change_handlers(&self, change: impl FnOnce(&Handlers) -> Option<Handlers>) -> bool {
        let displaced =
            self.input(|state| change(state.observers.handlers()).map(|changed| state.set_handlers(self, changed)));
        displaced.is_some()
    }

    /// Returns how long the first call in the queue has waited; `None` if none waits, if its wait
    /// is not measured, or if the clock panics.
    #[cfg(feature = "tracing")]
    #[cold]
    pub(crate) fn oldest_wait(&self) -> Option<core::time::Duration> {
        // Read before the lock is taken, because it is foreign.
        let now = attempt(|| self.now())?;
        self.beside_the_word(|state| state.oldest_wait(Some(now)))
    }
}
