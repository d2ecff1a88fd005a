//! The changes by a configuration, to be logged.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::mem;

use super::exact;
use crate::Limits;
use crate::partitions::Class;
use crate::pool::Setup;

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
    /// The settings of the capacity that all keys share, before and after.
    pub(crate) setups: [Option<Setup>; 2],
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
        /// The number of keys with shares of their own.
        shares: usize,
    },
    /// Its limits were changed.
    Changed {
        /// The limits before.
        previous: Limits,
        /// The limits after.
        limits: Limits,
        /// The number of keys whose own limits were added, changed or removed.
        keys: usize,
        /// The number of keys whose own shares were added, changed or removed.
        shares: usize,
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
            Action::Added { limits, keys, shares } => {
                f.write_str("added")?;
                self.write_added(f, limits)?;
                write_keys(f, ", ", *keys, *shares)
            }
            Action::Changed { previous, limits, keys, shares, admitted } => {
                let separator = self.write_changed(f, previous, limits)?;
                write_keys(f, separator, *keys, *shares)?;
                if *admitted > 0 { write!(f, "; admitted {admitted}") } else { Ok(()) }
            }
            Action::Removed { running: 0 } => f.write_str("removed"),
            Action::Removed { running: 1 } => f.write_str("removed; 1 operation has not ended"),
            Action::Removed { running } => write!(f, "removed; {running} operations have not ended"),
        }
    }
}

impl Change {
    fn write_added(&self, f: &mut fmt::Formatter<'_>, limits: &Limits) -> fmt::Result {
        let setup = self.setups[1];
        let numbers = [
            ("shared_capacity", setup.map(|setup| setup.capacity)),
            ("shared_waiting_room", setup.and_then(|setup| setup.waiting_room)),
            (self.capacity_field, own_capacity(limits, setup)),
            ("waiting_room", own_room(limits, setup).filter(|&room| room > 0)),
            ("waiting_room_units", limits.waiting_room_units),
        ];
        let write = |f: &mut fmt::Formatter<'_>, (field, value): (&str, Option<usize>)| {
            value.map_or(Ok(()), |value| write!(f, ", {field} {value}"))
        };
        numbers.into_iter().try_for_each(|number| write(f, number))?;
        if let Some(limit) = limits.wait_limit {
            write!(f, ", wait_limit {}", exact(limit))?;
        }
        let Some(setup) = setup else { return Ok(()) };
        let Setup { share, .. } = setup;
        let parts = [
            ("weight", Some(share.weight).filter(|&weight| weight != 1)),
            ("floor", Some(share.floor).filter(|&floor| floor > 0)),
            ("ceiling", share.ceiling),
            ("headroom_normal", headroom(setup, Class::Normal)),
            ("headroom_sheddable", headroom(setup, Class::Sheddable)),
            ("headroom_background", headroom(setup, Class::Background)),
            ("class_relief", setup.relief),
        ];
        parts.into_iter().try_for_each(|number| write(f, number))
    }

    /// Writes what is not equal, and returns what separates more.
    fn write_changed(
        &self,
        f: &mut fmt::Formatter<'_>,
        from: &Limits,
        to: &Limits,
    ) -> Result<&'static str, fmt::Error> {
        let [before, after] = self.setups;
        let mut separator = "";
        let numbers = |field, of: fn(Setup) -> Option<usize>| (field, before.and_then(of), after.and_then(of));
        let limits = [
            numbers("shared_capacity", |setup| Some(setup.capacity)),
            numbers("shared_waiting_room", |setup| setup.waiting_room),
            (self.capacity_field, own_capacity(from, before), own_capacity(to, after)),
            ("waiting_room", own_room(from, before), own_room(to, after)),
            ("waiting_room_units", from.waiting_room_units, to.waiting_room_units),
        ];
        let share = [
            numbers("weight", |setup| Some(setup.share.weight)),
            numbers("floor", |setup| Some(setup.share.floor)),
            numbers("ceiling", |setup| setup.share.ceiling),
            numbers("headroom_normal", |setup| headroom(setup, Class::Normal)),
            numbers("headroom_sheddable", |setup| headroom(setup, Class::Sheddable)),
            numbers("headroom_background", |setup| headroom(setup, Class::Background)),
            numbers("class_relief", |setup| setup.relief),
        ];
        limits.into_iter().try_for_each(|number| write_change(f, &mut separator, number))?;
        if from.wait_limit != to.wait_limit {
            let [from, to] = [from.wait_limit, to.wait_limit].map(|limit| OrNone(limit.map(exact)));
            write!(f, "{separator}wait_limit {from} -> {to}")?;
            separator = ", ";
        }
        share.into_iter().try_for_each(|number| write_change(f, &mut separator, number))?;
        Ok(separator)
    }
}

fn write_change(
    f: &mut fmt::Formatter<'_>,
    separator: &mut &str,
    (field, from, to): (&str, Option<usize>, Option<usize>),
) -> fmt::Result {
    if from == to {
        return Ok(());
    }
    write!(f, "{}{field} {} -> {}", mem::replace(separator, ", "), OrNone(from), OrNone(to))
}

/// Returns the units that a class leaves to better ones.
fn headroom(setup: Setup, class: Class) -> Option<usize> {
    Some(setup.headroom[class as usize]).filter(|&units| units > 0)
}

/// Returns the capacity of each partition; none if it is the shared one.
fn own_capacity(limits: &Limits, setup: Option<Setup>) -> Option<usize> {
    Some(limits.capacity).filter(|&capacity| setup.is_none_or(|setup| setup.capacity != capacity))
}

/// Returns the waiting room of each partition; none if it is the shared one.
fn own_room(limits: &Limits, setup: Option<Setup>) -> Option<usize> {
    Some(limits.waiting_room).filter(|&room| setup.is_none_or(|setup| setup.waiting_room != Some(room)))
}

fn write_keys(f: &mut fmt::Formatter<'_>, separator: &str, keys: usize, shares: usize) -> fmt::Result {
    if keys > 0 {
        write!(f, "{separator}limits of {}", Keys(keys))?;
    }
    let separator = if keys > 0 { ", " } else { separator };
    if shares > 0 { write!(f, "{separator}shares of {}", Keys(shares)) } else { Ok(()) }
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
