//! A share from a configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bulklink::config::{Apply, ApplyError, ConfigError, Problem};
use bulklink::plumbing::config::Place;
#[cfg(feature = "serde")]
use bulklink::plumbing::config::duration;
#[cfg(feature = "schema")]
use bulklink::plumbing::config::{duration_schema, positive_duration_schema, unbroken};
use bulklink::plumbing::texts;
use bulklink::runtime::Runtime;
use bulklink::{InvalidArgument, Registry};

use super::join::MAX_NUMBER;
use super::seat::Seat;
use super::share::checked_limit;
use super::{Fleet, JoinError, Outage, ShareBuilder, ceiling};
use crate::Name;
use crate::share::{Declaration, Terms, Tuning};

/// The table of the sections, for the path of a value in an error.
const TABLE: &str = "shares";

/// The section of a share in a configuration, for [`ShareBuilder::configured`] and
/// [`Fleet::apply`]. A field that is `None` has the default of the builder.
///
/// With the feature `serde` it is read from TOML, JSON or anything else that serde reads, with
/// durations as in [the sections of bulkheads](bulklink::config#durations); with the feature
/// `schema` it has a JSON schema.
///
/// ```toml
/// [shares.payments]
/// limit = 100
/// weight = 2
/// on_outage = "share"
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = unbroken))]
#[cfg_attr(feature = "schema", schemars(description = "A share of a fleet's limit. What is left out has its default."))]
#[non_exhaustive]
pub struct ShareConfig {
    /// The limit of the whole fleet, in units. It must be set, here or in the builder.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "usize", range(min = 1, max = u32::MAX)))]
    pub limit: Option<usize>,
    /// The part of this process among those that wait for units, relative to others; by default 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u32", range(min = 1)))]
    pub weight: Option<u32>,
    /// The number of the configuration that limit, lease and claim are from; by default 1. A higher
    /// number replaces those of the processes with lower ones.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64", range(min = 1, max = MAX_NUMBER)))]
    pub config: Option<u64>,
    /// How long units can be used after the last word of the store; by default 10 s. The same in
    /// all processes.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub lease: Option<Duration>,
    /// How long a process without units keeps its place; by default 3 s. The same in all processes.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "positive_duration_schema"))]
    pub claim: Option<Duration>,
    /// The answer to calls while the store is out of reach and the lease has ended: `reject`, the
    /// default, `share` or `admit`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(with = "Outage"))]
    pub on_outage: Option<Outage>,
    /// How long a call that finds no unit of the share waits for more where it would be rejected;
    /// by default 10 ms.
    #[cfg_attr(feature = "serde", serde(with = "duration", skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(schema_with = "duration_schema"))]
    pub fetch: Option<Duration>,
}

impl<R> ShareBuilder<R> {
    /// Sets all that a section of a configuration has; the rest stays as it is.
    /// [`Fleet::apply`] does so for all bulkheads of a registry.
    pub fn configured(mut self, section: &ShareConfig) -> Self {
        self.base = self.base.or(Some(self.values));
        self.values = self.values.with(section);
        self
    }
}

/// The values of a share that a configuration has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Values {
    pub(super) limit: Option<usize>,
    pub(super) weight: u32,
    pub(super) config: u64,
    pub(super) terms: Terms,
    pub(super) outage: Outage,
    pub(super) fetch: Duration,
}

impl Default for Values {
    fn default() -> Self {
        let (terms, outage, fetch) = (Terms::default(), Outage::default(), Duration::from_millis(10));
        Self { limit: None, weight: 1, config: 1, terms, outage, fetch }
    }
}

impl Values {
    fn with(self, section: &ShareConfig) -> Self {
        let ShareConfig { limit, weight, config, lease, claim, on_outage, fetch } = *section;
        Self {
            limit: limit.or(self.limit),
            weight: weight.unwrap_or(self.weight),
            config: config.unwrap_or(self.config),
            terms: Terms {
                lease: lease.unwrap_or(self.terms.lease),
                claim: claim.unwrap_or(self.terms.claim),
                ..self.terms
            },
            outage: on_outage.unwrap_or(self.outage),
            fetch: fetch.unwrap_or(self.fetch),
        }
    }

    /// Checks the values, and returns what the process declares by them.
    pub(super) fn check(&self, tuning: &Tuning, can_wait: bool) -> Result<Declaration, InvalidArgument> {
        let limit = checked_limit(self.limit)?;
        self.terms.check(tuning)?;
        if !can_wait && self.fetch.is_zero() {
            let requirement = "must be more than zero without a waiting room: a call waits until a unit is granted";
            return Err(InvalidArgument::new("fetch", "0 ms", requirement));
        }
        self.check_numbers()?;
        Ok(Declaration { config: self.config, limit, terms: self.terms })
    }

