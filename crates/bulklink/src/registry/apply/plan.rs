//! The changes by a configuration in a registry, if nothing is wrong with it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::change::Change;
use crate::Clock;
use crate::builder::Options;
use crate::config::place::Place;
use crate::config::{self, Action, BulkheadConfig, Checked, ConfigError, PartitionsConfig, Problem, Section, Settings};
use crate::config::{exact, reserve_text};
use crate::registry::configured::{ByConfig, Shape};
use crate::registry::members::{Configured, Kind, Member};

pub(super) struct Plan<'a> {
    pub(super) changes: Vec<Change<'a>>,
    pub(super) additions: Vec<Addition>,
    pub(super) removals: Vec<(u64, Arc<Member>)>,
}

/// A member to be added.
pub(super) struct Addition {
    pub(super) member: Arc<Member>,
    shape: Shape,
    capacity_field: &'static str,
}

impl Addition {
    pub(super) fn applied(&self) -> config::Change {
        let (keys, shares) = Shape::new(self.shape.limits).keys_changed(&self.shape);
        config::Change {
            label: Arc::clone(self.member.kind.label()),
            action: Action::Added { limits: self.shape.limits, keys, shares },
            capacity_field: self.capacity_field,
            setups: [None, self.shape.setup],
        }
    }
}

impl<'a> Plan<'a> {
    /// Returns the plan, or every reason why there is none. `members` are those of the registry.
    pub(super) fn of<R>(checked: Checked<'a>, members: &[(u64, Arc<Member>)], runtime: &R) -> Result<Self, ConfigError>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let Checked { bulkheads, partitions, mut problems } = checked;
        let by_label: BTreeMap<&str, &Arc<Member>> =
            members.iter().map(|(_, member)| (&**member.kind.label(), member)).collect();
        let mut plan = Plan { changes: Vec::new(), additions: Vec::new(), removals: Vec::new() };
        for (label, section) in &bulkheads {
            match by_label.get(&**label) {
                Some(member) => plan.change_bulkhead(section, member, &mut problems),
                None if section.is_valid => plan.add_bulkhead(label, section, runtime, &mut problems),
                None => {}
            }
        }
        for (label, section) in &partitions {
            match by_label.get(&**label) {
                Some(member) => plan.change_partitions(section, member, &mut problems),
                None if section.is_valid => plan.add_partitions(label, section, runtime, &mut problems),
                None => {}
            }
        }
        let is_named = |member: &Member| {
            let label = member.kind.label();
            bulkheads.contains_key(label) || partitions.contains_key(label)
        };
        let is_left = |member: &Member| member.configured.is_some() && !member.is_leaving() && !is_named(member);
        plan.removals.extend(members.iter().filter(|(_, member)| is_left(member)).cloned());
        ConfigError::unless_none(problems).map(|()| plan)
    }

