//! The task of all shares of a process: it connects to the store, sends statements, and connects
//! again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, Runtime};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::hub::Hub;
use super::seat::{Looked, Seat};
use crate::pause::Pauses;
use crate::share::{self, Notice};
use crate::timers::Timers;
use crate::trouble::Trouble;
use crate::{LeaseStore, Link, Name, Receiver, RunId, Server, Session, StoreError};

const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How long a share that the store has refused to listen for is put off.
const REFUSED: Duration = Duration::from_secs(1);

/// For how many idle shares a new connection is asked to listen at once.
const LISTENING: usize = 64;

/// Ends the shares when the task ends, also when its runtime drops it.
struct Abandon(Arc<Hub>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.close();
        for seat in self.0.all() {
            seat.abandon();
            self.0.remove(seat.number);
        }
    }
}

/// Messages that a link receives without a question.
struct Inbox<R> {
    hub: Weak<Hub>,
    clock: R,
    is_ended: AtomicBool,
}

impl<R: Clock + Send + Sync + 'static> Receiver for Inbox<R> {
    fn notice(&self, name: &Name, notice: Notice) {
        let Some(hub) = self.hub.upgrade().filter(|_| !self.is_ended.load(Ordering::Acquire)) else { return };
        let now = self.clock.now();
        if let Some(seat) = hub.of_name(name) {
            seat.notice(now, &notice);
        }
    }

    fn ended(&self) {
        self.is_ended.store(true, Ordering::Release);
        if let Some(hub) = self.hub.upgrade() {
            hub.signal.notify();
        }
    }
}

/// What comes back.
enum Landing {
    Listened(Name, Result<Server, StoreError>),
    Unlistened(Name, Result<(), StoreError>),
    Replied(Result<share::Answer, StoreError>),
    Asked(Option<StoreError>),
}

