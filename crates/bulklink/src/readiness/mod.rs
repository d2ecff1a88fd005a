//! Whether a service should be sent requests, by the bulkheads that are its own capacity.

mod number;
mod track;

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::fmt;
use core::iter;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::OnceLock;

use bulklink_core::{EventFilter, EventKind, InvalidArgument, plumbing};

use crate::foreign::{attempt, discard};
use crate::gate::shared::Shared;
use crate::observe::channel::EventSource;
use crate::observe::event::Handler;
use crate::time::runtime::DynClock;
use crate::{Event, Handle, HandlerId};

use self::track::Track;

/// Where a wait begins and ends, and where the bulkhead is closed. Rejections are left out, so
/// these stay as cheap as they are.
const FILTER: EventFilter =
    EventFilter::WAITS.except(EventFilter::of(EventKind::ClosedRejection)).or(EventFilter::of(EventKind::Closed));

/// Answers whether a service is ready for more requests, for the probe of a load balancer.
///
/// It watches the bulkheads that are the service's own capacity, and is not ready if any of them is
/// not:
///
/// - A bulkhead is not ready once calls have waited for it in 95 % of the last grace period, and
///   ready again once that is less than 80 %. Calls wait only while units are missing, so a burst
///   that the waiting room takes up changes nothing. The share is over a sliding window, and exact
///   to half a percent of the grace period. The verdict changes as time passes, also without any
///   event.
/// - A bulkhead that is closed is not ready: a service that is draining should get no more
///   requests. It counts until its last handle, slot and call have been dropped, or it is
///   [unwatched](Readiness::unwatch).
/// - A bulkhead that is [paused](Handle::pause) counts as any other: calls that wait meanwhile make
///   it not ready.
/// - Without a waiting room, no call waits, and so only closing makes a bulkhead not ready.
///
/// A service that is about to end is [set to draining](Readiness::set_draining), and is not ready
/// from then on, whatever its bulkheads do.
///
/// **Watch only resources that this instance of the service has for itself**, such as its workers
/// or its memory. A bulkhead around a dependency that all instances share fills up in all of them
/// at the same time: they would all be taken out, though most of their requests need not have that
/// dependency.
///
/// Clones are cheap and share everything.
///
/// # Cost
///
/// A watched bulkhead has an event handler for waits. A call that does not wait pays nothing for
/// it, whether it is admitted or rejected. A bulkhead that was watched takes about a kilobyte until
/// the last clone is dropped.
///
/// # Ownership
///
/// It keeps no bulkhead alive, but the clock of each. Dropping the last clone removes its handlers.
///
/// # Examples
///
/// ```
/// use bulklink_tokio::{Bulkhead, Readiness};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // At the start of the service.
/// let workers = Bulkhead::builder("workers").parallelism(1).waiting_room(50).build()?;
/// let readiness = Readiness::new(Duration::from_secs(10))?;
/// readiness.watch(&workers);
///
/// // The status with which it answers the probe.
/// let probe = || if readiness.is_ready() { 200 } else { 503 };
///
/// let running = workers.slot().await?;
/// let waiting = tokio::spawn(workers.owned().slot());
/// tokio::time::sleep(Duration::from_secs(1)).await;
/// assert_eq!(probe(), 200, "a call waits, but not for long");
///
/// tokio::time::sleep(Duration::from_secs(9)).await;
/// assert_eq!(probe(), 503);
/// assert_eq!(readiness.not_ready(), ["workers".into()]);
///
/// drop(running);
/// tokio::time::sleep(Duration::from_secs(3)).await;
/// assert_eq!(probe(), 200, "no call has waited for three seconds");
/// # drop(waiting.await??);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Readiness {
    inner: Arc<Inner>,
}

/// The only foreign code in it is a clock, and a panic of that is contained.
impl UnwindSafe for Readiness {}
impl RefUnwindSafe for Readiness {}

struct Inner {
    grace: Duration,
    is_draining: AtomicBool,
    first: OnceLock<Box<Watched>>,
}

/// A bulkhead that is watched, or was. Added at the end of the list, and never removed from it: so
/// the list is read without a lock.
struct Watched {
    label: Arc<str>,
    bulkhead: Weak<Shared>,
    clock: Arc<dyn DynClock>,
    handler: HandlerId,
    track: Arc<Track>,
    is_unwatched: AtomicBool,
    next: OnceLock<Box<Watched>>,
}

impl Readiness {
    /// Creates a verdict that watches no bulkhead yet, and so is ready.
    ///
    /// # Errors
    ///
    /// If the grace period is zero.
    pub fn new(grace: Duration) -> Result<Self, InvalidArgument> {
        if grace.is_zero() {
            return Err(InvalidArgument::new("grace", "0 s", "must be longer than zero").of("readiness"));
        }
        Ok(Readiness { inner: Arc::new(Inner { grace, is_draining: AtomicBool::new(false), first: OnceLock::new() }) })
    }

