//! A registry of guards and breakers by name.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bulklink::Handle;
use bulklink::runtime::Clock;

use crate::sync::{Mutex, lock};
use crate::{Breaker, Figures, Guard, GuardStats, Health};

/// A registry of guards and breakers by name, in the order in which they were added, on any
/// runtimes.
///
/// Cheap to clone; clones share everything. A registry keeps its members alive. Calls do not go
/// through it: look a guard up once, and use it. No foreign code runs under its lock.
///
/// ```
/// use bulklink_breaker::{Guard, Health, Registry};
/// use bulklink_tokio::Bulkhead;
///
/// let registry = Registry::new();
/// for label in ["payments", "search"] {
///     let bulkhead = Bulkhead::builder(label).parallelism(10).build()?;
///     registry.add(&Guard::builder(&bulkhead).build()?)?;
/// }
/// registry.breaker("search").expect("added").force_open();
///
/// let healths: Vec<_> = registry.stats().into_iter().map(|stats| stats.health).collect();
/// assert_eq!(healths, [Health::Healthy, Health::Isolated]);
/// assert_eq!(registry.health(), Health::Isolated);
/// registry.reset_all();
/// assert!(registry.health().is_healthy());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    members: Arc<Mutex<Vec<Member>>>,
}

#[derive(Clone)]
struct Member {
    label: Arc<str>,
    breaker: Breaker,
    bulkhead: Option<Handle>,
    /// The guard itself, if it is one.
    guard: Option<Arc<dyn Any + Send + Sync>>,
}

impl Registry {
    /// Creates a registry without members.
    #[must_use]
    pub fn new() -> Self {
        Registry::default()
    }

    /// Adds a guard, by the label of its bulkhead.
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
            breaker: guard.breaker().clone(),
            bulkhead: Some(guard.bulkhead().handle().clone()),
            guard: Some(Arc::new(guard.clone())),
        })
    }

    /// Adds a breaker without a bulkhead.
    ///
    /// # Errors
    ///
    /// If the label is taken, even by the same breaker.
    pub fn add_breaker(&self, breaker: &Breaker) -> Result<(), LabelTaken> {
        let label = breaker.shared_label();
        self.insert(Member { label, breaker: breaker.clone(), bulkhead: None, guard: None })
    }

    fn insert(&self, member: Member) -> Result<(), LabelTaken> {
        let label = Arc::clone(&member.label);
        // Dropped outside the lock if it is not added.
        let refused = {
            let mut members = lock(&self.members);
            if members.iter().any(|other| other.label == label) {
                Some(member)
            } else {
                members.push(member);
                None
            }
        };
        if refused.is_some() { Err(LabelTaken { label }) } else { Ok(()) }
    }

    /// Removes the member with this label. Returns whether there was one. It goes on working.
    pub fn remove(&self, label: &str) -> bool {
        let removed = {
            let mut members = lock(&self.members);
            let index = members.iter().position(|member| &*member.label == label);
            index.map(|index| members.remove(index))
        };
        removed.is_some()
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

    /// Returns the breaker with this label, or that of the guard with this label.
    #[must_use]
    pub fn breaker(&self, label: &str) -> Option<Breaker> {
        self.find(label).map(|member| member.breaker)
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

    /// Returns the health and the counters of each member, in the order in which they were added.
    #[must_use]
    pub fn stats(&self) -> Vec<GuardStats> {
        let members = self.members();
        members
            .iter()
            .map(|Member { label, breaker, bulkhead, .. }| {
                GuardStats::of(Arc::clone(label), breaker, bulkhead.as_ref())
            })
            .collect()
    }

    /// Returns what an exporter reads of each member, in the order in which they were added.
    #[must_use]
    pub fn figures(&self) -> Vec<Figures> {
        let members = self.members();
        members.into_iter().map(|Member { label, breaker, .. }| Figures { label, ..breaker.figures() }).collect()
    }

    /// Returns the worst health of all: a registry without members is healthy.
    #[must_use]
    pub fn health(&self) -> Health {
        self.members().iter().map(|member| member.breaker.health()).max().unwrap_or(Health::Healthy)
    }

    /// Closes the circuits of all, and forgets their outcomes. Their counters stay.
    pub fn reset_all(&self) {
        for member in self.members() {
            member.breaker.force_closed();
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<_> = self.members().into_iter().map(|member| member.label).collect();
        f.debug_struct("Registry").field("labels", &labels).finish_non_exhaustive()
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
