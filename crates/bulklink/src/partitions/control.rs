//! Controllers of partitions: each new one begins with a ceiling of zero, which they raise.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Partitions;
use crate::foreign::{attempt, discard};
use crate::gate::shared::Shared;
use crate::{Ceiling, Clock, Handle, InvalidArgument};

/// A controller: its name, and its work on a new partition.
pub(super) struct Controller<K> {
    by: &'static str,
    begin: Begin<K>,
}

type Begin<K> = Arc<dyn Fn(&K, &Handle, Ceiling) + Send + Sync>;

impl<K> Clone for Controller<K> {
    fn clone(&self) -> Self {
        Controller { by: self.by, begin: Arc::clone(&self.begin) }
    }
}

/// All controllers of partitions, none at first. The list is replaced when one is added.
pub(super) type Controllers<K> = Option<Arc<Vec<Controller<K>>>>;

/// A bulkhead that no partition has yet, its key, and its ceilings of zero.
pub(super) struct Held<K> {
    key: K,
    shared: Arc<Shared>,
    ceilings: Vec<(Begin<K>, Ceiling)>,
}

impl<K> Held<K> {
    /// Holds up the calls of a new bulkhead. Called outside all locks.
    pub(super) fn new(controllers: &[Controller<K>], key: K, shared: &Arc<Shared>) -> Self {
        let handle = Handle { shared: Arc::clone(shared) };
        let hold = |Controller { by, begin }: &Controller<K>| {
            let ceiling = handle.ceiling(by);
            ceiling.set(0);
            (Arc::clone(begin), ceiling)
        };
        Held { key, ceilings: controllers.iter().map(hold).collect(), shared: handle.shared }
    }

    /// Gives the ceilings to their controllers, if this bulkhead has become the partition's. Called
    /// outside all locks: they are foreign, and a panic of one must not lose the caller's lease.
    pub(super) fn begin(self, entered: &Arc<Shared>) {
        if !Arc::ptr_eq(&self.shared, entered) {
            return discard(self);
        }
        let Held { key, shared, ceilings } = self;
        let handle = Handle { shared };
        for (begin, ceiling) in ceilings {
            if attempt(|| begin(&key, &handle, ceiling)).is_none() {
                handle.shared.identity().count_handler_panic();
            }
        }
        discard(key);
    }
}

impl<K, R: Clock + Clone + Send + Sync + 'static, S> Partitions<K, R, S> {
    /// Gives each new partition a [ceiling](Ceiling) of zero, made for the controller of this name:
    /// `begin` gets the key, the bulkhead and the ceiling once the partition exists. Until the
    /// ceiling is raised, calls wait or are rejected.
    ///
    /// Each [class](Partitions::class) of a key has a partition, and so a ceiling, of its own.
    ///
    /// It is called by the call that creates the partition, under no lock, and should be quick. If
    /// it panics, that is counted as a [panic of a handler](super::Status::handler_panics), and the
    /// ceiling is gone if it was dropped.
    ///
    /// # Errors
    ///
    /// If a partition exists already: set controllers before the first call. If there is a
    /// controller of this name.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// # use bulklink_tokio::Partitions;
    /// # use std::sync::Arc;
    /// # let builder = Partitions::builder("tenants").parallelism(9).max_partitions(10);
    /// # let tenants: Partitions<String> = builder.build()?;
    /// let ceilings = Arc::new(Mutex::new(vec![]));
    /// let kept = Arc::clone(&ceilings);
    /// tenants.control("trial", move |key: &String, _, ceiling| {
    ///     ceiling.set(if key == "ann" { 2 } else { 1 });
    ///     kept.lock().expect("no panic").push(ceiling);
    /// })?;
    /// let ask = || tenants.key("ann").try_slot();
    /// let both = (ask()?, ask()?);
    /// assert_eq!(ask().unwrap_err().restriction().unwrap().by, "trial");
    /// # drop((both, ceilings));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn control(
        &self,
        by: &'static str,
        begin: impl Fn(&K, &Handle, Ceiling) + Send + Sync + 'static,
    ) -> Result<(), InvalidArgument> {
        let controlled = self.inner.state.with(|state| {
            let all = state.controllers.as_deref().map_or(&[][..], Vec::as_slice);
            if all.iter().any(|known| known.by == by) {
                return Err(InvalidArgument::new("controller", by, "must be one of each name"));
            }
            let kept = state.partitions().count();
            if kept > 0 {
                let requirement = "must not exist before they get a controller";
                return Err(InvalidArgument::new("partitions", kept, requirement));
            }
            let mut all = state.controllers.as_deref().cloned().unwrap_or_default();
            all.push(Controller { by, begin: Arc::new(begin) });
            state.controllers = Some(Arc::new(all));
            Ok(())
        });
        controlled.map_err(|invalid| invalid.of(format_args!("partitions {}", self.label())))
    }
}
