//! Transitions as events for subscribers of the crate `tracing`. Without the feature, it is empty.

#[cfg(feature = "tracing")]
use bulklink::plumbing::log::{Account, is_on, limited, shortened};
#[cfg(feature = "tracing")]
use tracing::Level;

use super::event::Transition;
use crate::Settings;
#[cfg(feature = "tracing")]
use crate::State;

/// The limit on the events of a circuit, or of the circuits of all keys. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(#[cfg(feature = "tracing")] Account);

/// The party that has made a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The calls of this process, and the time.
    Calls,
    /// An operator, or the program.
    Hand,
    /// The store of a shared circuit.
    Store,
}

/// The cause of a transition, if a subscriber may want its event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause(#[cfg(feature = "tracing")] Option<&'static str>);

#[cfg(feature = "tracing")]
impl Cause {
    /// Finds the cause, by the settings of the circuit. Calls no foreign code.
    pub(super) fn of(origin: Origin, transition: &Transition, settings: &Settings) -> Self {
        Cause(is_on().then(|| match (origin, transition.from, transition.to) {
            (Origin::Hand, ..) => "by_hand",
            (Origin::Store, ..) => "store",
            (Origin::Calls, State::Closed, _) => transition.counts.cause(settings),
            (Origin::Calls, _, State::HalfOpen) => "cool_down",
            (Origin::Calls, ..) => "probes",
        }))
    }

    pub(super) fn is_wanted(self) -> bool {
        self.0.is_some()
    }
}

#[cfg(not(feature = "tracing"))]
impl Cause {
    pub(super) fn of(_: Origin, _: &Transition, _: &Settings) -> Self {
        Cause()
    }

    #[expect(clippy::unused_self, reason = "there is no log")]
    pub(super) fn is_wanted(self) -> bool {
        false
    }
}

impl Log {
    /// Logs a transition, unless too many were logged in the last second. Must be called outside
    /// all locks.
    #[cfg(feature = "tracing")]
    pub(super) fn write(&self, transition: &Transition, cause: Cause) {
        let Some(cause) = cause.0 else { return };
        limited(&self.0, |left_out| {
            let Transition { label, from, to, counts, .. } = transition;
            let label = shortened(label);
            let counts = Some(counts).filter(|counts| counts.calls > 0);
            // The level is part of the event's metadata.
            macro_rules! event {
                ($level:ident) => {
                    tracing::event!(
                        name: "breaker.transition",
                        target: "bulklink",
                        Level::$level,
                        breaker = &*label,
                        from = from.as_str(),
                        to = to.as_str(),
                        cause,
                        calls = counts.map(|counts| counts.calls),
                        failures = counts.map(|counts| counts.failures),
                        slow = counts.map(|counts| counts.slow),
                        left_out = left_out(),
                        "circuit is {to}",
                    )
                };
            }
            if *to == State::Open { event!(WARN) } else { event!(INFO) }
        });
    }

    #[cfg(not(feature = "tracing"))]
    #[expect(clippy::unused_self, reason = "there is no log")]
    pub(super) fn write(&self, _: &Transition, _: Cause) {}
}