    fn check_numbers(&self) -> Result<(), InvalidArgument> {
        for (field, value) in [("weight", self.weight.into()), ("config", self.config)] {
            if !(1..=MAX_NUMBER).contains(&value) {
                let requirement = format!("must be between 1 and {MAX_NUMBER}");
                return Err(InvalidArgument::new(field, value, requirement));
            }
        }
        Ok(())
    }

    /// Checks that the fleet can have these values after those of before: one configuration has
    /// the same in all processes, so others have another number, unless the fleet has declined
    /// those of before.
    fn check_after(&self, before: &Values, is_declined: bool) -> Result<(), InvalidArgument> {
        if self.config < before.config {
            let requirement = format!("must be at least {}, which the process has declared", before.config);
            return Err(InvalidArgument::new("config", self.config, requirement));
        }
        if self.config > before.config || is_declined {
            return Ok(());
        }
        let whole = |limit: Option<usize>| limit.map_or_else(String::new, |limit| limit.to_string());
        let time = |time: Duration| format!("{time:?}");
        for (field, value, known) in [
            ("limit", whole(self.limit), whole(before.limit)),
            ("lease", time(self.terms.lease), time(before.terms.lease)),
            ("claim", time(self.terms.claim), time(before.terms.claim)),
        ] {
            if value != known {
                let requirement = format!("must stay {known} for config {}; a higher config changes it", self.config);
                return Err(InvalidArgument::new(field, value, requirement));
            }
        }
        Ok(())
    }
}

/// The values of a share, where they come from, and what they have to fit to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Configured {
    pub(super) values: Values,
    /// What the program had set when it was configured, if it was.
    pub(super) base: Option<Values>,
    pub(super) tuning: Tuning,
    /// Whether its bulkhead has a waiting room.
    pub(super) can_wait: bool,
    /// Whether its bulkhead is the partition of a key.
    pub(super) is_of_key: bool,
}

impl Configured {
    /// Returns the values by a section, if they can be those of the share from now on.
    pub(super) fn plan(
        &self,
        section: &ShareConfig,
        is_declined: bool,
    ) -> Result<(Values, Declaration), InvalidArgument> {
        let values = self.base.unwrap_or(self.values).with(section);
        let declaration = values.check(&self.tuning, self.can_wait)?;
        values.check_after(&self.values, is_declined)?;
        Ok((values, declaration))
    }
}

impl Seat {
    /// Returns the values by a section of a configuration, if they can be those of the share.
    fn plan(&self, section: &ShareConfig) -> Result<(Values, Declaration), InvalidArgument> {
        let state = self.lock();
        state.configured.plan(section, state.declined.is_some())
    }

    /// Has these values from now on. Returns whether they are others.
    fn reconfigure(&self, values: Values, declaration: Declaration) -> bool {
        let is_changed = {
            let mut state = self.lock();
            state.configured.base = state.configured.base.or(Some(state.configured.values));
            let is_changed = state.configured.values != values;
            if is_changed {
                state.declare(values, declaration);
            }
            is_changed
        };
        if is_changed {
            self.signal.notify_of(self.number);
        }
        is_changed
    }

    /// Whether it has values from a configuration.
    fn is_configured(&self) -> bool {
        self.lock().configured.base.is_some()
    }
}

