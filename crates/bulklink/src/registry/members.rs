//! The members of a registry: found by label, listed in the order in which they were added.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::any::{Any, type_name};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;

use bulklink_core::InvalidArgument;

use super::configured::{ByConfig, ConfiguredPartitions, Shape};
use super::{RegisterError, other_kind};
use crate::builder::Options;
use crate::foreign::attempt;
use crate::reconfigure::Refused;
use crate::{Bulkhead, Clock, Closed, Handle, Limits, Partitions, ReconfigureError, Reconfigured, partitions};

/// A registered bulkhead, or registered partitions. Runtimes and keys are foreign, so it is cloned
/// and dropped outside the registry's lock.
pub(super) struct Member {
    pub(super) kind: Kind,
    /// The bulkhead or the partitions, with their types.
    typed: Box<dyn Any + Send + Sync>,
    /// The runtime of the bulkhead, or the type of the partitions.
    type_name: Cow<'static, str>,
    /// Set if a configuration has made the member.
    pub(super) configured: Option<Configured>,
    is_leaving: AtomicBool,
}

/// The members that a configuration has made.
pub(super) enum Configured {
    Bulkhead,
    /// Partitions, with the limits of their keys.
    Partitions(Arc<dyn ConfiguredPartitions>),
}

/// The kind of a member, without its types.
pub(super) enum Kind {
    Bulkhead(Handle),
    Partitions(partitions::Handle),
}

impl Kind {
    pub(super) fn label(&self) -> &Arc<str> {
        match self {
            Kind::Bulkhead(bulkhead) => bulkhead.shared.label(),
            Kind::Partitions(partitions) => &partitions.inner.identity().label,
        }
    }

    pub(super) fn bulkhead(&self) -> Option<&Handle> {
        if let Kind::Bulkhead(bulkhead) = self { Some(bulkhead) } else { None }
    }

    pub(super) fn partitions(&self) -> Option<&partitions::Handle> {
        if let Kind::Partitions(partitions) = self { Some(partitions) } else { None }
    }

    pub(super) fn close(&self) -> bool {
        match self {
            Kind::Bulkhead(bulkhead) => bulkhead.close(),
            Kind::Partitions(partitions) => partitions.close(),
        }
    }

    pub(super) fn closed(&self) -> Closed<'_> {
        match self {
            Kind::Bulkhead(bulkhead) => bulkhead.closed(),
            Kind::Partitions(partitions) => partitions.closed(),
        }
    }

    /// Wakes `waker` when the member has drained: immediately, if it has now.
    pub(super) fn when_drained(&self, waker: Waker) {
        match self {
            Kind::Bulkhead(bulkhead) => bulkhead.shared.when_drained(waker),
            Kind::Partitions(partitions) => partitions.inner.drained().when_open(waker),
        }
    }

    /// Returns how many operations run in a bulkhead, or how many calls have not left partitions.
    pub(super) fn running(&self) -> u64 {
        match self {
            Kind::Bulkhead(bulkhead) => bulkhead.status().in_flight as u64,
            Kind::Partitions(partitions) => partitions.status().leased_operations,
        }
    }

    pub(super) fn options(&self) -> Options {
        match self {
            Kind::Bulkhead(bulkhead) => bulkhead.shared.options(),
            Kind::Partitions(partitions) => partitions.inner.identity().options(),
        }
    }

    pub(super) fn reconfigure(&self, limits: Limits) -> Result<Reconfigured, ReconfigureError> {
        match self {
            Kind::Bulkhead(bulkhead) => bulkhead.reconfigure(limits),
            Kind::Partitions(partitions) => partitions.reconfigure(limits),
        }
    }
}

