//! The one task of a process that synchronizes its circuits with a store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;

use bulklink::runtime::{Instant, Runtime};
use bulklink_breaker::{ProbeId, Settings};
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::member::{Seat, WeakSeat};
use super::replica::{Answer, Work};
use super::signal::{Keep, Left, Needs};
use super::{Changes, CircuitStore, Operation, Options};
use crate::pause::Pauses;
use crate::timers::Timers;
use crate::trouble::Trouble;
use crate::{Name, Namespace, StoreError, StoreErrorKind};

/// The breakers by their numbers.
type Members = BTreeMap<u64, WeakSeat>;

/// The most commands that are under way, each of another breaker.
const MOST_COMMANDS: usize = 16;

/// Stands for all breakers that were dropped: no other has this number.
const DROPPED: u64 = u64::MAX;

/// The commands that are under way.
type Commands<'a> = FuturesUnordered<BoxFuture<'a, Done>>;

/// A command that has ended.
struct Done {
    /// The breaker of the command. `None` if it was dropped before.
    id: Option<u64>,
    /// How many answers had come when it was sent.
    sent_after: u64,
    result: Result<(), StoreError>,
}

/// The state of one connection.
#[derive(Default)]
struct Connection {
    /// The breakers that may have work.
    ready: BTreeSet<u64>,
    timers: Timers,
    /// What breakers that were dropped had yet to send.
    left: VecDeque<Left>,
    /// How many answers have come.
    answers: u64,
    /// The breaker with a command without an answer, if none has come since.
    silent: Option<u64>,
}

/// The state that the task and the handle share.
pub(super) struct Hub<S> {
    pub(super) store: S,
    pub(super) namespace: Namespace,
    pub(super) options: Options,
    pub(super) needs: Arc<Needs>,
    pub(super) members: Mutex<Members>,
}

/// Held by a command. Without its task it has no answer, and calls may wait for that.
struct Abandon<'a>(&'a Seat);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.0.answered(Err(StoreError::UNREACHABLE));
    }
}

/// Held by the task. When it is dropped, nothing synchronizes any more: no call must wait for that.
struct Driving<S: CircuitStore>(Arc<Hub<S>>);

impl<S: CircuitStore> Drop for Driving<S> {
    fn drop(&mut self) {
        self.0.lose_all(&StoreError::UNREACHABLE);
    }
}

impl<S: CircuitStore> Hub<S> {
    /// Runs until nothing needs the task any more.
    pub(super) async fn run<R: Runtime<Sleep: Send>>(self: Arc<Self>, runtime: R, keep: Weak<Keep>, trouble: Trouble) {
        let driving = Driving(Arc::clone(&self));
        let task = pin!(self.drive(runtime, keep, trouble));
        // Dropped before the task, so its answers find the circuits without a store.
        let _driving = driving;
        task.await;
    }

    /// Returns the breakers that still exist.
    fn seats(&self) -> Vec<(u64, Seat)> {
        let mut members = self.lock();
        members.retain(|_, member| member.is_alive());
        members.iter().filter_map(|(id, member)| Some((*id, member.upgrade()?))).collect()
    }

    /// Returns a breaker, if it still exists.
    pub(super) fn seat(&self, id: u64) -> Option<Seat> {
        let mut members = self.lock();
        let seat = members.get(&id).and_then(WeakSeat::upgrade);
        if seat.is_none() {
            members.remove(&id);
        }
        seat
    }

