//! What a process knows of one bulkhead: its calls and permits, above the machine of a process.
//!
//! A call has an *ask*, under the id of which the machine waits. With reuse, a lease can pass
//! to a call that has asked under another id. That ask is *spare* then, and serves a later call.

mod close;
mod link;
mod read;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use super::reply::Reply;
use crate::event::{EventKind, Totals};
use crate::{CallId, Command, Conflict, Declaration, Occupancy, Outage, Owner, Reason, Token};

/// What is decided about a bulkhead beside what all processes declare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// How often a lease may pass to another call that waits.
    pub(crate) reuse: u64,
    /// How long a lease is kept that no call wants.
    pub(crate) idle: Duration,
    pub(crate) outage: Outage,
}

/// The state of one bulkhead in this process.
pub(crate) struct State {
    /// The latest time of a change. Clocks are read before the lock is taken, so a change can bring
    /// an earlier one.
    now: Duration,
    owner: Owner,
    declared: Declaration,
    options: Options,
    /// The connection on which this name listens, and the machine's number for it.
    link: Option<(u64, u64)>,
    is_listening: bool,
    calls: BTreeMap<u64, Call>,
    numbers: u64,
    /// Which call an ask is for.
    asks: BTreeMap<CallId, u64>,
    /// The asks of calls that wait, by cost and then by age.
    waiting: BTreeMap<(u64, u64), CallId>,
    spares: VecDeque<CallId>,
    /// Until when they may be more than the calls that wait.
    surplus_until: Option<Duration>,
    leases: BTreeMap<CallId, Lease>,
    /// Leases that no call has, and until when they are kept.
    idle: VecDeque<(Duration, CallId)>,
    /// Units that were admitted without the store.
    unfenced: u64,
    ends: BTreeSet<(Duration, u64)>,
    asked_directly: VecDeque<(Command, Arc<Reply>)>,
    /// When to listen again, after the store refused something.
    retry_at: Option<Duration>,
    conflict: Option<Conflict>,
    opened: Opened,
    is_connected: bool,
    closing: Option<Closing>,
    occupancy: Occupancy,
    processes: u64,
    totals: Totals,
    /// Of those that await that the store has taken a permit back.
    releases: Vec<(CallId, Waker)>,
    effects: Effects,
}

/// What came of the first attempt to open the bulkhead.
#[derive(Default)]
struct Opened {
    result: Option<Result<(), Option<Conflict>>>,
    wakers: Vec<Waker>,
}

/// The bulkhead is closed in this process.
struct Closing {
    is_told: bool,
    is_over: bool,
    wakers: Vec<Waker>,
}

/// Takes a waker, unless its task has one here.
fn park(wakers: &mut Vec<Waker>, waker: &mut Option<Waker>) {
    wakers.extend(waker.take_if(|waker| !wakers.iter().any(|known| known.will_wake(waker))));
}

/// What has to be done once the lock is released.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) wakers: Vec<Waker>,
    /// Wakers that are dropped, which may run any code.
    pub(crate) displaced: Vec<Waker>,
    pub(crate) events: Vec<EventKind>,
    /// Of callers that will get no answer.
    pub(crate) unanswered: Vec<Arc<Reply>>,
    /// Whether the driver has something to do for this name.
    pub(crate) has_work: bool,
}

struct Call {
    cost: u64,
    waits: bool,
    since: Duration,
    end: Option<Duration>,
    ask: Option<CallId>,
    waker: Option<Waker>,
    outcome: Option<Result<Grant, Refused>>,
}

/// What a call got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// `None` if the store was out of reach, and the policy for outages admitted the call.
    pub(crate) lease: Option<CallId>,
    pub(crate) token: Option<Token>,
    pub(crate) cost: u64,
    pub(crate) waited: Duration,
}

struct Lease {
    /// The token of the first use.
    token: Token,
    uses: u64,
    is_lost: bool,
    wakers: Vec<Waker>,
}

/// Why a call got nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) reason: Reason,
    pub(crate) waited: Duration,
    pub(crate) conflict: Option<Conflict>,
}

impl State {
    pub(crate) fn new(now: Duration, declared: Declaration, options: Options) -> Self {
        let occupancy = Occupancy { waiting_room: declared.queue, ..Occupancy::default() };
        Self {
            now,
            owner: Owner::new(now, declared.clone()),
            declared,
            options,
            link: None,
            is_listening: false,
            calls: BTreeMap::new(),
            numbers: 0,
            asks: BTreeMap::new(),
            waiting: BTreeMap::new(),
            spares: VecDeque::new(),
            surplus_until: None,
            leases: BTreeMap::new(),
            idle: VecDeque::new(),
            unfenced: 0,
            ends: BTreeSet::new(),
            asked_directly: VecDeque::new(),
            retry_at: None,
            conflict: None,
            opened: Opened::default(),
            is_connected: false,
            closing: None,
            occupancy,
            processes: 0,
            totals: Totals::default(),
            releases: vec![],
            effects: Effects::default(),
        }
    }

