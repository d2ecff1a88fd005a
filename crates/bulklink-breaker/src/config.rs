//! Breakers from a configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulklink::InvalidArgument;
use bulklink::config::{ConfigError, Problem};
use bulklink::plumbing::config::Place;
#[cfg(feature = "serde")]
use bulklink::plumbing::config::duration;
#[cfg(feature = "schema")]
use bulklink::plumbing::config::{add_schema, positive_duration_schema, unbroken};
use bulklink::runtime::Clock;

use crate::breaker::RunLimit;
use crate::circuit::beside;
use crate::registry::Circuits;
use crate::{Breaker, Settings};

/// The path of a section in an error begins with this.
pub(crate) const TABLE: &str = "breakers";

/// The section of a breaker in a configuration. A field that is `None` has the default of
/// [`Settings`]; without any of the first four and the slow ones, five failures in a row open the
/// circuit.
///
/// [`BreakerRegistry::apply`](crate::BreakerRegistry::apply) applies such sections. With the
/// feature `serde` they are read from TOML, JSON or anything else that serde reads, with durations
/// as in [the sections of bulkheads](bulklink::config#durations); with the feature `schema` they
/// have a JSON schema.
///
/// ```toml
/// [breakers.payments]
/// over = "10s"
/// failure_rate = 50
/// slow_after = "2s"
/// slow_rate = 80
/// cool_down = "30s"
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = rules))]
#[cfg_attr(feature = "schema", schemars(description = "A circuit breaker. What is left out has its default."))]
#[non_exhaustive]
pub struct BreakerConfig {
    /// How many of the last calls are looked at, from 1 to 10000. This or `over`, and not both.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1, max = 10000)))]
    pub of_last: Option<u32>,
    /// The calls of this time are looked at, at least 10 ms.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub over: Option<Duration>,
    /// How many failures open the circuit. This or `failure_rate`, and not both.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1)))]
    pub failures: Option<u32>,
    /// Which part of the calls opens the circuit when it has failed, in percent.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1, max = 100)))]
    pub failure_rate: Option<u32>,
    /// From which duration on a call is slow. It needs `slow_calls` or `slow_rate`.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub slow_after: Option<Duration>,
    /// How many slow calls open the circuit. This or `slow_rate`, and not both.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1)))]
    pub slow_calls: Option<u32>,
    /// Which part of the calls opens the circuit when it was slow, in percent.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1, max = 100)))]
    pub slow_rate: Option<u32>,
    /// How many calls must have been looked at.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1)))]
    pub min_calls: Option<u32>,
    /// How long the circuit stays open before it lets probes through; by default 30 s.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub cool_down: Option<Duration>,
    /// The cool-down doubles up to this each time that the probes fail; by default it does not.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub longest_cool_down: Option<Duration>,
    /// How many probes run at once, from 1 to 100; by default 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1, max = 100)))]
    pub probes: Option<u32>,
    /// How many probes must succeed to close the circuit; by default 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1, max = 10000)))]
    pub close_after: Option<u32>,
    /// How many probes must fail to open it again; by default 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1, max = 10000)))]
    pub reopen_after: Option<u32>,
    /// After which time another probe may take the place of one that has not ended; by default
    /// 30 s.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub probe_lease: Option<Duration>,
    /// Whether a call that is dropped before it has ended has failed; by default it has not. It
    /// cannot change while the breaker exists.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub count_cancelled: Option<bool>,
    /// How long an operation of its guard may run. Without it, a guard has the limit of its
    /// builder. A breaker without a guard ends no operation.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub run_limit: Option<Duration>,
}

/// The parts of a section that change live.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) settings: Settings,
    pub(crate) run_limit: Option<Duration>,
}

impl Values {
    pub(crate) fn of(breaker: &Breaker) -> Self {
        Values { settings: breaker.settings(), run_limit: breaker.core().run_limit.get().map(RunLimit::duration) }
    }

    fn text(&self) -> String {
        match self.run_limit {
            Some(limit) => format!("{}, run_limit {limit:?}", self.settings.text()),
            None => self.settings.text(),
        }
    }