    /// Returns the breakers of a name. There may be several.
    fn named(&self, name: &Name) -> Vec<(u64, Seat)> {
        let members = self.lock();
        let named = members.iter().filter(|(_, member)| member.name == *name);
        named.filter_map(|(id, member)| Some((*id, member.upgrade()?))).collect()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects again and again, until nothing needs the task any more.
    async fn drive<R: Runtime<Sleep: Send>>(self: Arc<Self>, runtime: R, keep: Weak<Keep>, mut trouble: Trouble) {
        // The breaker after the last one that had its turn. The next connection goes on there: the
        // first ones may be those that get no answer.
        let mut turn = 0;
        let mut pauses = Pauses::up_to(self.options.retry);
        while keep.strong_count() > 0 {
            let mut commands = Commands::new();
            let served = self.serve(&runtime, &keep, &mut commands, (&mut turn, &mut pauses, &mut trouble)).await;
            let Err(error) = served else { return };
            trouble.lost(&error, runtime.now());
            self.lose_all(&error);
            // Not dropped: each gives back its outcomes.
            while commands.next().await.is_some() {}
            // Some may have had an answer.
            self.lose_all(&error);
            let until = runtime.now() + pauses.next();
            let mut sleep = pin!(runtime.sleep_until(until));
            poll_fn(|context| {
                // Only the end of all handles ends the pause, also if it was before.
                let _woken = self.needs.signal.poll(context);
                if keep.strong_count() == 0 { Poll::Ready(()) } else { sleep.as_mut().poll(context) }
            })
            .await;
        }
    }

    fn lose_all(&self, error: &StoreError) {
        for (_, seat) in self.seats() {
            seat.lose(error);
        }
    }

    /// Serves one connection. Returns `Ok` when nothing needs the task any more.
    async fn serve<'a, R: Runtime<Sleep: Send>>(
        &'a self,
        runtime: &'a R,
        keep: &Weak<Keep>,
        commands: &mut Commands<'a>,
        (turn, pauses, trouble): (&mut u64, &mut Pauses, &mut Trouble),
    ) -> Result<(), StoreError> {
        let mut changes = self.within(runtime, self.store.changes(&self.namespace)).await?;
        let mut state = Connection::default();
        for (id, seat) in self.seats() {
            seat.retry();
            state.ready.insert(id);
        }
        loop {
            // Looked at first: a breaker leaves its outcomes before it lets go of the task.
            let is_over = keep.strong_count() == 0;
            state.left.extend(self.needs.take_left());
            if is_over && state.left.is_empty() && commands.is_empty() {
                return Ok(());
            }
            state.ready.append(&mut self.needs.signal.take_ready());
            state.timers.take_due(runtime.now(), &mut state.ready);
            self.send(runtime, &mut state, commands, turn);
            // No name holds a breaker here, so that the last handle can end the task.
            let mut next = pin!(changes.next());
            let mut sleep = pin!(runtime.sleep_until(state.timers.next().unwrap_or(Instant::FAR_FUTURE)));
            let (done, change) = poll_fn(|context| {
                let mut done = vec![];
                while let Poll::Ready(Some(ended)) = commands.poll_next_unpin(context) {
                    done.push(ended);
                }
                let change = match next.as_mut().poll(context) {
                    Poll::Ready(change) => Some(change),
                    Poll::Pending => None,
                };
                // Both are polled, as each leaves a waker.
                let is_woken =
                    [self.needs.signal.poll(context), sleep.as_mut().poll(context)].iter().any(Poll::is_ready);
                if is_woken || change.is_some() || !done.is_empty() {
                    return Poll::Ready((done, change));
                }
                Poll::Pending
            })
            .await;
            for done in done {
                self.end(&mut state, trouble, done, runtime.now())?;
            }
            if state.answers > 0 {
                pauses.reset();
            }
            if let Some(change) = change {
                let change = change?;
                for (id, seat) in self.named(&change.name) {
                    seat.notice(&change.row);
                    // It may have something to send for that.
                    state.ready.insert(id);
                }
            }
        }
    }