    /// Returns the time of a change: never before that of another one.
    pub(crate) fn latest(&mut self, now: Duration) -> Duration {
        self.now = self.now.max(now);
        self.now
    }

    /// A call begins. Its result comes from [`poll_call`](Self::poll_call).
    pub(crate) fn ask(&mut self, now: Duration, cost: u64, wait: bool, end: Option<Duration>) -> u64 {
        self.numbers += 1;
        let number = self.numbers;
        self.calls.insert(number, Call { cost, waits: wait, since: now, end, ask: None, waker: None, outcome: None });
        if let Some(end) = end {
            self.ends.insert((end, number));
        }
        if self.closing.is_some() {
            self.reject(now, number, Reason::Closed);
            return number;
        }
        if self.asks.is_empty() && self.take_idle(now, number) {
            return number;
        }
        if self.conflict.is_some() && !self.owner.is_up() {
            self.reject(now, number, Reason::Conflict);
            return number;
        }
        let spare = self.spares.iter().position(|id| id.cost == cost).filter(|_| wait);
        let id = match spare.and_then(|at| self.spares.remove(at)) {
            Some(id) => id,
            None => self.owner.want(now, cost, wait),
        };
        self.bind(number, id);
        self.effects.has_work = true;
        number
    }

    fn bind(&mut self, number: u64, id: CallId) {
        if let Some(call) = self.calls.get_mut(&number) {
            call.ask = Some(id);
            self.asks.insert(id, number);
            if call.waits {
                self.waiting.insert((call.cost, number), id);
            }
        }
    }

    /// The call has no ask any more. Returns the one that it had.
    fn unbind(&mut self, number: u64) -> Option<CallId> {
        let call = self.calls.get_mut(&number)?;
        let id = call.ask.take()?;
        self.asks.remove(&id);
        self.waiting.remove(&(call.cost, number));
        Some(id)
    }

    fn take_idle(&mut self, now: Duration, number: u64) -> bool {
        let Some(cost) = self.calls.get(&number).map(|call| call.cost) else { return false };
        // The driver may be late to give back what is over.
        let fits = |id: CallId| id.cost == cost && self.owner.token(now, id).is_some();
        let Some(at) = self.idle.iter().position(|(until, id)| *until > now && fits(*id)) else { return false };
        let Some((_, id)) = self.idle.remove(at) else { return false };
        self.use_again(now, id, number);
        true
    }

    /// Returns the result of a call once it has one. The call is over then.
    pub(crate) fn poll_call(&mut self, number: u64, waker: &mut Option<Waker>) -> Poll<Result<Grant, Refused>> {
        let Some(call) = self.calls.get_mut(&number) else {
            unreachable!("the future of a call that is over is not polled");
        };
        if let Some(outcome) = call.outcome.take() {
            self.calls.remove(&number);
            return Poll::Ready(outcome);
        }
        std::mem::swap(&mut call.waker, waker);
        Poll::Pending
    }

    /// The future of a call is dropped.
    pub(crate) fn cancel(&mut self, now: Duration, number: u64) {
        let ask = self.unbind(number);
        let Some(call) = self.calls.remove(&number) else { return };
        self.effects.displaced.extend(call.waker);
        if let Some(end) = call.end {
            self.ends.remove(&(end, number));
        }
        match call.outcome {
            // The grant was not collected.
            Some(Ok(grant)) => self.release(now, grant.lease, grant.cost),
            Some(Err(_)) => {}
            None => {
                self.event(EventKind::Cancelled);
                if let Some(id) = ask {
                    self.owner.end(now, id);
                    self.effects.has_work = true;
                }
            }
        }
    }

    /// A permit is given back.
    pub(crate) fn release(&mut self, now: Duration, lease: Option<CallId>, cost: u64) {
        self.event(EventKind::Released);
        let Some(id) = lease else {
            self.unfenced -= cost;
            self.effects.has_work = true;
            return;
        };
        let Some(lease) = self.leases.get(&id) else { return };
        let (uses, is_lost) = (lease.uses, lease.is_lost);
        let is_valid = !is_lost && self.owner.token(now, id).is_some();
        if is_valid && uses <= self.options.reuse {
            if let Some(number) = self.take_oldest(cost) {
                self.use_again(now, id, number);
                return;
            }
        }
        let may_idle = self.options.idle > Duration::ZERO && uses < self.declared.terms.block;
        if is_valid && may_idle && self.closing.is_none() && self.occupancy.waiting == 0 && self.asks.is_empty() {
            self.idle.push_back((now + self.options.idle, id));
        } else {
            self.give_back(now, id);
        }
        self.effects.has_work = true;
    }

