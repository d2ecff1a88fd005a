//! The one task of a process that synchronizes its circuits with a store.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;

use bulklink::runtime::Runtime;

use super::Options;
use super::remote::Work;
use super::signal::{Keep, Left, Signal};
use crate::Instant;
use crate::breaker::Core;
use crate::guard::limited;
use crate::store::{Changes, CircuitStore, Forced, Name, Namespace, Report, StoreError};

/// The breakers by their numbers.
type Members = BTreeMap<u64, (Name, Weak<Core>)>;

/// What the task and the handle share.
pub(super) struct Hub<S> {
    pub(super) store: S,
    pub(super) namespace: Namespace,
    pub(super) options: Options,
    pub(super) signal: Arc<Signal>,
    pub(super) next_id: AtomicU64,
    pub(super) members: Mutex<Members>,
}

/// When breakers have work again: each has one time.
#[derive(Default)]
struct Timers {
    queue: BTreeSet<(Instant, u64)>,
    times: BTreeMap<u64, Instant>,
}

impl Timers {
    fn set(&mut self, id: u64, at: Option<Instant>) {
        let old = if let Some(at) = at { self.times.insert(id, at) } else { self.times.remove(&id) };
        if let Some(old) = old {
            self.queue.remove(&(old, id));
        }
        self.queue.extend(at.map(|at| (at, id)));
    }

    fn next(&self) -> Option<Instant> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Moves the breakers that are due.
    fn take_due(&mut self, now: Instant, due: &mut BTreeSet<u64>) {
        while let Some((_, id)) = self.queue.first().copied().filter(|(at, _)| *at <= now) {
            self.set(id, None);
            due.insert(id);
        }
    }
}

/// Held by the task. When it is dropped, nothing synchronizes any more: no call must wait for that.
struct Driving<S: CircuitStore>(Arc<Hub<S>>);

impl<S: CircuitStore> Drop for Driving<S> {
    fn drop(&mut self) {
        for (_, core) in self.0.members() {
            core.lose(&StoreError::Unreachable);
        }
    }
}

impl<S: CircuitStore> Hub<S> {
    /// Runs until nothing needs the task any more.
    pub(super) async fn run<R: Runtime<Sleep: Send>>(self: Arc<Self>, runtime: R, keep: Weak<Keep>) {
        let driving = Driving(Arc::clone(&self));
        let task = pin!(self.drive(runtime, keep));
        // Dropped before the task, whose answers find the circuits without a store then.
        let _driving = driving;
        task.await;
    }

    /// Returns the breakers that still exist.
    fn members(&self) -> Vec<(u64, Arc<Core>)> {
        let mut members = self.lock();
        members.retain(|_, (_, core)| core.strong_count() > 0);
        members.iter().filter_map(|(id, (_, core))| Some((*id, core.upgrade()?))).collect()
    }

    /// Returns a breaker, if it still exists.
    fn member(&self, id: u64) -> Option<(Name, Arc<Core>)> {
        let mut members = self.lock();
        let member = members.get(&id).and_then(|(name, core)| Some((name.clone(), core.upgrade()?)));
        if member.is_none() {
            members.remove(&id);
        }
        member
    }