    /// Begins commands, one for a breaker at most, so that those of one keep their order.
    fn send<'a, R: Runtime<Sleep: Send>>(
        &'a self,
        runtime: &'a R,
        state: &mut Connection,
        commands: &mut Commands<'a>,
        turn: &mut u64,
    ) {
        // The first one connects for all.
        let most = if state.answers == 0 { 1 } else { MOST_COMMANDS };
        let sent_after = state.answers;
        while commands.len() < most {
            if let Some(left) = state.left.pop_front() {
                commands.push(Box::pin(async move {
                    Done { id: None, sent_after, result: self.deliver(runtime, left).await }
                }));
                continue;
            }
            // In turn, or those with much work would leave none to the others.
            let Some(id) = state.ready.range(*turn..).next().or_else(|| state.ready.first()).copied() else { return };
            state.ready.remove(&id);
            *turn = id + 1;
            let Some(seat) = self.seat(id) else { continue };
            // None while a command is under way: the breaker is looked at when that has ended.
            let Some(work) = seat.next_work() else {
                state.timers.set(id, seat.next_due().map(|after| runtime.now() + after));
                continue;
            };
            commands.push(Box::pin(async move {
                Done { id: Some(id), sent_after, result: self.perform(runtime, &seat, work).await }
            }));
        }
    }

    /// Takes note of a command that has ended. Returns the error that ends the connection.
    fn end(&self, state: &mut Connection, trouble: &mut Trouble, done: Done, now: Instant) -> Result<(), StoreError> {
        trouble.retain(|id| self.seat(id).is_some());
        // A refusal only puts off its circuit.
        let (result, refusal) = match done.result {
            Err(error) if !ends(&error) => (Ok(()), Some(error)),
            result => (result, None),
        };
        if result.is_ok() {
            trouble.note(done.id.unwrap_or(DROPPED), refusal.filter(|_| done.id.is_some()), now);
        }
        match (result, done.id) {
            (Ok(()), _) => (state.answers, state.silent) = (state.answers + 1, None),
            // Perhaps the row is locked, and the others are not.
            (Err(error), _) if error.kind() != StoreErrorKind::TimedOut => return Err(error),
            (Err(_), _) if done.sent_after != state.answers => {}
            (Err(_), None) if state.silent.is_none() => state.silent = Some(DROPPED),
            (Err(_), Some(id)) if !self.is_silent(state.silent, id) => state.silent = Some(id),
            (Err(error), _) => return Err(error),
        }
        state.ready.extend(done.id);
        Ok(())
    }

    /// Whether the store answers nothing at all: two circuits had no answer, or there is only one.
    fn is_silent(&self, silent: Option<u64>, id: u64) -> bool {
        silent.is_some_and(|other| other != id) || self.lock().len() == 1
    }

    /// Sends the last commands of a breaker that was dropped.
    async fn deliver<R: Runtime<Sleep: Send>>(&self, runtime: &R, left: Left) -> Result<(), StoreError> {
        for work in left.work {
            match self.carry(runtime, &left.name, &left.settings, work).await {
                Err(error) if ends(&error) => return Err(error),
                _refused_or_done => {}
            }
        }
        Ok(())
    }

    /// Sends one command of a breaker.
    async fn perform<R: Runtime<Sleep: Send>>(&self, runtime: &R, seat: &Seat, work: Work) -> Result<(), StoreError> {
        let _abandon = Abandon(seat);
        let result = self.carry(runtime, seat.name(), &seat.breaker.settings(), work).await;
        let ended = result.as_ref().map(drop).map_err(Clone::clone);
        seat.answered(result);
        ended
    }

    async fn carry<R: Runtime<Sleep: Send>>(
        &self,
        runtime: &R,
        name: &Name,
        settings: &Settings,
        work: Work,
    ) -> Result<Answer, StoreError> {
        let mut probe = None;
        let operation = match work {
            Work::Load => Operation::Load,
            Work::Force(force) => Operation::Force(force, None),
            Work::Report(report) => Operation::Report(report),
            Work::Ask(_) => {
                // No other process chooses this one, one forked from it neither.
                let id =
                    getrandom::u64().map_err(|error| StoreError::refused("RANDOM").with_source(Arc::new(error)))?;
                Operation::Admit(*probe.insert(ProbeId(id)))
            }
        };
        // A change by hand leaves the settings of the last operation.
        let settings = (!matches!(operation, Operation::Force(..))).then_some(settings);
        let reply = self.within(runtime, self.store.operate(name, settings, &operation)).await?;
        let asked = probe.map(|id| reply.asked(id)).transpose()?;
        Ok(Answer { row: reply.row, admission: asked.map(|asked| asked.admission) })
    }

    /// Waits for an answer of the store, but not for longer than it may take.
    async fn within<R: Runtime<Sleep: Send>, T>(
        &self,
        runtime: &R,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let sleep = runtime.sleep_until(runtime.now() + self.options.store_timeout);
        match select(pin!(answer), pin!(sleep)).await {
            Either::Left((answered, _)) => answered,
            Either::Right(_) => Err(StoreError::TIMED_OUT),
        }
    }
}

/// Whether an error may end the connection.
fn ends(error: &StoreError) -> bool {
    use StoreErrorKind::{TimedOut, Tls, Unreachable};
    matches!(error.kind(), TimedOut | Tls | Unreachable)
}
