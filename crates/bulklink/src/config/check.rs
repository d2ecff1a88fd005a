//! The checks of a configuration that need no registry. All problems are found, not only the first.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::place::{BULKHEADS, PARTITIONS, Place};
use super::{BulkheadConfig, Config, KeyConfig, PartitionsConfig, Problem, Settings, exact};
use crate::{Limits, partitions};

/// A configuration that was checked.
pub(crate) struct Checked<'a> {
    /// By label, trimmed: without the sections whose label is invalid or that of another section.
    pub(crate) bulkheads: BTreeMap<Arc<str>, Section<'a, BulkheadConfig>>,
    pub(crate) partitions: BTreeMap<Arc<str>, Section<'a, PartitionsConfig>>,
    pub(crate) problems: Vec<Problem>,
}

/// A section that was checked.
pub(crate) struct Section<'a, C> {
    pub(crate) place: Place<'a>,
    pub(crate) config: &'a C,
    /// Whether no problem was found in it.
    pub(crate) is_valid: bool,
}

impl<'a> Checked<'a> {
    pub(crate) fn of(config: &'a Config) -> Self {
        let mut checked = Checked { bulkheads: BTreeMap::new(), partitions: BTreeMap::new(), problems: Vec::new() };
        let mut labels = BTreeMap::new();
        for (label, section) in &config.bulkheads {
            let place = Place::new(BULKHEADS, label);
            let label = checked.label(place, &mut labels);
            let is_valid = checked.is_valid(|found| settings(place, &section.into(), found));
            checked.bulkheads.extend(label.map(|label| (label, Section { place, config: section, is_valid })));
        }
        for (label, section) in &config.partitions {
            let place = Place::new(PARTITIONS, label);
            let label = checked.label(place, &mut labels);
            let is_valid = checked.is_valid(|found| partitions(place, section, found));
            checked.partitions.extend(label.map(|label| (label, Section { place, config: section, is_valid })));
        }
        checked
    }

    /// Returns the label of a section, if it is valid and no other section has it.
    fn label(&mut self, place: Place<'a>, labels: &mut BTreeMap<Arc<str>, Place<'a>>) -> Option<Arc<str>> {
        match place.label() {
            Ok(label) => {
                let Some(first) = labels.insert(Arc::clone(&label), place) else {
                    return Some(label);
                };
                self.problems.push(place.problem(format_args!("must have another label, as {first} has this one")));
            }
            Err(problem) => self.problems.push(problem),
        }
        None
    }

    /// Returns whether a check finds no problem.
    fn is_valid(&mut self, check: impl FnOnce(&mut Vec<Problem>)) -> bool {
        let before = self.problems.len();
        check(&mut self.problems);
        self.problems.len() == before
    }
}

fn partitions(place: Place<'_>, section: &PartitionsConfig, problems: &mut Vec<Problem>) {
    match section.max_partitions {
        Some(max) => range(place, "max_partitions", Some(max), 1, problems),
        None => problems.push(place.field("max_partitions", "must be set")),
    }
    const { assert!(partitions::Limits::MAX == Limits::MAX, "one range is shown") };
    let each = Settings::from(section);
    settings(place, &each, problems);
    let common = each.limits();
    for (key, limits) in &section.keys {
        limits_of(place.key(key), limits, Some(&common), problems);
    }
}

fn settings(place: Place<'_>, settings: &Settings, problems: &mut Vec<Problem>) {
    limits_of(place, &settings.limits, None, problems);
    if settings.collect_limit == Some(Duration::ZERO) {
        problems.push(place.field("collect_limit", "must be longer than zero, got 0s"));
    }
    let needs_waits =
        [("measure_holds", settings.measure_holds == Some(true)), ("collect_limit", settings.collect_limit.is_some())];
    for (option, _) in needs_waits.iter().filter(|(_, is_set)| *is_set && settings.measure_waits == Some(false)) {
        problems.push(place.field("measure_waits", format_args!("must be true for {option}, got false")));
    }
}

/// Checks the limits of a bulkhead, or of a key of partitions with the `common` limits.
fn limits_of(place: Place<'_>, limits: &KeyConfig, common: Option<&Limits>, problems: &mut Vec<Problem>) {
    match (limits.parallelism, limits.capacity) {
        (None, None) if common.is_none() => problems.push(place.field("parallelism", "or capacity must be set")),
        (Some(parallelism), Some(capacity)) => {
            let text = format!("must not be set beside a parallelism of {parallelism}, got {capacity}");
            problems.push(place.field("capacity", text));
        }
        _ => {}
    }
    range(place, "parallelism", limits.parallelism, 1, problems);
    range(place, "capacity", limits.capacity, 1, problems);
    range(place, "waiting_room", limits.waiting_room, 0, problems);
    range(place, "waiting_room_units", limits.waiting_room_units, 1, problems);
    let can_wait = limits.over(common.copied().unwrap_or(Limits::new(1))).waiting_room > 0;
    let mut needs_room = |field, value| {
        problems.push(place.field(field, format_args!("must not be set without a waiting room, got {value}")));
    };
    if let Some(units) = limits.waiting_room_units.filter(|_| !can_wait) {
        needs_room("waiting_room_units", format!("{units}"));
    }
    match limits.wait_limit {
        Some(Duration::ZERO) => problems.push(place.field("wait_limit", "must be longer than zero, got 0s")),
        Some(limit) if !can_wait => needs_room("wait_limit", format!("{}", exact(limit))),
        _ => {}
    }
}

fn range(place: Place<'_>, field: &str, value: Option<usize>, least: usize, problems: &mut Vec<Problem>) {
    if let Some(value) = value.filter(|value| !(least..=Limits::MAX).contains(value)) {
        problems.push(place.field(field, format_args!("must be from {least} to {}, got {value}", Limits::MAX)));
    }
}
