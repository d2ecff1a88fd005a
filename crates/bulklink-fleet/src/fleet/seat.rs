//! One share of this process: the ceiling of its bulkhead, and the machines that decide on it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bulklink::plumbing::{discard, wake};
use bulklink::runtime::Instant;
use bulklink::{Ceiling, Handle, Load};

use super::ask::Ask;
use super::config::Configured;
use super::state::{Contact, News, Shown, Standing, State};
use super::{FencingToken, JoinError, ResizeError, ShareStatus, ceiling};
use crate::share::{Decision, Demand, LimitRefusal, Notice, Policy, Refusal, Reply, Share, Statement};
use crate::signal::Signal;
use crate::trouble;
use crate::{Link, Name, RunId, Server, StoreError, Token, Version};

/// A share, and its surroundings.
pub(super) struct Seat {
    pub(super) number: u64,
    pub(super) name: Name,
    ceiling: Ceiling,
    /// Woken by the bulkhead.
    waker: Waker,
    pub(super) signal: Arc<Signal>,
    state: Mutex<State>,
}

/// The work of the task after a look.
pub(super) struct Looked {
    pub(super) statement: Option<Statement>,
    pub(super) next: Option<Instant>,
    /// It has nothing and needs nothing, so no notice can come for it.
    pub(super) is_idle: bool,
    /// The same, for so long that it need not listen any more.
    pub(super) may_rest: bool,
    /// Nothing is left to do for it.
    pub(super) is_over: bool,
}

/// Wakes the task for one share.
struct Knock {
    signal: Arc<Signal>,
    number: u64,
}

impl Wake for Knock {
    fn wake(self: Arc<Self>) {
        self.signal.notify_of(self.number);
    }
}

/// A process that has left admits no call any more, although nothing of its share is left.
impl Drop for Seat {
    fn drop(&mut self) {
        if !self.lock().is_given_up {
            self.ceiling.set_fetch(Duration::ZERO);
            self.ceiling.keep();
        }
    }
}

impl Seat {
    pub(super) fn new(
        number: u64,
        name: Name,
        ceiling: Ceiling,
        configured: &Configured,
        (share, policy): (Share, Policy),
        away: Option<StoreError>,
        signal: Arc<Signal>,
    ) -> Arc<Self> {
        // Nothing is granted yet.
        ceiling.set(0);
        let waker = Waker::from(Arc::new(Knock { signal: Arc::clone(&signal), number }));
        let state = Mutex::new(State {
            share,
            policy,
            configured: *configured,
            declined: None,
            seen: Load::default(),
            contact: if away.is_some() { Contact::None } else { Contact::Resting },
            error: away.clone(),
            failing: None,
            standing: Standing::Joining(away),
            is_leaving: false,
            run: None,
            idle_since: None,
            is_given_up: false,
            in_use: 0,
            has_lapsed: false,
            lost: 0,
            wakers: vec![],
            asks: VecDeque::new(),
            causes: 0,
            shown: Shown { name: ceiling::UNAVAILABLE, causes: u64::MAX, fetch: Duration::ZERO, turns_away: false },
            recovers: Instant::EPOCH,
            tokens: (Token::default(), 0),
        });
        let seat = Arc::new(Self { number, name, ceiling, waker, signal, state });
        // Calls can fetch from the first one on, unless the store is known to be out of reach.
        seat.show(Instant::EPOCH);
        seat
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes those that wait for it, if that is news.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> (T, bool)) -> T {
        let (value, wakers) = {
            let mut state = self.lock();
            let (value, is_news) = change(&mut state);
            (value, if is_news { mem::take(&mut state.wakers) } else { vec![] })
        };
        wake(wakers);
        value
    }

