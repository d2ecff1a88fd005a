//! Bulkheads and partitions from a configuration, which can change while the program runs.
//!
//! A [`Config`] has a section for each bulkhead and for each set of partitions, under its label.
//! [`Registry::apply`](crate::Registry::apply) makes a registry as the configuration says, or
//! changes nothing and returns every reason. Its answer is a difference to log.
//!
//! The structs are plain. With the feature `serde` they are read from TOML, JSON, environment
//! variables or anything else that serde reads, and with the feature `schema` they have a JSON
//! schema, which the package has as [`config.schema.json`][schema].
//!
//! [schema]: https://docs.rs/crate/bulklink/latest/source/config.schema.json
//!
//! ```toml
//! [bulkheads.payments]
//! parallelism = 10
//! waiting_room = 50
//! wait_limit = "250ms"
//!
//! [partitions.tenants]
//! parallelism = 2
//! max_partitions = 1000
//! idle_timeout = "10m"
//!
//! [partitions.tenants.keys.ann]
//! parallelism = 20
//!
//! [partitions.models]
//! shared_capacity = 40
//! shared_waiting_room = 500
//! max_partitions = 1000
//!
//! [partitions.models.keys.ann]
//! weight = 4
//! floor = 8
//! ```
//!
//! A section says all: what it leaves out has the default of the
//! [builder](crate::Builder), also if it had another value before.
//!
//! # Durations
//!
//! A duration is a number with its unit, `ns`, `us` (or `µs`), `ms`, `s`, `m`, `h` or `d`, or
//! several of these from the largest unit to the smallest: `250ms`, `1.5s`, `2m 30s`, `1h30m`. A
//! number without a unit is refused.
//!
//! # Examples
//!
//! ```
//! use bulklink_tokio::config::Config;
//! use bulklink_tokio::{Registry, Tokio};
//! use std::time::Duration;
//!
//! let mut config = Config::default();
//! let payments = config.bulkheads.entry("payments".into()).or_default();
//! payments.parallelism = Some(10);
//!
//! let registry = Registry::new();
//! let applied = registry.apply(&config, &Tokio)?;
//! assert_eq!(applied.to_string(), "payments: added, parallelism 10");
//!
//! let payments = config.bulkheads.get_mut("payments").unwrap();
//! (payments.parallelism, payments.waiting_room) = (Some(20), Some(50));
//! payments.wait_limit = Some(Duration::from_millis(250));
//! let applied = registry.apply(&config, &Tokio)?;
//! assert_eq!(
//!     applied.to_string(),
//!     "payments: parallelism 10 -> 20, waiting_room 0 -> 50, wait_limit none -> 250ms"
//! );
//!
//! config.bulkheads.get_mut("payments").unwrap().parallelism = Some(0);
//! assert_eq!(
//!     registry.apply(&config, &Tokio).unwrap_err().problems()[0].to_string(),
//!     "bulkheads.payments.parallelism must be from 1 to 2147483647, got 0"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod applied;
mod apply;
mod check;
mod duration;
mod error;
#[cfg(feature = "serde")]
pub(crate) mod forms;
pub(crate) mod place;
mod require;
#[cfg(feature = "schema")]
pub(crate) mod schema;
mod section;

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::time::Duration;

use crate::Reserve;

pub use applied::{Action, Applied, Change};
pub use apply::{Apply, FileStatus};
pub(crate) use duration::{exact, reserve_text};
pub use error::{ApplyError, ConfigError, Problem};
pub use require::require;
pub(crate) use section::Settings;

/// All bulkheads and partitions of a configuration, by their labels.
///
/// The [module's page](self) has the format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = schema::unbroken))]
#[cfg_attr(feature = "schema", schemars(description = "The bulkheads and partitions of a service, by label."))]
#[non_exhaustive]
pub struct Config {
    /// The bulkheads, by label.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "forms::sections", skip_serializing_if = "BTreeMap::is_empty")
    )]
    pub bulkheads: BTreeMap<String, BulkheadConfig>,
    /// The partitions, by label. Their keys are strings.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "forms::sections", skip_serializing_if = "BTreeMap::is_empty")
    )]
    pub partitions: BTreeMap<String, PartitionsConfig>,
}

