//! The runtime: a clock that moves when told, and a table of alarms, as a board without an allocator would have it.

use core::cell::RefCell;
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use bulklink::{Clock, Instant, Timer};
use critical_section::Mutex;

use crate::host::section;

/// Nanoseconds since the epoch; it starts an hour after it.
static NOW: AtomicU64 = AtomicU64::new(3_600_000_000_000);

/// One place for each sleep that there is.
static ALARMS: Mutex<RefCell<Alarms>> = Mutex::new(RefCell::new([const { None }; 4]));

type Alarms = [Option<Alarm>; 4];

struct Alarm {
    due: Instant,
    waker: Option<Waker>,
}

/// Moves the time forward and wakes whose time has come.
pub(crate) fn pass(by: Duration) {
    NOW.store((now() + by).as_nanos(), Ordering::Relaxed);
    while let Some(waker) = alarms(take_due) {
        waker.wake();
    }
}

fn now() -> Instant {
    Instant::from_nanos(NOW.load(Ordering::Relaxed))
}

fn alarms<T>(work: impl FnOnce(&mut Alarms) -> T) -> T {
    critical_section::with(|section| work(&mut ALARMS.borrow_ref_mut(section)))
}

/// The alarm keeps its place until its sleep is dropped.
fn take_due(alarms: &mut Alarms) -> Option<Waker> {
    alarms.iter_mut().flatten().filter(|alarm| alarm.due <= now()).find_map(|alarm| alarm.waker.take())
}

/// The name of this runtime.
#[derive(Clone, Default)]
pub(crate) struct Ticks;

impl Clock for Ticks {
    type Instant = Instant;

    fn now(&self) -> Instant {
        assert!(!section::is_entered(), "the clock is not read inside a critical section");
        now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Ticks {
    type Sleep = Sleep;

    fn sleep_until(&self, due: Instant) -> Sleep {
        let place = alarms(|alarms| {
            let place = alarms.iter().position(Option::is_none).expect("a place for one more alarm");
            alarms[place] = Some(Alarm { due, waker: None });
            place
        });
        Sleep { due, place }
    }
}

/// A timer of this runtime.
pub(crate) struct Sleep {
    due: Instant,
    place: usize,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.due <= now() {
            return Poll::Ready(());
        }
        let alarm = Alarm { due: self.due, waker: Some(context.waker().clone()) };
        let _displaced = alarms(|alarms| alarms[self.place].replace(alarm));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let _alarm = alarms(|alarms| alarms[self.place].take());
    }
}