    /// Sets the ceiling as the policy decides, and returns a statement if it wants one and
    /// there is a connection.
    ///
    /// Only the task looks. So the ceiling is never above the usable units: a message that comes
    /// meanwhile only adds units.
    pub(super) fn look(&self, now: Instant) -> Looked {
        loop {
            if self.ceiling.is_drained() {
                return self.end(now);
            }
            let Some(events) = self.lock().events(now) else { return self.end(now) };
            let Some(load) = self.ceiling.look(events, &self.waker) else { return self.end(now) };
            let Decision { ceiling, demand, next } = self.change(|state| state.decide(now, load));
            self.allow(now, ceiling);
            // A lease that has ended changes what there is to wait for.
            if demand.is_none() && self.lock().events(now) != Some(events) {
                continue;
            }
            if self.lock().is_leaving && load.in_use == 0 {
                return self.end(now);
            }
            let mut statement = None;
            if let Some(demand) = demand {
                let Some(load) = self.ceiling.look(events, &self.waker) else { return self.end(now) };
                statement = self.lock().state(now, load, demand);
            }
            match next {
                Some(next) if next <= now && statement.is_none() => {}
                next => {
                    let state = self.lock();
                    let (is_idle, may_rest) = (state.is_idle(), state.may_rest(now));
                    return Looked { statement, next: state.glance(now, next), is_idle, may_rest, is_over: false };
                }
            }
        }
    }

    /// Sets the ceiling: to the share, or by the policy for a store that is out of reach.
    fn allow(&self, now: Instant, units: u32) {
        self.show(now);
        let allowed = if units == 0 { self.lock().without_store(now) } else { Some(units) };
        match allowed {
            Some(units) => self.ceiling.set(units as usize),
            None => self.ceiling.lift(),
        };
    }

    /// Gives the ceiling the name of the state of the share, and its cause. Calls that may not wait
    /// wait for more only while the store can grant it, and none waits where nothing will come.
    fn show(&self, now: Instant) {
        let (shown, before, cause) = {
            let mut state = self.lock();
            let shown = state.shows(now);
            let before = mem::replace(&mut state.shown, shown);
            let is_other = (shown.name, shown.causes) != (before.name, before.causes);
            (shown, before, is_other.then(|| state.cause(shown.name)))
        };
        if shown.name != before.name {
            self.ceiling.rename(shown.name);
        }
        if shown.fetch != before.fetch {
            self.ceiling.set_fetch(shown.fetch);
        }
        if shown.turns_away != before.turns_away {
            self.ceiling.turn_away(shown.turns_away);
        }
        if let Some(cause) = cause {
            self.ceiling.set_cause(cause);
        }
    }

    /// The bulkhead is gone, or the process leaves and nothing runs any more: its units go back
    /// with a last statement.
    fn end(&self, now: Instant) -> Looked {
        let (looked, asks) = self.change(|state| {
            let is_known = state.is_listening() && !state.share.stated().is_empty() || state.share.usable(now) > 0;
            let may_send = is_known && !state.share.is_pending();
            let statement = may_send.then(|| state.send(now, Demand::default())).flatten();
            let is_over = statement.is_none() && !state.share.is_pending();
            if is_over {
                (state.standing, state.contact) = (Standing::Left, Contact::None);
            }
            let asks = if is_over { mem::take(&mut state.asks) } else { VecDeque::new() };
            ((Looked { statement, next: None, is_idle: true, may_rest: false, is_over }, asks), is_over)
        });
        drop(asks);
        if looked.is_over && !self.lock().is_given_up {
            self.ceiling.set(0);
            self.show(now);
        }
        looked
    }

    /// A new connection, to this server.
    pub(super) fn connected(&self, made: Instant, server: Server) {
        let mut state = self.lock();
        (state.contact, state.run) = (Contact::Listening(server, made), server.run);
        state.policy.set_connected(true);
    }

    /// The store can be reached, and nothing is to be heard from it.
    pub(super) fn rest(&self, now: Instant) {
        {
            let mut state = self.lock();
            (state.contact, state.error, state.failing) = (Contact::Resting, None, None);
            state.policy.set_connected(false);
        }
        self.show(now);
    }

    /// The connection has ended, or there was none.
    pub(super) fn disconnected(&self, now: Instant, error: &StoreError) {
        self.change(|state| {
            state.contact = Contact::None;
            state.share.give_up();
            state.policy.set_connected(false);
            state.fail(now, error.clone());
            (mem::take(&mut state.asks), true)
        });
    }

    /// Returns whether a statement can be sent: the task has to listen before.
    pub(super) fn is_listening(&self) -> bool {
        self.lock().is_listening()
    }

