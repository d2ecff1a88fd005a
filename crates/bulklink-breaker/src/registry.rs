//! A registry of guards and breakers by name.

mod build;
mod member;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::mem;
use std::sync::Arc;

use bulklink::Handle;
use bulklink::config::{Apply, ApplyError, ConfigError};
use bulklink::runtime::{Clock, Runtime};

use self::member::Member;
pub(crate) use self::member::{Circuits, Keyed};
use crate::config::{self, BreakerConfig, Changes, Section, Values};
use crate::sync::{Mutex, lock};
use crate::{Breaker, BreakerStatus, ErrorsFail, Guard, GuardStatus, Guards, Health};

/// A registry of guards and breakers by name, in the order in which they were added, on any
/// runtimes.
///
/// Cheap to clone; clones share everything. A registry keeps its members alive. Calls do not go
/// through it: look a guard up once, and use it. No foreign code runs under its lock.
///
/// ```
/// use bulklink_breaker::{Guard, Health, BreakerRegistry};
/// use bulklink_tokio::Bulkhead;
///
/// let registry = BreakerRegistry::new();
/// for label in ["payments", "search"] {
///     let bulkhead = Bulkhead::builder(label).parallelism(10).build()?;
///     registry.add(&Guard::builder(&bulkhead).build()?)?;
/// }
/// registry.breaker("search").expect("added").force_open();
///
/// let healths: Vec<_> = registry.status().iter().map(|status| status.health()).collect();
/// assert_eq!(healths, [Health::Healthy, Health::Isolated]);
/// assert_eq!(registry.health(), Health::Isolated);
/// registry.reset_all();
/// assert!(registry.health().is_healthy());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct BreakerRegistry {
    members: Arc<Mutex<Vec<Member>>>,
    /// Locked while a configuration is applied, or its breaker becomes guards by key: one after the
    /// other.
    turn: Arc<Mutex<()>>,
}

/// The changes by sections of a configuration, if nothing is wrong with these.
struct Plan<'a> {
    sections: BTreeMap<Arc<str>, Section<'a>>,
    added: Vec<Breaker>,
    changed: Vec<(Arc<str>, Circuits, Values)>,
}

impl BreakerRegistry {
    /// Creates a registry without members.
    #[must_use]
    pub fn new() -> Self {
        BreakerRegistry::default()
    }

    /// Adds a guard, by the label of its bulkhead. It takes the place of its own breaker, which a
    /// configuration may have added under that label; no configuration removes it then.
    ///
    /// # Errors
    ///
    /// If the label is taken, even by the same guard.
    pub fn add<R, K>(&self, guard: &Guard<R, K>) -> Result<(), LabelTaken>
    where
        R: Clock + Clone + Send + Sync + 'static,
        K: Clone + Send + Sync + 'static,
    {
        self.insert(Member {
            label: guard.bulkhead().label().into(),
            circuits: Circuits::One(guard.breaker().classified(ErrorsFail)),
            bulkhead: Some(guard.bulkhead().handle().clone()),
            guard: Some(Arc::new(guard.clone())),
            is_configured: false,
        })
    }

    /// Adds a breaker without a bulkhead.
    ///
    /// # Errors
    ///
    /// If the label is taken, even by the same breaker.
    pub fn add_breaker<K>(&self, breaker: &Breaker<K>) -> Result<(), LabelTaken> {
        let label = breaker.shared_label();
        self.insert(Member {
            label,
            circuits: Circuits::One(breaker.classified(ErrorsFail)),
            bulkhead: None,
            guard: None,
            is_configured: false,
        })
    }

