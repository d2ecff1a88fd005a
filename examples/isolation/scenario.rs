//! The two routes and the three phases of the experiment, with their rates and durations.

use std::time::Duration;

use crate::{options::Options, tally::Tally};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Healthy,
    Stalling,
}

impl Route {
    pub(crate) const ALL: [Self; 2] = [Self::Healthy, Self::Stalling];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Stalling => "stalling",
        }
    }

    pub(crate) const fn slots(self, options: &Options) -> usize {
        match self {
            Self::Healthy => options.healthy_slots,
            Self::Stalling => options.stalling_slots,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Unloaded,
    Bare,
    Protected,
}

impl Phase {
    pub(crate) const ALL: [Self; 3] = [Self::Unloaded, Self::Bare, Self::Protected];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Unloaded => "unloaded",
            Self::Bare => "overloaded, no bulkheads",
            Self::Protected => "overloaded, bulkheads",
        }
    }

    pub(crate) const fn short_name(self) -> &'static str {
        match self {
            Self::Unloaded => "unloaded",
            Self::Bare => "no bulkheads",
            Self::Protected => "bulkheads",
        }
    }

    pub(crate) const fn has_bulkheads(self) -> bool {
        matches!(self, Self::Protected)
    }

    pub(crate) const fn length(self, options: &Options) -> Duration {
        match self {
            Self::Unloaded => options.unloaded,
            Self::Bare | Self::Protected => options.overloaded,
        }
    }

    /// Returns when the stalling upstream goes silent, counted from the start of the phase.
    pub(crate) const fn stall(self, options: &Options) -> Option<Duration> {
        match self {
            Self::Unloaded => None,
            Self::Bare | Self::Protected => Some(options.stall_after),
        }
    }

    pub(crate) const fn rate(self, route: Route, options: &Options) -> u32 {
        match (self, route) {
            (Self::Unloaded, _) => options.unloaded_rate,
            (_, Route::Healthy) => options.healthy_rate,
            (_, Route::Stalling) => options.stalling_rate,
        }
    }
}

/// One value for each route.
#[derive(Debug, Default)]
pub(crate) struct PerRoute<T> {
    pub(crate) healthy: T,
    pub(crate) stalling: T,
}

impl<T> PerRoute<T> {
    pub(crate) const fn of(&self, route: Route) -> &T {
        match route {
            Route::Healthy => &self.healthy,
            Route::Stalling => &self.stalling,
        }
    }

    pub(crate) const fn of_mut(&mut self, route: Route) -> &mut T {
        match route {
            Route::Healthy => &mut self.healthy,
            Route::Stalling => &mut self.stalling,
        }
    }
}

impl PerRoute<Tally> {
    pub(crate) fn absorb(&mut self, other: Self) {
        self.healthy.absorb(other.healthy);
        self.stalling.absorb(other.stalling);
    }
}
