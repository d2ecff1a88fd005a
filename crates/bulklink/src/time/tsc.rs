//! A runtime with the processor's time stamp counter as its clock, and the timers and tasks of
//! another runtime.

use core::future::Future;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::OnceLock;

use bulklink_core::Instant;

use crate::{Clock, DriverHome, Runtime, Spawn, SpawnBlocking, SpawnError, StdClock, Timer, TimerError};

/// A runtime like `R`, but with a clock that costs less to read.
///
/// Its clock is the time stamp counter of the processor, read by the crate [`quanta`] without a
/// system call. A reading takes 7 ns, where one of [`std::time::Instant`] takes 23. So it saves
/// 16 ns a reading, and 43 ns a measured cycle of waiting: release, grant, poll, queue again. A
/// bulkhead uses this clock for waits, limits, deadlines, and the time of events. Timers are those
/// of `R`, one for each call that waits with a deadline (this runtime has no
/// [`home`](Timer::home)); tasks are those of `R` too, if it can spawn. Users write deadlines as
/// instants of `R`.
///
/// ```
/// use bulklink::{Bulkhead, StdClock, Tsc};
///
/// let builder = Bulkhead::builder_on(Tsc::new(StdClock), "payments");
/// let payments = builder.parallelism(10).build()?;
/// let receipt = payments.blocking_execute(|| "paid")?;
/// # assert_eq!(receipt, "paid");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # When to use it
///
/// When so many calls wait that the clock shows in a profile. While no call waits, a bulkhead does
/// not read the clock. If you do not need measured waits,
/// [`measure_waits(false)`](crate::Builder::measure_waits) is the better choice.
///
/// # Accuracy
///
/// - The counter is calibrated against the system's clock once, when the first of these runtimes is
///   made. That takes about 1 ms, and at most 200 ms. The rate is accurate to a few tens of parts
///   per million: a limit of one minute may end two milliseconds early or late.
/// - Two threads may read the counter out of order by about a microsecond, because a processor
///   executes ahead. A bulkhead tolerates that: a wait that seems to end before it began counts as
///   zero.
/// - A deadline is converted when the call is made, by its distance from the present on both
///   clocks.
/// - While the machine is suspended, the counter may stop or restart. Use it on machines that stay
///   awake.
///
/// # Platforms without a reliable counter
///
/// The counter is used on Linux if the kernel keeps its own time by it, and on other systems if the
/// processor is a 64-bit ARM, which has one counter for all cores. Elsewhere the counter may differ
/// between cores, so this clock reads [`std::time::Instant`].
///
/// # Tests
///
/// Paused or manually advanced time does not affect the counter: a limit then passes in real time,
/// while paused timers fire immediately, again and again. Test such limits on `R` itself.
///
/// # Events
///
/// The time of an [`Event`](crate::Event) is this clock's. Compare it with [`now`](Clock::now) and
/// with other events of such bulkheads, and not with the clock of `R`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tsc<R>(R);

impl<R> Tsc<R> {
    /// Wraps `runtime`, which provides timers and tasks. The first call in a process calibrates the
    /// counter.
    #[must_use]
    pub fn new(runtime: R) -> Self {
        counter();
        Tsc(runtime)
    }
}

impl<R: Default> Default for Tsc<R> {
    fn default() -> Self {
        Tsc::new(R::default())
    }
}

impl<R: Clock> Tsc<R> {
    /// Reads both clocks, this one first. A delay between the two readings moves a converted
    /// deadline earlier on this clock, and a converted timer later on the other: so no call is
    /// admitted after its deadline, and no timer fires too early.
    fn present(&self) -> (Instant, Instant) {
        let here = self.now();
        (here, self.0.now())
    }
}

impl<R: Clock> Clock for Tsc<R> {
    type Instant = R::Instant;

    #[inline]
    fn now(&self) -> Instant {
        counter().map_or_else(|| StdClock.now(), read)
    }

    fn instant(&self, at: R::Instant) -> Instant {
        let (here, there) = self.present();
        moved(self.0.instant(at), there, here)
    }

    fn cooperate<T>(
        &self,
        context: &mut Context<'_>,
        operations: u32,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.0.cooperate(context, operations, poll)
    }
}

impl<R: Runtime> Timer for Tsc<R> {
    type Sleep = R::Sleep;

