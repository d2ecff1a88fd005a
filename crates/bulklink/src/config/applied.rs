//! The changes by a configuration, to be logged.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::exact;
use crate::Limits;

/// The changes by [`Registry::apply`](crate::Registry::apply).
///
/// Its text has one line for each bulkhead and each set of partitions that changed, and is empty if
/// nothing has changed. It shows no key of partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The changes, in the order of the labels.
    pub changes: Vec<Change>,
}

impl Applied {
    /// Returns whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// The change of one bulkhead, or of partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The label.
    pub label: Arc<str>,
    /// The kind of change.
    pub action: Action,
    /// The name of the capacity in the text.
    pub(crate) capacity_field: &'static str,
}

/// The kind of change of a bulkhead, or of partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// It was added.
    Added {
        /// Its limits; of partitions, those that each has.
        limits: Limits,
        /// The number of keys with limits of their own.
        keys: usize,
    },
    /// Its limits were changed.
    Changed {
        /// The limits before.
        previous: Limits,
        /// The limits after.
        limits: Limits,
        /// The number of keys whose own limits were added, changed or removed.
        keys: usize,
        /// The number of waiting calls that the change admitted.
        admitted: usize,
    },
    /// It was closed and removed. Its waiting calls were rejected.
    Removed {
        /// The number of operations that still run in it, or of calls that have not left their
        /// partition. Its label can be used again when they have ended.
        running: u64,
    },
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.changes.iter().enumerate().try_for_each(|(place, change)| {
            let separator = if place == 0 { "" } else { "\n" };
            write!(f, "{separator}{change}")
        })
    }
}

/// Writes the change in one line.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.label)?;
        match &self.action {
            Action::Added { limits, keys } => {
                write!(f, "added, {} {}", self.capacity_field, limits.capacity)?;
                if limits.waiting_room > 0 {
                    write!(f, ", waiting_room {}", limits.waiting_room)?;
                }
                if let Some(units) = limits.waiting_room_units {
                    write!(f, ", waiting_room_units {units}")?;
                }
                if let Some(limit) = limits.wait_limit {
                    write!(f, ", wait_limit {}", exact(limit))?;
                }
                if *keys > 0 { write!(f, ", limits of {}", Keys(*keys)) } else { Ok(()) }
            }
            Action::Changed { previous, limits, keys, admitted } => {
                self.write_changed(f, previous, limits, *keys)?;
                if *admitted > 0 { write!(f, "; admitted {admitted}") } else { Ok(()) }
            }
            Action::Removed { running: 0 } => f.write_str("removed"),
            Action::Removed { running: 1 } => f.write_str("removed; 1 operation has not ended"),
            Action::Removed { running } => write!(f, "removed; {running} operations have not ended"),
        }
    }
}

impl Change {
    fn write_changed(&self, f: &mut fmt::Formatter<'_>, from: &Limits, to: &Limits, keys: usize) -> fmt::Result {
        let mut separator = "";
        let mut number = |field, from: Option<usize>, to: Option<usize>| {
            if from == to {
                return Ok(());
            }
            write!(f, "{separator}{field} {} -> {}", OrNone(from), OrNone(to))?;
            separator = ", ";
            Ok(())
        };
        number(self.capacity_field, Some(from.capacity), Some(to.capacity))?;
        number("waiting_room", Some(from.waiting_room), Some(to.waiting_room))?;
        number("waiting_room_units", from.waiting_room_units, to.waiting_room_units)?;
        if from.wait_limit != to.wait_limit {
            let [from, to] = [from.wait_limit, to.wait_limit].map(|limit: Option<Duration>| OrNone(limit.map(exact)));
            write!(f, "{separator}wait_limit {from} -> {to}")?;
            separator = ", ";
        }
        if keys > 0 { write!(f, "{separator}limits of {}", Keys(keys)) } else { Ok(()) }
    }
}

struct OrNone<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for OrNone<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("none"),
        }
    }
}

/// A number of keys.
struct Keys(usize);

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "key" } else { "keys" })
    }
}