impl Member {
    pub(super) fn of_bulkhead<R>(bulkhead: Bulkhead<R>) -> Arc<Self>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        Arc::new(Member::new(Kind::Bulkhead(bulkhead.handle().clone()), Box::new(bulkhead), type_name::<R>().into()))
    }

    /// The member that a configuration has made.
    pub(super) fn configured_bulkhead<R>(bulkhead: Bulkhead<R>) -> Arc<Self>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let member =
            Member::new(Kind::Bulkhead(bulkhead.handle().clone()), Box::new(bulkhead), type_name::<R>().into());
        Arc::new(Member { configured: Some(Configured::Bulkhead), ..member })
    }

    pub(super) fn of_partitions<K, R, S>(partitions: Partitions<K, R, S>) -> Arc<Self>
    where
        K: Send + 'static,
        R: Clock + Clone + Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        let kind = Kind::Partitions(partitions.handle());
        Arc::new(Member::new(kind, Box::new(partitions), partitions_type::<K, R, S>().into()))
    }

    /// The member that a configuration has made.
    pub(super) fn configured_partitions<R>(partitions: ByConfig<R>) -> Arc<Self>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let typed = partitions.typed().clone();
        let kind = Kind::Partitions(typed.handle());
        let configured = Some(Configured::Partitions(Arc::new(partitions)));
        let member = Member::new(kind, Box::new(typed), partitions_type::<String, R, partitions::RandomState>().into());
        Arc::new(Member { configured, ..member })
    }

    fn new(kind: Kind, typed: Box<dyn Any + Send + Sync>, type_name: Cow<'static, str>) -> Self {
        Member { kind, typed, type_name, configured: None, is_leaving: AtomicBool::new(false) }
    }

    /// Returns the bulkhead with its runtime, if that is `R`.
    pub(super) fn bulkhead<R>(&self) -> Result<Bulkhead<R>, InvalidArgument>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        if self.kind.bulkhead().is_none() {
            return Err(other_kind("a bulkhead", "partitions", self.kind.label()));
        }
        self.typed.downcast_ref().cloned().ok_or_else(|| {
            InvalidArgument::new("runtime", type_name::<R>(), format_args!("must be {}", self.type_name))
                .of(format_args!("bulkhead {}", self.kind.label()))
        })
    }

    /// Returns the partitions with their types, if they are these.
    pub(super) fn partitions<K, R, S>(&self) -> Result<Partitions<K, R, S>, InvalidArgument>
    where
        K: Send + 'static,
        R: Clock + Clone + Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        if self.kind.partitions().is_none() {
            return Err(other_kind("partitions", "a bulkhead", self.kind.label()));
        }
        self.typed.downcast_ref().cloned().ok_or_else(|| {
            let wanted = partitions_type::<K, R, S>();
            InvalidArgument::new("type", wanted, format_args!("must be {}", self.type_name))
                .of(format_args!("partitions {}", self.kind.label()))
        })
    }

    /// Returns the parts that a configuration can change, for a change to `to`.
    pub(super) fn shape(&self, to: &Shape) -> Shape {
        let (limits, setup) = match &self.kind {
            Kind::Bulkhead(bulkhead) => (bulkhead.limits(), None),
            Kind::Partitions(partitions) => (partitions.status().each, partitions.inner.setup()),
        };
        let keys = match &self.configured {
            Some(Configured::Partitions(partitions)) => partitions.keys(to),
            _ => Arc::default(),
        };
        Shape { limits, keys, setup }
    }

    /// Returns why the member could not be changed so now.
    pub(super) fn check(&self, to: &Shape) -> Result<(), Refused> {
        self.with_foreign(|| match (&self.configured, &self.kind) {
            (Some(Configured::Partitions(partitions)), _) => partitions.check(to),
            (_, Kind::Bulkhead(bulkhead)) => bulkhead.check(&to.limits),
            (_, Kind::Partitions(partitions)) => partitions.inner.check(&to.limits, to.setup.as_ref()),
        })
    }

    /// Changes the member, or nothing.
    pub(super) fn set(&self, to: &Shape) -> Result<Reconfigured, Refused> {
        self.with_foreign(|| match (&self.configured, &self.kind) {
            (Some(Configured::Partitions(partitions)), _) => partitions.set(to),
            (_, Kind::Bulkhead(bulkhead)) => bulkhead.try_reconfigure(&to.limits),
            (_, Kind::Partitions(partitions)) => partitions.inner.try_reconfigure(&to.limits, to.setup.as_ref()),
        })
    }

    /// Limits of keys are foreign: a panic of them is a reason too, so that other members can be
    /// changed back.
    fn with_foreign<T>(&self, call: impl FnOnce() -> Result<T, Refused>) -> Result<T, Refused> {
        let panicked = || InvalidArgument::new("limits_for", "a panic", "must not panic").of(self.kind.label());
        attempt(call).unwrap_or_else(|| Err(Refused::Invalid(vec![panicked()])))
    }

    /// Returns whether the member is being removed.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Relaxed)
    }

    /// Marks the member as being removed. Returns whether it was not marked before.
    pub(super) fn leave(&self) -> bool {
        !self.is_leaving.swap(true, Ordering::Relaxed)
    }
}