    fn sleep_until(&self, deadline: Instant) -> R::Sleep {
        let (here, there) = self.present();
        self.0.sleep_until(moved(deadline, here, there))
    }

    /// Returns no home, because a home of `R` spawns drivers of `R` only. Returns the error if
    /// there is no timer.
    fn home(&self) -> Result<Option<DriverHome<Self>>, TimerError> {
        self.0.home().map(|_| None)
    }
}

impl<R: Spawn> Spawn for Tsc<R> {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SpawnError> {
        self.0.spawn(task)
    }
}

impl<R: SpawnBlocking> SpawnBlocking for Tsc<R> {
    fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> Result<(), SpawnError> {
        self.0.spawn_blocking(work)
    }
}

/// Returns the instant that is as far from `to` as `at` is from `from`. `FAR_FUTURE`, which stands
/// for never, stays as it is.
fn moved(at: Instant, from: Instant, to: Instant) -> Instant {
    if at == Instant::FAR_FUTURE {
        return at;
    }
    to.saturating_add(at.saturating_since(from)).saturating_sub(from.saturating_since(at))
}

/// The time of the counter's first reading. It is centuries away from either end, so earlier
/// instants can be represented too.
const START: Instant = Instant::from_nanos(1 << 62);

/// Returns the counter and its first reading, if all cores share one counter. They are the same for
/// the whole process, so that all its bulkheads count alike.
#[inline]
fn counter() -> Option<&'static (quanta::Clock, u64)> {
    static COUNTER: OnceLock<Option<(quanta::Clock, u64)>> = OnceLock::new();
    COUNTER.get_or_init(|| is_one_for_all_cores().then(calibrate)).as_ref()
}

/// Calibrates the counter, and returns it with its first reading.
fn calibrate() -> (quanta::Clock, u64) {
    let clock = quanta::Clock::new();
    let first = clock.raw();
    (clock, first)
}

/// Reads the counter as an instant, which was `START` at its first reading.
#[inline]
fn read((clock, first): &(quanta::Clock, u64)) -> Instant {
    START.saturating_add(Duration::from_nanos(clock.delta_as_nanos(*first, clock.raw())))
}

/// Returns whether all cores share one count. The processor's flag for an invariant counter does
/// not help: it describes one core.
fn is_one_for_all_cores() -> bool {
    const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    if cfg!(target_os = "linux") {
        return std::fs::read_to_string(CLOCK_SOURCE).is_ok_and(|name| is_counter(&name));
    }
    cfg!(target_arch = "aarch64")
}

/// Returns whether the kernel's clock source of this name is the counter.
fn is_counter(name: &str) -> bool {
    ["tsc", "arch_sys_counter"].contains(&name.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(5);

    #[test]
    fn either_clock_begins_at_the_start_and_keeps_time() {
        let counter = calibrate();
        let clocks: [&dyn Fn() -> Instant; 2] = [&|| read(&counter), &|| StdClock.now()];
        for now in clocks {
            let begun = std::time::Instant::now();
            let first = now();
            assert!(first >= START && first < START + Duration::from_secs(60), "{first:?}");
            std::thread::sleep(SHORT);
            let passed = now().saturating_since(first);
            assert!(passed > SHORT * 9 / 10 && passed < begun.elapsed() * 11 / 10, "{passed:?}");
        }
    }

    #[test]
    fn only_the_names_of_the_counter_are_recognized() {
        assert!(is_counter("tsc\n") && is_counter("arch_sys_counter\n"));
        assert!(
            !["", "\n", "hpet\n", "acpi_pm\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n"]
                .into_iter()
                .any(is_counter)
        );
    }

    #[test]
    fn moved_keeps_the_distance_on_both_sides() {
        let (from, to) = (Instant::from_nanos(100), Instant::from_nanos(1_000_000));
        let moved = |at| moved(Instant::from_nanos(at), from, to).as_nanos();
        assert_eq!([moved(100), moved(150), moved(30)], [1_000_000, 1_000_050, 999_930]);
        assert_eq!([moved(u64::MAX), moved(u64::MAX - 1)], [u64::MAX; 2], "never, or as good as");
        assert_eq!(super::moved(Instant::EPOCH, to, from), Instant::EPOCH);
        assert_eq!(super::moved(Instant::FAR_FUTURE, to, from), Instant::FAR_FUTURE);
    }
}
