//! The members of a registry: found by label, listed in the order in which they were added.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::{Any, type_name};
use core::sync::atomic::{AtomicBool, Ordering};

use bulklink_core::InvalidArgument;

use super::RegisterError;
use crate::{Bulkhead, Handle, Runtime};

/// A registered bulkhead. Its runtime is foreign, so it is cloned and dropped outside the
/// registry's lock.
pub(super) struct Member {
    pub(super) handle: Handle,
    bulkhead: Box<dyn Any + Send + Sync>,
    runtime: &'static str,
    is_leaving: AtomicBool,
}

impl Member {
    pub(super) fn new<R: Runtime>(bulkhead: Bulkhead<R>) -> Arc<Self> {
        let (handle, runtime) = (bulkhead.handle().clone(), type_name::<R>());
        Arc::new(Member { handle, bulkhead: Box::new(bulkhead), runtime, is_leaving: AtomicBool::new(false) })
    }

    /// Returns the bulkhead with its runtime, if that is `R`.
    pub(super) fn bulkhead<R: Runtime>(&self) -> Result<Bulkhead<R>, InvalidArgument> {
        self.bulkhead.downcast_ref().cloned().ok_or_else(|| {
            InvalidArgument::new("runtime", type_name::<R>(), format_args!("must be {}", self.runtime))
                .of(format_args!("bulkhead {}", self.handle.label()))
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
        let label = member.handle.shared.label();
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
        match self.find(new.handle.label()) {
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
        self.numbers.remove(member.handle.label());
        Some(member)
    }

    pub(super) fn list(&self) -> Vec<Arc<Member>> {
        self.by_number.values().cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }
}