impl<R: Runtime<Sleep: Send>> Fleet<R> {
    /// Makes the shares of this process match these sections of a configuration, or changes
    /// nothing. The label of a section is that of the bulkhead. Returns the changes, to be logged:
    /// a line for each share, in the order of the labels, and no text if there is nothing to say.
    ///
    /// A bulkhead of the [registry](super::FleetBuilder::bulkheads) that has no share yet gets one.
    /// It admits no call until the store has answered, for which nothing waits here: while the
    /// store is out of reach, its calls are rejected as ever. Where the fleet has other values for
    /// this `config`, it goes on with those.
    ///
    /// The process declares limit, lease and claim with its next statement: within a beat, or with
    /// the next call of a share that is idle. They hold for the fleet, so they change with a higher
    /// `config` alone: the first process that has it replaces the values for all, and the others
    /// read the same file soon. Units above a lower limit stay in use until their operations end.
    /// If another process has declared other values for this `config`, the share goes on with those
    /// of the fleet, and its status [has the reason](super::ShareStatus::declined), and the log.
    /// Weight, `on_outage` and `fetch` are the process' own, and change at once.
    ///
    /// What a section leaves out is as the program had set it before
    /// [`configured`](ShareBuilder::configured). Without a section, a share keeps its values.
    ///
    /// # Errors
    ///
    /// If a value is impossible, or cannot be that of the share from now on; or, the first time, if
    /// a section is for no bulkhead of the registry. Later, it can be one of a part of a service
    /// that is not there now, which the text names. The error has every reason. If the fleet is
    /// closed, and a share is to begin.
    ///
    /// ```
    /// use bulklink_fleet::{Fleet, MemoryStore, ShareConfig};
    /// use bulklink_tokio::{Bulkhead, Registry, Tokio};
    /// use std::collections::BTreeMap;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bulkheads = Registry::new();
    /// let payments = Bulkhead::builder("payments").parallelism(50).waiting_room(9);
    /// let payments = bulkheads.create(payments)?;
    /// let fleet = Fleet::builder(MemoryStore::new(Tokio), Tokio).namespace("prod");
    /// let fleet = fleet.bulkheads(&bulkheads).build()?;
    ///
    /// // Such as a field `shares` of the program's own settings, read by serde.
    /// let mut shares: BTreeMap<String, ShareConfig> = BTreeMap::new();
    /// shares.entry("payments".into()).or_default().limit = Some(100);
    /// assert_eq!(fleet.apply(&shares)?, "share payments: added");
    /// let paid = payments.execute(async { "paid" }).await?;
    ///
    /// shares.entry("payments".into()).or_default().limit = Some(120);
    /// let refused = fleet.apply(&shares).unwrap_err().to_string();
    /// let text = "shares.payments.limit must stay 100 for config 1; \
    ///             a higher config changes it, got 120";
    /// assert_eq!(refused, text);
    ///
    /// shares.entry("payments".into()).or_default().config = Some(2);
    /// assert_eq!(fleet.apply(&shares)?, "share payments: changed");
    /// # Ok(())
    /// # }
    /// ```
    pub fn apply(&self, sections: &BTreeMap<String, ShareConfig>) -> Result<String, ConfigError> {
        let hub = &self.open.hub;
        let mut turn = hub.turn();
        let Plan { added, changes, unshared, names } = self.plan(sections)?;
        // At the start, a section that is for no bulkhead is a mistake: another has no limit.
        if let (Some(registry), false) = (&self.bulkheads, *turn) {
            let problem = |name: &Name| unknown(&name.label(), registry, &BTreeSet::new());
            ConfigError::unless_none(unshared.iter().map(problem).collect())?;
        }
        let mut lines = BTreeMap::new();
        for Added { name, place, builder } in added {
            let failed = |error| ConfigError::of(place.problem(format_args!("has no share: {}", texts(&error))));
            builder.begin(true).map_err(failed)?;
            lines.insert(name.label(), "added");
        }
        for Change { name, seat, values, declaration } in changes {
            if seat.reconfigure(values, declaration) {
                lines.insert(name.label(), "changed");
            }
        }
        lines.extend(unshared.iter().map(|name| (name.label(), "has a section, and no share in this process")));
        let configured = hub.all().into_iter().filter(|seat| seat.is_configured() && !seat.has_ended());
        let kept = configured.filter(|seat| !names.contains(&seat.name));
        lines.extend(kept.map(|seat| (seat.name.label(), "without a section, and kept")));
        *turn = true;
        let lines: Vec<_> = lines.iter().map(|(label, change)| format!("share {label}: {change}")).collect();
        Ok(lines.join("\n"))
    }