    fn give_back(&mut self, now: Duration, id: CallId) {
        if let Some(lease) = self.leases.remove(&id) {
            self.effects.displaced.extend(lease.wakers);
        }
        self.owner.end(now, id);
        self.effects.has_work = true;
    }

    /// Takes the oldest call that waits for this cost. Its ask is spare then.
    fn take_oldest(&mut self, cost: u64) -> Option<u64> {
        let (&(_, number), _) = self.waiting.range((cost, 0)..=(cost, u64::MAX)).next()?;
        let ask = self.unbind(number)?;
        self.spares.push_back(ask);
        Some(number)
    }

    /// Hands a lease that another call has used to this one.
    fn use_again(&mut self, now: Duration, id: CallId, number: u64) {
        let Some(lease) = self.leases.get_mut(&id) else { return };
        let token = Token::from(u64::from(lease.token) + lease.uses);
        lease.uses += 1;
        self.admit(now, number, Some(id), Some(token));
    }

    fn admit(&mut self, now: Duration, number: u64, lease: Option<CallId>, token: Option<Token>) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        let waited = now.saturating_sub(call.since);
        call.outcome = Some(Ok(Grant { lease, token, cost: call.cost, waited }));
        self.effects.wakers.extend(call.waker.take());
        if let Some(end) = call.end {
            self.ends.remove(&(end, number));
        }
        self.event(EventKind::Admitted { waited });
    }

    fn reject(&mut self, now: Duration, number: u64, reason: Reason) {
        self.unbind(number);
        let conflict = self.conflict.filter(|_| reason == Reason::Conflict);
        let Some(call) = self.calls.get_mut(&number) else { return };
        let waited = now.saturating_sub(call.since);
        call.outcome = Some(Err(Refused { reason, waited, conflict }));
        self.effects.wakers.extend(call.waker.take());
        if let Some(end) = call.end {
            self.ends.remove(&(end, number));
        }
        self.event(EventKind::Rejected { reason, waited });
    }

    /// The store cannot be asked: the policy for outages decides.
    fn unavailable(&mut self, now: Duration, number: u64) {
        let Some(call) = self.calls.get(&number) else { return };
        let cost = call.cost;
        let used: u64 = self.leases.keys().map(|id| id.cost).sum::<u64>() + self.unfenced;
        let share = self.occupancy.limit.checked_div(self.processes).map(|share| share.max(1));
        let admits = match (self.options.outage, share) {
            (Outage::Admit, _) => Ok(()),
            (Outage::Share, Some(share)) if used + cost <= share => Ok(()),
            (Outage::Share, Some(_)) => Err(Reason::Saturated),
            (Outage::Reject, _) | (Outage::Share, None) => Err(Reason::Unavailable),
        };
        match admits {
            Ok(()) => {
                self.unbind(number);
                self.unfenced += cost;
                self.admit(now, number, None, None);
            }
            Err(reason) => self.reject(now, number, reason),
        }
    }

    /// A call that has not asked the store is rejected.
    pub(crate) fn reject_locally(&mut self, reason: Reason, waited: Duration) {
        self.event(EventKind::Rejected { reason, waited });
    }

    /// The future of a call that has not asked the store is dropped.
    pub(crate) fn cancel_locally(&mut self) {
        self.event(EventKind::Cancelled);
    }

    fn event(&mut self, kind: EventKind) {
        self.totals.count(kind);
        self.effects.events.push(kind);
    }

    /// A call that does not queue: it reads or changes the data on the store.
    pub(crate) fn ask_directly(&mut self, command: Command, reply: Arc<Reply>) {
        if self.is_over() {
            self.effects.unanswered.push(reply);
            return;
        }
        self.asked_directly.push_back((command, reply));
        self.effects.has_work = true;
    }

    pub(crate) fn poll_direct(&mut self) -> Option<(Command, Arc<Reply>)> {
        self.asked_directly.pop_front()
    }

    /// There is no link. What was asked before the first attempt to make one waits for it.
    pub(crate) fn fail_direct(&mut self) {
        if self.opened.result.is_some() {
            self.effects.unanswered.extend(self.asked_directly.drain(..).map(|(_, reply)| reply));
        }
    }
}
