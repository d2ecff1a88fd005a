//! How a layer admits a request: into which bulkhead, with what cost, limit and deadline, or not at
//! all.

use std::fmt;
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bulklink::partitions::{Class, Lookup};
use bulklink::runtime::{Clock, Instant, Runtime};
use bulklink::{Bulkhead, OwnedSlot, OwnedSlotFuture, Partitions, Request, plumbing};

use crate::deadline::{Deadline, Origin, RequestClock};

/// A layer's knowledge of the requests `Q` that it admits. The bulkheads and closures are shared by
/// all clones.
pub(crate) struct Admission<Q, R: Runtime> {
    label: Arc<str>,
    entrance: Arc<dyn Entrance<Q, R>>,
    rules: Vec<Arc<Rule<Q, R>>>,
    class: Option<Arc<ClassOf<Q>>>,
    /// In what time a request is to be over.
    deadline_after: Option<Arc<TimeOf<Q>>>,
    /// Of a layer whose outcome knows nothing of HTTP.
    extension: Option<Arc<Extension<Q>>>,
    cancels_at_deadline: bool,
    clock: RequestClock,
    runtime: R,
}

/// The additions to a request on its way to its slot.
pub(crate) struct Ask<R: Runtime> {
    /// `None` if the request is exempt.
    pub(crate) slot: Option<OwnedSlotFuture<R>>,
    pub(crate) deadline: Option<Deadline>,
}

/// How a deadline is found and left in the requests of HTTP. Only this crate has one.
#[derive(Debug)]
pub struct Extension<Q> {
    pub(crate) find: fn(&Q) -> Option<Deadline>,
    pub(crate) leave: fn(&mut Q, Deadline),
}

/// It may leave a note in the request, for the layers inside.
type TimeOf<Q> = dyn Fn(&mut Q) -> Option<(Duration, Origin)> + Send + Sync;

type ClassOf<Q> = dyn Fn(&Q) -> Class + Send + Sync;

/// A bulkhead, or the partitions with the key of a request. As a trait object, the types of keys
/// and closures do not show in those of layers and services.
trait Entrance<Q, R: Runtime>: Send + Sync {
    /// Takes a slot of one unit by the fast path, if that has one.
    fn take_free(&self) -> Option<OwnedSlot>;

    /// Without a class, that of the partitions is meant.
    fn slot(&self, request: &Q, class: Option<Class>, call: Request<R::Instant>) -> OwnedSlotFuture<R>;

    fn estimated_wait(&self, request: &Q, class: Option<Class>, cost: usize) -> Option<Duration>;
}

/// Adds the values from the request to the call for a slot, or returns `None` for a request that is
/// exempt.
type Rule<Q, R> = dyn Fn(&Q, Request<<R as Clock>::Instant>) -> Option<Request<<R as Clock>::Instant>> + Send + Sync;

struct Whole<R: Runtime> {
    bulkhead: Bulkhead<R>,
    recent: Mutex<Option<Estimate>>,
}

/// The last estimate for one unit. It serves all rejections of the same millisecond, because each
/// estimate takes the lock of the bulkhead.
#[derive(Clone, Copy)]
struct Estimate {
    millisecond: u64,
    wait: Option<Duration>,
}

struct Keyed<K, R, S, G> {
    partitions: Partitions<K, R, S>,
    by_class: [Partitions<K, R, S>; Class::ALL.len()],
    key: G,
}

impl<Q, R: Runtime> Entrance<Q, R> for Whole<R> {
    fn take_free(&self) -> Option<OwnedSlot> {
        plumbing::take_free_owned(&self.bulkhead)
    }

    fn slot(&self, _: &Q, _: Option<Class>, call: Request<R::Instant>) -> OwnedSlotFuture<R> {
        self.bulkhead.with(call).slot()
    }

    fn estimated_wait(&self, _: &Q, _: Option<Class>, cost: usize) -> Option<Duration> {
        // The clock is foreign: it may panic, and may come here itself, so no lock is held.
        let now = catch_unwind(AssertUnwindSafe(|| self.bulkhead.runtime().now())).ok()?;
        let millisecond = now.as_nanos() / 1_000_000;
        let recent = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let found = recent().filter(|recent| cost == 1 && recent.millisecond == millisecond);
        if let Some(found) = found {
            return found.wait;
        }
        let wait = self.bulkhead.estimated_wait(cost);
        if cost == 1 {
            *recent() = Some(Estimate { millisecond, wait });
        }
        wait
    }
}

impl<Q, L, K, R, S, G> Entrance<Q, R> for Keyed<K, R, S, G>
where
    L: Lookup<K> + ?Sized,
    K: Send + 'static,
    R: Runtime,
    S: BuildHasher + Send + Sync + 'static,
    G: Fn(&Q) -> &L + Send + Sync,
{
    /// The future of [`slot`](Entrance::slot) takes it, so that the key is looked up once.
    fn take_free(&self) -> Option<OwnedSlot> {
        None
    }

    fn slot(&self, request: &Q, class: Option<Class>, call: Request<R::Instant>) -> OwnedSlotFuture<R> {
        self.of(class).key((self.key)(request)).with(call).slot()
    }

    fn estimated_wait(&self, request: &Q, class: Option<Class>, cost: usize) -> Option<Duration> {
        let partition = self.of(class).partition((self.key)(request))?;
        let estimate = partition.estimated_wait(cost);
        // It may have been evicted meanwhile, and its handlers are foreign.
        plumbing::discard(partition);
        estimate
    }
}

