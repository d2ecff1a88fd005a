//! A store in the memory of one process, for tests.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bulklink::runtime::Clock;
use bulklink_breaker::{Circuit, Instant, Pass, ProbeId, Refusal, Settings};
use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_util::Stream;

use super::encoding::DIFFER;
use super::{Asked, Change, Changes, CircuitStore, Force, Forced, Numbers, Refused, Report, Reported, Row};
use crate::{Name, Namespace, StoreError};

/// A store in the memory of one process, on any clock: for tests of services that share circuits.
///
/// Its clones are the same store. It can fail in all the ways in which a real one does.
///
/// ```
/// use bulklink::testing::{Executor, FakeClock};
/// use bulklink_breaker::{Settings, State};
/// use bulklink_fleet::circuits::{Changes, CircuitStore, Force, MemoryStore};
/// use bulklink_fleet::{Name, Namespace};
///
/// let mut executor = Executor::new(FakeClock::new());
/// let store = MemoryStore::new(executor.clock());
/// executor.block_on(async move {
///     let namespace = Namespace::new("prod")?;
///     let name = Name::new(&namespace, "payments")?;
///     let mut changes = store.changes(&namespace).await?;
///     assert_eq!(store.load(&name, &Settings::default()).await?.state, State::Closed);
///     store.force(&name, None, Force::Open).await?;
///     assert_eq!(changes.next().await?.row.state, State::Open);
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    now: Arc<dyn Fn() -> Instant + Send + Sync>,
    data: Arc<Mutex<Data>>,
}

#[derive(Default)]
struct Data {
    rows: BTreeMap<Name, Shared>,
    /// Where the transitions of which namespace go.
    listeners: Vec<(Namespace, UnboundedSender<Change>)>,
    /// Each end of all connections.
    cuts: u64,
    operations: u64,
    is_down: bool,
    faults: Faults,
    stalled: Vec<Waker>,
}

#[derive(Clone, Copy, Default)]
struct Faults {
    is_stalled: bool,
    drops_answers: bool,
    drops_changes: bool,
}

/// A circuit, and the settings of its last operation.
struct Shared {
    circuit: Circuit,
    settings: Option<Settings>,
    /// When an operation last had others than the one before it.
    differed: Option<Instant>,
}

impl Shared {
    /// A new row.
    fn new(now: Instant) -> Self {
        let generation = now.as_nanos() / 1000;
        let circuit = Circuit::in_generation(Settings::default(), generation).expect("the default is possible");
        Shared { circuit, settings: None, differed: None }
    }
}

impl MemoryStore {
    /// Makes an empty store on the clock's time.
    pub fn new(clock: impl Clock + Send + Sync + 'static) -> Self {
        MemoryStore { now: Arc::new(move || clock.now()), data: Arc::default() }
    }

    /// Ends all connections, and refuses new ones until [`start`](Self::start).
    pub fn stop(&self) {
        self.data().is_down = true;
        self.cut();
    }

    /// Accepts connections again, with the rows that there were.
    pub fn start(&self) {
        self.data().is_down = false;
    }

    /// Ends all connections and subscriptions. New ones are accepted immediately.
    pub fn cut(&self) {
        let mut data = self.data();
        data.cuts += 1;
        let rest = (std::mem::take(&mut data.listeners), std::mem::take(&mut data.stalled));
        drop(data);
        // Both wake tasks, which may call the store.
        drop(rest.0);
        rest.1.into_iter().for_each(Waker::wake);
    }

    /// Loses all rows.
    pub fn forget(&self) {
        self.data().rows.clear();
    }

    /// Does not answer, until this is called with `false`: operations take effect then.
    pub fn stall(&self, is_stalled: bool) {
        let mut data = self.data();
        data.faults.is_stalled = is_stalled;
        let stalled = std::mem::take(&mut data.stalled);
        drop(data);
        stalled.into_iter().for_each(Waker::wake);
    }

    /// Whether answers are lost: operations take effect, and their connection seems dead.
    pub fn drop_answers(&self, drops: bool) {
        self.data().faults.drops_answers = drops;
    }

    /// Whether transitions are told to no subscription.
    pub fn drop_changes(&self, drops: bool) {
        self.data().faults.drops_changes = drops;
    }

