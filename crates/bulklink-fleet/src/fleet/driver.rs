//! The task that connects a process to the store, sends what its bulkheads say, and connects again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink::runtime::{Instant, Runtime};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::member::{Member, Shared};
use super::reply::Reply;
use super::state::State;
use crate::pause::Pauses;
use crate::{Answer, LeaseStore, Link, Name, Notice, Receiver, Server, Session, StoreError};

const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Connects, and serves the bulkheads until the fleet is closed.
pub(crate) async fn drive<S: LeaseStore, R: Runtime>(
    shared: Arc<Shared>,
    store: S,
    runtime: R,
    session: Session,
    patience: Duration,
) {
    let _guard = Abandon(Arc::clone(&shared));
    let mut desk = Desk { shared, runtime, timers: BTreeSet::new(), due: HashMap::new(), sleep: None };
    let mut pauses = Pauses::up_to(LONGEST_PAUSE);
    for connection in 1.. {
        let inbox =
            Arc::new(Inbox { shared: Arc::downgrade(&desk.shared), connection, is_ended: AtomicBool::new(false) });
        let receiver: Arc<dyn Receiver> = inbox.clone();
        let connecting = store.connect(&session, receiver);
        let deadline = desk.shared.now() + patience;
        if let Some(Ok(link)) = desk.attend(deadline, connecting).await {
            let mut line = Line {
                link: Arc::new(link),
                shared: Arc::clone(&desk.shared),
                connection,
                flights: FuturesUnordered::new(),
                sent: BTreeMap::new(),
                numbers: 0,
                patience,
                has_answered: false,
                is_broken: false,
            };
            for member in desk.shared.all() {
                member.mark_ready();
            }
            desk.serve(&mut line, &inbox).await;
            if line.has_answered {
                pauses.reset();
            }
            inbox.is_ended.store(true, Ordering::Release);
            drop(line);
            for member in desk.shared.all() {
                member.with(State::link_down);
            }
        } else {
            inbox.is_ended.store(true, Ordering::Release);
            for member in desk.shared.all() {
                member.with(|state, _| state.unreachable());
            }
        }
        let until = desk.shared.now() + pauses.next();
        desk.attend(until, std::future::pending::<()>()).await;
        if desk.shared.is_over() {
            return;
        }
    }
}

/// Ends the bulkheads when the driver ends, also when its runtime drops it.
struct Abandon(Arc<Shared>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// What a link receives without being asked.
struct Inbox {
    shared: Weak<Shared>,
    connection: u64,
    is_ended: AtomicBool,
}

impl Receiver for Inbox {
    /// In the step in which it arrives: an answer that follows must find it applied.
    fn notice(&self, name: &Name, notice: Notice) {
        if self.is_ended.load(Ordering::Acquire) {
            return;
        }
        let member = self.shared.upgrade().and_then(|shared| shared.find(name));
        if let Some(member) = member {
            member.with(|state, now| state.notice(now, self.connection, notice));
        }
    }

    fn ended(&self) {
        self.is_ended.store(true, Ordering::Release);
        if let Some(shared) = self.shared.upgrade() {
            shared.driver().wake();
        }
    }
}

/// What the driver keeps from one connection to the next.
struct Desk<R: Runtime> {
    shared: Arc<Shared>,
    runtime: R,
    /// When to look at a bulkhead again.
    timers: BTreeSet<(Duration, usize)>,
    due: HashMap<usize, (Duration, Arc<Member>)>,
    sleep: Option<(Duration, Pin<Box<R::Sleep>>)>,
}

/// One connection, and what is on its way there.
struct Line<L> {
    link: Arc<L>,
    shared: Arc<Shared>,
    connection: u64,
    flights: FuturesUnordered<BoxFuture<'static, (u64, Landing)>>,
    /// When each of them was sent.
    sent: BTreeMap<u64, Duration>,
    numbers: u64,
    patience: Duration,
    has_answered: bool,
    is_broken: bool,
}

/// What comes back.
enum Landing {
    Listened(Arc<Member>, Result<Server, StoreError>),
    Answered(Arc<Member>, u64, Result<Answer, StoreError>),
    Direct(Arc<Member>, Pending, Result<Answer, StoreError>),
}

/// A caller that awaits an answer. It hears of the end of the connection too.
struct Pending(Arc<Reply>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.set(Err(StoreError::Unreachable));
    }
}

