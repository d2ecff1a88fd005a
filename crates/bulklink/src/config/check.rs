//! The checks of a configuration that need no registry. All problems are found, not only the first.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::place::{BULKHEADS, PARTITIONS, Place};
use super::{BulkheadConfig, Config, KeyConfig, PartitionsConfig, Problem, Settings, exact};
use crate::Limits;
use crate::partitions::{self, Share};
use crate::pool::Setup;

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
            let is_valid = checked.is_valid(|found| settings(place, &section.into(), true, found));
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
    settings(place, &each, section.shared_capacity.is_none(), problems);
    shared(place, section, problems);
    let (common, setup) = (each.limits(), section.setup());
    share(place, &each.limits, setup.as_ref(), problems);
    for (key, own) in &section.keys {
        limits_of(place.key(key), own, false, &common, problems);
        share(place.key(key), own, setup.as_ref(), problems);
    }
    let shares = section.keys.values().map(|own| own.share_over(setup.map_or(Share::new(), |setup| setup.share)));
    let kept = shares.filter(|share| share.is_kept).fold(0_usize, |sum, share| sum.saturating_add(share.floor));
    if let Some(capacity) = section.shared_capacity.filter(|&capacity| kept > capacity) {
        let text = format!("must be at least {kept}, the floors that are kept for keys, got {capacity}");
        problems.push(place.field("shared_capacity", text));
    }
}

fn shared(place: Place<'_>, section: &PartitionsConfig, problems: &mut Vec<Problem>) {
    range(place, "shared_capacity", section.shared_capacity, 1, problems);
    range(place, "shared_waiting_room", section.shared_waiting_room, 0, problems);
    range(place, "class_relief", section.class_relief, 1, problems);
    for (field, _, units) in section.headrooms() {
        let Some(units) = units else { continue };
        let text = match section.shared_capacity {
            None => needs_shared(units),
            Some(capacity) if units >= capacity => {
                format!("must be less than the shared_capacity, {capacity}, got {units}")
            }
            Some(_) => continue,
        };
        problems.push(place.field(field, text));
    }
    if let (Some(relief), None) = (section.class_relief, section.shared_capacity) {
        problems.push(place.field("class_relief", needs_shared(relief)));
    }
    let Some(room) = section.shared_waiting_room else { return };
    if section.shared_capacity.is_none() {
        problems.push(place.field("shared_waiting_room", needs_shared(room)));
    } else if section.waiting_room == Some(0) && room > 0 {
        let text = format!("must not be set beside a waiting_room of 0, got {room}");
        problems.push(place.field("shared_waiting_room", text));
    }
}

fn needs_shared(value: impl fmt::Display) -> String {
    format!("must not be set without a shared_capacity, got {value}")
}

/// Checks the share of a key, or that of all.
fn share(place: Place<'_>, own: &KeyConfig, setup: Option<&Setup>, problems: &mut Vec<Problem>) {
    range(place, "weight", own.weight, 1, problems);
    range(place, "floor", own.floor, 0, problems);
    range(place, "ceiling", own.ceiling, 1, problems);
    let Some(setup) = setup else {
        let number = |field, value: Option<usize>| value.map(|value| place.field(field, needs_shared(value)));
        let switch = |field, value: Option<bool>| value.map(|value| place.field(field, needs_shared(value)));
        problems.extend(number("weight", own.weight));
        problems.extend(number("floor", own.floor));
        problems.extend(switch("keep_floor", own.keep_floor));
        problems.extend(number("ceiling", own.ceiling));
        return problems.extend(switch("paused", own.paused));
    };
    let (share, capacity) = (own.share_over(setup.share), setup.capacity);
    if capacity == 0 {
        // That is a problem already.
        return;
    }
    if let Some(floor) = own.floor.filter(|&floor| floor > capacity) {
        problems
            .push(place.field("floor", format_args!("must be at most {capacity}, the shared_capacity, got {floor}")));
    }
    match share.ceiling.filter(|&ceiling| share.floor > ceiling) {
        Some(ceiling) if own.floor.is_some() => {
            let text = format!("must be at most {ceiling}, the ceiling, got {}", share.floor);
            problems.push(place.field("floor", text));
        }
        Some(ceiling) if own.ceiling.is_some() => {
            let text = format!("must be at least {}, the floor, got {ceiling}", share.floor);
            problems.push(place.field("ceiling", text));
        }
        _ => {}
    }
    if own.keep_floor == Some(true) && share.floor == 0 {
        problems.push(place.field("keep_floor", "must not be set without a floor, got true"));
    }
}

fn settings(place: Place<'_>, settings: &Settings, needs_capacity: bool, problems: &mut Vec<Problem>) {
    limits_of(place, &settings.limits, needs_capacity, &settings.base, problems);
    if settings.collect_limit == Some(Duration::ZERO) {
        problems.push(place.field("collect_limit", "must be longer than zero, got 0s"));
    }
    let needs_waits =
        [("measure_holds", settings.measure_holds == Some(true)), ("collect_limit", settings.collect_limit.is_some())];
    for (option, _) in needs_waits.iter().filter(|(_, is_set)| *is_set && settings.measure_waits == Some(false)) {
        problems.push(place.field("measure_waits", format_args!("must be true for {option}, got false")));
    }
}

/// Checks the limits of a bulkhead, or of a key of partitions, over those where nothing is set.
fn limits_of(place: Place<'_>, limits: &KeyConfig, needs_capacity: bool, base: &Limits, problems: &mut Vec<Problem>) {
    match (limits.parallelism, limits.capacity) {
        (None, None) if needs_capacity => problems.push(place.field("parallelism", "or capacity must be set")),
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
    let can_wait = limits.over(*base).waiting_room > 0;
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