    /// Returns the number of operations that have taken effect.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.data().operations
    }

    fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a step, as a server would that is reached by a connection.
    async fn run<T>(&self, mut step: impl FnMut(&mut Data, Instant) -> T) -> Result<T, StoreError> {
        let cuts = self.data().cuts;
        let result = poll_fn(|context| self.take_effect(cuts, &mut step, context)).await;
        yield_once().await;
        if self.data().cuts == cuts { result } else { Err(StoreError::Unreachable) }
    }

    fn take_effect<T>(
        &self,
        cuts: u64,
        step: &mut impl FnMut(&mut Data, Instant) -> T,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, StoreError>> {
        let (now, waker) = ((self.now)(), context.waker().clone());
        let mut data = self.data();
        if data.is_down || data.cuts != cuts {
            return Poll::Ready(Err(StoreError::Unreachable));
        }
        if data.faults.is_stalled {
            data.stalled.push(waker);
            return Poll::Pending;
        }
        data.operations += 1;
        let answer = step(&mut data, now);
        Poll::Ready(if data.faults.drops_answers { Err(StoreError::Unreachable) } else { Ok(answer) })
    }

    /// Runs a step of one circuit, and tells of its transition.
    async fn change<T>(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        mut step: impl FnMut(&mut Circuit, Instant) -> T,
    ) -> Result<(T, Row), StoreError> {
        if let Some(settings) = settings {
            settings.check().map_err(|_| StoreError::Refused { code: "SETTINGS".into() })?;
        }
        let changed = self.run(|data, now| {
            let shared = data.rows.entry(name.clone()).or_insert_with(|| Shared::new(now));
            let settings_differ = shared.fit(settings, now);
            let before = shared.circuit.generation();
            let answer = step(&mut shared.circuit, now);
            let row = Row::of(&shared.circuit.view(now), now);
            if row.generation != before && !data.faults.drops_changes {
                data.tell(&Change { name: name.clone(), row });
            }
            (answer, Row { settings_differ, ..row })
        });
        changed.await
    }
}

impl Shared {
    /// Changes to the settings of an operation. Returns whether those of the last one differ.
    fn fit(&mut self, settings: Option<&Settings>, now: Instant) -> bool {
        let Some(settings) = settings else { return false };
        let known = self.settings.replace(*settings);
        // Checked before.
        let _ = self.circuit.set_settings(*settings);
        let differ = known.is_some_and(|known| Numbers::of(&known) != Numbers::of(settings));
        if differ {
            self.differed = Some(now);
        }
        differ
    }

    /// What a list shows. A clock may have been set back.
    fn listed(&self, now: Instant) -> Row {
        let apart = |at: Instant| now.saturating_since(at).max(at.saturating_since(now));
        let settings_differ = self.differed.is_some_and(|at| apart(at) < DIFFER);
        Row { settings_differ, ..Row::of(&self.circuit.view(now), now) }
    }
}

impl Data {
    fn tell(&mut self, change: &Change) {
        self.listeners.retain(|(namespace, sender)| {
            if change.name.namespace() == namespace.as_str() {
                // It fails once the subscription is dropped.
                return sender.unbounded_send(change.clone()).is_ok();
            }
            !sender.is_closed()
        });
    }
}

impl CircuitStore for MemoryStore {
    type Changes = MemoryChanges;

    async fn load(&self, name: &Name, settings: &Settings) -> Result<Row, StoreError> {
        Ok(self.change(name, Some(settings), |_, _| ()).await?.1)
    }

    async fn admit_probe(&self, name: &Name, settings: &Settings, id: ProbeId) -> Result<Asked, StoreError> {
        let admit = |circuit: &mut Circuit, now| {
            let refused = |refusal: Refusal| Refused {
                state: refusal.state,
                retry_after: refusal.retry_at.map(|at| at.saturating_since(now)),
            };
            circuit.admit(now, id).map_err(refused)
        };
        let (admission, row) = self.change(name, Some(settings), admit).await?;
        Ok(Asked { admission, row })
    }

    async fn report(&self, name: &Name, settings: &Settings, report: &Report) -> Result<Reported, StoreError> {
        let settle = |circuit: &mut Circuit, now| match report {
            Report::Closed { generation, outcomes } => circuit.report(now, *generation, outcomes),
            Report::Probe { generation, id, outcome } => {
                circuit.settle(now, Pass { generation: *generation, probe: Some(*id) }, *outcome)
            }
        };
        let (counted, row) = self.change(name, Some(settings), settle).await?;
        Ok(Reported { counted, row })
    }

    async fn force(&self, name: &Name, expected: Option<u64>, force: Force) -> Result<Forced, StoreError> {
        let change = |circuit: &mut Circuit, _| {
            let is_expected = expected.is_none_or(|expected| expected == circuit.generation());
            match force {
                _ if !is_expected => {}
                Force::Open => circuit.force_open(),
                Force::Closed => circuit.force_closed(),
            }
            is_expected
        };
        let (is_done, row) = self.change(name, None, change).await?;
        Ok(if is_done { Forced::Done(row) } else { Forced::Stale(row) })
    }

    async fn changes(&self, namespace: &Namespace) -> Result<MemoryChanges, StoreError> {
        let subscribe = |data: &mut Data, _| {
            let (sender, receiver) = unbounded();
            data.listeners.push((namespace.clone(), sender));
            receiver
        };
        Ok(MemoryChanges(self.run(subscribe).await?))
    }

    async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        let list = |data: &mut Data, now| {
            let rows = data.rows.iter().filter(|(name, _)| name.namespace() == namespace.as_str());
            rows.map(|(name, shared)| (name.clone(), shared.listed(now))).collect()
        };
        self.run(list).await
    }
}

/// A subscription to a [`MemoryStore`].
#[derive(Debug)]
pub struct MemoryChanges(UnboundedReceiver<Change>);

impl Changes for MemoryChanges {
    async fn next(&mut self) -> Result<Change, StoreError> {
        let change = poll_fn(|context| Pin::new(&mut self.0).poll_next(context)).await;
        change.ok_or(StoreError::Unreachable)
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
        f.debug_struct("MemoryStore").field("operations", &self.operations()).finish_non_exhaustive()
    }
}