    /// Returns whether there is nothing to hear for it.
    pub(super) fn is_resting(&self) -> bool {
        matches!(self.lock().contact, Contact::Resting)
    }

    /// Returns whether it has nothing and needs nothing: then the store hears nothing from it.
    pub(super) fn is_idle(&self) -> bool {
        self.lock().is_idle()
    }

    /// Returns the run of the server that it was connected to last.
    pub(super) fn run(&self) -> Option<RunId> {
        self.lock().run
    }

    /// Takes the reply to a statement.
    pub(super) fn replied(&self, now: Instant, reply: &Reply) {
        self.change(|state| {
            state.lapse(now);
            state.take(now, |share| share.take(now, reply));
            state.policy.set_owed(false);
            state.recovers = now.saturating_add(reply.quarantine);
            let recovers = state.recovers;
            state.policy.set_fixed(recovers);
            state.reply();
            ((), true)
        });
    }

    /// The store has refused a statement.
    pub(super) fn refused(&self, refusal: Refusal) {
        let news = self.change(|state| (state.refuse(&refusal), true));
        if let Some(news) = news {
            trouble::log_refusal(&self.name, &refusal, news == News::Declined);
        }
    }

    /// The store has not carried a statement.
    pub(super) fn failed(&self, now: Instant, error: &StoreError) {
        self.change(|state| {
            state.share.give_up();
            state.policy.set_owed(true);
            state.fail(now, error.clone());
            ((), true)
        });
    }

    /// There is a connection, an answer to one that has nothing to state. Returns the number.
    pub(super) fn reached(&self) -> u64 {
        let mut state = self.lock();
        if state.is_idle() {
            state.failing = None;
        }
        self.number
    }

    /// Takes a notice, on the link that brings it.
    pub(super) fn notice(&self, now: Instant, notice: &Notice) {
        let counts = {
            let mut state = self.lock();
            state.lapse(now);
            state.take(now, |share| share.take_notice(now, notice))
        };
        if counts {
            self.signal.notify_of(self.number);
        }
    }

    /// Gives the task something to ask the store, if there is a connection.
    pub(super) fn ask(&self, ask: Ask) {
        let refused = {
            let mut state = self.lock();
            if let Contact::None = state.contact {
                let error = state.error.clone();
                Some((ask, error.unwrap_or(StoreError::UNREACHABLE)))
            } else {
                state.asks.push_back(ask);
                None
            }
        };
        match refused {
            Some((ask, error)) => ask.fail(error),
            None => self.signal.notify_of(self.number),
        }
    }

    /// Returns what to ask next, if there is a connection.
    pub(super) fn take_ask(&self) -> Option<Ask> {
        let mut state = self.lock();
        if state.is_listening() { state.asks.pop_front() } else { None }
    }

    /// Asks the store, and answers the caller. Returns the error of the store.
    pub(super) async fn carry(&self, ask: Ask, link: &impl Link) -> Option<StoreError> {
        match &ask {
            Ask::Resize { limit, expected, reply } => {
                let result = link.resize(&self.name, *limit, *expected).await;
                let error = result.as_ref().err().cloned();
                match &result {
                    Ok(Ok(version)) => self.resized(*limit, *version),
                    Ok(Err(LimitRefusal::Version { current, limit })) => self.resized(*limit, *current),
                    _ => {}
                }
                let result = result.map_err(ResizeError::Store).and_then(|it| it.map_err(ResizeError::Refused));
                reply.set(result.map(|_| ()));
                error
            }
            Ask::Look { reply } => {
                let result = link.look(&self.name).await;
                let error = result.as_ref().err().cloned();
                reply.set(result);
                error
            }
        }
    }

    /// Notes the limit, when this process has changed it, or heard that it is another.
    pub(super) fn resized(&self, limit: u32, version: Version) {
        self.lock().share.set_limit(limit, version);
    }

    /// Whether it is the share of this bulkhead.
    pub(super) fn is_of(&self, bulkhead: &Handle) -> bool {
        self.ceiling.is_of(bulkhead)
    }