impl<K, R: Runtime, S, G> Keyed<K, R, S, G> {
    fn of(&self, class: Option<Class>) -> &Partitions<K, R, S> {
        class.map_or(&self.partitions, |class| &self.by_class[class as usize])
    }
}

impl<Q, R: Runtime> Admission<Q, R> {
    pub(crate) fn new(bulkhead: &Bulkhead<R>) -> Self {
        let recent = Mutex::new(None);
        let entrance = Arc::new(Whole { bulkhead: bulkhead.clone(), recent });
        Admission::to(bulkhead.label(), entrance, bulkhead.runtime())
    }

    pub(crate) fn keyed<L, K, S, G>(partitions: &Partitions<K, R, S>, key: G) -> Self
    where
        L: Lookup<K> + ?Sized,
        K: Send + 'static,
        S: BuildHasher + Send + Sync + 'static,
        G: Fn(&Q) -> &L + Send + Sync + 'static,
    {
        let by_class = Class::ALL.map(|class| partitions.class(class));
        let entrance = Arc::new(Keyed { partitions: partitions.clone(), by_class, key });
        Admission::to(partitions.label(), entrance, partitions.runtime())
    }

    fn to(label: &str, entrance: Arc<dyn Entrance<Q, R>>, runtime: &R) -> Self {
        Admission {
            label: label.into(),
            entrance,
            rules: Vec::new(),
            class: None,
            deadline_after: None,
            extension: None,
            cancels_at_deadline: false,
            clock: RequestClock::new(runtime),
            runtime: runtime.clone(),
        }
    }

    pub(crate) fn add_rule<F>(&mut self, rule: F)
    where
        F: Fn(&Q, Request<R::Instant>) -> Option<Request<R::Instant>> + Send + Sync + 'static,
    {
        self.rules.push(Arc::new(rule));
    }

    pub(crate) fn set_class(&mut self, class: impl Fn(&Q) -> Class + Send + Sync + 'static) {
        self.class = Some(Arc::new(class));
    }

    fn class_of(&self, request: &Q) -> Option<Class> {
        self.class.as_ref().map(|class| class(request))
    }

    pub(crate) fn set_deadline(&mut self, time: impl Fn(&mut Q) -> Option<(Duration, Origin)> + Send + Sync + 'static) {
        self.deadline_after = Some(Arc::new(time));
    }

    #[cfg(feature = "http")]
    pub(crate) fn set_extension(&mut self, extension: Extension<Q>) {
        self.extension = Some(Arc::new(extension));
    }

    pub(crate) fn extension(&self) -> Option<&Extension<Q>> {
        self.extension.as_deref()
    }

    /// Returns when a request with this deadline is cancelled.
    pub(crate) fn cancel_at(&self, deadline: Option<&Deadline>) -> Option<Instant> {
        deadline.filter(|_| self.cancels_at_deadline).map(Deadline::instant)
    }

    pub(crate) fn cancel_at_deadline(&mut self) {
        self.cancels_at_deadline = true;
    }

    pub(crate) fn clock(&self) -> &RequestClock {
        &self.clock
    }

    pub(crate) fn runtime(&self) -> &R {
        &self.runtime
    }

    pub(crate) fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Takes a free slot by the fast path, if all requests ask for the same.
    #[inline]
    pub(crate) fn take_free(&self) -> Option<OwnedSlot> {
        if self.rules.is_empty() && self.deadline_after.is_none() { self.entrance.take_free() } else { None }
    }

    /// Returns the future of the request's slot, and its deadline: `outer`, which the request has
    /// already, or the layer's own, whichever is earlier.
    #[inline]
    pub(crate) fn admit(&self, request: &mut Q, outer: Option<&Deadline>) -> Ask<R> {
        if self.deadline_after.is_none() && outer.is_none() {
            return Ask { slot: self.ask(request, Request::new()), deadline: None };
        }
        self.admit_by_deadline(request, outer)
    }

    #[inline(never)]
    fn admit_by_deadline(&self, request: &mut Q, outer: Option<&Deadline>) -> Ask<R> {
        let own = self.deadline_after.as_ref().and_then(|time| time(request));
        let own = own.map(|(time, origin)| self.clock.after(time, origin));
        let deadline = self.clock.earlier(own, outer);
        let call = match &deadline {
            Some(deadline) => Request::new().deadline_after(deadline.left()),
            None => Request::new(),
        };
        Ask { slot: self.ask(request, call), deadline }
    }

    /// Asks for the slot, unless the request is exempt.
    #[inline]
    fn ask(&self, request: &Q, call: Request<R::Instant>) -> Option<OwnedSlotFuture<R>> {
        let call = self.rules.iter().try_fold(call, |call, rule| rule(request, call))?;
        Some(self.entrance.slot(request, self.class_of(request), call))
    }

    pub(crate) fn estimated_wait(&self, request: &Q, cost: usize) -> Option<Duration> {
        self.entrance.estimated_wait(request, self.class_of(request), cost)
    }
}

impl<Q, R: Runtime> Clone for Admission<Q, R> {
    fn clone(&self) -> Self {
        Admission {
            label: Arc::clone(&self.label),
            entrance: Arc::clone(&self.entrance),
            rules: self.rules.clone(),
            class: self.class.clone(),
            deadline_after: self.deadline_after.clone(),
            extension: self.extension.clone(),
            cancels_at_deadline: self.cancels_at_deadline,
            clock: self.clock.clone(),
            runtime: self.runtime.clone(),
        }
    }
}

impl<Q, R: Runtime> fmt::Debug for Admission<Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("label", &self.label)
            .field("rules", &self.rules.len())
            .finish_non_exhaustive()
    }
}