/// The section of a bulkhead. A field that is `None` has the default of the
/// [builder](crate::Builder).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = schema::one_capacity))]
#[cfg_attr(feature = "schema", schemars(description = "A bulkhead. What is left out has its default."))]
#[non_exhaustive]
pub struct BulkheadConfig {
    /// How many operations may run at the same time, from 1 to 2147483647. This or `capacity` must
    /// be set, and not both.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub parallelism: Option<usize>,
    /// How many units may be in use at the same time, from 1 to 2147483647: the same limit as
    /// `parallelism`, for requests that cost more than one unit.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub capacity: Option<usize>,
    /// How many operations may wait, from 0 to 2147483647; by default none.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_0", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_0"))]
    pub waiting_room: Option<usize>,
    /// How many units may be waited for at the same time, from 1 to 2147483647; by default any. It
    /// needs a waiting room.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub waiting_room_units: Option<usize>,
    /// The longest that a call may wait, more than zero; by default any time. It needs a waiting
    /// room.
    #[cfg_attr(feature = "serde", serde(with = "forms::duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::duration"))]
    pub wait_limit: Option<Duration>,
    /// Whether waits are measured; they are by default. It cannot change while the bulkhead exists.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub measure_waits: Option<bool>,
    /// Whether it is measured how long operations hold their slots; it is not by default. It cannot
    /// change while the bulkhead exists.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub measure_holds: Option<bool>,
    /// How long a slot that was handed to a waiting call may be not collected, more than zero; by
    /// default any time. It cannot change while the bulkhead exists.
    #[cfg_attr(feature = "serde", serde(with = "forms::duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::duration"))]
    pub collect_limit: Option<Duration>,
    /// How much time the wait of a call with a deadline leaves to its operation: `learnt`, the
    /// default; `none`; or a duration. It cannot change while the bulkhead exists.
    #[cfg_attr(feature = "serde", serde(with = "forms::reserve", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::reserve"))]
    pub reserve: Option<Reserve>,
}

// The fields of a bulkhead stand here again: `flatten` would switch off the check for unknown ones.
/// The section of partitions. A field that is `None` has the default of the
/// [builder](crate::partitions::Builder).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = schema::partitions))]
#[cfg_attr(
    feature = "schema",
    schemars(description = "Partitions: a bulkhead for each key. What is left out has its default.")
)]
#[non_exhaustive]
pub struct PartitionsConfig {
    /// How many partitions may exist at the same time, from 1 to 2147483647. It must be set, and
    /// cannot change while the partitions exist.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub max_partitions: Option<usize>,
    /// How long a partition must have been idle for a cleanup to drop it; by default none is
    /// dropped. It cannot change while the partitions exist.
    #[cfg_attr(feature = "serde", serde(with = "forms::duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::duration"))]
    pub idle_timeout: Option<Duration>,
    /// How many units may be in use at the same time in all partitions together, from 1 to
    /// 2147483647: all keys then share them in fair turns. By default they share none. Whether they
    /// do cannot change while the partitions exist, but the number can.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub shared_capacity: Option<usize>,
    /// How many operations may wait in all partitions together, from 0 to 2147483647; by default as
    /// many as each partition lets wait. It needs a shared capacity.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_0", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_0"))]
    pub shared_waiting_room: Option<usize>,
    /// The weight of each key, from 1 to 2147483647; by default 1. While keys wait, each gets units
    /// of the shared capacity in proportion to it.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub weight: Option<usize>,
    /// The units of the shared capacity within which the calls of each key come before those of
    /// keys beyond theirs, from 0 to 2147483647; by default none.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_0", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_0"))]
    pub floor: Option<usize>,
    /// The most units of the shared capacity that each key may have in use, from 1 to 2147483647;
    /// by default any.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub ceiling: Option<usize>,
    /// The units of the shared capacity that calls of the normal class leave free for critical
    /// ones, unless they are within the floor of their key: less than the capacity; by default
    /// none.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_0", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_0"))]
    pub headroom_normal: Option<usize>,
    /// The units that calls of the class sheddable leave free for better ones: less than the shared
    /// capacity; by default none.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_0", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_0"))]
    pub headroom_sheddable: Option<usize>,
    /// The units that calls of the class background leave free for better ones: less than the
    /// shared capacity; by default none.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_0", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_0"))]
    pub headroom_background: Option<usize>,
    /// A class whose turn was passed over so many times in a row, by calls of better ones, is
    /// served before them once, from 1 to 2147483647; by default never. It needs a shared capacity.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub class_relief: Option<usize>,
    /// How many operations may run at the same time in each partition, from 1 to 2147483647. This
    /// or `capacity` must be set, and not both. With a shared capacity, neither need be.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub parallelism: Option<usize>,
    /// How many units may be in use at the same time in each partition, from 1 to 2147483647.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub capacity: Option<usize>,
    /// How many operations may wait in each partition, from 0 to 2147483647; by default none, or as
    /// many as the shared waiting room lets wait.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_0", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_0"))]
    pub waiting_room: Option<usize>,
    /// How many units may be waited for in each partition at the same time, from 1 to 2147483647;
    /// by default any. It needs a waiting room.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub waiting_room_units: Option<usize>,
    /// The longest that a call may wait, more than zero; by default any time. It needs a waiting
    /// room.
    #[cfg_attr(feature = "serde", serde(with = "forms::duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::duration"))]
    pub wait_limit: Option<Duration>,
    /// Whether waits are measured; they are by default. It cannot change while the partitions
    /// exist.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub measure_waits: Option<bool>,
    /// Whether it is measured how long operations hold their slots; it is not by default. It cannot
    /// change while the partitions exist.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub measure_holds: Option<bool>,
    /// How long a slot that was handed to a waiting call may be not collected, more than zero; by
    /// default any time. It cannot change while the partitions exist.
    #[cfg_attr(feature = "serde", serde(with = "forms::duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::duration"))]
    pub collect_limit: Option<Duration>,
    /// How much time the wait of a call with a deadline leaves to its operation: `learnt`, the
    /// default; `none`; or a duration. It cannot change while the partitions exist.
    #[cfg_attr(feature = "serde", serde(with = "forms::reserve", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::reserve"))]
    pub reserve: Option<Reserve>,
    /// Whether operators may see keys, as they are; they may not by default. It cannot change while
    /// the partitions exist.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub show_keys: Option<bool>,
    /// The limits and shares of single keys, by key. What such a section leaves out is as in all
    /// partitions.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "forms::sections", skip_serializing_if = "BTreeMap::is_empty")
    )]
    pub keys: BTreeMap<String, KeyConfig>,
}

