//! A store that looks, in each step of each operation, whether the process that asks it holds a
//! lock meanwhile; and whose server can be made silent just when an operation begins.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use bulklink_breaker::Settings;
use bulklink_fleet::circuits::{self, Change, Changes, CircuitStore, Reply, Row};
use bulklink_fleet::{Name, Namespace, StoreError};
use futures_util::future::poll_fn;
use futures_util::task::AtomicWaker;

/// A demand of the task of a process on a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// [`CircuitStore::changes`].
    Changes,
    /// [`Changes::next`].
    Next,
    /// [`CircuitStore::load`].
    Load,
    /// [`CircuitStore::admit_probe`].
    AdmitProbe,
    /// [`CircuitStore::report`].
    Report,
    /// [`CircuitStore::force`].
    Force,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Changes, Self::Next, Self::Load, Self::AdmitProbe, Self::Report, Self::Force];

    fn of(operation: &circuits::Operation) -> Self {
        match operation {
            circuits::Operation::Load => Self::Load,
            circuits::Operation::Admit(_) => Self::AdmitProbe,
            circuits::Operation::Report(_) => Self::Report,
            circuits::Operation::Force(..) => Self::Force,
        }
    }
}

/// A step in which a store may read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The method makes a future.
    Call,
    /// The future is polled.
    Poll,
    /// The future is dropped.
    Drop,
}

impl Step {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Call, Self::Poll, Self::Drop];
}

/// How thoroughly a process is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// By what only reads.
    Reading,
    /// Also by what wakes the task, and so leads to further steps.
    Waking,
}

/// Far more than a look takes, and less than a test waits for what comes of it.
const SOON: Duration = Duration::from_secs(10);

/// So many looks of each kind may wake the task.
const WAKING: u64 = 3;

/// The record of all steps; shared by the store and its test.
#[derive(Default)]
pub struct Watch {
    /// Sends a look, and the receiver of its end.
    looker: OnceLock<Sender<(Look, Sender<()>)>>,
    subscriber: AtomicWaker,
    seen: Mutex<Seen>,
    silence: Mutex<Option<Silence>>,
    has_failed: AtomicBool,
}

#[derive(Default)]
struct Seen {
    looks: BTreeMap<(Operation, Step), u64>,
    under_way: BTreeMap<Operation, usize>,
    held: Vec<(Operation, Step)>,
}

struct Silence {
    at: Operation,
    begin: Box<dyn FnOnce() + Send>,
}

impl Watch {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how to look at the process. No subscription begins before this.
    pub fn look_by(&self, look: impl Fn(Look) + Send + 'static) {
        let (sender, looks) = channel::<(Look, Sender<()>)>();
        thread::spawn(move || {
            for (kind, done) in looks {
                look(kind);
                // Nothing waits any more if it came too late.
                let _ = done.send(());
            }
        });
        assert!(self.looker.set(sender).is_ok(), "once");
        self.subscriber.wake();
    }

    /// Makes the server silent when the next operation of this kind begins, before it is sent.
    pub fn silence_at(&self, at: Operation, begin: impl FnOnce() + Send + 'static) {
        let begin = Box::new(begin);
        *self.silence.lock().unwrap_or_else(PoisonError::into_inner) = Some(Silence { at, begin });
    }

    /// Whether an operation waits for its answer.
    pub fn is_under_way(&self, operation: Operation) -> bool {
        self.seen().under_way.get(&operation).is_some_and(|count| *count > 0)
    }

    /// The steps that were looked at, each with the number of looks.
    pub fn looks(&self) -> BTreeMap<(Operation, Step), u64> {
        self.seen().looks.clone()
    }

    /// Checks that no look found a lock that was held.
    pub fn check(&self) {
        let held = self.seen().held.clone();
        assert!(held.is_empty(), "a lock is held in these steps of the store: {held:?}");
    }

