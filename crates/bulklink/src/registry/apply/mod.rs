//! Applying a configuration to a registry: all of it, or nothing.

mod change;
mod plan;

use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use self::change::Change;
use self::plan::{Addition, Plan};
use super::Registry;
use super::members::Member;
use crate::Clock;
use crate::config::{self, Action, Applied, ApplyError, Checked, Config, ConfigError, Problem};
use crate::reconfigure::Refused;

impl Registry {
    /// Makes the registry as a configuration says, live: adds bulkheads and partitions, changes the
    /// limits of those that exist, and removes those that an earlier configuration has added and
    /// this one does not have. Returns the difference, to be logged.
    ///
    /// What is added runs on `runtime`, and partitions have strings as keys. A change of limits is
    /// as [`Handle::reconfigure`](crate::Handle::reconfigure) does it, and loses no waiting call.
    /// What is removed is closed, so its waiting calls are rejected; its operations go on, and its
    /// label is free again when they have ended, without a task that waits for that. A bulkhead or
    /// partitions that the program itself has registered get the limits of their section, and keep
    /// them when there is no section any more. They are never removed. A share that the program has
    /// [set](crate::Partitions::set_share) for a key stays, unless a section has one for it.
    ///
    /// First the whole configuration is checked, with the registry and the calls that wait. So it
    /// is applied as a whole, or nothing changes and the error has every reason. A section that has
    /// a value out of range is compared with the settings that cannot change, but not with the
    /// calls that wait. If a change fails all the same, because a bulkhead has been closed
    /// meanwhile, say, then the others are changed back.
    ///
    /// If several threads call this at the same time, they do so one after the other: a thread
    /// blocks while another one applies a configuration. A call in an event handler is refused
    /// instead. This takes O(n log n) for n sections and members, and for partitions as long as
    /// [`Partitions::reconfigure`](crate::Partitions::reconfigure).
    ///
    /// # Errors
    ///
    /// If the registry is closed; if a value is invalid, as [`Config::check`] says; if a bulkhead
    /// has the label of partitions, or the reverse; if a label is that of a bulkhead that is being
    /// removed; if a setting would change that cannot change while the bulkhead exists; if a
    /// waiting call asks for more units than the new capacity; if the floors that are kept for
    /// keys, also by the program, are more than the shared capacity; or if a member that would
    /// change is closed.
    ///
    /// A call by an event handler is refused as [`ApplyError::Busy`] while another call of this
    /// runs, on whichever thread: that one may wait for the handler. So is a call by a waker, a
    /// clock or a function for the limits of keys that runs because of another call of this.
    /// Without the standard library, every call is refused while another one runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::config::Config;
    /// use bulklink_tokio::{Registry, Tokio};
    ///
    /// let registry = Registry::new();
    /// let mut config = Config::default();
    /// config.bulkheads.entry("payments".into()).or_default().parallelism = Some(10);
    /// config.bulkheads.entry("reports".into()).or_default().parallelism = Some(2);
    /// registry.apply(&config, &Tokio)?;
    /// let payments = registry.bulkhead::<Tokio>("payments")?;
    /// let _running = payments.try_slot()?;
    ///
    /// config.bulkheads.remove("reports");
    /// config.bulkheads.get_mut("payments").unwrap().parallelism = Some(20);
    /// let applied = registry.apply(&config, &Tokio)?;
    /// assert_eq!(applied.to_string(), "payments: parallelism 10 -> 20\nreports: removed");
    /// assert_eq!(payments.status().free(), 19);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply<R>(&self, config: &Config, runtime: &R) -> Result<Applied, ApplyError>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let _turn = self.turn.take().ok_or(ApplyError::Busy)?;
        self.carry_out(self.plan(config, runtime)?)
    }

    /// Checks whether a configuration could be [applied](Registry::apply) now, and changes nothing.
    ///
    /// For settings with sections of several registries, of which all are to be applied or none:
    /// check those of all before the first is applied. [`Config::check`] needs no registry.
    ///
    /// # Errors
    ///
    /// As [`apply`](Registry::apply).
    ///
    /// ```
    /// # use bulklink_tokio::config::Config;
    /// # use bulklink_tokio::{Registry, Tokio};
    /// let registry = Registry::new();
    /// let mut config = Config::default();
    /// config.bulkheads.entry("payments".into()).or_default().parallelism = Some(0);
    /// let refused = registry.check(&config, &Tokio).unwrap_err();
    /// assert_eq!(refused.problems()[0].path(), "bulkheads.payments.parallelism");
    /// ```
    pub fn check<R>(&self, config: &Config, runtime: &R) -> Result<(), ApplyError>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let _turn = self.turn.take().ok_or(ApplyError::Busy)?;
        self.plan(config, runtime).map(|_| ())
    }

    fn plan<'a, R>(&self, config: &'a Config, runtime: &R) -> Result<Plan<'a>, ApplyError>
    where
        R: Clock + Clone + Send + Sync + 'static,
    {
        let (is_closed, members) = self.members.with(|members| (members.is_closed, members.numbered()));
        if is_closed {
            return Err(ApplyError::Closed);
        }
        Ok(Plan::of(Checked::of(config), &members, runtime)?)
    }

    /// Capacities shrink first, which a call that waits can prevent; and to change that back only
    /// admits calls. Then members are added, all at once. The rest cannot fail, but for another
    /// change of the same bulkhead at this moment.
    fn carry_out(&self, plan: Plan<'_>) -> Result<Applied, ApplyError> {
        let Plan { changes, additions, removals } = plan;
        let mut begun: Vec<&Change<'_>> = Vec::new();
        for change in &changes {
            match change.begin() {
                Ok(false) => {}
                Ok(true) => begun.push(change),
                Err(refused) => return Err(self.roll_back(&begun, &[], change.problems(refused))),
            }
        }
        let new: Vec<_> = additions.iter().map(|addition| Arc::clone(&addition.member)).collect();
        if let Err(error) = self.members.with(|members| members.add_all(&new)) {
            let reason = Problem::new("the registry".into(), format!("has changed: {error}"));
            return Err(self.roll_back(&begun, &[], vec![reason]));
        }
        let mut applied = Vec::new();
        for change in &changes {
            let admitted = match change.finish() {
                Ok(admitted) => admitted,
                // As if it had been closed right after: nothing is admitted any more.
                Err(Refused::Closed) => 0,
                Err(refused) => {
                    // To change back one that has not been changed does nothing.
                    let all: Vec<_> = changes.iter().collect();
                    return Err(self.roll_back(&all, &new, change.problems(refused)));
                }
            };
            applied.push(change.applied(admitted));
        }
        applied.extend(additions.iter().map(Addition::applied));
        for (number, member) in removals {
            self.begin_removal((number, Arc::clone(&member)));
            applied.push(config::Change {
                label: Arc::clone(member.kind.label()),
                action: Action::Removed { running: member.kind.running() },
                capacity_field: "",
                setups: [None; 2],
            });
        }
        applied.sort_by(|one, other| one.label.cmp(&other.label));
        Ok(Applied { changes: applied })
    }

    /// Changes these back, and removes the added members.
    fn roll_back(&self, changes: &[&Change<'_>], added: &[Arc<Member>], reasons: Vec<Problem>) -> ApplyError {
        let restored = changes.iter().rev().filter(|change| change.restore().is_err());
        let not_restored = restored.map(|change| Arc::clone(change.member.kind.label())).collect();
        for member in added {
            let found = self.find(member.kind.label()).filter(|(_, found)| Arc::ptr_eq(found, member));
            if let Some(found) = found {
                self.begin_removal(found);
            }
        }
        match ConfigError::unless_none(reasons) {
            Err(reason) => ApplyError::RolledBack { reason, not_restored },
            Ok(()) => unreachable!("a change fails for a reason"),
        }
    }
}