    /// Whether the process has given the share up, or has left, or its bulkhead is drained.
    pub(super) fn has_ended(&self) -> bool {
        // Before the lock: the end of the bulkhead is foreign code.
        self.ceiling.is_drained() || {
            let state = self.lock();
            state.is_given_up || state.standing == Standing::Left
        }
    }

    /// Whether its bulkhead is the partition of a key.
    pub(super) fn is_of_key(&self) -> bool {
        self.lock().configured.is_of_key
    }

    /// Returns the number of the latest statement.
    pub(super) fn seq(&self) -> u64 {
        self.lock().share.seq()
    }

    /// Returns the version of the limit, as far as is known.
    pub(super) fn version(&self) -> Version {
        self.lock().share.limit().1
    }

    /// Returns the next token, if the process has units.
    pub(super) fn token(&self, now: Instant) -> Option<FencingToken> {
        let mut state = self.lock();
        let grant = (state.share.usable(now) > 0).then(|| state.share.token())?;
        if state.tokens.0 != grant {
            state.tokens = (grant, 0);
        }
        state.tokens.1 += 1;
        Some(FencingToken { grant, number: state.tokens.1 })
    }

    /// Leaves the fleet: no call is admitted from now on.
    pub(super) fn leave(&self) {
        self.lock().is_leaving = true;
        self.signal.notify_of(self.number);
    }

    /// Waits until the share has ended.
    pub(super) async fn left(&self) {
        poll_fn(|context| self.poll(context, |standing, _| (*standing == Standing::Left).then_some(()))).await;
    }

    /// Ends the share, and leaves the bulkhead as it was before.
    pub(super) fn give_up(&self) {
        self.lock().is_given_up = true;
        self.ceiling.lift();
        self.signal.notify_of(self.number);
    }

    /// Why the store has not answered yet, as far as is known.
    pub(super) fn unreached(&self) -> JoinError {
        match &self.lock().standing {
            Standing::Joining(Some(error)) => JoinError::Store(error.clone()),
            _ => JoinError::Store(StoreError::TIMED_OUT),
        }
    }

    /// The task is gone: nothing keeps the share any more.
    pub(super) fn abandon(&self) {
        self.ceiling.set(0);
        let asks = self.change(|state| {
            (state.standing, state.contact) = (Standing::Left, Contact::None);
            (mem::take(&mut state.asks), true)
        });
        drop(asks);
        // A share that has ended is named so at any time.
        self.show(Instant::EPOCH);
    }

    /// Looks for the event that a task waits for.
    pub(super) fn poll<T>(&self, context: &Context<'_>, find: impl FnOnce(&Standing, u64) -> Option<T>) -> Poll<T> {
        let waker = context.waker().clone();
        let (found, unused) = {
            let mut state = self.lock();
            let found = find(&state.standing, state.lost);
            if found.is_some() || state.wakers.iter().any(|known| known.will_wake(&waker)) {
                (found, Some(waker))
            } else {
                state.wakers.push(waker);
                (found, None)
            }
        };
        discard(unused);
        found.map_or(Poll::Pending, Poll::Ready)
    }

    /// Returns how often a lease has ended while units were in use.
    pub(super) fn losses(&self) -> u64 {
        self.lock().lost
    }

    pub(super) fn status(&self, now: Instant) -> ShareStatus {
        let state = self.lock();
        let ((limit, version), (processes, weights)) = (state.share.limit(), state.share.fleet());
        ShareStatus {
            granted: whole(state.share.usable(now)),
            in_use: whole(state.in_use),
            firm: state.share.firm().map(whole),
            limit: whole(limit),
            version,
            processes,
            weights,
            quarantine: Some(state.recovers.saturating_since(now)).filter(|rest| !rest.is_zero()),
            lease_left: state.share.deadline().map(|end| end.saturating_since(now)),
            error: state.error.clone(),
            refusal: match &state.standing {
                Standing::Refused(refusal) => Some(refusal.clone()),
                _ => None,
            },
            declined: state.declined.as_ref().map(|declined| declined.why.clone()),
            lost: state.lost,
        }
    }
}

/// Returns units as the front counts them.
fn whole(units: u32) -> usize {
    units.try_into().unwrap_or(usize::MAX)
}
