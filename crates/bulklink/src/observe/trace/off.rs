//! Nothing, in the place of spans and events.
#![expect(clippy::unused_self, reason = "the methods are those of `on.rs`")]

use core::future::Future;
use core::task::Context;

use bulklink_core::{Instant, Request};

use crate::acquire::claim::{Claim, SharedRef};
use crate::gate::shared::Shared;
use crate::limit::Adaptive;
use crate::time::timer::LazySleep;
use crate::{Rejection, Timer};

#[derive(Clone, Debug)]
pub(crate) struct Account;

impl Account {
    #[inline]
    pub(crate) const fn new() -> Self {
        Account
    }
}

pub(crate) struct WaitSpan;

/// The things of a waiting call beside its ticket: its own timer, if it needs one.
pub(crate) struct Aside<T>(pub(crate) Option<LazySleep<T>>);

impl<T> Aside<T> {
    #[inline]
    pub(crate) fn new(_wait: WaitSpan) -> Self {
        Aside(None)
    }

    /// Returns whether the call has made a timer.
    #[inline]
    pub(crate) fn has_timer(&self) -> bool {
        self.0.is_some()
    }
}

impl<T: Future<Output = ()>> Aside<T> {
    /// Polls the timer, and makes it first if there is none, as [`LazySleep::arm`] does.
    pub(crate) fn arm<R: Timer<Sleep = T>>(&mut self, deadline: Instant, runtime: &R, context: &mut Context<'_>) {
        self.0.get_or_insert_with(|| LazySleep::new(())).arm(deadline, runtime, context);
    }
}

#[inline]
pub(crate) fn take_wait<T>(_aside: &mut LazySleep<T>) -> WaitSpan {
    WaitSpan
}

impl WaitSpan {
    pub(crate) const NONE: WaitSpan = WaitSpan;

    #[inline]
    pub(crate) fn begin(_shared: &Shared, _request: &Request) -> Self {
        WaitSpan
    }

    #[inline]
    pub(crate) fn admitted<S: SharedRef>(self, _claim: &Claim<S>) {}

    #[inline]
    pub(crate) fn rejected(self, _rejection: &Rejection) {}

    #[inline]
    pub(crate) fn cancelled(self, _shared: &Shared) {}
}

#[inline]
pub(crate) const fn is_on() -> bool {
    false
}

#[inline]
pub(crate) fn rejected(_shared: Option<&Shared>, _rejection: &Rejection) {}

#[inline]
pub(crate) fn limit_moved(_shared: &Shared, _logged: &Account, _before: usize, _figures: &Adaptive) {}

#[inline]
pub(crate) fn limit_failed(_shared: &Shared, _logged: &Account, _figures: &Adaptive) {}
