//! What sections of a configuration are applied to.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{ApplyError, Config, ConfigError};
use crate::{Clock, Registry};

/// A registry to which sections of a configuration are applied. The members that it makes run on
/// `R`.
///
/// It serves code that applies a file with sections of several registries as a whole, such as
/// `config::follow` of `bulklink-tokio`. A program calls the methods of the registries instead.
pub trait Apply<R> {
    /// All sections for such a registry.
    type Sections;

    /// The beginning of each path in its errors, such as `shares`; empty if its sections are in
    /// several tables.
    const TABLE: &'static str;

    /// Checks that these sections have each that an earlier configuration has: a program has looked
    /// it up.
    ///
    /// # Errors
    ///
    /// If one is missing.
    fn require(sections: &Self::Sections, earlier: &Self::Sections) -> Result<(), ConfigError>;

    /// Checks whether the sections could be applied now, and changes nothing. `bulkheads` are the
    /// labels of those that the parts before bring: a registry of bulkheads adds its own, and what
    /// belongs to bulkheads needs no other than these and those that exist.
    ///
    /// # Errors
    ///
    /// As `apply`, or if a section is for no bulkhead.
    fn check(&self, sections: &Self::Sections, runtime: &R, bulkheads: &mut BTreeSet<String>)
    -> Result<(), ApplyError>;

    /// Makes the registry as the sections say, or changes nothing. Returns the changes, a line for
    /// each.
    ///
    /// # Errors
    ///
    /// If it cannot.
    fn apply(&self, sections: &Self::Sections, runtime: &R) -> Result<String, ApplyError>;

    /// Keeps the state of the file that the sections come from, for figures of the registry.
    fn report(&self, _status: &FileStatus) {}
}

/// The state of a file of settings that is followed, such as by `config::follow` of
/// `bulklink-tokio`: the numbers of its texts that were applied and refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileStatus {
    /// The path of the file, as the program has named it.
    pub path: String,
    /// The number of the file among all that the process has followed.
    pub instance: u64,
    /// How many texts were applied, with that of the start.
    pub applied: u64,
    /// How many were refused.
    pub refused: u64,
    /// All reasons why the present text of the file is not the one that is applied; `None` if it
    /// is.
    pub refusal: Option<String>,
}

impl<R: Clock + Clone + Send + Sync + 'static> Apply<R> for Registry {
    type Sections = Config;

    const TABLE: &'static str = "";

    fn require(sections: &Config, earlier: &Config) -> Result<(), ConfigError> {
        let bulkheads: Vec<_> = earlier.bulkheads.keys().map(|label| &**label).collect();
        let partitions: Vec<_> = earlier.partitions.keys().map(|label| &**label).collect();
        sections.require(&bulkheads, &partitions)
    }

    fn check(&self, sections: &Config, runtime: &R, bulkheads: &mut BTreeSet<String>) -> Result<(), ApplyError> {
        bulkheads.extend(sections.bulkheads.keys().map(|label| label.trim().to_owned()));
        self.check(sections, runtime)
    }

    fn apply(&self, sections: &Config, runtime: &R) -> Result<String, ApplyError> {
        self.apply(sections, runtime).map(|applied| applied.to_string())
    }

    fn report(&self, status: &FileStatus) {
        self.set_file_status(status.clone());
    }
}
