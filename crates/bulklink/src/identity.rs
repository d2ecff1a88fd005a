//! The part of a bulkhead that its rejections share.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use core::error::Error;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::sync::atomic::{AtomicUsize, Ordering};

use bulklink_core::{Occupancy, Restriction};

use crate::acquire::claim::LeaseOwner;
use crate::builder::Options;
use crate::observe::trace::Account;
use crate::pool::{Bound, SharedPool};

/// The constant part of a bulkhead: its name, its waiting room, and its count of handler panics.
///
/// Rejections share it, so that making a rejection costs little. So do all partitions of one
/// `Partitions`.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) label: Arc<str>,
    pub(crate) waiting_room: u32,
    /// The occupancy of a new bulkhead.
    pub(crate) unused: Occupancy,
    /// `None` for the default ones, so that these take no memory.
    options: Option<Box<Options>>,
    handler_panics: AtomicUsize,
    dropped_events: AtomicUsize,
    /// How many rejections are logged. All partitions of one `Partitions` share it.
    pub(crate) logged: Account,
    /// The partitions to which the bulkhead belongs, if any.
    owner: Option<Weak<dyn LeaseOwner>>,
    /// The capacity that the bulkhead shares with those of other keys, if it does.
    pub(crate) pool: Option<Arc<SharedPool>>,
    /// The limit of a shared capacity by which a call was rejected.
    pub(crate) bound: Option<Bound>,
    /// The restriction under which the gate has rejected.
    pub(crate) restriction: Option<Box<(Restriction, Option<Cause>)>>,
}

/// Why a ceiling binds.
#[derive(Clone, Debug)]
pub(crate) struct Cause(pub(crate) Arc<dyn Error + Send + Sync>);

/// An error is only read.
impl UnwindSafe for Cause {}
impl RefUnwindSafe for Cause {}

impl Identity {
    pub(crate) fn new(label: Arc<str>, unused: Occupancy, options: Options) -> Self {
        let waiting_room = u32::try_from(unused.waiting_room()).expect("the gate has checked it");
        let options = (options != Options::default()).then(|| Box::new(options));
        Identity {
            label,
            waiting_room,
            unused,
            options,
            handler_panics: AtomicUsize::new(0),
            dropped_events: AtomicUsize::new(0),
            logged: Account::new(),
            owner: None,
            pool: None,
            bound: None,
            restriction: None,
        }
    }

    /// The same bulkhead, as that of a partition, which shares a capacity if there is one.
    pub(crate) fn owned_by(&self, owner: Weak<dyn LeaseOwner>, pool: Option<Arc<SharedPool>>) -> Self {
        Identity { owner: Some(owner), pool, ..Identity::new(Arc::clone(&self.label), self.unused, self.options()) }
    }

    /// The same partitions, with this occupancy of a new one.
    pub(crate) fn with_unused(&self, unused: Occupancy) -> Self {
        let (logged, owner) = (self.logged.clone(), self.owner.clone());
        let pool = self.pool.clone();
        Identity { logged, owner, pool, ..Identity::new(Arc::clone(&self.label), unused, self.options()) }
    }

    /// The same under a restriction, without what may run alone, as in rejections by the word.
    pub(crate) fn under(&self, Restriction { units, by, .. }: Restriction, cause: Option<Cause>) -> Self {
        let restriction = Some(Box::new((Restriction::new(units, by), cause)));
        Identity { restriction, ..self.with_unused(self.unused) }
    }

    /// The same, with the limit of the shared capacity by which calls are rejected.
    pub(crate) fn bound_by(&self, bound: Bound) -> Self {
        Identity { bound: Some(bound), pool: None, ..self.with_unused(self.unused) }
    }

    pub(crate) fn options(&self) -> Options {
        self.options.as_deref().copied().unwrap_or_default()
    }

    /// Returns the partitions to which the bulkhead belongs, unless they are gone.
    pub(crate) fn owner(&self) -> Option<Arc<dyn LeaseOwner>> {
        self.owner.as_ref()?.upgrade()
    }

    pub(crate) fn count_handler_panic(&self) {
        self.handler_panics.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn handler_panics(&self) -> usize {
        self.handler_panics.load(Ordering::Relaxed)
    }

    pub(crate) fn count_dropped_event(&self) {
        self.dropped_events.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn dropped_events(&self) -> usize {
        self.dropped_events.load(Ordering::Relaxed)
    }
}
