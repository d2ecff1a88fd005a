//! A store in the memory of one process, for tests.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant};

use crate::share::{self, Allocator, LimitRefusal, Notice, Statement};
use crate::{LeaseStore, Link, Name, ProcessId, Receiver, RunId, Server, ServerTime, Session, StoreError, Version};

/// A store in the memory of one process, on any clock: for tests of services that use a fleet.
///
/// Its clones are the same store, and each [`Fleet`](crate::Fleet) on it acts as a process of its
/// own. It can fail in all the ways in which a real one does.
///
/// ```
/// use bulklink::testing::{Executor, FakeClock};
/// use bulklink::Bulkhead;
/// use bulklink_fleet::{Fleet, MemoryStore};
///
/// let mut executor = Executor::new(FakeClock::new());
/// let store = MemoryStore::new(executor.clock());
/// let runtime = executor.runtime();
/// executor.block_on(async move {
///     let mut shares = vec![];
///     for _process in 0..2 {
///         let builder = Bulkhead::builder_on(runtime.clone(), "payments");
///         let bulkhead = builder.parallelism(1).waiting_room(10).build()?;
///         let fleet = Fleet::builder(store.clone(), runtime.clone());
///         let fleet = fleet.namespace("t").build()?;
///         let share = fleet.share(&bulkhead).limit(1).connect().await?;
///         shares.push((bulkhead, share));
///     }
///     let [(payments, _), (theirs, _)] = &shares[..] else { unreachable!() };
///
///     let slot = payments.slot().await?;
///     assert!(theirs.try_slot().is_err(), "one slot in both processes");
///     drop(slot);
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    clock: Arc<dyn Fn() -> Duration + Send + Sync>,
    data: Arc<Mutex<Data>>,
}

#[derive(Default)]
struct Data {
    shares: BTreeMap<Name, Allocator>,
    lines: BTreeMap<u64, Line>,
    numbers: u64,
    run: u64,
    began: Duration,
    commands: u64,
    is_down: bool,
    faults: Faults,
    stalled: Vec<Waker>,
}

#[derive(Clone, Copy, Default)]
struct Faults {
    is_stalled: bool,
    drops_answers: bool,
    drops_notices: bool,
}

struct Line {
    process: ProcessId,
    names: HashSet<Name>,
    receiver: Weak<dyn Receiver>,
}

/// Notices that are delivered after the lock is released.
type Notices = Vec<(Weak<dyn Receiver>, Notice)>;

type Publish<'a> = &'a mut dyn FnMut(Notice) -> bool;

impl MemoryStore {
    /// Makes an empty store on the clock's time. It behaves as a server that has run for
    /// long.
    pub fn new(clock: impl Clock + Send + Sync + 'static) -> Self {
        let clock = move || clock.now().saturating_since(Instant::EPOCH);
        let data = Data { run: 1, ..Data::default() };
        Self { clock: Arc::new(clock), data: Arc::new(Mutex::new(data)) }
    }

    /// Ends all connections, and refuses new ones until [`start`](Self::start).
    pub fn stop(&self) {
        self.data().is_down = true;
        self.cut();
    }

    /// Accepts connections again, with the data that there was, as another run of the server. Does
    /// nothing to a store that was not stopped.
    pub fn start(&self) {
        let now = (self.clock)();
        let mut data = self.data();
        if !data.is_down {
            return;
        }
        (data.is_down, data.run, data.began) = (false, data.run + 1, now);
    }

    /// Ends all connections. New ones are accepted immediately.
    pub fn cut(&self) {
        let lines = std::mem::take(&mut self.data().lines);
        for receiver in lines.into_values().filter_map(|line| line.receiver.upgrade()) {
            receiver.ended();
        }
        self.wake();
    }

    /// Loses all data.
    pub fn forget(&self) {
        self.data().shares.clear();
    }

    /// Does not answer, until this is called with `false`: commands take effect then.
    pub fn stall(&self, is_stalled: bool) {
        self.data().faults.is_stalled = is_stalled;
        self.wake();
    }

    /// Whether answers are lost: commands take effect, and their connection seems dead.
    pub fn drop_answers(&self, drops: bool) {
        self.data().faults.drops_answers = drops;
    }

    /// Whether notices are lost.
    pub fn drop_notices(&self, drops: bool) {
        self.data().faults.drops_notices = drops;
    }

    /// Returns the number of commands that have taken effect.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.data().commands
    }

    /// Returns how many names its connections listen to.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.data().lines.values().map(|line| line.names.len()).sum()
    }

    fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let stalled = std::mem::take(&mut self.data().stalled);
        for waker in stalled {
            waker.wake();
        }
    }
}

