//! A store in the memory of one process, for tests.

#[cfg(feature = "circuits")]
mod circuits;
mod shares;

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use bulklink::plumbing::contain;
use bulklink::runtime::{Clock, Instant};

#[cfg(feature = "circuits")]
pub use self::circuits::MemoryChanges;
pub use self::shares::MemoryLink;
use crate::StoreError;

/// A store in the memory of one process, on any clock: for tests of services that share limits or
/// circuits.
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
    clock: Arc<dyn Fn() -> Instant + Send + Sync>,
    data: Arc<Mutex<Data>>,
}

struct Data {
    shares: shares::Data,
    #[cfg(feature = "circuits")]
    circuits: circuits::Data,
    /// Which run of the server it is, and when it began.
    run: u64,
    began: Instant,
    /// Each end of all connections.
    cuts: u64,
    commands: u64,
    is_down: bool,
    faults: Faults,
    stalled: Vec<Waker>,
    /// What wakes tasks, which may use the store: it is done without the lock, in this order.
    outbox: VecDeque<Delivery>,
    is_delivering: bool,
}

type Delivery = Box<dyn FnOnce() + Send>;

#[derive(Clone, Copy, Default)]
struct Faults {
    is_stalled: bool,
    drops_answers: bool,
    drops_notices: bool,
}

impl MemoryStore {
    /// Makes an empty store on the clock's time. It behaves as a server that has run for
    /// long.
    pub fn new(clock: impl Clock + Send + Sync + 'static) -> Self {
        let data = Data {
            shares: shares::Data::default(),
            #[cfg(feature = "circuits")]
            circuits: circuits::Data::default(),
            run: 1,
            began: Instant::EPOCH,
            cuts: 0,
            commands: 0,
            is_down: false,
            faults: Faults::default(),
            stalled: vec![],
            outbox: VecDeque::new(),
            is_delivering: false,
        };
        Self { clock: Arc::new(move || clock.now()), data: Arc::new(Mutex::new(data)) }
    }

    /// Ends all connections, and refuses new ones until [`start`](Self::start).
    pub fn stop(&self) {
        self.with(|data| {
            data.is_down = true;
            data.cut();
        });
    }

    /// Accepts connections again, with the data that there was, as another run of the server. Does
    /// nothing to a store that was not stopped.
    pub fn start(&self) {
        let now = (self.clock)();
        self.with(|data| {
            if data.is_down {
                (data.is_down, data.run, data.began) = (false, data.run + 1, now);
            }
        });
    }

    /// Ends all connections and subscriptions. New ones are accepted immediately.
    pub fn cut(&self) {
        self.with(Data::cut);
    }

    /// Loses all data.
    pub fn forget(&self) {
        self.with(|data| {
            data.shares.forget();
            #[cfg(feature = "circuits")]
            data.circuits.forget();
        });
    }

    /// Does not answer, until this is called with `false`: commands take effect then.
    pub fn stall(&self, is_stalled: bool) {
        self.with(|data| {
            data.faults.is_stalled = is_stalled;
            data.wake();
        });
    }

    /// Whether answers are lost: commands take effect, and their connection seems dead.
    pub fn drop_answers(&self, drops: bool) {
        self.with(|data| data.faults.drops_answers = drops);
    }

    /// Whether notices of shares, and of transitions of circuits, are lost.
    pub fn drop_notices(&self, drops: bool) {
        self.with(|data| data.faults.drops_notices = drops);
    }

    /// Returns the number of commands that have taken effect.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.with(|data| data.commands)
    }

    fn cuts(&self) -> u64 {
        self.with(|data| data.cuts)
    }

    fn lock(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the data.
    fn with<T>(&self, step: impl FnOnce(&mut Data) -> T) -> T {
        let mut data = self.lock();
        let result = step(&mut data);
        if !std::mem::replace(&mut data.is_delivering, true) {
            while let Some(deliver) = data.outbox.pop_front() {
                drop(data);
                contain(deliver);
                data = self.lock();
            }
            data.is_delivering = false;
        }
        result
    }

    /// Runs a command, as a server would that is reached by a connection of the time of `cuts`.
    async fn run<T>(&self, cuts: u64, step: impl Fn(&mut Data, Instant) -> T) -> Result<T, StoreError> {
        let result = poll_fn(|context| {
            let (now, mut waker) = ((self.clock)(), Some(context.waker().clone()));
            self.with(|data| {
                if data.is_down || data.cuts != cuts {
                    return Poll::Ready(Err(StoreError::UNREACHABLE));
                }
                if data.faults.is_stalled {
                    data.stalled.extend(waker.take());
                    return Poll::Pending;
                }
                data.commands += 1;
                let answer = step(data, now);
                Poll::Ready(if data.faults.drops_answers { Err(StoreError::UNREACHABLE) } else { Ok(answer) })
            })
        })
        .await;
        yield_once().await;
        if self.cuts() == cuts { result } else { Err(StoreError::UNREACHABLE) }
    }
}

impl Data {
    fn cut(&mut self) {
        self.cuts += 1;
        self.shares.end_all(&mut self.outbox);
        #[cfg(feature = "circuits")]
        self.circuits.end_all(&mut self.outbox);
        self.wake();
    }

    /// Commands that have no answer are tried again.
    fn wake(&mut self) {
        self.outbox.extend(self.stalled.drain(..).map(|waker| -> Delivery { Box::new(|| waker.wake()) }));
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
