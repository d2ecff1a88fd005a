//! What the driver, the handles and the permits of one bulkhead share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;

use super::foreign;
use super::state::State;
use crate::{Event, EventKind, Name, StoreError};

pub(crate) type Handler = Arc<dyn Fn(&Event) + Send + Sync>;

/// What all bulkheads of one fleet share in this process.
pub(crate) struct Shared {
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
    lists: Mutex<Lists>,
    driver: AtomicWaker,
    numbers: AtomicUsize,
}

#[derive(Default)]
struct Lists {
    all: BTreeMap<Name, Arc<Member>>,
    /// Those for which the driver has something to do.
    ready: Vec<Arc<Member>>,
    /// The highest numbers of calls and links of bulkheads that are no longer here.
    numbers: (u64, u64),
    has_driver: bool,
    is_closing: bool,
}

/// One bulkhead of a fleet in this process.
pub(crate) struct Member {
    pub(crate) number: usize,
    pub(crate) name: Name,
    pub(crate) label: Arc<str>,
    shared: Arc<Shared>,
    handlers: Vec<Handler>,
    state: Mutex<State>,
    is_ready: AtomicBool,
}

impl Shared {
    pub(crate) fn new(clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self {
            clock: Box::new(clock),
            lists: Mutex::new(Lists { has_driver: true, ..Lists::default() }),
            driver: AtomicWaker::new(),
            numbers: AtomicUsize::new(0),
        }
    }

    pub(crate) fn now(&self) -> Duration {
        (self.clock)()
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a bulkhead, unless there is one with this name.
    pub(crate) fn add(self: &Arc<Self>, name: Name, handlers: Vec<Handler>, mut state: State) -> Option<Arc<Member>> {
        let mut lists = self.lists();
        if lists.all.contains_key(&name) {
            return None;
        }
        state.number_after(lists.numbers);
        let member = Arc::new(Member {
            number: self.numbers.fetch_add(1, Ordering::Relaxed),
            label: name.label().into(),
            name: name.clone(),
            shared: Arc::clone(self),
            handlers,
            state: Mutex::new(state),
            is_ready: AtomicBool::new(false),
        });
        let is_open = lists.has_driver && !lists.is_closing;
        if is_open {
            lists.all.insert(name, Arc::clone(&member));
        }
        drop(lists);
        if is_open {
            member.mark_ready();
        } else {
            member.with(State::abandon);
        }
        Some(member)
    }

    pub(crate) fn remove(&self, member: &Arc<Member>) {
        let (seq, generation) = member.with(|state, _| state.numbers());
        let mut lists = self.lists();
        lists.numbers = (lists.numbers.0.max(seq), lists.numbers.1.max(generation));
        // By now, another bulkhead may have the name.
        if lists.all.get(&member.name).is_some_and(|found| Arc::ptr_eq(found, member)) {
            lists.all.remove(&member.name);
        }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Member>> {
        self.lists().all.values().cloned().collect()
    }

    pub(crate) fn find(&self, name: &Name) -> Option<Arc<Member>> {
        self.lists().all.get(name).cloned()
    }

    pub(crate) fn take_ready(&self) -> Vec<Arc<Member>> {
        std::mem::take(&mut self.lists().ready)
    }

    pub(crate) fn driver(&self) -> &AtomicWaker {
        &self.driver
    }

    /// The driver closes all bulkheads, and ends with the last one.
    pub(crate) fn close(&self) {
        self.lists().is_closing = true;
        for member in self.all() {
            member.with(State::close);
        }
        self.driver.wake();
    }

    /// Whether the driver has nothing to do any more.
    pub(crate) fn is_over(&self) -> bool {
        let lists = self.lists();
        lists.is_closing && lists.all.is_empty()
    }

    /// The driver is gone.
    pub(crate) fn abandon(&self) {
        // Neither is dropped under the lock: the last handle of a member drops its handlers.
        let (members, _ready) = {
            let mut lists = self.lists();
            lists.has_driver = false;
            (std::mem::take(&mut lists.all), std::mem::take(&mut lists.ready))
        };
        for member in members.into_values() {
            member.with(State::abandon);
        }
    }
}

impl Member {
    /// Looks for what a task waits for. Its waker is cloned before the lock is taken, and what is
    /// left in its place afterwards, unused or displaced, is dropped after it was released.
    pub(crate) fn poll<T>(
        self: &Arc<Self>,
        context: &Context<'_>,
        poll: impl FnOnce(&mut State, &mut Option<Waker>) -> Poll<T>,
    ) -> Poll<T> {
        let mut waker = Some(context.waker().clone());
        let polled = self.with(|state, _| poll(state, &mut waker));
        foreign::contain(|| drop(waker));
        polled
    }

    /// Reads the clock, changes the state, and then wakes, tells and calls. Only the change has the
    /// lock.
    pub(crate) fn with<T>(self: &Arc<Self>, change: impl FnOnce(&mut State, Duration) -> T) -> T {
        let now = self.shared.now();
        let (value, effects) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let now = state.latest(now);
            let value = change(&mut state, now);
            (value, state.settle(now))
        };
        for waker in effects.wakers {
            foreign::wake(waker);
        }
        for waker in effects.displaced {
            foreign::contain(|| drop(waker));
        }
        for reply in effects.unanswered {
            reply.set(Err(StoreError::Unreachable));
        }
        if effects.has_work {
            self.mark_ready();
        }
        for kind in effects.events {
            self.tell(kind);
        }
        value
    }

    /// Adds this bulkhead to those that the driver visits, and wakes the driver.
    pub(crate) fn mark_ready(self: &Arc<Self>) {
        if !self.is_ready.swap(true, Ordering::AcqRel) {
            self.shared.lists().ready.push(Arc::clone(self));
            self.shared.driver.wake();
        }
    }

    /// The driver looks at this bulkhead now; what happens later makes it ready again.
    pub(crate) fn begin_visit(&self) {
        self.is_ready.store(false, Ordering::Release);
    }

    fn tell(&self, kind: EventKind) {
        if self.handlers.is_empty() {
            return;
        }
        let event = Event { label: Arc::clone(&self.label), kind };
        for handler in &self.handlers {
            // A handler that panics must not take a permit with it.
            foreign::contain(|| handler(&event));
        }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("name", &self.name).finish_non_exhaustive()
    }
}