impl<R: Runtime> Desk<R> {
    /// Runs a future without a connection. Returns `None` if its time is over first, or the fleet
    /// is.
    async fn attend<T>(&mut self, deadline: Duration, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        poll_fn(|context| {
            loop {
                self.shared.driver().register(context.waker());
                self.visit_all::<NoLink>(None);
                if let Poll::Ready(value) = future.as_mut().poll(context) {
                    return Poll::Ready(Some(value));
                }
                if self.shared.now() >= deadline || self.shared.is_over() {
                    return Poll::Ready(None);
                }
                if !self.poll_sleep(context, Some(deadline)) {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Serves a connection until it ends, or the fleet does.
    async fn serve<L: Link>(&mut self, line: &mut Line<L>, inbox: &Inbox) {
        poll_fn(|context| {
            loop {
                self.shared.driver().register(context.waker());
                while let Poll::Ready(Some((number, landing))) = line.flights.poll_next_unpin(context) {
                    line.sent.remove(&number);
                    line.has_answered |= line.land(landing);
                }
                self.visit_all(Some((&mut *line, &mut *context)));
                let deadline = line.sent.first_key_value().map(|(_, sent)| *sent + line.patience);
                let is_late = deadline.is_some_and(|deadline| deadline <= self.shared.now());
                let is_ended = inbox.is_ended.load(Ordering::Acquire);
                if line.is_broken || is_late || is_ended || self.shared.is_over() {
                    return Poll::Ready(());
                }
                if !self.poll_sleep(context, deadline) {
                    return Poll::Pending;
                }
            }
        })
        .await;
    }

    /// Looks at the bulkheads that have called, and at those that are due.
    fn visit_all<L: Link>(&mut self, mut line: Option<(&mut Line<L>, &mut Context<'_>)>) {
        let mut members = self.take_due();
        members.extend(self.shared.take_ready());
        while !members.is_empty() {
            for member in members {
                self.visit(&member, &mut line);
            }
            members = self.shared.take_ready();
        }
    }

    /// Takes the bulkheads that are due. A visit on a link that breaks leaves it as it is,
    /// so each has one visit before the link is looked at again.
    fn take_due(&mut self) -> Vec<Arc<Member>> {
        let now = self.shared.now();
        let mut members = vec![];
        while let Some((at, number)) = self.timers.pop_first() {
            if at > now {
                self.timers.insert((at, number));
                break;
            }
            members.extend(self.due.remove(&number).map(|(_, member)| member));
        }
        members
    }

    fn visit<L: Link>(&mut self, member: &Arc<Member>, line: &mut Option<(&mut Line<L>, &mut Context<'_>)>) {
        member.begin_visit();
        member.with(State::tick);
        if let Some((line, context)) = line {
            line.send_all(member, context);
        } else {
            member.with(|state, _| state.fail_direct());
        }
        let (next, is_over) = member.with(|state, _| (state.next_deadline(), state.is_over()));
        if let Some((at, _)) = self.due.remove(&member.number) {
            self.timers.remove(&(at, member.number));
        }
        if is_over {
            self.shared.remove(member);
        } else if let Some(at) = next {
            self.timers.insert((at, member.number));
            self.due.insert(member.number, (at, Arc::clone(member)));
        }
    }

    /// Makes the runtime wake the driver at the next time. Returns whether it has come already.
    fn poll_sleep(&mut self, context: &mut Context<'_>, deadline: Option<Duration>) -> bool {
        let next = self.timers.first().map(|(at, _)| *at);
        let Some(next) = next.into_iter().chain(deadline).min() else {
            self.sleep = None;
            return false;
        };
        if self.sleep.as_ref().is_none_or(|(at, _)| *at != next) {
            let at = Instant::EPOCH.saturating_add(next);
            self.sleep = Some((next, Box::pin(self.runtime.sleep_until(at))));
        }
        let Some((_, sleep)) = &mut self.sleep else { return false };
        let has_fired = sleep.as_mut().poll(context).is_ready();
        if has_fired {
            self.sleep = None;
        }
        has_fired
    }
}

impl<L: Link> Line<L> {
    /// Sends all that a bulkhead has to say. The first poll of a future decides on its place on the
    /// connection, so it comes immediately.
    fn send_all(&mut self, member: &Arc<Member>, context: &mut Context<'_>) {
        if self.is_broken {
            return;
        }
        if member.with(State::begin_to_listen) {
            let (link, member) = (Arc::clone(&self.link), Arc::clone(member));
            self.send(context, async move {
                let result = link.listen(&member.name).await;
                Landing::Listened(member, result)
            });
        }
        while let Some((request, command)) = member.with(State::poll_command) {
            let (link, member) = (Arc::clone(&self.link), Arc::clone(member));
            self.send(context, async move {
                let result = link.call(&member.name, command).await;
                Landing::Answered(member, request, result)
            });
        }
        while let Some((command, reply)) = member.with(|state, _| state.poll_direct()) {
            let (link, member, reply) = (Arc::clone(&self.link), Arc::clone(member), Pending(reply));
            self.send(context, async move {
                let result = link.call(&member.name, command).await;
                Landing::Direct(member, reply, result)
            });
        }
    }

    fn send(&mut self, context: &mut Context<'_>, flight: impl Future<Output = Landing> + Send + 'static) {
        self.numbers += 1;
        let number = self.numbers;
        let mut flight: BoxFuture<'static, _> = Box::pin(async move { (number, flight.await) });
        match flight.as_mut().poll(context) {
            Poll::Ready((_, landing)) => self.has_answered |= self.land(landing),
            Poll::Pending => {
                self.sent.insert(number, self.shared.now());
                self.flights.push(flight);
            }
        }
    }

    /// Takes what came back. Returns whether the store has answered.
    fn land(&mut self, landing: Landing) -> bool {
        let error = match landing {
            Landing::Listened(member, Ok(server)) => {
                member.with(|state, now| state.link_up(now, self.connection, server));
                None
            }
            Landing::Listened(member, Err(error)) => {
                member.with(State::refused);
                Some(error)
            }
            Landing::Answered(member, request, result) => {
                let error = result.as_ref().err().cloned();
                member.with(|state, now| state.answer(now, request, result));
                error
            }
            Landing::Direct(member, reply, result) => {
                if let Ok(answer) = &result {
                    member.with(|state, _| state.learn(answer));
                }
                let error = result.as_ref().err().cloned();
                reply.0.set(result);
                error
            }
        };
        let goes_on = matches!(error, None | Some(StoreError::Refused { .. } | StoreError::Full));
        self.is_broken |= !goes_on;
        goes_on
    }
}

/// Stands for a connection where there is none.
enum NoLink {}

impl Link for NoLink {
    async fn listen(&self, _: &Name) -> Result<Server, StoreError> {
        match *self {}
    }

    async fn call(&self, _: &Name, _: crate::Command) -> Result<Answer, StoreError> {
        match *self {}
    }
}