impl Data {
    fn with<A>(
        &mut self,
        now: Duration,
        name: &Name,
        step: impl FnOnce(&mut Allocator, ServerTime, Publish<'_>) -> A,
    ) -> (A, Notices) {
        self.commands += 1;
        let mut notices = vec![];
        let (lines, drops) = (&self.lines, self.faults.drops_notices);
        let mut publish = |notice: Notice| {
            let is_for = |line: &&Line| match notice {
                Notice::Granted(grant) => line.process == grant.process && line.names.contains(name),
                _ => line.names.contains(name),
            };
            let receivers = lines.values().filter(is_for).map(|line| (Weak::clone(&line.receiver), notice));
            // Lost on their way: the server does not know.
            let heard = receivers.clone().count();
            notices.extend(receivers.filter(|_| !drops));
            heard > 0
        };
        let micros = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
        let allocator = self.shares.entry(name.clone()).or_default();
        let answer = step(allocator, ServerTime::from(micros), &mut publish);
        (answer, notices)
    }
}

impl LeaseStore for MemoryStore {
    type Link = MemoryLink;

    async fn connect(&self, session: &Session, receiver: Arc<dyn Receiver>) -> Result<MemoryLink, StoreError> {
        let mut data = self.data();
        if data.is_down {
            return Err(StoreError::Unreachable);
        }
        data.numbers += 1;
        let number = data.numbers;
        let line = Line { process: session.id, names: HashSet::new(), receiver: Arc::downgrade(&receiver) };
        data.lines.insert(number, line);
        Ok(MemoryLink { store: self.clone(), number, _receiver: receiver })
    }
}

/// A connection to a [`MemoryStore`].
pub struct MemoryLink {
    store: MemoryStore,
    number: u64,
    /// Kept as long as the link.
    _receiver: Arc<dyn Receiver>,
}

impl Drop for MemoryLink {
    fn drop(&mut self) {
        self.store.data().lines.remove(&self.number);
    }
}

impl Link for MemoryLink {
    async fn listen(&self, name: &Name) -> Result<Server, StoreError> {
        yield_once().await;
        let now = (self.store.clock)();
        let mut data = self.store.data();
        let (run, began) = (data.run, data.began);
        let line = data.lines.get_mut(&self.number).ok_or(StoreError::Unreachable)?;
        line.names.insert(name.clone());
        // The first run is older than any lease.
        let age = (run > 1).then(|| now.saturating_sub(began));
        Ok(Server { run: Some(RunId::from(run)), age })
    }

    async fn unlisten(&self, name: &Name) -> Result<(), StoreError> {
        yield_once().await;
        let mut data = self.store.data();
        let line = data.lines.get_mut(&self.number).ok_or(StoreError::Unreachable)?;
        line.names.remove(name);
        Ok(())
    }

    async fn sync(&self, name: &Name, statement: Statement) -> Result<share::Answer, StoreError> {
        self.answer(name, |allocator, now, publish| allocator.sync(now, &statement, publish)).await
    }

    async fn resize(
        &self,
        name: &Name,
        limit: u32,
        expected: Version,
    ) -> Result<Result<Version, LimitRefusal>, StoreError> {
        self.answer(name, |allocator, now, publish| allocator.set_limit(now, limit, expected, publish)).await
    }

    async fn look(&self, name: &Name) -> Result<Option<share::Status>, StoreError> {
        self.answer(name, |allocator, now, _| allocator.status(now)).await
    }
}

impl MemoryLink {
    async fn answer<A>(
        &self,
        name: &Name,
        step: impl Fn(&mut Allocator, ServerTime, Publish<'_>) -> A,
    ) -> Result<A, StoreError> {
        let result = poll_fn(|context| self.take_effect(name, &step, context)).await;
        yield_once().await;
        let is_cut = !self.store.data().lines.contains_key(&self.number);
        if is_cut { Err(StoreError::Unreachable) } else { result }
    }

    fn take_effect<A>(
        &self,
        name: &Name,
        step: &impl Fn(&mut Allocator, ServerTime, Publish<'_>) -> A,
        context: &mut Context<'_>,
    ) -> Poll<Result<A, StoreError>> {
        let (now, waker) = ((self.store.clock)(), context.waker().clone());
        let mut data = self.store.data();
        if !data.lines.contains_key(&self.number) {
            return Poll::Ready(Err(StoreError::Unreachable));
        }
        if data.faults.is_stalled {
            data.stalled.push(waker);
            return Poll::Pending;
        }
        let (answer, notices) = data.with(now, name, step);
        let is_dropped = data.faults.drops_answers;
        drop(data);
        for (receiver, notice) in notices {
            if let Some(receiver) = receiver.upgrade() {
                receiver.notice(name, notice);
            }
        }
        Poll::Ready(if is_dropped { Err(StoreError::Unreachable) } else { Ok(answer) })
    }
}

/// An answer never comes in the step that asks, as with every real store.
async fn yield_once() {
    let mut is_first = true;
    poll_fn(|context| {
        if std::mem::take(&mut is_first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("commands", &self.commands()).finish_non_exhaustive()
    }
}

impl fmt::Debug for MemoryLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLink").field("number", &self.number).finish_non_exhaustive()
    }
}
