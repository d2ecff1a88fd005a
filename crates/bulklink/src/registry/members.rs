//! The members of a registry: found by label, listed in the order in which they were added.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::{Any, type_name};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;

use bulklink_core::InvalidArgument;

use super::{RegisterError, unknown};
use crate::{Bulkhead, Clock, Closed, Handle, Limits, Partitions, ReconfigureError, Reconfigured, partitions};

/// A registered bulkhead, or registered partitions. Runtimes and keys are foreign, so it is cloned
/// and dropped outside the registry's lock.
pub(super) struct Member {
    pub(super) kind: Kind,
    /// The bulkhead or the partitions, with their types.
    typed: Box<dyn Any + Send + Sync>,
    /// The runtime of the bulkhead, or the type of the partitions.
    type_name: &'static str,
    is_leaving: AtomicBool,
}

/// What a member is, without its types.
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
        Member::new(Kind::Bulkhead(bulkhead.handle().clone()), Box::new(bulkhead), type_name::<R>())
    }

    pub(super) fn of_partitions<K, R, S>(partitions: Partitions<K, R, S>) -> Arc<Self>
    where
        K: Send + 'static,
        R: Clock + Clone + Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        let kind = Kind::Partitions(partitions.to_handle());
        Member::new(kind, Box::new(partitions), type_name::<Partitions<K, R, S>>())
    }

    fn new(kind: Kind, typed: Box<dyn Any + Send + Sync>, type_name: &'static str) -> Arc<Self> {
        Arc::new(Member { kind, typed, type_name, is_leaving: AtomicBool::new(false) })
    }

    /// Returns the bulkhead with its runtime, if that is `R`.
    pub(super) fn bulkhead<R>(&self) -> Result<Bulkhead<R>, InvalidArgument>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        if self.kind.bulkhead().is_none() {
            return Err(unknown("a bulkhead", self.kind.label()));
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
            return Err(unknown("partitions", self.kind.label()));
        }
        self.typed.downcast_ref().cloned().ok_or_else(|| {
            let wanted = type_name::<Partitions<K, R, S>>();
            InvalidArgument::new("type", wanted, format_args!("must be {}", self.type_name))
                .of(format_args!("bulkhead {}", self.kind.label()))
        })
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

    pub(super) fn list(&self) -> Vec<Arc<Member>> {
        self.by_number.values().cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }
}
