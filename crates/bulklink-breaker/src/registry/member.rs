//! The members of a registry: a guard, a breaker, or guards by key.

use std::any::Any;
use std::sync::Arc;

use bulklink::runtime::Runtime;
use bulklink::{Handle, InvalidArgument};

use crate::breaker::{LiveLimit, RunLimit};
use crate::config::Values;
use crate::{Breaker, BreakerStatus, Guards, Settings};

#[derive(Clone)]
pub(super) struct Member {
    pub(super) label: Arc<str>,
    pub(super) circuits: Circuits,
    pub(super) bulkhead: Option<Handle>,
    /// The guard or the guards themselves, if it is not a breaker alone.
    pub(super) guard: Option<Arc<dyn Any + Send + Sync>>,
    /// Whether a configuration has added it.
    pub(super) is_configured: bool,
}

/// The circuit of a member, or those of keys.
#[derive(Clone)]
pub(crate) enum Circuits {
    One(Breaker),
    Keyed(Arc<dyn Keyed>),
}

/// The circuits of keys, of whatever type these are.
pub(crate) trait Keyed: Send + Sync {
    fn status(&self) -> BreakerStatus;

    fn counts_cancelled(&self) -> bool;

    fn run_limit(&self) -> &LiveLimit;

    /// Changes the settings, which must have been checked. Returns those before.
    fn set_settings(&self, settings: Settings) -> Settings;

    fn force_closed(&self);
}

impl Member {
    pub(super) fn of_guards<K, R, C, S>(guards: &Guards<K, R, C, S>) -> Self
    where
        K: Send + Sync + 'static,
        R: Runtime,
        C: Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        Member {
            label: guards.label().into(),
            circuits: Circuits::Keyed(guards.circuits()),
            bulkhead: None,
            guard: Some(Arc::new(guards.clone())),
            is_configured: false,
        }
    }

    pub(super) fn status(&self) -> BreakerStatus {
        BreakerStatus { label: Arc::clone(&self.label), ..self.circuits.status() }
    }
}

impl Circuits {
    pub(super) fn one(&self) -> Option<&Breaker> {
        match self {
            Circuits::One(breaker) => Some(breaker),
            Circuits::Keyed(_) => None,
        }
    }

    pub(super) fn is(&self, other: &Circuits) -> bool {
        matches!((self.one(), other.one()), (Some(one), Some(other)) if Arc::ptr_eq(one.core(), other.core()))
    }

    pub(super) fn status(&self) -> BreakerStatus {
        match self {
            Circuits::One(breaker) => breaker.status(),
            Circuits::Keyed(keyed) => keyed.status(),
        }
    }

    pub(crate) fn counts_cancelled(&self) -> bool {
        match self {
            Circuits::One(breaker) => breaker.core().config.count_cancelled,
            Circuits::Keyed(keyed) => keyed.counts_cancelled(),
        }
    }

    /// Returns why the settings cannot be changed to these.
    pub(crate) fn check_settings(&self, settings: Settings) -> Result<(), InvalidArgument> {
        match self {
            Circuits::One(breaker) => breaker.core().check_settings(settings),
            Circuits::Keyed(_) => settings.check(),
        }
    }

    pub(super) fn run_limit(&self) -> &LiveLimit {
        match self {
            Circuits::One(breaker) => &breaker.core().run_limit,
            Circuits::Keyed(keyed) => keyed.run_limit(),
        }
    }

    /// Changes the settings and the run limit, and returns those before.
    pub(super) fn reconfigure(&self, values: Values) -> Result<Values, InvalidArgument> {
        let settings = match self {
            Circuits::One(breaker) => breaker.reconfigure(values.settings)?,
            Circuits::Keyed(keyed) => keyed.set_settings(values.settings),
        };
        let run_limit = self.run_limit().set(RunLimit::checked(values.run_limit)?);
        Ok(Values { settings, run_limit: run_limit.map(RunLimit::duration) })
    }

    pub(super) fn force_closed(&self) {
        match self {
            Circuits::One(breaker) => breaker.force_closed(),
            Circuits::Keyed(keyed) => keyed.force_closed(),
        }
    }
}