/// Returns the name of a type of partitions. It always has the hasher, which
/// [`type_name`] leaves out if it is the default one.
fn partitions_type<K, R, S>() -> String {
    format!("Partitions<{}, {}, {}>", type_name::<K>(), type_name::<R>(), type_name::<S>())
}

/// The state under the registry's lock. A member is identified by its number, because a later one
/// may have the same label.
#[derive(Default)]
pub(super) struct Members {
    pub(super) is_closed: bool,
    added: u64,
    numbers: BTreeMap<Arc<str>, u64>,
    by_number: BTreeMap<u64, Arc<Member>>,
}

impl Members {
    pub(super) fn add(&mut self, member: &Arc<Member>) -> Result<(), RegisterError> {
        if self.is_closed {
            return Err(RegisterError::Closed);
        }
        let label = member.kind.label();
        let Entry::Vacant(place) = self.numbers.entry(Arc::clone(label)) else {
            return Err(RegisterError::Taken { label: Arc::clone(label) });
        };
        self.added += 1;
        place.insert(self.added);
        self.by_number.insert(self.added, Arc::clone(member));
        Ok(())
    }

    /// Adds all of these, or none.
    pub(super) fn add_all(&mut self, new: &[Arc<Member>]) -> Result<(), RegisterError> {
        let taken = new.iter().find(|member| self.numbers.contains_key(member.kind.label()));
        if let Some(member) = taken {
            return Err(RegisterError::Taken { label: Arc::clone(member.kind.label()) });
        }
        // Their labels differ, so only the first can fail: if the registry is closed.
        new.iter().try_for_each(|member| self.add(member))
    }

    /// Returns the member with the label of `new`, or adds `new`.
    pub(super) fn find_or_add(&mut self, new: Arc<Member>) -> Result<Arc<Member>, RegisterError> {
        match self.find(new.kind.label()) {
            Some((_, member)) => Ok(member),
            None => self.add(&new).map(|()| new),
        }
    }

    pub(super) fn find(&self, label: &str) -> Option<(u64, Arc<Member>)> {
        let number = *self.numbers.get(label.trim())?;
        Some((number, Arc::clone(self.by_number.get(&number)?)))
    }

    /// Returns the member to drop outside the lock.
    pub(super) fn forget(&mut self, number: u64) -> Option<Arc<Member>> {
        let member = self.by_number.remove(&number)?;
        self.numbers.remove(member.kind.label());
        Some(member)
    }

    /// Returns all members with their numbers, in the order in which they were added.
    pub(super) fn numbered(&self) -> Vec<(u64, Arc<Member>)> {
        self.by_number.iter().map(|(number, member)| (*number, Arc::clone(member))).collect()
    }

    pub(super) fn list(&self) -> Vec<Arc<Member>> {
        self.by_number.values().cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }
}
