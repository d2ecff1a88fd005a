//! A breaker with a shared circuit: its replica under a lock, and the calls that wait for it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

use bulklink::plumbing::contain;
use bulklink::runtime::Instant;
use bulklink_breaker::plumbing::{self, Access, Asking, Peer, Settled, WeakBreaker};
use bulklink_breaker::{Breaker, Circuit, Mark, Pass, Refusal, Settings};
use futures_channel::oneshot;

use super::replica::{Answer, AskId, Replica, Verdicts, Work};
use super::signal::{Keep, Left};
use crate::{Name, StoreError};

/// The state that a breaker and the task share. The breaker's lock is taken before this one's.
pub(super) struct Member {
    /// The number of the breaker.
    id: u64,
    name: Name,
    settings: Settings,
    /// Keeps the task.
    keep: Arc<Keep>,
    state: Mutex<State>,
}

struct State {
    replica: Replica,
    /// Where calls wait for a probe.
    asks: BTreeMap<AskId, Sender>,
}

type Sender = oneshot::Sender<Result<Granted, Refusal>>;

/// A breaker in the task, as long as that works on it.
pub(super) struct Seat {
    pub(super) breaker: Breaker,
    member: Arc<Member>,
}

/// A breaker in the task, which does not keep it.
pub(super) struct WeakSeat {
    pub(super) name: Name,
    pub(super) breaker: WeakBreaker,
    pub(super) member: Weak<Member>,
}

/// A probe that the call which has asked for it has not taken yet. If it never does, no operation
/// has run: the probe counts for neither side, even where cancelled calls count.
struct Granted {
    member: Arc<Member>,
    pass: Option<Pass>,
}

impl Drop for Granted {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            self.member.lock().replica.settle_probe(pass, None);
            self.member.notify();
        }
    }
}

/// A call that waits for a probe.
struct Waiting {
    member: Arc<Member>,
    id: AskId,
    receiver: oneshot::Receiver<Result<Granted, Refusal>>,
    is_sent: bool,
}

impl Future for Waiting {
    type Output = Option<Result<Pass, Refusal>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !std::mem::replace(&mut self.is_sent, true) {
            self.member.notify();
        }
        let answer = std::task::ready!(Pin::new(&mut self.receiver).poll(context));
        // Without an answer the store is out of reach.
        Poll::Ready(answer.ok().and_then(|answer| answer.map(|mut granted| granted.pass.take()).transpose()))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.member.lock();
        state.replica.cancel(self.id);
        let sender = state.asks.remove(&self.id);
        drop(state);
        // Not under the lock: it may have a waker.
        drop(sender);
    }
}

impl Member {
    pub(super) fn new(id: u64, name: Name, replica: Replica, settings: Settings, keep: Arc<Keep>) -> Self {
        let state = Mutex::new(State { replica, asks: BTreeMap::new() });
        Member { id, name, settings, keep, state }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peer for Member {
    fn is_connected(&self) -> bool {
        self.lock().replica.is_connected()
    }

    fn access(&self, circuit: &Circuit, now: Instant) -> Access {
        self.lock().replica.access(circuit, now)
    }

    fn ask(self: Arc<Self>) -> Asking {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        let id = state.replica.ask();
        state.asks.insert(id, sender);
        drop(state);
        Box::pin(Waiting { member: self, id, receiver, is_sent: false })
    }

    fn settle(&self, circuit: &mut Circuit, now: Instant, pass: Pass, outcome: Option<Mark>) -> Settled {
        self.lock().replica.settle(circuit, now, pass, outcome)
    }

    fn force(&self, is_open: bool) {
        self.lock().replica.force(is_open);
    }

    fn notify(&self) {
        self.keep.0.signal.notify_of(self.id);
    }
}

impl Drop for Member {
    /// The task keeps no breaker while it waits, so the last outcomes outlive this one.
    fn drop(&mut self) {
        let work = self.lock().replica.end();
        if !work.is_empty() {
            self.keep.0.leave(Left { name: self.name.clone(), settings: self.settings, work });
        }
    }
}

impl WeakSeat {
    pub(super) fn is_alive(&self) -> bool {
        self.member.strong_count() > 0
    }

    /// Returns the breaker, if it still exists.
    pub(super) fn upgrade(&self) -> Option<Seat> {
        Some(Seat { breaker: self.breaker.upgrade()?, member: self.member.upgrade()? })
    }
}

impl Seat {
    pub(super) fn name(&self) -> &Name {
        &self.member.name
    }

    /// Returns the next command, if one is due.
    pub(super) fn next_work(&self) -> Option<Work> {
        self.change(|replica, circuit, now| replica.next_work(circuit, now))
    }

    /// Returns after what time a command is due that is not now.
    pub(super) fn next_due(&self) -> Option<std::time::Duration> {
        let now = plumbing::now(&self.breaker);
        self.member.lock().replica.next_due().map(|at| at.saturating_since(now))
    }

    /// The command has ended.
    pub(super) fn answered(&self, result: Result<Answer, StoreError>) {
        let verdicts = self.change(|replica, circuit, now| replica.answered(circuit, now, result));
        self.answer(verdicts);
    }

    /// Adopts the row of a notice.
    pub(super) fn notice(&self, row: &super::Row) {
        self.change(|replica, circuit, now| replica.notice(circuit, now, row));
    }

    /// The store is out of reach.
    pub(super) fn lose(&self, error: &StoreError) {
        let now = plumbing::now(&self.breaker);
        let verdicts = self.member.lock().replica.lose(now, error);
        self.answer(verdicts);
    }

    /// A new connection.
    pub(super) fn retry(&self) {
        self.member.lock().replica.retry();
    }

    pub(super) fn sharing(&self) -> super::Sharing {
        let now = plumbing::now(&self.breaker);
        self.member.lock().replica.sharing(now)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Replica, &mut Circuit, Instant) -> T) -> T {
        plumbing::change(&self.breaker, |circuit, now| change(&mut self.member.lock().replica, circuit, now))
    }

    /// Answers calls, under no lock: they may do anything.
    fn answer(&self, verdicts: Verdicts) {
        for (id, verdict) in verdicts {
            let Some(sender) = self.member.lock().asks.remove(&id) else { continue };
            contain(|| {
                let Some(verdict) = verdict else { return drop(sender) };
                let granted = |pass| Granted { member: Arc::clone(&self.member), pass: Some(pass) };
                // Given back if nothing waits for it any more.
                let _ = sender.send(verdict.map(granted));
            });
        }
    }
}
