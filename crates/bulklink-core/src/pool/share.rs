//! The settings of a pool and of its keys.

use core::fmt;
use core::str::FromStr;

use crate::InvalidArgument;
use crate::invalid::LARGEST;

use super::CLASSES;

/// How soon a call is to be served, among those of all keys: a better class comes first.
///
/// The service decides on it, and not the tenant: a class comes before turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Before all others.
    Critical,
    /// The usual one.
    #[default]
    Normal,
    /// Work that can be refused first, such as a prefetch.
    Sheddable,
    /// Work that no caller waits for.
    Background,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Reads the [name](Class::as_str) of a class.
impl FromStr for Class {
    type Err = InvalidArgument;

    fn from_str(name: &str) -> Result<Self, InvalidArgument> {
        let named = Class::ALL.into_iter().find(|class| class.as_str() == name);
        let requirement = "must be critical, normal, sheddable or background";
        named.ok_or_else(|| InvalidArgument::new("class", format_args!("{name:?}"), requirement))
    }
}

impl Class {
    /// All classes, the best first.
    pub const ALL: [Class; 4] = [Class::Critical, Class::Normal, Class::Sheddable, Class::Background];

    /// Returns the name in lower case, for machines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Class::Critical => "critical",
            Class::Normal => "normal",
            Class::Sheddable => "sheddable",
            Class::Background => "background",
        }
    }
}

/// The limits of a [`Pool`](super::Pool).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The units that may be in use together: at least one.
    pub capacity: u32,
    /// How many calls may wait, in all lines together.
    pub waiting_room: u32,
    /// The units of the capacity that calls of each class leave free for better ones, unless they
    /// are within their floor.
    pub headroom: [u32; CLASSES],
    /// A class that was passed over so many times in a row comes before better ones once, also with
    /// units of its headroom, if enough are free then; zero for never.
    pub relief: u32,
}

impl Limits {
    /// The waiting room of a pool whose lines have room for all that may wait.
    pub const ANY_ROOM: u32 = u32::MAX;

    /// Returns these limits with another capacity.
    #[must_use]
    pub fn with_capacity(self, capacity: u32) -> Self {
        Limits { capacity, ..self }
    }

    /// The limits of a pool with this capacity, and room for as many waiters as its lines have.
    #[must_use]
    pub const fn new(capacity: u32) -> Self {
        Limits { capacity, waiting_room: Limits::ANY_ROOM, headroom: [0; CLASSES], relief: 0 }
    }

    /// Checks the limits.
    ///
    /// # Errors
    ///
    /// If one is out of range; the error names it.
    pub fn check(&self) -> Result<(), InvalidArgument> {
        self.check_capacity(1)?;
        if let Some(&units) = self.headroom.iter().find(|&&units| units >= self.capacity) {
            let requirement = alloc::format!("must be less than the capacity, {}", self.capacity);
            return Err(InvalidArgument::new("class_headroom", units, requirement));
        }
        Ok(())
    }

    pub(super) fn check_capacity(&self, least: u64) -> Result<(), InvalidArgument> {
        if (least..=LARGEST as u64).contains(&self.capacity.into()) {
            return Ok(());
        }
        let requirement = alloc::format!("must be at least {least} and at most {LARGEST}");
        Err(InvalidArgument::new("shared_capacity", self.capacity, requirement))
    }
}

/// The part of a key in the shared capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Share {
    /// Among keys that wait, each gets units in proportion to its weight: at least 1.
    pub weight: u32,
    /// Within so many units, the key comes before all keys beyond theirs.
    pub floor: u32,
    /// Whether the floor is kept free for the key, also while it does not use it.
    pub is_kept: bool,
    /// The most units that the key may have in use.
    pub ceiling: u32,
    /// How many calls of the key may wait, in all its classes together.
    pub waiting_room: u32,
    /// Whether no call of the key is admitted.
    pub is_paused: bool,
}

impl Share {
    /// The share of a key with weight one, without floor and ceiling.
    pub const PLAIN: Share =
        Share { weight: 1, floor: 0, is_kept: false, ceiling: u32::MAX, waiting_room: u32::MAX, is_paused: false };

    /// Returns the share of a key with weight one, without floor and ceiling.
    #[must_use]
    pub const fn new() -> Self {
        Share::PLAIN
    }

    /// Checks the share for a pool with these limits, but for the floors that other keys keep.
    ///
    /// # Errors
    ///
    /// If the weight is out of its range, or the floor is more than the capacity or the ceiling.
    pub fn check(&self, limits: &Limits) -> Result<(), InvalidArgument> {
        self.check_weight()?;
        let most = limits.capacity.min(self.ceiling);
        if self.floor > most {
            let requirement = alloc::format!("must be at most {most}, the capacity or the ceiling of the key");
            return Err(InvalidArgument::new("floor", self.floor, requirement));
        }
        Ok(())
    }

    pub(super) fn check_weight(&self) -> Result<(), InvalidArgument> {
        if self.weight == 0 || self.weight as usize > LARGEST {
            let requirement = alloc::format!("must be at least 1 and at most {LARGEST}");
            return Err(InvalidArgument::new("weight", self.weight, requirement));
        }
        Ok(())
    }
}

impl Default for Share {
    fn default() -> Self {
        Share::new()
    }
}