    fn add_bulkhead<R>(
        &mut self,
        label: &str,
        section: &Section<'_, BulkheadConfig>,
        runtime: &R,
        problems: &mut Vec<Problem>,
    ) where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let settings = Settings::from(section.config);
        match settings.builder(runtime.clone(), label).build() {
            Ok(bulkhead) => self.additions.push(Addition {
                member: Member::configured_bulkhead(bulkhead),
                shape: Shape::new(settings.limits()),
                capacity_field: settings.limits.capacity_field(),
            }),
            Err(invalid) => problems.push(section.place.problem(format_args!("cannot be built: {invalid}"))),
        }
    }

    fn add_partitions<R>(
        &mut self,
        label: &str,
        section: &Section<'_, PartitionsConfig>,
        runtime: &R,
        problems: &mut Vec<Problem>,
    ) where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let settings = Settings::from(section.config);
        match ByConfig::build(runtime, label, section.config) {
            Ok(partitions) => self.additions.push(Addition {
                member: Member::configured_partitions(partitions),
                shape: Shape::of_partitions(section.config),
                capacity_field: settings.limits.capacity_field(),
            }),
            Err(invalid) => problems.push(section.place.problem(format_args!("cannot be built: {invalid}"))),
        }
    }

    fn change_bulkhead(
        &mut self,
        section: &Section<'a, BulkheadConfig>,
        member: &Arc<Member>,
        problems: &mut Vec<Problem>,
    ) {
        if member.kind.bulkhead().is_none() {
            return problems
                .push(section.place.problem("must have another label, as partitions in the registry have this one"));
        }
        self.change(section, &section.config.into(), member, None, problems);
    }

    fn change_partitions(
        &mut self,
        section: &Section<'a, PartitionsConfig>,
        member: &Arc<Member>,
        problems: &mut Vec<Problem>,
    ) {
        if member.kind.partitions().is_none() {
            return problems
                .push(section.place.problem("must have another label, as a bulkhead in the registry has this one"));
        }
        self.change(section, &section.config.into(), member, Some(section.config), problems);
    }

    /// Plans the change of a member to these settings, unless it changes nothing.
    fn change<C>(
        &mut self,
        section: &Section<'a, C>,
        settings: &Settings,
        member: &Arc<Member>,
        partitions: Option<&PartitionsConfig>,
        problems: &mut Vec<Problem>,
    ) {
        let place = section.place;
        if member.is_leaving() {
            let running = member.kind.running();
            let text = "has the label of one that is being removed; operations in it that have not ended:";
            return problems.push(place.problem(format_args!("{text} {running}")));
        }
        let fixed = Fixed { place, problems, is_configured: member.configured.is_some() };
        fixed.check(settings, member, partitions);
        let mut to = partitions.map_or_else(|| Shape::new(settings.limits()), Shape::of_partitions);
        if !to.keys.is_empty() && !matches!(member.configured, Some(Configured::Partitions(_))) {
            problems.push(place.field(
                "keys",
                "must not be set for partitions that the program has made: it sets their limits and shares",
            ));
        }
        // Limits that are out of range have their reasons already.
        if !section.is_valid {
            return;
        }
        let capacity_field = settings.limits.capacity_field();
        let from = member.shape(&to);
        to.setup = match (to.setup, from.setup) {
            // The section says nothing of it.
            (None, has) => has,
            // Settings of the program that no section has.
            (Some(to), Some(has)) => Some(to.keeping(&has)),
            (to, None) => to,
        };
        let change = Change { place, capacity_field, member: Arc::clone(member), from, to };
        if change.is_none() {
            return;
        }
        match change.check() {
            Ok(()) => self.changes.push(change),
            Err(refused) => problems.extend(change.problems(refused)),
        }
    }
}

/// The settings that a member keeps as long as it exists. One that the program has made may have
/// any where its section says nothing.
struct Fixed<'a, 'b> {
    place: Place<'a>,
    problems: &'b mut Vec<Problem>,
    is_configured: bool,
}

impl Fixed<'_, '_> {
    fn check(mut self, settings: &Settings, member: &Member, partitions: Option<&PartitionsConfig>) {
        let has = member.kind.options();
        let base = if self.is_configured { Options::default() } else { has };
        let wanted = settings.options_over(base);
        self.same("measure_waits", has.measure_waits, wanted.measure_waits, |is_on| is_on.to_string());
        self.same("measure_holds", has.measure_holds, wanted.measure_holds, |is_on| is_on.to_string());
        self.same("collect_limit", has.collect_limit, wanted.collect_limit, duration);
        self.same("reserve", has.reserve, wanted.reserve, reserve_text);
        if let (Kind::Partitions(handle), Some(section)) = (&member.kind, partitions) {
            let has = handle.status().limits;
            let max_partitions = section.max_partitions.unwrap_or(has.max_partitions);
            self.same("max_partitions", has.max_partitions, max_partitions, |max| max.to_string());
            let idle_timeout = section.idle_timeout.or(has.idle_timeout.filter(|_| !self.is_configured));
            self.same("idle_timeout", has.idle_timeout, idle_timeout, duration);
            let has = handle.inner.setup().map(|setup| setup.capacity);
            let wanted = section.shared_capacity.or(has.filter(|_| !self.is_configured));
            if has.is_some() != wanted.is_some() {
                let show = |units: Option<usize>| units.map_or_else(|| "unset".into(), |units| units.to_string());
                self.same("shared_capacity", has, wanted, show);
            }
            let has = handle.inner.shows_keys();
            let show_keys = section.show_keys.unwrap_or(has && !self.is_configured);
            self.same("show_keys", has, show_keys, |is_on| is_on.to_string());
        }
    }

    fn same<T: PartialEq>(&mut self, field: &str, has: T, wanted: T, show: impl Fn(T) -> String) {
        if has != wanted {
            let text = format!("must stay {} while this exists, got {}", show(has), show(wanted));
            self.problems.push(self.place.field(field, text));
        }
    }
}

fn duration(duration: Option<Duration>) -> String {
    duration.map_or_else(|| "unset".into(), |duration| exact(duration).to_string())
}
