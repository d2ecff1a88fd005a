//! A ceiling: a bound below the capacity, which a controller sets and lifts.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::error::Error;
use core::fmt;
use core::mem;
use core::task::Waker;
use core::time::Duration;

use bulklink_core::{EventFilter, Load, Restriction};

use crate::Handle;
use crate::foreign::discard;
use crate::gate::ceilings::{Bound, Entry};
use crate::gate::shared::{Shared, hint};
use crate::identity::Cause;

/// A bound on the units in use that a controller sets besides the capacity: a share of the limit of
/// a fleet, an adaptive limit, the capacity while a circuit is half-open.
///
/// The effective capacity of a bulkhead is the least of its capacity and of all its ceilings. Each
/// controller has a ceiling of its own, so none has to know of the others, and none changes the
/// capacity. Made by [`Handle::ceiling`], it allows everything until it is set.
///
/// Dropping it lifts it unless it is [kept](Ceiling::keep), and so does closing the bulkhead. It
/// does not keep its bulkhead alive, nor a [partition](crate::Partitions): a partition that is made
/// anew has none.
///
/// # Under a ceiling
///
/// Calls that find no unit wait, up to the size of the waiting room, or are rejected as
/// [`Saturated`](crate::Reason::Saturated); their [rejection](crate::Rejection::restriction) and
/// the [status](Handle::status) name the ceiling that binds. Operations that run already go on.
/// Costs are compared with the capacity: a call that costs more than the ceiling waits until it is
/// raised, and those behind it too, unless the ceiling allows
/// [one call alone](Ceiling::set_or_one_call).
///
/// Calls that are admitted without a wait cost the same as without a ceiling. While more is in use
/// than it allows, admissions and rejections take the lock.
///
/// ```
/// use bulklink_tokio::Bulkhead;
///
/// let payments = Bulkhead::builder("payments").parallelism(100).build()?;
/// let adaptive = payments.handle().ceiling("adaptive");
/// adaptive.set(1);
/// let _running = payments.try_slot()?;
/// let rejection = payments.try_slot().unwrap_err();
/// assert_eq!(rejection.restriction().unwrap().by, "adaptive");
/// assert_eq!(
///     rejection.to_string(),
///     "bulkhead payments: saturated \
///      (1 of 100 in use, 1 allowed by adaptive, 0 of 0 waiting)"
/// );
/// drop(adaptive);
/// assert_eq!(payments.status().free(), 99);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a ceiling that is dropped is lifted"]
pub struct Ceiling {
    bulkhead: Weak<Shared>,
    id: u64,
    by: &'static str,
}

impl Ceiling {
    /// Allows at most so many units in use together; none with zero. Returns the number of waiting
    /// calls that this admits.
    ///
    /// Takes the lock once. Does nothing if the bulkhead is closed or gone.
    pub fn set(&self, units: usize) -> usize {
        self.set_bound(Some(Bound { units, or_one_call: false }))
    }

    /// Allows as much as [`set`](Ceiling::set) does, or one call of any cost while no other runs:
    /// so a call that costs more than this holds up those behind it only until all that run have
    /// ended. Other ceilings bind that call too. With zero, no call is admitted.
    pub fn set_or_one_call(&self, units: usize) -> usize {
        self.set_bound(Some(Bound { units, or_one_call: true }))
    }

    /// Allows everything, until it is set again. Returns the number of waiting calls that this
    /// admits.
    pub fn lift(&self) -> usize {
        self.set_bound(None)
    }

    /// Has calls that find no unit under this ceiling wait up to `wait` for it to be raised, where
    /// they would be rejected otherwise: if they [may not wait](crate::Request::now), or the
    /// waiting room has no place. With zero, as at first, none does.
    ///
    /// A call waits so only if the capacity and the other ceilings leave room for it, beside the
    /// units in use and those that others wait for. So these waits need no waiting room, and the
    /// capacity bounds their number. Meanwhile it is one of the calls that wait, also for those
    /// that come later: they wait behind it, and the waiting room has one place less for them. When
    /// `wait` is over, the call is rejected as [`Expired`](crate::Reason::Expired).
    ///
    /// This holds for calls that are futures and for [blocking](crate::Bulkhead#block-the-thread)
    /// ones, in layers and guards too. [`try_slot`](crate::Bulkhead::try_slot) and all that must
    /// not wait decide immediately, and so do calls on a thread that has no timer.
    pub fn set_fetch(&self, wait: Duration) {
        self.change(|entry| entry.fetch = wait);
    }