    /// Looks at the process, on a thread of its own: it does not come back while a lock is held
    /// here.
    fn look(&self, operation: Operation, step: Step) {
        let Some(looker) = self.looker.get() else { return };
        let count = {
            let mut seen = self.seen();
            let count = seen.looks.entry((operation, step)).or_default();
            *count += 1;
            *count
        };
        // Once a lock was held, every look takes all its time.
        if self.has_failed.load(Ordering::SeqCst) {
            return;
        }
        let (done, is_done) = channel();
        let look = if count <= WAKING { Look::Waking } else { Look::Reading };
        looker.send((look, done)).expect("it looks for ever");
        if is_done.recv_timeout(SOON).is_err() {
            self.has_failed.store(true, Ordering::SeqCst);
            self.seen().held.push((operation, step));
        }
    }

    fn begin(&self, operation: Operation) {
        self.look(operation, Step::Call);
        let mut silence = self.silence.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(silence) = silence.take_if(|silence| silence.at == operation) {
            (silence.begin)();
        }
    }

    async fn can_look(&self) {
        poll_fn(|context| {
            self.subscriber.register(context.waker());
            if self.looker.get().is_some() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("looks", &self.looks()).finish_non_exhaustive()
    }
}

/// A future of the store, and its demand.
struct Watched<F> {
    future: Option<Pin<Box<F>>>,
    operation: Operation,
    watch: Arc<Watch>,
    is_under_way: bool,
}

impl<F> Watched<F> {
    fn set_under_way(&mut self, is_under_way: bool) {
        if self.is_under_way != is_under_way {
            self.is_under_way = is_under_way;
            let mut seen = self.watch.seen();
            let count = seen.under_way.entry(self.operation).or_default();
            *count = if is_under_way { *count + 1 } else { *count - 1 };
        }
    }
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.watch.look(self.operation, Step::Poll);
        let polled = self.future.as_mut().expect("it exists until it is dropped").as_mut().poll(context);
        self.set_under_way(polled.is_pending());
        polled
    }
}

impl<F> Drop for Watched<F> {
    fn drop(&mut self) {
        self.watch.look(self.operation, Step::Drop);
        self.future = None;
        self.set_under_way(false);
    }
}

/// A store that is watched.
#[derive(Debug)]
pub struct WatchedStore<S> {
    store: S,
    watch: Arc<Watch>,
}

impl<S> WatchedStore<S> {
    /// Watches a store.
    pub fn new(store: S) -> (Self, Arc<Watch>) {
        let watch = Arc::<Watch>::default();
        (WatchedStore { store, watch: Arc::clone(&watch) }, watch)
    }

    fn watch<F: Future>(&self, operation: Operation, begin: impl FnOnce() -> F) -> Watched<F> {
        self.watch.begin(operation);
        let future = Some(Box::pin(begin()));
        Watched { future, operation, watch: Arc::clone(&self.watch), is_under_way: false }
    }
}

// Not by `async fn`: the methods of the store itself are steps too.
impl<S: CircuitStore> CircuitStore for WatchedStore<S> {
    type Changes = WatchedChanges<S::Changes>;

    fn operate(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        operation: &circuits::Operation,
    ) -> impl Future<Output = Result<Reply, StoreError>> + Send {
        self.watch(Operation::of(operation), || self.store.operate(name, settings, operation))
    }

    fn changes(&self, namespace: &Namespace) -> impl Future<Output = Result<Self::Changes, StoreError>> + Send {
        let changes = self.watch(Operation::Changes, || self.store.changes(namespace));
        async move {
            self.watch.can_look().await;
            Ok(WatchedChanges { changes: changes.await?, watch: Arc::clone(&self.watch) })
        }
    }

    /// Not asked for by the task of a process.
    fn list(&self, namespace: &Namespace) -> impl Future<Output = Result<Vec<(Name, Row)>, StoreError>> + Send {
        self.store.list(namespace)
    }
}

/// A subscription that is watched.
#[derive(Debug)]
pub struct WatchedChanges<C> {
    changes: C,
    watch: Arc<Watch>,
}

impl<C: Changes> Changes for WatchedChanges<C> {
    fn next(&mut self) -> impl Future<Output = Result<Change, StoreError>> + Send {
        self.watch.begin(Operation::Next);
        let future = Some(Box::pin(self.changes.next()));
        Watched { future, operation: Operation::Next, watch: Arc::clone(&self.watch), is_under_way: false }
    }
}