    fn changes_from(&self, before: &Values) -> String {
        let settings = self.settings.changes_from(&before.settings);
        if self.run_limit == before.run_limit {
            return settings;
        }
        let or_none = |limit: Option<Duration>| limit.map_or_else(|| "none".into(), |limit| format!("{limit:?}"));
        let separator = if settings.is_empty() { "" } else { ", " };
        let (before, now) = (or_none(before.run_limit), or_none(self.run_limit));
        format!("{settings}{separator}run_limit {before} -> {now}")
    }
}

impl BreakerConfig {
    /// Returns the settings of the circuit.
    ///
    /// # Errors
    ///
    /// If a value is impossible, or does not fit to another.
    pub fn settings(&self) -> Result<Settings, InvalidArgument> {
        let in_a_row = self.failure_rate.is_none() && self.slow_after.is_none();
        let mut settings = match (self.of_last, self.over) {
            (Some(_), Some(_)) => return Err(beside("of_last", "over")),
            (Some(calls), None) => Settings::of_last(calls),
            (None, Some(time)) => Settings::over(time),
            (None, None) if in_a_row => self.failures.map_or_else(Settings::default, Settings::consecutive),
            (None, None) => {
                let requirement = "or over must be set for a rate and for slow calls";
                return Err(InvalidArgument::new("of_last", "neither", requirement));
            }
        };
        // A call is slow for a threshold alone.
        let slow_after = match (self.slow_after, self.slow_calls.or(self.slow_rate)) {
            (Some(after), Some(_)) => after,
            (None, None) => Duration::ZERO,
            (Some(after), None) => {
                let requirement = "must not be set without slow_calls or slow_rate";
                return Err(InvalidArgument::new("slow_after", format_args!("{after:?}"), requirement));
            }
            (None, Some(slow)) => {
                let name = if self.slow_calls.is_some() { "slow_calls" } else { "slow_rate" };
                return Err(InvalidArgument::new(name, slow, "must not be set without slow_after"));
            }
        };
        set(&mut settings, self.failures, Settings::failures);
        set(&mut settings, self.failure_rate, Settings::failure_rate);
        set(&mut settings, self.slow_calls, |settings, calls| settings.slow_calls(slow_after, calls));
        set(&mut settings, self.slow_rate, |settings, percent| settings.slow_rate(slow_after, percent));
        set(&mut settings, self.min_calls, Settings::min_calls);
        set(&mut settings, self.cool_down, Settings::cool_down);
        set(&mut settings, self.longest_cool_down, Settings::longest_cool_down);
        set(&mut settings, self.probes, Settings::probes);
        set(&mut settings, self.close_after, Settings::close_after);
        set(&mut settings, self.reopen_after, Settings::reopen_after);
        set(&mut settings, self.probe_lease, Settings::probe_lease);
        settings.check()?;
        RunLimit::checked(self.run_limit)?;
        Ok(settings)
    }

    pub(crate) fn build(
        &self,
        clock: impl Clock + Send + Sync + 'static,
        label: &str,
        values: Values,
    ) -> Result<Breaker, InvalidArgument> {
        let builder = Breaker::builder_on(clock, label).settings(values.settings);
        let breaker = builder.count_cancelled(self.count_cancelled.unwrap_or_default()).build()?;
        breaker.core().run_limit.set(RunLimit::checked(values.run_limit)?);
        Ok(breaker)
    }

    /// Returns the values, if they can be those of these circuits from now on.
    pub(crate) fn values_for(&self, circuits: Option<&Circuits>) -> Result<Values, InvalidArgument> {
        let values = Values { settings: self.settings()?, run_limit: self.run_limit };
        let Some(circuits) = circuits else { return Ok(values) };
        circuits.check_settings(values.settings)?;
        let has = circuits.counts_cancelled();
        match self.count_cancelled.unwrap_or_default() {
            wanted if wanted == has => Ok(values),
            wanted => {
                Err(InvalidArgument::new("count_cancelled", wanted, format_args!("must stay {has} while this exists")))
            }
        }
    }
}