    /// Adds guards by key, as one member under the label of their partitions: with the sums and the
    /// worst state of all circuits, as [`Guards::status`].
    ///
    /// # Errors
    ///
    /// If the label is taken, even by the same guards.
    ///
    /// ```
    /// use bulklink_breaker::{BreakerRegistry, Guards, Health};
    /// use bulklink_tokio::Partitions;
    ///
    /// let partitions = Partitions::<String>::builder("upstreams").parallelism(10);
    /// let upstreams = Guards::builder(&partitions.max_partitions(100).build()?).build()?;
    /// let registry = BreakerRegistry::new();
    /// registry.add_guards(&upstreams)?;
    ///
    /// # let _request = upstreams.key("a.example.com");
    /// upstreams.breaker("a.example.com").expect("it was asked for").force_open();
    /// assert_eq!(registry.health(), Health::Isolated);
    /// let status = &registry.breaker_status()[0];
    /// assert_eq!(status.keys.as_ref().expect("of guards by key").open, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_guards<K, R, C, S>(&self, guards: &Guards<K, R, C, S>) -> Result<(), LabelTaken>
    where
        K: Send + Sync + 'static,
        R: Runtime,
        C: Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        self.insert(Member::of_guards(guards))
    }

    fn insert(&self, member: Member) -> Result<(), LabelTaken> {
        let label = Arc::clone(&member.label);
        // Dropped outside the lock, and so is a member that is not added.
        let replaced = {
            let mut members = lock(&self.members);
            match members.iter_mut().find(|other| other.label == label) {
                None => {
                    members.push(member);
                    return Ok(());
                }
                Some(other)
                    if other.guard.is_none() && member.guard.is_some() && other.circuits.is(&member.circuits) =>
                {
                    Ok(mem::replace(other, member))
                }
                Some(_) => Err(member),
            }
        };
        if replaced.is_ok() { Ok(()) } else { Err(LabelTaken { label }) }
    }

    /// Makes the breakers match these sections of a configuration, or changes nothing.
    ///
    /// A breaker without a member of its label is built on `clock` and added; the settings of one
    /// that is there [change](Breaker::reconfigure) while calls run, also if the program has added
    /// it; and one that an earlier configuration has added, and that has no section any more, is
    /// removed, or if something uses it, stays with its settings. Returns the changes, to be
    /// logged: a line for each breaker, and no text if there is nothing to say.
    ///
    /// # Errors
    ///
    /// If a setting is impossible or cannot change, or if a label is invalid or is there twice. The
    /// error has every reason. Configurations are applied one after the other; the clock must not
    /// apply one.
    ///
    /// ```
    /// use bulklink_breaker::{BreakerConfig, BreakerRegistry, Guard, Settings};
    /// use bulklink_tokio::{Bulkhead, Tokio};
    /// use std::collections::BTreeMap;
    ///
    /// // Such as a field `breakers` of the program's own settings, read by serde.
    /// let mut sections: BTreeMap<String, BreakerConfig> = BTreeMap::new();
    /// sections.entry("payments".into()).or_default().failures = Some(3);
    ///
    /// let breakers = BreakerRegistry::new();
    /// let applied = breakers.apply(&sections, &Tokio)?;
    /// assert_eq!(applied, "breaker payments: added, of_last 3, failures 3");
    ///
    /// let bulkhead = Bulkhead::builder("payments").parallelism(10).build()?;
    /// let payments = Guard::builder(&bulkhead).build_in(&breakers)?;
    /// assert_eq!(payments.breaker().settings(), Settings::consecutive(3));
    ///
    /// sections.entry("payments".into()).or_default().failures = Some(0);
    /// let refused = breakers.apply(&sections, &Tokio).unwrap_err();
    /// let text = "breakers.payments.failures must be from 1 to 10000, got 0";
    /// assert_eq!(refused.to_string(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply<C: Clock + Clone + Send + Sync + 'static>(
        &self,
        sections: &BTreeMap<String, BreakerConfig>,
        clock: &C,
    ) -> Result<String, ConfigError> {
        let _turn = lock(&self.turn);
        let Plan { sections, added, changed } = self.plan(sections, clock)?;
        self.add_configured(&added).map_err(|taken| config::taken_meanwhile(&taken.label))?;
        let mut applied = Changes::default();
        for breaker in &added {
            applied.add(breaker);
        }
        // All were checked.
        for (label, circuits, values) in changed {
            if let Some(before) = circuits.reconfigure(values).ok().filter(|before| *before != values) {
                applied.change(&label, &before, &values);
            }
        }
        self.release_all_but(&sections, &mut applied);
        Ok(applied.text())
    }

    /// Checks whether these sections could be [applied](BreakerRegistry::apply) now, and changes
    /// nothing.
    ///
    /// For settings with sections of bulkheads too, which `Registry::check` checks: apply what is
    /// in one file only when all of it was checked.
    ///
    /// # Errors
    ///
    /// As [`apply`](BreakerRegistry::apply).
    ///
    /// ```
    /// use bulklink_breaker::{BreakerConfig, BreakerRegistry};
    /// use bulklink_tokio::{Registry, Tokio, config::Config};
    /// use std::collections::BTreeMap;
    ///
    /// let (bulkheads, breakers) = (Registry::new(), BreakerRegistry::new());
    /// let mut config = Config::default();
    /// config.bulkheads.entry("payments".into()).or_default().parallelism = Some(10);
    /// let mut sections: BTreeMap<String, BreakerConfig> = BTreeMap::new();
    /// sections.entry("payments".into()).or_default().failures = Some(0);
    ///
    /// let apply = || -> Result<String, Box<dyn std::error::Error>> {
    ///     breakers.check(&sections, &Tokio)?;
    ///     let changes = bulkheads.apply(&config, &Tokio)?;
    ///     Ok(format!("{changes}\n{}", breakers.apply(&sections, &Tokio)?))
    /// };
    /// assert!(apply().is_err() && bulkheads.is_empty());
    /// ```
    pub fn check<C: Clock + Clone + Send + Sync + 'static>(
        &self,
        sections: &BTreeMap<String, BreakerConfig>,
        clock: &C,
    ) -> Result<(), ConfigError> {
        let _turn = lock(&self.turn);
        self.plan(sections, clock).map(|_| ())
    }

    fn plan<'a, C: Clock + Clone + Send + Sync + 'static>(
        &self,
        sections: &'a BTreeMap<String, BreakerConfig>,
        clock: &C,
    ) -> Result<Plan<'a>, ConfigError> {
        let (sections, mut problems) = config::by_label(sections);
        let members = self.members();
        let (mut added, mut changed) = (Vec::new(), Vec::new());
        for (label, section) in &sections {
            let found = members.iter().find(|member| member.label == *label).map(|member| &member.circuits);
            let values = section.config.values_for(found);
            let planned = values.and_then(|values| match found {
                Some(circuits) => {
                    changed.push((Arc::clone(label), circuits.clone(), values));
                    Ok(())
                }
                None => section.config.build(clock.clone(), label, values).map(|breaker| added.push(breaker)),
            });
            problems.extend(planned.err().map(|invalid| section.problem(&invalid)));
        }
        ConfigError::unless_none(problems)?;
        Ok(Plan { sections, added, changed })
    }

    /// Removes the members that a configuration has added and that these sections lack, but for
    /// those that something uses, such as a guard.
    fn release_all_but<T>(&self, sections: &BTreeMap<Arc<str>, T>, applied: &mut Changes) {
        let is_over = |member: &Member| member.is_configured && !sections.contains_key(&member.label);
        let is_unused = |breaker: &Breaker| Arc::strong_count(breaker.core()) == 1;
        let removed = self.remove_where(|member| is_over(member) && member.circuits.one().is_some_and(is_unused));
        let kept: Vec<_> = lock(&self.members).iter().filter(|member| is_over(member)).cloned().collect();
        let labels = |members: Vec<Member>| {
            let mut labels: Vec<_> = members.into_iter().map(|member| member.label).collect();
            labels.sort();
            labels
        };
        for label in labels(kept) {
            applied.keep(&label);
        }
        for label in labels(removed) {
            applied.remove(&label);
        }
    }

    /// Adds all of these, or none.
    fn add_configured(&self, breakers: &[Breaker]) -> Result<(), LabelTaken> {
        let mut members = lock(&self.members);
        for breaker in breakers {
            let label = breaker.shared_label();
            if members.iter().any(|member| member.label == label) {
                return Err(LabelTaken { label });
            }
        }
        members.extend(breakers.iter().map(|breaker| Member {
            label: breaker.shared_label(),
            circuits: Circuits::One(breaker.clone()),
            bulkhead: None,
            guard: None,
            is_configured: true,
        }));
        Ok(())
    }

    fn remove_where(&self, is_removed: impl Fn(&Member) -> bool) -> Vec<Member> {
        let mut members = lock(&self.members);
        let (removed, kept) = mem::take(&mut *members).into_iter().partition(is_removed);
        *members = kept;
        removed
    }

    /// Removes the member with this label. Returns whether there was one. It goes on working.
    pub fn remove(&self, label: &str) -> bool {
        !self.remove_where(|member| &*member.label == label).is_empty()
    }

    /// Returns the guard with this label, to make calls. `None` if there is none, or if its runtime
    /// or classifier is of another type.
    #[must_use]
    pub fn guard<R: 'static, K: 'static>(&self, label: &str) -> Option<Guard<R, K>>
    where
        Guard<R, K>: Clone,
    {
        let guard = self.find(label)?.guard?;
        guard.downcast_ref::<Guard<R, K>>().cloned()
    }

    /// Returns the guards by key with this label, to make calls. `None` if there are none, or if a
    /// type differs.
    #[must_use]
    pub fn guards<K: 'static, R: 'static, C: 'static, S: 'static>(&self, label: &str) -> Option<Guards<K, R, C, S>> {
        let guards = self.find(label)?.guard?;
        guards.downcast_ref::<Guards<K, R, C, S>>().cloned()
    }

    /// Returns the breaker with this label, or that of the guard with this label, without its
    /// classifier: see [`Breaker::classified`]. Guards by key have one for each key.
    #[must_use]
    pub fn breaker(&self, label: &str) -> Option<Breaker> {
        self.find(label)?.circuits.one().cloned()
    }

    fn find(&self, label: &str) -> Option<Member> {
        lock(&self.members).iter().find(|member| &*member.label == label).cloned()
    }

    fn members(&self) -> Vec<Member> {
        lock(&self.members).clone()
    }

    /// Returns how many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.members).len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the status of each member, in the order in which they were added.
    #[must_use]
    pub fn status(&self) -> Vec<GuardStatus> {
        let status = |member: Member| {
            let bulkhead = member.bulkhead.as_ref().map(Handle::status);
            GuardStatus { label: Arc::clone(&member.label), breaker: member.circuits.status(), bulkhead }
        };
        self.members().into_iter().map(status).collect()
    }

    /// Returns the status of the breaker of each member, by the member's label.
    #[must_use]
    pub fn breaker_status(&self) -> Vec<BreakerStatus> {
        self.members().iter().map(Member::status).collect()
    }

    /// Returns the worst health of all: a registry without members is healthy.
    #[must_use]
    pub fn health(&self) -> Health {
        self.members().iter().map(|member| member.circuits.status().health()).max().unwrap_or(Health::Healthy)
    }

    /// Closes the circuits of all, and forgets their outcomes. Their counters stay.
    pub fn reset_all(&self) {
        for member in self.members() {
            member.circuits.force_closed();
        }
    }
}

impl<C: Clock + Clone + Send + Sync + 'static> Apply<C> for BreakerRegistry {
    type Sections = BTreeMap<String, BreakerConfig>;

    const TABLE: &'static str = config::TABLE;

    fn require(sections: &Self::Sections, earlier: &Self::Sections) -> Result<(), ConfigError> {
        let labels: Vec<_> = earlier.keys().map(String::as_str).collect();
        bulklink::config::require(config::TABLE, sections, &labels)
    }

    fn check(&self, sections: &Self::Sections, clock: &C, _: &mut BTreeSet<String>) -> Result<(), ApplyError> {
        Ok(self.check(sections, clock)?)
    }

    fn apply(&self, sections: &Self::Sections, clock: &C) -> Result<String, ApplyError> {
        Ok(self.apply(sections, clock)?)
    }
}

impl fmt::Debug for BreakerRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<_> = self.members().into_iter().map(|member| member.label).collect();
        f.debug_struct("BreakerRegistry").field("labels", &labels).finish_non_exhaustive()
    }
}

/// The error of a label that another member of a registry has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelTaken {
    /// The label.
    pub label: Arc<str>,
}

impl fmt::Display for LabelTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: the registry has a member of this label", self.label)
    }
}

impl Error for LabelTaken {}
