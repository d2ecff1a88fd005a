//! Guards that are built around the breakers of a registry.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use bulklink::InvalidArgument;
use bulklink::config::{self, ConfigError};
use bulklink::runtime::{Clock, Runtime};

use super::{BreakerRegistry, Circuits, Member};
use crate::config::{TABLE, refused};
use crate::sync::lock;
use crate::{Breaker, Guard, Guards};

impl BreakerRegistry {
    /// Builds a guard around the breaker with this label, and adds it in place of that.
    pub(crate) fn build_guard<R, K>(
        &self,
        label: &str,
        build: impl FnOnce(Breaker) -> Result<Guard<R, K>, InvalidArgument>,
    ) -> Result<Guard<R, K>, ConfigError>
    where
        R: Clock + Clone + Send + Sync + 'static,
        K: Clone + Send + Sync + 'static,
    {
        // Of two that are built at once, one is not built.
        let _turn = lock(&self.turn);
        let breaker = self.free_breaker(label)?;
        let guard = build(breaker).map_err(|invalid| refused(label, format_args!("has no guard: {invalid}")))?;
        self.add(&guard).map_err(|_| taken(label))?;
        Ok(guard)
    }

    /// Builds guards by key as the breaker with this label is, and adds them in place of that.
    pub(crate) fn build_guards<K, R, C, S>(
        &self,
        label: &str,
        build: impl FnOnce(&Breaker) -> Result<Guards<K, R, C, S>, InvalidArgument>,
    ) -> Result<Guards<K, R, C, S>, ConfigError>
    where
        K: Send + Sync + 'static,
        R: Runtime,
        C: Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        // No configuration changes the breaker meanwhile.
        let _turn = lock(&self.turn);
        let breaker = self.free_breaker(label)?;
        let guards = build(&breaker).map_err(|invalid| refused(label, format_args!("has no guards: {invalid}")))?;
        let member = Member::of_guards(&guards);
        member.circuits.run_limit().set(breaker.core().run_limit.get());
        drop(breaker);
        self.replace_unused(member)?;
        Ok(guards)
    }

    /// Returns the breaker with this label, if no guard has it.
    fn free_breaker(&self, label: &str) -> Result<Breaker, ConfigError> {
        let members = self.members();
        if let Some(member) = members.iter().find(|member| &*member.label == label) {
            return member.free_breaker().cloned().ok_or_else(|| taken(label));
        }
        let free = members.iter().filter(|member| member.free_breaker().is_some());
        let free: BTreeMap<_, _> = free.map(|member| (member.label.to_string(), member)).collect();
        config::require(TABLE, &free, &[label])?;
        Err(refused(label, "must be there"))
    }

    /// Adds a member in place of the breaker with its label, which nothing else may use.
    fn replace_unused(&self, member: Member) -> Result<(), ConfigError> {
        let label = Arc::clone(&member.label);
        // Dropped outside the lock, and so is a member that is not added.
        let replaced = {
            let mut members = lock(&self.members);
            let place = members.iter_mut().find(|other| other.label == label);
            match place.filter(|other| other.free_breaker().is_some_and(|it| Arc::strong_count(it.core()) == 1)) {
                Some(other) => Ok(mem::replace(other, member)),
                None => Err(member),
            }
        };
        replaced.map(drop).map_err(|_| refused(&label, "must be used by nothing else, to be that of guards by key"))
    }
}

fn taken(label: &str) -> ConfigError {
    refused(label, "must not be used by another guard")
}

impl Member {
    /// Returns its breaker, if it is no guard.
    fn free_breaker(&self) -> Option<&Breaker> {
        match (&self.circuits, &self.guard) {
            (Circuits::One(breaker), None) => Some(breaker),
            _ => None,
        }
    }
}
