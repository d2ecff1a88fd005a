//! The spans and events themselves. A subscriber is foreign code: it is called outside all locks,
//! and its panics are contained.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use core::cell::Cell;
use core::fmt;
use core::future::Future;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::task::Context;
use core::time::Duration;
use std::time::Instant as StdInstant;

use bulklink_core::{Instant, Request};
use tracing::field::Empty;
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Level, Span};

pub use super::account::Account;
use crate::acquire::claim::{Claim, SharedRef};
use crate::foreign::{attempt, contain, discard};
use crate::gate::shared::Shared;
use crate::limit::Adaptive;
use crate::time::timer::LazySleep;
use crate::{Rejection, Timer};

/// The target of all spans and events, for filters.
const TARGET: &str = "bulklink";

/// How much of a label is logged, in bytes.
const LONGEST_LABEL: usize = 120;

/// The things of a waiting call beside its ticket: its own timer, if it needs one, and its span, if
/// it has one. They share a box, so that a call is no larger than without the feature.
pub(crate) struct Aside<T>(pub(crate) Option<LazySleep<T, Beside>>);

pub(crate) struct Beside {
    has_timer: bool,
    wait: WaitSpan,
}

impl<T> Aside<T> {
    #[inline]
    pub(crate) fn new(wait: WaitSpan) -> Self {
        if wait.0.is_some() { Aside::of(wait) } else { Aside(None) }
    }

    #[cold]
    fn of(wait: WaitSpan) -> Self {
        Aside(Some(LazySleep::new(Beside { has_timer: false, wait })))
    }

    /// Returns whether the call has made a timer.
    #[inline]
    pub(crate) fn has_timer(&self) -> bool {
        self.0.as_ref().is_some_and(|sleep| sleep.beside().has_timer)
    }
}

impl<T: Future<Output = ()>> Aside<T> {
    /// Polls the timer, and makes it first if there is none, as [`LazySleep::arm`] does.
    pub(crate) fn arm<R: Timer<Sleep = T>>(&mut self, deadline: Instant, runtime: &R, context: &mut Context<'_>) {
        let aside = self.0.get_or_insert_with(|| LazySleep::new(Beside { has_timer: true, wait: WaitSpan::NONE }));
        aside.beside_mut().has_timer = true;
        aside.arm(deadline, runtime, context);
    }
}

#[inline]
pub(crate) fn take_wait<T>(aside: &mut LazySleep<T, Beside>) -> WaitSpan {
    WaitSpan(aside.beside_mut().wait.0.take())
}

/// The wait of a call in the queue, as a span.
pub(crate) struct WaitSpan(Option<Box<Open>>);

struct Open {
    span: Span,
    /// When the wait began; `None` if the clock has panicked.
    since: Option<Instant>,
}

/// A panic of a subscriber never leaves this function.
impl UnwindSafe for Open {}
impl RefUnwindSafe for Open {}

impl WaitSpan {
    pub(crate) const NONE: WaitSpan = WaitSpan(None);

    /// Begins the span of a call that has joined the queue, if a subscriber wants it.
    #[inline]
    pub(crate) fn begin(shared: &Shared, request: &Request) -> Self {
        if may_be_wanted(Level::DEBUG) { WaitSpan::open(shared, request) } else { WaitSpan::NONE }
    }

    #[cold]
    #[inline(never)]
    fn open(shared: &Shared, request: &Request) -> Self {
        let opened = attempt(|| {
            let label = shortened(shared.label());
            let span = tracing::debug_span!(
                target: TARGET,
                "bulkhead.wait",
                bulkhead = &*label,
                cost = request.units(),
                outcome = Empty,
                waited_ms = Empty,
            );
            // On a thread without a subscriber, the span is one of none if others have one.
            let is_wanted = span.with_subscriber(|(_, subscriber)| has_subscriber(subscriber));
            is_wanted.unwrap_or(false).then_some(span)
        });
        let open = |span| Box::new(Open { span, since: attempt(|| shared.now()) });
        WaitSpan(opened.flatten().map(open))
    }

    #[inline]
    pub(crate) fn admitted<S: SharedRef>(self, claim: &Claim<S>) {
        if self.0.is_some() {
            self.end("admitted", Some(claim.waited()));
        }
    }

    #[inline]
    pub(crate) fn rejected(self, rejection: &Rejection) {
        if self.0.is_some() {
            self.end(rejection.reason().as_str(), Some(rejection.waited()));
        }
    }

    #[inline]
    pub(crate) fn cancelled(self, shared: &Shared) {
        if let Some(open) = &self.0 {
            let waited = open.since.and_then(|since| Some(attempt(|| shared.now())?.saturating_since(since)));
            self.end("cancelled", waited);
        }
    }

    #[cold]
    fn end(mut self, outcome: &'static str, waited: Option<Duration>) {
        let Some(open) = self.0.take() else { return };
        contain(|| {
            open.span.record("outcome", outcome);
            if let Some(waited) = waited {
                open.span.record("waited_ms", millis(waited));
            }
        });
        discard(open);
    }
}

impl Drop for WaitSpan {
    /// Ends the span without an outcome. Only a panic of a runtime leaves one to this.
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            discard(open);
        }
    }
}

