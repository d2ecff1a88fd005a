//! The host of a module: its clock, its timers, and the tasks that run whenever it calls. Copy this
//! file; everything else is as on any runtime.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use bulklink::runtime::{Clock, DriverHome, Instant, Spawn, SpawnError, Timer, TimerError};

/// A bulkhead on the clock and the timers of the host.
pub type Bulkhead = bulklink::Bulkhead<Host>;

/// The functions that the host provides, and [`fire`], which it calls.
mod imports {
    #[link(wasm_import_module = "host")]
    unsafe extern "C" {
        /// The milliseconds of a monotonic clock, such as `performance.now()`.
        pub(super) safe fn now() -> f64;
        /// Calls [`fire`](super::fire) with `timer` after so many milliseconds.
        pub(super) safe fn set_timeout(timer: u32, millis: u32);
        pub(super) safe fn clear_timeout(timer: u32);
    }
}

/// The host as a runtime. A module has one, and one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

const NANOS_PER_MILLI: f64 = 1e6;

/// The host's clock may be 0 at first, and an epoch should lie well before that: an hour.
const EPOCH: u64 = 3_600_000_000_000;

impl Clock for Host {
    type Instant = Instant;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a clock is not negative")]
    fn now(&self) -> Instant {
        Instant::from_nanos(EPOCH + (imports::now() * NANOS_PER_MILLI) as u64)
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Host {
    type Sleep = Sleep;

    fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep { deadline, timer: None }
    }

    /// The one thread runs woken tasks before it returns to the host.
    fn home(&self) -> Result<Option<DriverHome<Self>>, TimerError> {
        Ok(Some(DriverHome::new(NonZeroU64::MIN, |_, driver| push(driver))))
    }
}

impl Spawn for Host {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        push(task);
        Ok(())
    }
}

/// A timer of the host.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    deadline: Instant,
    timer: Option<u32>,
}

/// The longest time that hosts accept; a longer one would end at once.
const LONGEST_MILLIS: u64 = i32::MAX as u64;

thread_local! {
    static TIMERS: RefCell<Timers> = RefCell::default();
    static READY: RefCell<VecDeque<Arc<Task>>> = RefCell::default();
}

/// The tasks to wake when a timer fires.
#[derive(Default)]
struct Timers {
    last: u32,
    wakers: BTreeMap<u32, Waker>,
}

impl Timers {
    fn add(&mut self, waker: Waker) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.wakers.insert(self.last, waker);
        self.last
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let left = self.deadline.as_nanos().saturating_sub(Host.now().as_nanos());
        if left == 0 {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        let is_set = |timer: &u32| TIMERS.with_borrow(|timers| timers.wakers.contains_key(timer));
        if let Some(timer) = self.timer.filter(is_set) {
            drop(TIMERS.with_borrow_mut(|timers| timers.wakers.insert(timer, waker)));
        } else {
            let timer = TIMERS.with_borrow_mut(|timers| timers.add(waker));
            self.timer = Some(timer);
            let millis = left.div_ceil(1_000_000).min(LONGEST_MILLIS);
            imports::set_timeout(timer, u32::try_from(millis).unwrap_or(u32::MAX));
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let waker = self.timer.and_then(|timer| TIMERS.with_borrow_mut(|timers| timers.wakers.remove(&timer)));
        if let (Some(timer), Some(_)) = (self.timer, waker) {
            imports::clear_timeout(timer);
        }
    }
}

/// The end of a timer: the host calls it.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fire(timer: u32) {
    if let Some(waker) = TIMERS.with_borrow_mut(|timers| timers.wakers.remove(&timer)) {
        waker.wake();
    }
    run();
}

/// Runs all tasks until each waits.
pub fn run() {
    while let Some(task) = READY.with_borrow_mut(VecDeque::pop_front) {
        task.poll();
    }
}

fn push(future: impl Future<Output = ()> + Send + 'static) {
    Arc::new(Task(Mutex::new(Some(Box::pin(future))))).wake();
}

/// A future until its end. Dropped in its place, it drops its timers while nothing is borrowed.
struct Task(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl Task {
    fn poll(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut future = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let poll = future.as_mut().map(|future| future.as_mut().poll(&mut Context::from_waker(&waker)));
        if poll.is_some_and(|poll| poll.is_ready()) {
            *future = None;
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        READY.with_borrow_mut(|ready| ready.push_back(self));
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}
