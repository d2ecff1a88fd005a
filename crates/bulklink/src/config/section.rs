//! The fields that bulkheads, partitions and their keys have in common in a configuration.

use core::time::Duration;

use super::{BulkheadConfig, KeyConfig, PartitionsConfig};
use crate::builder::Options;
use crate::partitions::{Class, Share};
use crate::pool::Setup;
use crate::{Builder, Limits, Reserve};

/// The settings of a bulkhead, or of each of many partitions.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    /// The limits, and the share of each key.
    pub(crate) limits: KeyConfig,
    /// The limits where none is set.
    pub(crate) base: Limits,
    pub(crate) measure_waits: Option<bool>,
    pub(crate) measure_holds: Option<bool>,
    pub(crate) collect_limit: Option<Duration>,
    pub(crate) reserve: Option<Reserve>,
}

impl From<&BulkheadConfig> for Settings {
    fn from(config: &BulkheadConfig) -> Self {
        let BulkheadConfig { parallelism, capacity, waiting_room, waiting_room_units, wait_limit, .. } = *config;
        let BulkheadConfig { measure_waits, measure_holds, collect_limit, reserve, .. } = *config;
        let limits =
            KeyConfig { parallelism, capacity, waiting_room, waiting_room_units, wait_limit, ..KeyConfig::default() };
        Settings { limits, base: Limits::new(0), measure_waits, measure_holds, collect_limit, reserve }
    }
}

impl From<&PartitionsConfig> for Settings {
    fn from(config: &PartitionsConfig) -> Self {
        let PartitionsConfig { parallelism, capacity, waiting_room, waiting_room_units, wait_limit, .. } = *config;
        let PartitionsConfig { measure_waits, measure_holds, collect_limit, reserve, .. } = *config;
        let PartitionsConfig { weight, floor, ceiling, shared_capacity, shared_waiting_room, .. } = *config;
        let limits = KeyConfig {
            parallelism,
            capacity,
            waiting_room,
            waiting_room_units,
            wait_limit,
            weight,
            floor,
            keep_floor: None,
            ceiling,
            paused: None,
        };
        let base = Limits::new(shared_capacity.unwrap_or(0)).with_waiting_room(shared_waiting_room.unwrap_or(0));
        Settings { limits, base, measure_waits, measure_holds, collect_limit, reserve }
    }
}

impl Settings {
    /// Returns the limits; those of the builder where none is set.
    pub(crate) fn limits(&self) -> Limits {
        self.limits.over(self.base)
    }

    /// Returns the options; those of the builder where none is set.
    pub(crate) fn options(&self) -> Options {
        self.options_over(Options::default())
    }

    pub(crate) fn options_over(&self, base: Options) -> Options {
        Options {
            measure_waits: self.measure_waits.unwrap_or(base.measure_waits),
            measure_holds: self.measure_holds.unwrap_or(base.measure_holds),
            collect_limit: self.collect_limit.or(base.collect_limit),
            reserve: self.reserve.unwrap_or(base.reserve),
        }
    }

    /// Returns the builder of such a bulkhead.
    pub(crate) fn builder<R>(&self, runtime: R, label: &str) -> Builder<R> {
        Builder::configured(runtime, label, &self.limits(), self.limits.capacity.is_some(), self.options())
    }
}

impl PartitionsConfig {
    /// Returns the settings of the shared capacity, if there is one.
    pub(crate) fn setup(&self) -> Option<Setup> {
        let share = Settings::from(self).limits.share_over(Share::new());
        let (capacity, waiting_room) = (self.shared_capacity?, self.shared_waiting_room);
        let mut headroom = [0; Class::ALL.len()];
        for (_, class, units) in self.headrooms() {
            headroom[class as usize] = units.unwrap_or(0);
        }
        Some(Setup { capacity, waiting_room, share, headroom, relief: self.class_relief })
    }

    /// Returns the fields of classes that can leave units to better ones.
    pub(crate) fn headrooms(&self) -> [(&'static str, Class, Option<usize>); 3] {
        [
            ("headroom_normal", Class::Normal, self.headroom_normal),
            ("headroom_sheddable", Class::Sheddable, self.headroom_sheddable),
            ("headroom_background", Class::Background, self.headroom_background),
        ]
    }
}

impl KeyConfig {
    /// Returns this share, and where nothing is set, that of all keys.
    pub(crate) fn share_over(&self, base: Share) -> Share {
        Share {
            weight: self.weight.unwrap_or(base.weight),
            floor: self.floor.unwrap_or(base.floor),
            is_kept: self.keep_floor.unwrap_or(base.is_kept),
            ceiling: self.ceiling.or(base.ceiling),
            is_paused: self.paused.unwrap_or(base.is_paused),
            ..base
        }
    }

    /// Returns the limits alone.
    pub(crate) fn without_share(self) -> Self {
        KeyConfig { weight: None, floor: None, keep_floor: None, ceiling: None, paused: None, ..self }
    }

    /// Returns these limits, and where none is set, those of `base`.
    pub(crate) fn over(&self, base: Limits) -> Limits {
        // Without a waiting room, limits on the wait mean nothing, and would be refused.
        let can_wait = self.waiting_room != Some(0);
        Limits::new(self.parallelism.or(self.capacity).unwrap_or(base.capacity))
            .with_waiting_room(self.waiting_room.unwrap_or(base.waiting_room))
            .with_waiting_room_units(self.waiting_room_units.or(base.waiting_room_units.filter(|_| can_wait)))
            .with_wait_limit(self.wait_limit.or(base.wait_limit.filter(|_| can_wait)))
    }

    /// Returns the name of the setting with the capacity.
    pub(crate) fn capacity_field(&self) -> &'static str {
        if self.capacity.is_some() { "capacity" } else { "parallelism" }
    }
}