/// Connects while there are shares, and serves them until the fleet is closed and the last one has
/// ended.
pub(super) async fn drive<S: LeaseStore, R: Runtime<Sleep: Send>>(
    trouble: Trouble,
    hub: Arc<Hub>,
    store: Arc<S>,
    runtime: R,
    session: Session,
    patience: Duration,
) {
    let _guard = Abandon(Arc::clone(&hub));
    let mut pauses = Pauses::up_to(LONGEST_PAUSE);
    let mut desk = Desk { hub, trouble, runtime, ready: BTreeSet::new(), timers: Timers::default(), sleep: None };
    loop {
        // Without a share, there is no connection.
        poll_fn(|context| {
            let _woken = desk.hub.signal.poll(context);
            if desk.hub.has_seats() == Some(false) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        if desk.hub.has_seats().is_none() {
            return;
        }
        let inbox =
            Inbox { hub: Arc::downgrade(&desk.hub), clock: desk.runtime.clone(), is_ended: AtomicBool::new(false) };
        let inbox = Arc::new(inbox);
        let receiver: Arc<dyn Receiver> = inbox.clone();
        let deadline = desk.runtime.now().saturating_add(patience);
        let connected = desk.attend::<S::Link, _>(deadline, store.connect(&session, receiver)).await;
        let error = match connected.unwrap_or(Err(StoreError::TIMED_OUT)) {
            Ok(link) => {
                let mut wire = Wire::new(link, desk.runtime.now(), patience);
                let error = desk.serve(&mut wire, &inbox.is_ended).await;
                if wire.has_answered {
                    pauses.reset();
                }
                error
            }
            Err(error) => error,
        };
        inbox.is_ended.store(true, Ordering::Release);
        let seats = desk.hub.set_away(Some(&error));
        // Otherwise, nothing needs the connection any more.
        if !seats.is_empty() {
            desk.trouble.lost(&error, desk.runtime.now());
        }
        for seat in seats {
            seat.disconnected(desk.runtime.now(), &error);
            desk.ready.insert(seat.number);
        }
        let until = desk.runtime.now().saturating_add(pauses.next());
        desk.attend::<S::Link, _>(until, std::future::pending::<()>()).await;
    }
}

/// The state of the task from one connection to the next.
struct Desk<R: Runtime> {
    hub: Arc<Hub>,
    trouble: Trouble,
    runtime: R,
    /// The shares to look at.
    ready: BTreeSet<u64>,
    timers: Timers,
    sleep: Option<(Instant, Pin<Box<R::Sleep>>)>,
}

/// One connection, and the commands on the way.
struct Wire<L> {
    link: Arc<L>,
    flights: FuturesUnordered<BoxFuture<'static, (u64, u64, Landing)>>,
    /// When the store must have answered each flight, by its number.
    due: Timers,
    count: u64,
    /// The names for which it is asked to listen, or not to listen any more.
    listening: HashSet<Name>,
    /// The shares of which a caller awaits an answer.
    asking: BTreeSet<u64>,
    /// When it is asked again to listen for a share, which it has refused.
    put_off: BTreeMap<u64, Instant>,
    /// The runs of the servers that it has listened to.
    runs: HashSet<RunId>,
    /// Idle shares of which it is not known whether their server is still the same.
    doubtful: BTreeSet<u64>,
    /// Names of which a share is over.
    over: HashSet<Name>,
    /// The answers of the store to shares, and its refusals.
    news: Vec<(u64, Option<StoreError>)>,
    /// It has listened for a share.
    has_listened: bool,
    /// The shares to look at.
    ready: BTreeSet<u64>,
    /// When the link was made: the server's age is of then.
    made: Instant,
    /// When the store has answered last.
    heard: Instant,
    patience: Duration,
    has_answered: bool,
    error: Option<StoreError>,
}

impl<R: Runtime<Sleep: Send>> Desk<R> {
    /// Runs a future without a connection, and looks at shares meanwhile: leases end. Returns
    /// `None` if its time is over first, or nothing is left to do.
    async fn attend<L: Link, T>(&mut self, deadline: Instant, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        poll_fn(|context| {
            loop {
                let is_woken = self.hub.signal.poll(context).is_ready();
                self.visit::<L>(None, context);
                if let Poll::Ready(value) = future.as_mut().poll(context) {
                    return Poll::Ready(Some(value));
                }
                if self.runtime.now() >= deadline || self.hub.has_seats() != Some(true) {
                    return Poll::Ready(None);
                }
                if !is_woken && !self.poll_sleep(context, Some(deadline)) {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Serves a connection until it ends, or nothing is left to do.
    async fn serve<L: Link>(&mut self, wire: &mut Wire<L>, is_ended: &AtomicBool) -> StoreError {
        self.ready.extend(self.hub.set_away(None).iter().map(|seat| seat.reached()));
        poll_fn(|context| {
            loop {
                let is_woken = self.hub.signal.poll(context).is_ready();
                while let Poll::Ready(Some((flight, number, landing))) = wire.flights.poll_next_unpin(context) {
                    wire.due.set(flight, None);
                    wire.heard = self.runtime.now();
                    wire.land(&self.hub, self.runtime.now(), number, landing);
                    self.ready.insert(number);
                }
                // Before the visit, which forgets the shares that are over.
                let now = self.runtime.now();
                wire.news.drain(..).for_each(|(number, news)| self.trouble.note(number, news, now));
                self.visit(Some(&mut *wire), context);
                let now = self.runtime.now();
                wire.unlisten_those_over(&self.hub, now, context);
                if wire.error.is_none() && wire.silent_at().is_some_and(|due| due <= now) {
                    wire.error = Some(StoreError::TIMED_OUT);
                }
                if is_ended.load(Ordering::Acquire) || self.hub.has_seats() != Some(true) {
                    wire.error.get_or_insert(StoreError::UNREACHABLE);
                }
                if let Some(error) = wire.error.take() {
                    return Poll::Ready(error);
                }
                if !is_woken && !wire.has_ready() && !self.poll_sleep(context, wire.silent_at()) {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Looks at the shares that are ready or due, each once.
    fn visit<L: Link>(&mut self, mut wire: Option<&mut Wire<L>>, context: &mut Context<'_>) {
        self.ready.append(&mut self.hub.signal.take_ready());
        if let Some(wire) = &mut wire {
            self.ready.append(&mut wire.take_ready());
        }
        let now = self.runtime.now();
        self.timers.take_due(now, &mut self.ready);
        for number in std::mem::take(&mut self.ready) {
            let Some(seat) = self.hub.find(number) else { continue };
            let mut wire = wire.as_deref_mut().filter(|wire| wire.error.is_none());
            let mut looked = seat.look(now);
            if let Some(wire) = wire.as_mut().filter(|wire| !looked.is_over && wire.may_listen(&seat, now)) {
                if wire.listen(&self.hub, &seat, &looked, now, context) {
                    looked = seat.look(now);
                }
            }
            let Looked { statement, next, is_over, .. } = looked;
            let retry = wire.as_ref().and_then(|wire| wire.put_off.get(&number).copied()).filter(|at| *at > now);
            self.timers.set(number, next.into_iter().chain(retry).min());
            if is_over {
                self.hub.remove(number);
                self.trouble.forget(number);
                if self.hub.has_seats() != Some(true) {
                    self.trouble.rest();
                }
                self.timers.set(number, None);
            }
            let Some(wire) = wire else { continue };
            if is_over {
                wire.forget(&seat);
                continue;
            }
            if let Some(statement) = statement {
                let (link, name) = (Arc::clone(&wire.link), seat.name.clone());
                let flight = async move { Landing::Replied(link.sync(&name, statement).await) };
                wire.send(&self.hub, number, now, flight, context);
            }
            if let Some(ask) = (!wire.asking.contains(&number)).then(|| seat.take_ask()).flatten() {
                wire.asking.insert(number);
                let link = Arc::clone(&wire.link);
                let flight = async move { Landing::Asked(seat.carry(ask, &*link).await) };
                wire.send(&self.hub, number, now, flight, context);
            }
        }
    }

    /// Makes the runtime wake the task at the next time. Returns whether it has come already.
    fn poll_sleep(&mut self, context: &mut Context<'_>, deadline: Option<Instant>) -> bool {
        let Some(next) = self.timers.next().into_iter().chain(deadline).min() else {
            self.sleep = None;
            return false;
        };
        if self.sleep.as_ref().is_none_or(|(at, _)| *at != next) {
            self.sleep = Some((next, Box::pin(self.runtime.sleep_until(next))));
        }
        let Some((_, sleep)) = &mut self.sleep else { return false };
        let has_fired = sleep.as_mut().poll(context).is_ready();
        if has_fired {
            self.sleep = None;
        }
        has_fired
    }
}

impl<L: Link> Wire<L> {
    fn new(link: L, made: Instant, patience: Duration) -> Self {
        Self {
            link: Arc::new(link),
            flights: FuturesUnordered::new(),
            due: Timers::default(),
            count: 0,
            listening: HashSet::new(),
            asking: BTreeSet::new(),
            put_off: BTreeMap::new(),
            runs: HashSet::new(),
            doubtful: BTreeSet::new(),
            over: HashSet::new(),
            news: vec![],
            has_listened: false,
            ready: BTreeSet::new(),
            made,
            heard: made,
            patience,
            has_answered: false,
            error: None,
        }
    }

    /// When the store is silent for too long: a command may wait behind others that it answers.
    fn silent_at(&self) -> Option<Instant> {
        self.due.next().map(|due| due.max(self.heard.saturating_add(self.patience)))
    }

    fn may_listen(&self, seat: &Seat, now: Instant) -> bool {
        !self.listening.contains(&seat.name) && self.put_off.get(&seat.number).is_none_or(|at| *at <= now)
    }

    /// Returns for how many more idle shares it may be asked to listen now: that begins the
    /// quarantine if the server is another. One is asked for first, and never many at once.
    fn places(&self) -> usize {
        let most = if self.has_listened { LISTENING } else { 1 };
        most.saturating_sub(self.listening.len())
    }

    fn has_ready(&self) -> bool {
        !self.ready.is_empty() || !self.doubtful.is_empty() && self.places() > 0
    }

    /// Takes the shares to look at, with as many doubtful ones as there are places. One that needs
    /// no place leaves it to the next.
    fn take_ready(&mut self) -> BTreeSet<u64> {
        for _ in 0..self.places() {
            self.ready.extend(self.doubtful.pop_first());
        }
        std::mem::take(&mut self.ready)
    }

    /// A share is over.
    fn forget(&mut self, seat: &Seat) {
        self.put_off.remove(&seat.number);
        self.doubtful.remove(&seat.number);
        self.over.insert(seat.name.clone());
    }

    /// Ends the listening for names that no share has any more.
    fn unlisten_those_over(&mut self, hub: &Hub, now: Instant, context: &mut Context<'_>) {
        for name in std::mem::take(&mut self.over) {
            if self.listening.contains(&name) {
                // Its answer is on the way.
                self.over.insert(name);
            } else if hub.of_name(&name).is_none() {
                self.unlisten(hub, 0, name, now, context);
            }
        }
    }

    fn unlisten(&mut self, hub: &Hub, number: u64, name: Name, now: Instant, context: &mut Context<'_>) {
        let link = Arc::clone(&self.link);
        self.listening.insert(name.clone());
        let flight = async move {
            let unlistened = link.unlisten(&name).await;
            Landing::Unlistened(name, unlistened)
        };
        self.send(hub, number, now, flight, context);
    }

    /// Has a share listen, or an idle one rest. Returns whether it is to be looked at again; if
    /// not, it has made its statement.
    fn listen(&mut self, hub: &Hub, seat: &Seat, looked: &Looked, now: Instant, context: &mut Context<'_>) -> bool {
        if seat.is_listening() {
            if !looked.may_rest {
                return false;
            }
            seat.rest(now);
            self.unlisten(hub, seat.number, seat.name.clone(), now, context);
        } else if looked.is_idle && seat.is_resting() {
            return false;
        } else if looked.is_idle && seat.run().is_some_and(|run| self.runs.contains(&run)) {
            seat.rest(now);
        } else if looked.is_idle && self.places() == 0 {
            self.doubtful.insert(seat.number);
        } else {
            let (link, name) = (Arc::clone(&self.link), seat.name.clone());
            self.listening.insert(name.clone());
            let flight = async move {
                let listened = link.listen(&name).await;
                Landing::Listened(name, listened)
            };
            self.send(hub, seat.number, now, flight, context);
        }
        true
    }

    /// Notes the server of a share. It can be that of the idle ones, too.
    fn note_run(&mut self, server: &Server) {
        if server.run.is_some_and(|run| self.runs.insert(run)) {
            self.ready.append(&mut self.doubtful);
        }
    }

    /// Sends a message. The first poll of a future decides on its place on the connection, so it
    /// comes immediately.
    fn send(
        &mut self,
        hub: &Hub,
        number: u64,
        now: Instant,
        flight: impl Future<Output = Landing> + Send + 'static,
        context: &mut Context<'_>,
    ) {
        self.count += 1;
        let count = self.count;
        let mut flight: BoxFuture<'static, _> = Box::pin(async move { (count, number, flight.await) });
        match flight.as_mut().poll(context) {
            Poll::Ready((.., landing)) => {
                self.land(hub, now, number, landing);
                self.ready.insert(number);
            }
            Poll::Pending => {
                self.due.set(count, Some(now.saturating_add(self.patience)));
                self.flights.push(flight);
            }
        }
    }

    /// Takes the error of a share's subscription or statement. An end of the link has its own.
    fn failed(&mut self, seat: &Seat, now: Instant, error: &StoreError) {
        seat.failed(now, error);
        self.news.extend(error.is_refusal().then(|| (seat.number, Some(error.clone()))));
    }

    /// Takes what came back.
    fn land(&mut self, hub: &Hub, now: Instant, number: u64, landing: Landing) {
        match &landing {
            Landing::Listened(name, _) | Landing::Unlistened(name, _) => {
                self.listening.remove(name);
                // Another can have the name by now.
                self.ready.extend(hub.of_name(name).map(|seat| seat.number));
            }
            Landing::Asked(_) => _ = self.asking.remove(&number),
            Landing::Replied(_) => {}
        }
        if let Landing::Listened(_, listened) = &landing {
            self.has_listened = true;
            if let Ok(server) = listened {
                self.note_run(server);
            }
        }
        let Some(seat) = hub.find(number) else { return };
        let error = match landing {
            Landing::Listened(_, Ok(server)) => {
                self.put_off.remove(&number);
                seat.connected(self.made, server);
                // For others, the reply to their statement counts.
                self.news.extend(seat.is_idle().then_some((number, None)));
                None
            }
            Landing::Replied(Ok(answer)) => {
                match answer {
                    Ok(reply) => seat.replied(now, &reply),
                    Err(refusal) => seat.refused(refusal),
                }
                self.news.push((number, None));
                None
            }
            Landing::Unlistened(_, result) => result.err(),
            Landing::Asked(error) => error,
            Landing::Listened(_, Err(error)) => {
                self.put_off.insert(number, now.saturating_add(REFUSED));
                self.failed(&seat, now, &error);
                Some(error)
            }
            Landing::Replied(Err(error)) => {
                self.failed(&seat, now, &error);
                Some(error)
            }
        };
        match error {
            None => self.has_answered = true,
            // A new connection would not change that: the next beat tries again.
            Some(error) if error.is_refusal() => {}
            Some(error) => self.error = Some(error),
        }
    }
}