/// The limits of one key, and its share in a shared capacity. A field that is `None` is as in all
/// partitions.
///
/// A key with a waiting room of 0 has neither the wait limit of the partitions nor their bound on
/// the units that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = schema::unbroken))]
#[cfg_attr(
    feature = "schema",
    schemars(
        description = "The limits of one key, and its share in a shared capacity. What is left out is as in all partitions. A key with a waiting room of 0 has neither the wait limit of the partitions nor their bound on the units that wait."
    )
)]
#[non_exhaustive]
pub struct KeyConfig {
    /// How many operations may run at the same time, from 1 to 2147483647. This or `capacity` may
    /// be set, and not both.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub parallelism: Option<usize>,
    /// How many units may be in use at the same time, from 1 to 2147483647.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub capacity: Option<usize>,
    /// How many operations may wait, from 0 to 2147483647.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_0", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_0"))]
    pub waiting_room: Option<usize>,
    /// How many units may be waited for at the same time, from 1 to 2147483647.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub waiting_room_units: Option<usize>,
    /// The longest that a call may wait, more than zero.
    #[cfg_attr(feature = "serde", serde(with = "forms::duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::duration"))]
    pub wait_limit: Option<Duration>,
    /// The weight, from 1 to 2147483647: while keys wait, each gets units of the shared capacity in
    /// proportion to it. This and the settings that follow need a shared capacity.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub weight: Option<usize>,
    /// The units of the shared capacity within which the calls of the key come before those of keys
    /// beyond theirs, from 0 to 2147483647.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_0", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_0"))]
    pub floor: Option<usize>,
    /// Whether the floor is kept free for the key, and not lent to others. It needs a floor.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub keep_floor: Option<bool>,
    /// The most units of the shared capacity that the key may have in use, from 1 to 2147483647.
    #[cfg_attr(feature = "serde", serde(with = "forms::from_1", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::from_1"))]
    pub ceiling: Option<usize>,
    /// Whether no call of the key is admitted.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub paused: Option<bool>,
}

impl Config {
    /// Checks all values, without a registry: as for a file before it is deployed.
    ///
    /// # Errors
    ///
    /// If a value is out of its range, does not fit to another, or is missing, or if a label is
    /// not [valid](crate::Builder#labels) or is there twice. The error has every reason.
    ///
    /// ```
    /// # use bulklink::config::Config;
    /// let mut config = Config::default();
    /// config.bulkheads.entry("payments".into()).or_default().parallelism = Some(0);
    /// config.partitions.entry("tenants".into()).or_default().parallelism = Some(2);
    /// assert_eq!(
    ///     config.check().unwrap_err().to_string(),
    ///     "bulkheads.payments.parallelism must be from 1 to 2147483647, got 0; \
    ///      partitions.tenants.max_partitions must be set"
    /// );
    /// ```
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_none(check::Checked::of(self).problems)
    }

    /// Checks that there are sections with these labels, which the program needs, and all values,
    /// as [`check`](Config::check) does. To apply a configuration without such a section would
    /// close its bulkhead or partitions.
    ///
    /// Call it before [`Registry::apply`](crate::Registry::apply). A file that is missing, or half
    /// written, can be read as a configuration that lacks sections, or has none.
    ///
    /// # Errors
    ///
    /// If a section is missing, or as `check` says. The error has every reason. Beside a section
    /// that is missing, it names one that is not required and may be a misspelling of it.
    ///
    /// ```
    /// # use bulklink::config::Config;
    /// let empty = Config::default();
    /// assert_eq!(
    ///     empty.require(&["payments"], &["tenants"]).unwrap_err().to_string(),
    ///     "bulkheads.payments must be there; partitions.tenants must be there"
    /// );
    ///
    /// let mut misspelt = Config::default();
    /// misspelt.bulkheads.entry("serach".into()).or_default().parallelism = Some(10);
    /// assert_eq!(
    ///     misspelt.require(&["search"], &[]).unwrap_err().to_string(),
    ///     "bulkheads.search must be there (is it bulkheads.serach, which is not required?)"
    /// );
    /// ```
    pub fn require(&self, bulkheads: &[&str], partitions: &[&str]) -> Result<(), ConfigError> {
        let mut problems = self.missing(bulkheads, partitions);
        problems.extend(Checked::of(self).problems);
        ConfigError::unless_none(problems)
    }
}

pub(crate) use check::{Checked, Section};