    /// Rejects calls that find no unit under this ceiling as
    /// [`Saturated`](crate::Reason::Saturated), where they would wait otherwise: for a controller
    /// that cannot raise it soon, such as while a store is out of reach. With `false`, as at first,
    /// they wait. Calls that wait already go on waiting.
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Reason};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let payments = Bulkhead::builder("payments").parallelism(100).waiting_room(10).build()?;
    /// let fleet = payments.handle().ceiling("fleet");
    /// fleet.set(0);
    /// let hurried = Duration::from_millis(1);
    /// let waited = payments.within(hurried).slot().await.unwrap_err();
    /// assert_eq!(waited.reason(), Reason::Expired);
    ///
    /// fleet.turn_away(true);
    /// let rejected = payments.within(hurried).slot().await.unwrap_err();
    /// assert_eq!(rejected.reason(), Reason::Saturated);
    /// # Ok(())
    /// # }
    /// ```
    pub fn turn_away(&self, turns_away: bool) {
        self.change(|entry| entry.turns_away = turns_away);
    }

    /// Shows another name of its controller from now on, in rejections, figures and reports: so the
    /// controller can show its state.
    pub fn rename(&self, by: &'static str) {
        self.change(|entry| entry.by = by);
    }

    /// Gives the cause to the calls that are rejected while this ceiling binds, from now on: it is
    /// the [source](Error::source) of their [rejection](crate::Rejection), such as the error of a
    /// store that is out of reach. With `None`, as at first, there is none.
    ///
    /// Each rejection with a cause takes the lock, and allocates.
    ///
    /// ```
    /// use std::error::Error as _;
    /// use std::io;
    /// use std::sync::Arc;
    ///
    /// # use bulklink_tokio::Bulkhead;
    /// # let payments = Bulkhead::builder("payments").parallelism(100).build()?;
    /// let fleet = payments.handle().ceiling("fleet");
    /// fleet.set(0);
    /// let cause = io::Error::from(io::ErrorKind::ConnectionRefused);
    /// fleet.set_cause(Some(Arc::new(cause)));
    ///
    /// let rejection = payments.try_slot().unwrap_err();
    /// let cause = rejection.source().expect("the ceiling's");
    /// assert_eq!(cause.to_string(), "connection refused");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_cause(&self, cause: Option<Arc<dyn Error + Send + Sync>>) {
        // Dropped outside the lock, as it is foreign.
        let mut displaced = cause.map(Cause);
        self.change(|entry| mem::swap(&mut entry.cause, &mut displaced));
        discard(displaced);
    }

    /// Leaves its bound in force as long as the bulkhead lives: from now on, this value does
    /// nothing, also when it is dropped.
    pub fn keep(&mut self) {
        self.bulkhead = Weak::new();
    }

    /// Returns whether its bulkhead is gone: dropped, or a partition that was dropped while a
    /// handle keeps its figures. No call enters it any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let Some(bulkhead) = self.bulkhead.upgrade() else { return true };
        let is_gone = bulkhead.has(hint::GONE);
        discard(bulkhead);
        is_gone
    }

    /// Returns whether its bulkhead is closed, and no operation runs in it any more; or it is
    /// [gone](Ceiling::is_gone).
    #[must_use]
    pub fn is_drained(&self) -> bool {
        let Some(bulkhead) = self.bulkhead.upgrade() else { return true };
        let is_drained = bulkhead.has(hint::GONE) || bulkhead.beside_the_word(|state| state.gate.is_drained());
        discard(bulkhead);
        is_drained
    }

    /// Returns whether it is a ceiling of this bulkhead, and has not been [kept](Ceiling::keep).
    #[must_use]
    pub fn is_of(&self, bulkhead: &Handle) -> bool {
        self.bulkhead.as_ptr() == Arc::as_ptr(&bulkhead.shared)
    }

    /// Returns the units that it allows; `None` if it is lifted, or the bulkhead is closed or gone.
    #[must_use]
    pub fn units(&self) -> Option<usize> {
        let bulkhead = self.bulkhead.upgrade()?;
        let bound = bulkhead.ceiling(self.id);
        // The last clone may have gone meanwhile, and its handlers are foreign.
        discard(bulkhead);
        Some(bound?.units)
    }

    /// Returns the name of its controller with which it was made.
    #[must_use]
    pub const fn by(&self) -> &'static str {
        self.by
    }

    /// Returns the load since this ceiling looked last, or since it was made, and has `waker`
    /// woken: once after the next event of one of these kinds, and once after the end of the
    /// bulkhead. `None` if that has come.
    ///
    /// Nothing is missed in between: an event after this reading wakes. To raise a ceiling in time,
    /// watch the calls that [wait](crate::EventKind::Queued) or are
    /// [rejected](crate::EventKind::Saturated); after one of them has woken, others cost nothing
    /// more. A look replaces the waker of the look before.
    ///
    /// Takes the lock once. Peaks since the last look are not those of the status.
    pub fn look(&self, events: EventFilter, waker: &Waker) -> Option<Load> {
        let wakers = [waker.clone(), waker.clone()];
        let Some(bulkhead) = self.bulkhead.upgrade() else {
            discard(wakers);
            return None;
        };
        let load = bulkhead.look(self.id, events, wakers);
        discard(bulkhead);
        Some(load)
    }

    fn set_bound(&self, bound: Option<Bound>) -> usize {
        self.change(|entry| entry.bound = bound)
    }

    fn change(&self, change: impl FnOnce(&mut Entry)) -> usize {
        let Some(bulkhead) = self.bulkhead.upgrade() else { return 0 };
        let admitted = bulkhead.change_ceiling(self.id, change);
        // The last clone may have gone meanwhile, and its handlers are foreign.
        discard(bulkhead);
        admitted
    }
}

impl Drop for Ceiling {
    fn drop(&mut self) {
        if let Some(bulkhead) = self.bulkhead.upgrade() {
            bulkhead.remove_ceiling(self.id);
            discard(bulkhead);
        }
    }
}

impl fmt::Debug for Ceiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ceiling").field("by", &self.by).field("units", &self.units()).finish_non_exhaustive()
    }
}

impl Handle {
    /// Makes a [ceiling](Ceiling) for the controller of this name, which allows everything until it
    /// is set. The name is shown in rejections, figures and reports; several ceilings may have the
    /// same. A program should have few names: each is kept for good, and from 65,535 of them on,
    /// some rejections have "another controller" in place of a new one.
    pub fn ceiling(&self, by: &'static str) -> Ceiling {
        let id = self.shared.add_ceiling(by);
        Ceiling { bulkhead: Arc::downgrade(&self.shared), id, by }
    }

    /// Returns what each [ceiling](Ceiling) allows that is set, in the order in which they were
    /// made. The [status](Handle::status) has the one that binds, if it is below the capacity.
    #[must_use]
    pub fn ceilings(&self) -> Vec<Restriction> {
        self.shared.ceilings()
    }
}