    /// Checks whether these sections could be applied now, and changes nothing. A section that is
    /// for no bulkhead is none of its findings: another part of the same configuration may add the
    /// bulkhead.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub fn check(&self, sections: &BTreeMap<String, ShareConfig>) -> Result<(), ConfigError> {
        let _turn = self.open.hub.turn();
        self.plan(sections).map(drop)
    }

    /// What the sections change. It holds for the present turn.
    fn plan<'a>(&self, sections: &'a BTreeMap<String, ShareConfig>) -> Result<Plan<'a, R>, ConfigError> {
        let (mut problems, mut added, mut changes, mut unshared) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut found = BTreeMap::<Name, Place<'_>>::new();
        for (label, section) in sections {
            let place = Place::new(TABLE, label);
            let name = match Name::labelled(&self.namespace, label) {
                Ok(name) => name,
                Err(invalid) => {
                    problems.push(place.problem(format_args!("has no valid label: {invalid}")));
                    continue;
                }
            };
            if let Some(first) = found.insert(name.clone(), place) {
                problems.push(place.problem(format_args!("must have another label, as {first} has this one")));
                continue;
            }
            let seat = self.open.hub.of_name(&name).filter(|seat| !seat.has_ended());
            let bulkhead = self.bulkheads.as_ref().and_then(|registry| registry.get(label));
            let checked = match (seat, bulkhead) {
                (Some(seat), Some(bulkhead)) if !seat.is_of(&bulkhead) => {
                    problems.push(place.problem("has a share that is of another bulkhead of this label"));
                    continue;
                }
                (Some(seat), _) => seat.plan(section).map(|(values, declaration)| {
                    changes.push(Change { name, seat, values, declaration });
                }),
                (None, Some(_)) if self.open.hub.is_closed() => {
                    problems.push(place.problem(format_args!("has no share: {}", JoinError::Closed)));
                    continue;
                }
                // From which the process has left, for good.
                (None, Some(bulkhead)) if bulkhead.ceilings().iter().any(|one| one.by == ceiling::LEFT) => {
                    section.check(true).map(|()| unshared.push(name))
                }
                (None, Some(bulkhead)) => {
                    let builder = self.share_as(&bulkhead, Ok(name.clone())).configured(section);
                    builder.check().map(|_| added.push(Added { name, place, builder }))
                }
                // Its bulkhead may be about to come.
                (None, None) => section.check(self.bulkheads.is_some()).map(|()| unshared.push(name)),
            };
            problems.extend(checked.err().map(|invalid| problem(place, &invalid)));
        }
        ConfigError::unless_none(problems)?;
        Ok(Plan { added, changes, unshared, names: found.into_keys().collect() })
    }
}

/// What sections of a configuration change.
struct Plan<'a, R> {
    added: Vec<Added<'a, R>>,
    changes: Vec<Change>,
    /// Those of sections that no share has.
    unshared: Vec<Name>,
    /// Those of all sections.
    names: BTreeSet<Name>,
}

struct Change {
    name: Name,
    seat: Arc<Seat>,
    values: Values,
    declaration: Declaration,
}

/// A share that is to begin.
struct Added<'a, R> {
    name: Name,
    place: Place<'a>,
    builder: ShareBuilder<R>,
}

/// How many labels an error names.
const NAMED: usize = 10;

/// Returns the reason why a section is for no bulkhead, neither of the registry nor about to come.
fn unknown(label: &str, registry: &Registry, coming: &BTreeSet<String>) -> Problem {
    let present = registry.handles().into_iter().map(|handle| handle.label().to_owned());
    let labels: BTreeSet<_> = present.chain(coming.iter().cloned()).collect();
    let labels: Vec<_> = labels.into_iter().take(NAMED).collect();
    Place::new(TABLE, label).problem(format_args!("must have the label of a bulkhead, such as {}", labels.join(", ")))
}

/// For what applies a file as a whole, such as `config::follow` of `bulklink-tokio`.
impl<R: Runtime<Sleep: Send>, C> Apply<C> for Fleet<R> {
    type Sections = BTreeMap<String, ShareConfig>;

    const TABLE: &'static str = TABLE;

    fn require(sections: &Self::Sections, earlier: &Self::Sections) -> Result<(), ConfigError> {
        let labels: Vec<_> = earlier.keys().map(String::as_str).collect();
        bulklink::config::require(TABLE, sections, &labels)
    }

    fn check(&self, sections: &Self::Sections, _: &C, coming: &mut BTreeSet<String>) -> Result<(), ApplyError> {
        self.check(sections)?;
        let Some(registry) = &self.bulkheads else { return Ok(()) };
        let is_known = |label: &str| coming.contains(label.trim()) || registry.get(label).is_some();
        let unknown = sections.keys().filter(|label| !is_known(label)).map(|label| unknown(label, registry, coming));
        Ok(ConfigError::unless_none(unknown.collect())?)
    }

    fn apply(&self, sections: &Self::Sections, _: &C) -> Result<String, ApplyError> {
        Ok(self.apply(sections)?)
    }
}

impl ShareConfig {
    /// Checks a section that no share has: what it leaves out, only the program knows, or if no
    /// code of it begins the share, the defaults say.
    fn check(&self, is_whole: bool) -> Result<(), InvalidArgument> {
        let values = Values::default().with(self);
        if is_whole {
            return values.check(&Tuning::default(), true).map(drop);
        }
        if self.limit.is_some() {
            checked_limit(self.limit)?;
        }
        values.check_numbers()
    }
}

/// Returns the reason why a field of a section is refused.
fn problem(place: Place<'_>, invalid: &InvalidArgument) -> Problem {
    let text = invalid.to_string();
    let rest = text.split_once(' ').map_or(&*text, |(_, rest)| rest);
    place.field(invalid.field(), rest)
}