    /// Marks a bulkhead as the service's own capacity. Its time counts from now: if calls wait
    /// already, they wait from now on.
    ///
    /// Watching it again changes nothing. The partitions of a
    /// [`Partitions`](crate::Partitions) cannot be watched together: that one tenant's calls wait
    /// does not mean that the service is full.
    pub fn watch(&self, bulkhead: &impl AsRef<Handle>) {
        let shared = &bulkhead.as_ref().shared;
        if self.inner.present().any(|watched| watched.is_of(shared)) {
            return;
        }
        let track = Arc::new(Track::new(self.inner.grace, shared.now_if_sound()));
        let (handler, displaced) = shared.input(|state| {
            track.start(state.gate.occupancy().waiting() > 0, state.gate.is_closed());
            // An event that has not been delivered yet is older than this state.
            let handler = handler(Arc::clone(&track), plumbing::events_recorded(&state.gate));
            let handlers = state.observers.handlers().with(&handler);
            (handler.id(), state.set_handlers(shared, handlers))
        });
        drop(displaced);
        self.inner.add(Watched {
            label: Arc::clone(shared.label()),
            bulkhead: Arc::downgrade(shared),
            clock: Arc::clone(&shared.runtime),
            handler,
            track,
            is_unwatched: AtomicBool::new(false),
            next: OnceLock::new(),
        });
    }

    /// Watches a bulkhead no longer, as before it is closed while the service goes on. Returns
    /// whether it was watched.
    pub fn unwatch(&self, bulkhead: &impl AsRef<Handle>) -> bool {
        let shared = &bulkhead.as_ref().shared;
        let mut was_watched = false;
        // All of them: two threads may have begun to watch it at the same time.
        for watched in self.inner.all().filter(|watched| watched.is_of(shared)) {
            was_watched |= watched.end();
        }
        was_watched
    }

    /// Makes the service not ready from now on, whatever its bulkheads do: it is about to end.
    ///
    /// Its bulkheads still admit calls, so what a load balancer sends until it has noticed is
    /// served. Close them some seconds later, as `Drain` of `bulklink-tokio` does. Doing so again
    /// changes nothing, and nothing makes the service ready again.
    ///
    /// ```
    /// # use bulklink::Readiness;
    /// # use std::time::Duration;
    /// let readiness = Readiness::new(Duration::from_secs(10))?;
    /// readiness.set_draining();
    /// assert!(readiness.is_draining() && !readiness.is_ready());
    /// # Ok::<(), bulklink::InvalidArgument>(())
    /// ```
    pub fn set_draining(&self) {
        self.inner.is_draining.store(true, Ordering::Release);
    }

    /// Returns whether the service was [set to draining](Readiness::set_draining).
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.inner.is_draining.load(Ordering::Acquire)
    }

    /// Returns whether the service is ready: whether it is not draining, and every watched bulkhead
    /// is ready.
    ///
    /// It takes no lock, except on targets without 64-bit atomics. It reads the clock of each
    /// watched bulkhead for which calls wait, or which is not ready. An event counts once it has
    /// been delivered: a handler that is slow delays the verdict.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.is_draining() && !self.inner.present().any(Watched::is_not_ready)
    }

    /// Returns the labels of the watched bulkheads that are not ready, in the order in which they
    /// were first watched. Draining is a state of the service, and adds none.
    #[must_use]
    pub fn not_ready(&self) -> Vec<Arc<str>> {
        let not_ready = self.inner.present().filter(|watched| watched.is_not_ready());
        not_ready.map(|watched| Arc::clone(&watched.label)).collect()
    }

    /// Returns the grace period.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.inner.grace
    }
}

/// Returns the handler that keeps the track of later events than the one of this number.
fn handler(track: Arc<Track>, number: u64) -> Handler {
    Handler::new(FILTER, move |event: &Event| {
        if event.number <= number {
            return;
        }
        if event.kind == EventKind::Closed {
            return track.close();
        }
        // A clock that panics must not lose the transition.
        track.turn(event.occupancy.waiting() > 0, || attempt(|| event.at()));
    })
}

impl Inner {
    fn all(&self) -> impl Iterator<Item = &Watched> {
        iter::successors(self.first.get(), |watched| watched.next.get()).map(|watched| &**watched)
    }

    /// Returns those that are still watched, and whose bulkhead has not been dropped.
    fn present(&self) -> impl Iterator<Item = &Watched> {
        self.all()
            .filter(|watched| !watched.is_unwatched.load(Ordering::Acquire) && watched.bulkhead.strong_count() > 0)
    }

    fn add(&self, watched: Watched) {
        let (mut place, mut added) = (&self.first, Box::new(watched));
        while let Err(back) = place.set(added) {
            added = back;
            place = &place.get().expect("it was set before").next;
        }
    }
}

impl Watched {
    fn is_of(&self, shared: &Arc<Shared>) -> bool {
        !self.is_unwatched.load(Ordering::Acquire) && self.bulkhead.as_ptr() == Arc::as_ptr(shared)
    }

    fn is_not_ready(&self) -> bool {
        self.track.is_not_ready(|| attempt(|| self.clock.now()))
    }

    /// Removes the handler. Returns whether it was watched.
    fn end(&self) -> bool {
        let was_watched = !self.is_unwatched.swap(true, Ordering::AcqRel);
        if let Some(bulkhead) = self.bulkhead.upgrade().filter(|_| was_watched) {
            bulkhead.remove(self.handler);
            // If this is the last one, it drops the other handlers, which are foreign.
            discard(bulkhead);
        }
        was_watched
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // One by one: dropping a long list at once would need a deep stack.
        let mut next = self.first.take();
        while let Some(mut watched) = next {
            watched.end();
            next = watched.next.take();
            discard(watched);
        }
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched: Vec<_> = self.inner.present().map(|watched| &watched.label).collect();
        f.debug_struct("Readiness")
            .field("grace", &self.inner.grace)
            .field("is_draining", &self.is_draining())
            .field("watched", &watched)
            .field("not_ready", &self.not_ready())
            .finish()
    }
}