/// Returns whether any subscriber may want an event of a rejection. Calls no foreign code.
#[inline]
pub fn is_on() -> bool {
    may_be_wanted(Level::WARN)
}

/// Logs a rejection, unless too many of its bulkhead were logged in the last second. Must be called
/// exactly once for a rejection, outside all locks.
#[inline]
pub(crate) fn rejected(shared: Option<&Shared>, rejection: &Rejection) {
    if is_on() {
        log(shared, rejection);
    }
}

#[cold]
#[inline(never)]
fn log(shared: Option<&Shared>, rejection: &Rejection) {
    limited(rejection.logged(), |left_out| {
        let label = shortened(rejection.label());
        let shown = shared.and_then(Shared::key);
        let key = shown.as_ref().map(|key| shortened(&key.text));
        tracing::event!(
            name: "bulkhead.rejected",
            target: TARGET,
            Level::WARN,
            bulkhead = &*label,
            key = key.as_deref(),
            reason = rejection.reason().as_str(),
            cost = rejection.cost(),
            waited_ms = millis(rejection.waited()),
            oldest_wait_ms = shared.and_then(Shared::oldest_wait).map(millis),
            left_out = left_out(),
            state = %State(rejection),
            "bulkhead rejected a call",
        );
    });
}

/// Logs that an adaptive limit has moved, unless too many moves were logged in the last second.
pub(crate) fn limit_moved(shared: &Shared, account: &Account, before: usize, figures: &Adaptive) {
    if may_be_wanted(Level::DEBUG) {
        log_move(shared, account, before, figures);
    }
}

#[cold]
#[inline(never)]
fn log_move(shared: &Shared, account: &Account, before: usize, figures: &Adaptive) {
    limited(account, |left_out| {
        let label = shortened(shared.label());
        let shown = shared.key();
        let key = shown.as_ref().map(|key| shortened(&key.text));
        let Adaptive { state, mode, .. } = figures;
        tracing::event!(
            name: "bulkhead.limit",
            target: TARGET,
            Level::DEBUG,
            bulkhead = &*label,
            key = key.as_deref(),
            before,
            limit = state.limit,
            step = state.step.as_str(),
            mode = mode.as_str(),
            slope = state.slope,
            inflation = state.inflation,
            left_out = left_out(),
            "the adaptive limit moved",
        );
    });
}

/// Logs that an adaptive limit has failed, unless too many failures were logged in the last second.
#[cold]
pub(crate) fn limit_failed(shared: &Shared, account: &Account, figures: &Adaptive) {
    if !may_be_wanted(Level::ERROR) {
        return;
    }
    limited(account, |left_out| {
        let label = shortened(shared.label());
        let shown = shared.key();
        let key = shown.as_ref().map(|key| shortened(&key.text));
        tracing::event!(
            name: "bulkhead.limit_failed",
            target: TARGET,
            Level::ERROR,
            bulkhead = &*label,
            key = key.as_deref(),
            limit = figures.state.limit,
            left_out = left_out(),
            "the adaptive limit panicked or left its bounds, and stays where it is",
        );
    });
}

/// Logs an event, unless too many of its account were logged in the last second. `log` is the event
/// alone, with the number of those that were left out among its values. Must be called outside all
/// locks.
pub fn limited(account: &Account, log: impl FnOnce(&dyn Fn() -> u64)) {
    // Without a subscriber on this thread, or inside of one, the event would be one of none.
    if !attempt(|| tracing::dispatcher::get_default(has_subscriber)).unwrap_or(true) {
        return account.leave_out(1);
    }
    // Real time, whatever the clock of a bulkhead is: it bounds the log.
    let Some(left_out) = account.admit(StdInstant::now()) else { return };
    let is_wanted = Cell::new(false);
    // A subscriber is only asked whether it wants an event that follows immediately: filters of
    // single layers keep their answer for the next event, whichever it is.
    let is_sound = contain(|| {
        log(&|| {
            // Values are only asked for if the event is wanted.
            is_wanted.set(true);
            left_out
        });
    });
    if !is_sound {
        // The subscriber panicked, so neither this event nor those before it are in the log.
        account.leave_out(left_out.saturating_add(1));
    } else if !is_wanted.get() {
        account.give_back(left_out);
    }
}

fn has_subscriber(dispatch: &Dispatch) -> bool {
    !dispatch.is::<NoSubscriber>()
}

/// Returns whether any subscriber may want spans or events of this level: a load and a comparison.
#[inline]
fn may_be_wanted(level: Level) -> bool {
    level <= STATIC_MAX_LEVEL && level <= LevelFilter::current()
}

/// Divides once, so that 8.715721 ms is not written as 8.715720999999998.
#[expect(clippy::cast_precision_loss, reason = "exact up to a hundred days")]
fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// Cuts a long label off, so that no label makes a log much longer.
#[must_use]
pub fn shortened(label: &str) -> Cow<'_, str> {
    if label.len() <= LONGEST_LABEL {
        return Cow::Borrowed(label);
    }
    let end = (0..=LONGEST_LABEL).rev().find(|&end| label.is_char_boundary(end)).unwrap_or(0);
    Cow::Owned([&label[..end], "…"].concat())
}

/// Displays the text of a rejection after the name of the bulkhead: its reason and the occupancy.
struct State<'a>(&'a Rejection);

impl fmt::Display for State<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.explain(f)
    }
}