    /// Returns the breakers of a name. There may be several.
    fn named(&self, name: &Name) -> Vec<(u64, Arc<Core>)> {
        let members = self.lock();
        let named = members.iter().filter(|(_, (other, _))| other == name);
        named.filter_map(|(id, (_, core))| Some((*id, core.upgrade()?))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects again and again, until nothing needs the task any more.
    async fn drive<R: Runtime<Sleep: Send>>(self: Arc<Self>, runtime: R, keep: Weak<Keep>) {
        while keep.strong_count() > 0 {
            let Err(error) = self.serve(&runtime, &keep).await else { return };
            for (_, core) in self.members() {
                core.lose(&error);
            }
            let until = runtime.now() + self.options.retry;
            let mut sleep = pin!(runtime.sleep_until(until));
            poll_fn(|context| {
                // Only the end of all handles is worth less than the pause.
                let is_over = self.signal.poll(context).is_ready() && keep.strong_count() == 0;
                if is_over { Poll::Ready(()) } else { sleep.as_mut().poll(context) }
            })
            .await;
        }
    }

    /// Serves one connection. Returns `Ok` when nothing needs the task any more.
    async fn serve<R: Runtime<Sleep: Send>>(&self, runtime: &R, keep: &Weak<Keep>) -> Result<(), StoreError> {
        let mut changes = self.within(runtime, self.store.changes(&self.namespace)).await?;
        let mut ready = BTreeSet::new();
        for (id, core) in self.members() {
            core.retry();
            ready.insert(id);
        }
        let Options { flush, refresh, .. } = self.options;
        let mut timers = Timers::default();
        // The circuit whose command had no answer, if none had one since.
        let mut silent = None;
        loop {
            // Looked at first: what a breaker has left is there before it lets go of the task.
            let is_over = keep.strong_count() == 0;
            for left in self.signal.take_left() {
                self.deliver(runtime, left).await?;
            }
            if is_over {
                return Ok(());
            }
            ready.append(&mut self.signal.take_ready());
            timers.take_due(runtime.now(), &mut ready);
            while let Some(id) = ready.pop_first() {
                let Some((name, core)) = self.member(id) else { continue };
                while let Some(work) = core.next_work(runtime.now(), flush, refresh) {
                    match self.perform(runtime, &name, &core, work).await {
                        // Perhaps the row is locked, and the others are not.
                        Err(error @ StoreError::TimedOut) if !self.is_silent(silent, id) => {
                            silent = Some(id);
                            core.lose(&error);
                        }
                        other => {
                            other?;
                            silent = None;
                        }
                    }
                }
                timers.set(id, core.next_due(flush, refresh));
            }
            // No name holds a breaker here, so that the last handle can end the task.
            let mut next = pin!(changes.next());
            let mut sleep = pin!(runtime.sleep_until(timers.next().unwrap_or(Instant::FAR_FUTURE)));
            let change = poll_fn(|context| {
                if let Poll::Ready(change) = next.as_mut().poll(context) {
                    return Poll::Ready(Some(change));
                }
                if self.signal.poll(context).is_ready() || sleep.as_mut().poll(context).is_ready() {
                    return Poll::Ready(None);
                }
                Poll::Pending
            });
            if let Some(change) = change.await {
                let change = change?;
                for (id, core) in self.named(&change.name) {
                    core.notice(&change.row);
                    // It may have something to tell for that.
                    ready.insert(id);
                }
            }
        }
    }

    /// Whether the store answers nothing at all: two circuits had no answer, or there is only one.
    fn is_silent(&self, silent: Option<u64>, id: u64) -> bool {
        silent.is_some_and(|other| other != id) || self.lock().len() == 1
    }

    /// Sends what a breaker that was dropped had yet to tell.
    async fn deliver<R: Runtime<Sleep: Send>>(&self, runtime: &R, left: Left) -> Result<(), StoreError> {
        if let Some(force) = left.forced {
            match self.within(runtime, self.store.force(&left.name, None, force)).await {
                Err(error @ (StoreError::Unreachable | StoreError::TimedOut)) => return Err(error),
                _refused_or_done => {}
            }
        }
        for report in left.reports {
            match self.within(runtime, self.store.report(&left.name, &left.settings, &report)).await {
                Err(error @ (StoreError::Unreachable | StoreError::TimedOut)) => return Err(error),
                _refused_or_done => {}
            }
        }
        Ok(())
    }

    /// Sends one command. A refusal only puts off the circuit; another error may end the
    /// connection.
    async fn perform<R: Runtime<Sleep: Send>>(
        &self,
        runtime: &R,
        name: &Name,
        core: &Arc<Core>,
        work: Work,
    ) -> Result<(), StoreError> {
        let settings = &core.config.settings;
        let failed = match work {
            Work::Load => match self.within(runtime, self.store.load(name, settings)).await {
                Ok(row) => {
                    core.adopt(&row);
                    return Ok(());
                }
                Err(error) => error,
            },
            Work::Force(force) => match self.within(runtime, self.store.force(name, None, force)).await {
                Ok(Forced::Done(row) | Forced::Stale(row)) => {
                    core.forced(&row);
                    return Ok(());
                }
                Err(error) => {
                    core.force_again(force);
                    error
                }
            },
            Work::Ask(id, answer) => match self.within(runtime, self.store.admit_probe(name, settings, id)).await {
                Ok(asked) => {
                    core.adopt(&asked.row);
                    core.answer(answer, asked.admission);
                    return Ok(());
                }
                Err(error) => {
                    core.asked();
                    // Before the answer is dropped: that wakes a call, which looks at the circuit.
                    core.lose(&error);
                    drop(answer);
                    error
                }
            },
            Work::Report(report) => match self.within(runtime, self.store.report(name, settings, &report)).await {
                Ok(reported) => {
                    core.adopt(&reported.row);
                    return Ok(());
                }
                Err(error) => {
                    if matches!(report, Report::Probe { .. }) {
                        core.tell_again(report);
                    }
                    error
                }
            },
        };
        if matches!(failed, StoreError::Unreachable | StoreError::TimedOut) {
            return Err(failed);
        }
        core.lose(&failed);
        Ok(())
    }

    /// Waits for an answer of the store, but not for longer than it may take.
    async fn within<R: Runtime<Sleep: Send>, T>(
        &self,
        runtime: &R,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = pin!(answer);
        let answered = limited(runtime, Some(self.options.store_timeout), answer).await;
        answered.unwrap_or(Err(StoreError::TimedOut))
    }
}