/// The rules that several fields have together, as far as a schema can say them.
#[cfg(feature = "schema")]
fn rules(schema: &mut schemars::Schema) {
    unbroken(schema);
    let one_of = |fields: &[&str]| {
        let each: Vec<_> = fields.iter().map(|field| schemars::json_schema!({ "required": [field] })).collect();
        schemars::json_schema!({ "anyOf": each })
    };
    let not_both = |field, other| schemars::json_schema!({ "not": { "required": [field, other] } });
    let (window, threshold) =
        (one_of(&["of_last", "over"]), one_of(&["failures", "failure_rate", "slow_calls", "slow_rate"]));
    let rules = schemars::json_schema!({
        "allOf": [
            not_both("of_last", "over"),
            not_both("failures", "failure_rate"),
            not_both("slow_calls", "slow_rate"),
        ],
        "dependentSchemas": {
            "of_last": threshold,
            "over": threshold,
            "failure_rate": window,
            "slow_after": { "allOf": [window, one_of(&["slow_calls", "slow_rate"])] },
        },
        "dependentRequired": { "slow_calls": ["slow_after"], "slow_rate": ["slow_after"] },
    });
    add_schema(schema, &rules);
}

fn set<T>(settings: &mut Settings, value: Option<T>, with: impl FnOnce(Settings, T) -> Settings) {
    if let Some(value) = value {
        *settings = with(*settings, value);
    }
}

/// Returns the sections by their labels, as they are kept, and every problem with these labels.
pub(crate) fn by_label(sections: &BTreeMap<String, BreakerConfig>) -> (BTreeMap<Arc<str>, Section<'_>>, Vec<Problem>) {
    let (mut found, mut problems) = (BTreeMap::<Arc<str>, Section<'_>>::new(), Vec::new());
    for (label, config) in sections {
        let place = Place::new(TABLE, label);
        match place.label() {
            Ok(label) => match found.get(&label) {
                Some(first) => {
                    problems
                        .push(place.problem(format_args!("must have another label, as {} has this one", first.place)));
                }
                None => _ = found.insert(label, Section { place, config }),
            },
            Err(problem) => problems.push(problem),
        }
    }
    (found, problems)
}

/// The reason why nothing was applied: the program has added a breaker of this label meanwhile.
pub(crate) fn taken_meanwhile(label: &str) -> ConfigError {
    refused(label, "has a label that another breaker was added under meanwhile")
}

/// The error of a section.
pub(crate) fn refused(label: &str, text: impl fmt::Display) -> ConfigError {
    ConfigError::of(Place::new(TABLE, label).problem(text))
}

/// A section, and its place in the configuration.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    place: Place<'a>,
    pub(crate) config: &'a BreakerConfig,
}

impl Section<'_> {
    /// Returns the reason why a field is refused.
    pub(crate) fn problem(&self, invalid: &InvalidArgument) -> Problem {
        let text = invalid.to_string();
        match (invalid.field(), text.split_once(' ')) {
            ("window", Some((_, rest))) if self.config.over.is_some() => self.place.field("over", rest),
            ("window", Some((_, rest))) if self.config.of_last.is_none() => self.place.field("failures", rest),
            ("window", Some((_, rest))) => self.place.field("of_last", rest),
            ("settings", Some((_, rest))) => self.place.problem(rest),
            (field, Some((_, rest))) => self.place.field(field, rest),
            (field, None) => self.place.field(field, text),
        }
    }
}

/// The changes by a configuration, a line for each.
#[derive(Default)]
pub(crate) struct Changes(Vec<String>);

impl Changes {
    pub(crate) fn add(&mut self, breaker: &Breaker) {
        self.line(&breaker.shared_label(), format_args!("added, {}", Values::of(breaker).text()));
    }

    pub(crate) fn change(&mut self, label: &str, before: &Values, values: &Values) {
        self.line(label, values.changes_from(before));
    }

    pub(crate) fn keep(&mut self, label: &str) {
        self.line(label, "without a section, and kept because it is in use");
    }

    pub(crate) fn remove(&mut self, label: &str) {
        self.line(label, "removed");
    }

    fn line(&mut self, label: &str, change: impl fmt::Display) {
        self.0.push(format!("breaker {label}: {change}"));
    }

    pub(crate) fn text(&self) -> String {
        self.0.join("\n")
    }
}
