//! Partitions that a configuration has made: their keys are strings, and some have limits of their
//! own, which change with the configuration.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use core::mem;

use bulklink_core::InvalidArgument;

use crate::config::{KeyConfig, PartitionsConfig, Settings};
use crate::gate::lock::Lock;
use crate::partitions::LimitsFor;
use crate::reconfigure::Refused;
use crate::{Clock, Limits, Partitions, Reconfigured};

/// The limits of keys. All have the capacity as parallelism, so that equal limits are equal.
pub(super) type Keys = BTreeMap<String, KeyConfig>;

/// All that a configuration can change of a member while it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) limits: Limits,
    pub(super) keys: Arc<Keys>,
}

impl Shape {
    pub(super) fn new(limits: Limits) -> Self {
        Shape { limits, keys: Arc::default() }
    }

    pub(super) fn of_partitions(config: &PartitionsConfig) -> Self {
        let normal =
            |key: &KeyConfig| KeyConfig { parallelism: key.parallelism.or(key.capacity), capacity: None, ..*key };
        let keys = config.keys.iter().map(|(key, own)| (key.clone(), normal(own))).collect();
        Shape { limits: Settings::from(config).limits(), keys: Arc::new(keys) }
    }

    /// Returns the number of keys whose own limits differ.
    pub(super) fn keys_changed(&self, to: &Shape) -> usize {
        self.all_keys(to).iter().filter(|key| self.keys.get(**key) != to.keys.get(**key)).count()
    }

    /// Returns this shape with the capacities that shrink on the way to another; `None` if none
    /// does.
    pub(super) fn shrunk(&self, to: &Shape) -> Option<Shape> {
        let limits = self.limits.with_capacity(self.limits.capacity.min(to.limits.capacity));
        let mut shrinks = limits != self.limits;
        let mut keys = Keys::new();
        for key in self.all_keys(to) {
            let [before, after] = [self, to].map(|shape| shape.limits_of(key).capacity);
            shrinks |= after < before;
            let own = self.keys.get(key).copied().unwrap_or_default();
            keys.insert(key.clone(), KeyConfig { parallelism: Some(before.min(after)), ..own });
        }
        shrinks.then(|| Shape { limits, keys: Arc::new(keys) })
    }

    fn all_keys<'a>(&'a self, to: &'a Shape) -> BTreeSet<&'a String> {
        self.keys.keys().chain(to.keys.keys()).collect()
    }

    fn limits_of(&self, key: &str) -> Limits {
        limits_of(&self.keys, key, self.limits)
    }
}

fn limits_of(keys: &Keys, key: &str, common: Limits) -> Limits {
    keys.get(key).map_or(common, |own| own.over(common))
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
        let keys = Arc::new(Lock::new(Shape::of_partitions(config).keys));
        let current = Arc::clone(&keys);
        let each = Settings::from(config).builder(runtime.clone(), label);
        let mut builder = Partitions::builder_on(runtime.clone(), label)
            .of_each(each)
            .max_partitions(config.max_partitions.unwrap_or(0))
            .limits_for(move |key: &String, common| current.with(|keys| limits_of(keys, key, common)));
        if let Some(timeout) = config.idle_timeout {
            builder = builder.idle_timeout(timeout);
        }
        if config.show_keys == Some(true) {
            builder = builder.show_keys(String::clone);
        }
        Ok(ByConfig { partitions: builder.build()?, keys })
    }

    pub(super) fn typed(&self) -> &Partitions<String, R> {
        &self.partitions
    }
}

/// The same, whatever the runtime is.
pub(super) trait ConfiguredPartitions: Send + Sync {
    fn keys(&self) -> Arc<Keys>;

    /// Returns why the partitions could not be changed so now.
    fn check(&self, to: &Shape) -> Result<(), Refused>;

    /// Changes the limits, or nothing.
    fn set(&self, to: &Shape) -> Result<Reconfigured, Refused>;
}

impl<R: Clock + Clone + Send + Sync + 'static> ConfiguredPartitions for ByConfig<R> {
    fn keys(&self) -> Arc<Keys> {
        self.keys.with(|keys| Arc::clone(keys))
    }

    fn check(&self, to: &Shape) -> Result<(), Refused> {
        self.partitions.check(&to.limits, &limits_for(&to.keys))
    }

    fn set(&self, to: &Shape) -> Result<Reconfigured, Refused> {
        // The limits of keys are replaced with the others, and only if nothing is refused: so no
        // partition is created with some before and others after.
        let mut keys = Arc::clone(&to.keys);
        let commit = || self.keys.with(|current| mem::swap(current, &mut keys));
        self.partitions.try_reconfigure(&to.limits, &limits_for(&to.keys), commit)
    }
}

fn limits_for(keys: &Arc<Keys>) -> LimitsFor<String> {
    let keys = Arc::clone(keys);
    Arc::new(move |key: &String, common| limits_of(&keys, key, common))
}
