//! Partitions that a configuration has made: their keys are strings, and some have limits or shares
//! of their own, which change with the configuration.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use bulklink_core::InvalidArgument;

use crate::config::{KeyConfig, PartitionsConfig, Settings};
use crate::gate::lock::Lock;
use crate::partitions::{Class, LimitsFor, Share, Sharing};
use crate::pool::Setup;
use crate::reconfigure::Refused;
use crate::{Clock, Limits, Partitions, Reconfigured};

/// The settings of keys.
pub(super) type Keys = BTreeMap<String, Own>;

/// The settings of a key: at least one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Own {
    /// The capacity is the parallelism, so that equal limits are equal.
    limits: KeyConfig,
    /// The share in the shared capacity, if it is not that of all.
    share: Option<Share>,
    /// Whether the program has set the share, and no configuration.
    is_foreign: bool,
}

/// Whoever has set the share.
impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        (self.limits, self.share) == (other.limits, other.share)
    }
}

impl Eq for Own {}

/// All that a configuration can change of a member while it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) limits: Limits,
    pub(super) keys: Arc<Keys>,
    /// The settings of a capacity that all keys share.
    pub(super) setup: Option<Setup>,
}

impl Shape {
    pub(super) fn new(limits: Limits) -> Self {
        Shape { limits, keys: Arc::default(), setup: None }
    }

    pub(super) fn of_partitions(config: &PartitionsConfig) -> Self {
        let setup = config.setup();
        let own = |key: &KeyConfig| {
            let all = setup.filter(|_| key.without_share() != *key);
            let limits = KeyConfig { parallelism: key.parallelism.or(key.capacity), capacity: None, ..*key };
            Own { limits: limits.without_share(), share: all.map(|all| key.share_over(all.share)), is_foreign: false }
        };
        let keys = config.keys.iter().map(|(key, section)| (key.clone(), own(section)));
        let keys = keys.filter(|(_, own)| *own != Own::default()).collect();
        Shape { limits: Settings::from(config).limits(), keys: Arc::new(keys), setup }
    }

    /// Returns the number of keys whose own limits differ, and of those whose own shares do.
    pub(super) fn keys_changed(&self, to: &Shape) -> (usize, usize) {
        let (all, own) = (self.all_keys(to), |shape: &Shape, key: &str| shape.own(key));
        let limits = all.iter().filter(|key| own(self, key).limits != own(to, key).limits).count();
        (limits, all.iter().filter(|key| own(self, key).share != own(to, key).share).count())
    }

    /// Returns this shape with the capacities and the kept floors that shrink on the way to
    /// another; `None` if no capacity does.
    pub(super) fn shrunk(&self, to: &Shape) -> Option<Shape> {
        let limits = self.limits.with_capacity(self.limits.capacity.min(to.limits.capacity));
        let setup = self.setup.map(|setup| to.setup.map_or(setup, |to| setup.least(&to)));
        let mut shrinks = limits != self.limits || setup != self.setup;
        let mut keys = Keys::new();
        for key in self.all_keys(to) {
            let [before, after] = [self, to].map(|shape| shape.limits_of(key).capacity);
            shrinks |= after < before;
            let Own { limits: own, share, is_foreign } = self.own(key);
            let share = share.map(|share| match to.own(key).share {
                Some(to) if to.is_kept => Share { floor: share.floor.min(to.floor), ..share },
                _ => Share { is_kept: false, ..share },
            });
            let limits = KeyConfig { parallelism: Some(before.min(after)), ..own };
            keys.insert(key.clone(), Own { limits, share, is_foreign });
        }
        shrinks.then(|| Shape { limits, keys: Arc::new(keys), setup })
    }

    fn all_keys<'a>(&'a self, to: &'a Shape) -> BTreeSet<&'a String> {
        self.keys.keys().chain(to.keys.keys()).collect()
    }

    fn limits_of(&self, key: &str) -> Limits {
        limits_of(&self.keys, key, self.limits)
    }

    fn own(&self, key: &str) -> Own {
        self.keys.get(key).copied().unwrap_or_default()
    }
}

fn limits_of(keys: &Keys, key: &str, common: Limits) -> Limits {
    keys.get(key).map_or(common, |own| own.limits.over(common))
}

/// Partitions with the limits of their keys.
pub(super) struct ByConfig<R> {
    partitions: Partitions<String, R>,
    /// Locked for a moment in the lock of the partitions, which is never taken inside of it.
    keys: Arc<Lock<Arc<Keys>>>,
}

impl<R: Clock + Clone + Send + Sync + 'static> ByConfig<R> {
    /// Builds the partitions of a section.
    pub(super) fn build(runtime: &R, label: &str, config: &PartitionsConfig) -> Result<Self, InvalidArgument> {
        let shape = Shape::of_partitions(config);
        let keys = Arc::new(Lock::new(Arc::clone(&shape.keys)));
        let current = Arc::clone(&keys);
        let mut each = Settings::from(config).builder(runtime.clone(), label);
        if config.parallelism.or(config.capacity).is_none() {
            // It is that of all.
            each.parallelism = None;
        }
        let mut builder = Partitions::builder_on(runtime.clone(), label)
            .of_each(each)
            .max_partitions(config.max_partitions.unwrap_or(0))
            .limits_for(move |key: &String, common| current.with(|keys| limits_of(keys, key, common)));
        if let Some(setup) = shape.setup {
            builder = builder.shared_capacity(setup.capacity).share(setup.share);
            for class in Class::ALL {
                builder = builder.class_headroom(class, setup.headroom[class as usize]);
            }
            if let Some(calls) = setup.relief {
                builder = builder.class_relief(calls);
            }
        }
        if let Some(room) = config.shared_waiting_room {
            builder = builder.shared_waiting_room(room);
        }
        if let Some(timeout) = config.idle_timeout {
            builder = builder.idle_timeout(timeout);
        }
        if config.show_keys == Some(true) {
            builder = builder.show_keys(String::clone);
        }
        let partitions = builder.build()?;
        for (key, own) in &*shape.keys {
            own.share.map_or(Ok(()), |share| partitions.set_share(key, share))?;
        }
        Ok(ByConfig { partitions, keys })
    }

    pub(super) fn typed(&self) -> &Partitions<String, R> {
        &self.partitions
    }
}

/// The same, whatever the runtime is.
pub(super) trait ConfiguredPartitions: Send + Sync {
    /// Returns the settings of keys that a change to `to` is about. The program can change shares.
    fn keys(&self, to: &Shape) -> Arc<Keys>;

    /// Returns why the partitions could not be changed so now.
    fn check(&self, to: &Shape) -> Result<(), Refused>;

    /// Changes the limits, or nothing.
    fn set(&self, to: &Shape) -> Result<Reconfigured, Refused>;
}

impl<R: Clock + Clone + Send + Sync + 'static> ConfiguredPartitions for ByConfig<R> {
    fn keys(&self, to: &Shape) -> Arc<Keys> {
        let mut keys = self.keys.with(|keys| Arc::clone(keys));
        let has_share = |keys: &Keys, key: &String| keys.get(key).is_some_and(|own| own.share.is_some());
        let all = keys.keys().chain(to.keys.keys()).filter(|key| has_share(&keys, key) || has_share(&to.keys, key));
        let share = |key: &String| (key.clone(), self.partitions.own_share(key), !has_share(&keys, key));
        let shares: Vec<_> = all.map(share).collect();
        if !shares.is_empty() {
            let keys = Arc::make_mut(&mut keys);
            for (key, share, is_foreign) in shares {
                let own = keys.entry(key).or_default();
                (own.share, own.is_foreign) = (share, is_foreign);
            }
            keys.retain(|_, own| *own != Own::default());
        }
        keys
    }

    fn check(&self, to: &Shape) -> Result<(), Refused> {
        let before = self.keys.with(|keys| Arc::clone(keys));
        self.partitions.check(&to.limits, &limits_for(&to.keys), sharing(&before, to).as_ref())
    }

    fn set(&self, to: &Shape) -> Result<Reconfigured, Refused> {
        // The limits of keys are replaced with the others, and only if nothing is refused: so no
        // partition is created with some before and others after.
        let (mut keys, before) = (Arc::clone(&to.keys), self.keys.with(|keys| Arc::clone(keys)));
        if keys.values().any(|own| own.is_foreign) {
            let foreign = Arc::make_mut(&mut keys).values_mut().filter(|own| own.is_foreign);
            foreign.for_each(|own| *own = Own { share: None, is_foreign: false, ..*own });
        }
        let commit = || self.keys.with(|current| mem::swap(current, &mut keys));
        let shared = sharing(&before, to);
        self.partitions.try_reconfigure(&to.limits, &limits_for(&to.keys), shared.as_ref(), commit)
    }
}

/// Returns what changes in the shared capacity, if there is one.
fn sharing<'a>(before: &'a Keys, to: &'a Shape) -> Option<Sharing<'a, String>> {
    let share = |keys: &Keys, key: &String| keys.get(key).and_then(|own| own.share);
    let gone = before.keys().filter(|key| share(before, key).is_some() && !to.keys.contains_key(*key));
    let gone = gone.map(|key| (key, None));
    let there = to.keys.keys().map(|key| (key, share(&to.keys, key)));
    let own = there.filter(|(key, after)| after.is_some() || share(before, key).is_some()).chain(gone);
    to.setup.map(|setup| Sharing { setup, own: own.collect() })
}

fn limits_for(keys: &Arc<Keys>) -> LimitsFor<String> {
    let keys = Arc::clone(keys);
    Arc::new(move |key: &String, common| limits_of(&keys, key, common))
}
