//! The processor's counter as the clock of a bulkhead, with everything else taken from another runtime.

use core::future::Future;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::OnceLock;
use std::time::Instant as Std;

use bulklink_core::Instant;

use crate::{Clock, DriverHome, Runtime, Spawn, SpawnBlocking, SpawnError, Timer, TimerError};

/// A runtime like `R`, but with a clock that costs less to read.
///
/// Its clock is the time stamp counter of the processor, read by the crate [`quanta`] without asking the operating system. That
/// takes about 10 ns where [`std::time::Instant`] takes 25, and is what a bulkhead measures by: waits, limits, deadlines, and the
/// time of events. Timers are `R`'s, one for each call that waits with a deadline (there is no [`home`](Timer::home) here), and tasks
/// too if `R` has them to give. Deadlines are written in `R`'s instants as before.
///
/// ```
/// use bulklink::testing::{Executor, FakeClock};
/// use bulklink::{Bulkhead, Tsc};
///
/// let payments = Bulkhead::builder_on(Tsc::new(FakeClock::new()), "payments").parallelism(10).build()?;
/// # let mut executor = Executor::new(FakeClock::new());
/// # executor.block_on(async move {
/// let receipt = payments.execute(async { "paid" }).await?;
/// # assert_eq!(receipt, "paid");
/// # Ok::<(), bulklink::Rejection>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # When to use it
///
/// Where calls that wait are so many that the clock shows in a profile. While nobody waits, a bulkhead reads no clock. Who has no
/// use for measured waits at all is better off with [`measure_waits(false)`](crate::Builder::measure_waits).
///
/// # Accuracy
///
/// - The counter is measured against the system's clock once, when the first of these runtimes is made. That takes a millisecond,
///   at most 200, and the rate it finds is a few tens of millionths off: a limit of a minute may end two milliseconds early or late.
/// - Two threads may read it out of order by about a microsecond, as a processor runs ahead. A bulkhead bears that: while
///   somebody waits, its time never runs back.
/// - A deadline is converted by its distance from the present on both clocks, when the call is made.
/// - While the machine is suspended it may stand still or start over. It is for machines that stay awake.
///
/// # Where there is no counter to rely on
///
/// It is used on Linux where the kernel keeps its own time by it, and on other systems where the processor is a 64-bit ARM, whose
/// counter is one for all cores. Elsewhere a counter may differ from core to core, and this reads [`std::time::Instant`].
///
/// # Tests
///
/// Time that a test pauses or advances does not move it: a limit then passes in real time, while paused timers fire at once,
/// again and again. Tests of such limits are for `R` alone.
///
/// The time of an [`Event`](crate::Event) is this clock's. It is to be compared with [`now`](Clock::now) and with other events of
/// such bulkheads, and not with the clock of `R`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tsc<R>(R);

impl<R> Tsc<R> {
    /// Takes timers and tasks from `runtime`. The first in a process measures the counter.
    #[must_use]
    pub fn new(runtime: R) -> Self {
        Source::of_the_process();
        Tsc(runtime)
    }
}

impl<R: Default> Default for Tsc<R> {
    fn default() -> Self {
        Tsc::new(R::default())
    }
}

impl<R: Clock> Tsc<R> {
    /// The present by both clocks. The longer the two readings lie apart, the earlier a deadline of the other clock comes out
    /// here, and the later a timer there: nobody is admitted after a deadline, and no timer fires in vain.
    fn present(&self) -> (Instant, Instant) {
        let here = self.now();
        (here, self.0.now())
    }
}

impl<R: Clock> Clock for Tsc<R> {
    type Instant = R::Instant;

    #[inline]
    fn now(&self) -> Instant {
        Source::of_the_process().now()
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

    /// There is no home, but there may be no timer either.
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

/// What lies as far from `to` as `at` does from `from`. Never stays never.
fn moved(at: Instant, from: Instant, to: Instant) -> Instant {
    if at == Instant::FAR_FUTURE {
        return at;
    }
    to.saturating_add(at.saturating_since(from)).saturating_sub(from.saturating_since(at))
}

/// Where the clock begins: centuries from either end, so that instants before it have room.
const START: Instant = Instant::from_nanos(1 << 62);

/// What is read, and its reading at the start.
enum Source {
    Counter { clock: quanta::Clock, start: u64 },
    System { start: Std },
}

impl Source {
    /// One for all, so that all bulkheads of a process have one time.
    #[inline]
    fn of_the_process() -> &'static Source {
        static SOURCE: OnceLock<Source> = OnceLock::new();
        SOURCE.get_or_init(|| if is_one_for_all_cores() { Source::counter() } else { Source::system() })
    }

    fn counter() -> Self {
        let clock = quanta::Clock::new();
        Source::Counter { start: clock.raw(), clock }
    }

    fn system() -> Self {
        Source::System { start: Std::now() }
    }

    #[inline]
    fn now(&self) -> Instant {
        START.saturating_add(match self {
            Source::Counter { clock, start } => Duration::from_nanos(clock.delta_as_nanos(*start, clock.raw())),
            Source::System { start } => start.elapsed(),
        })
    }
}

/// Whether all cores count alike. The bit of the processor that says its counter is invariant speaks for one core.
fn is_one_for_all_cores() -> bool {
    const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    if cfg!(target_os = "linux") {
        return std::fs::read_to_string(CLOCK_SOURCE).is_ok_and(|name| is_counter(&name));
    }
    cfg!(target_arch = "aarch64")
}

/// Whether the kernel's clock of this name is the counter.
fn is_counter(name: &str) -> bool {
    ["tsc", "arch_sys_counter"].contains(&name.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(5);

    #[test]
    fn either_source_begins_at_the_start_and_keeps_time() {
        for source in [Source::counter(), Source::system()] {
            let begun = Std::now();
            let first = source.now();
            assert!(first >= START && first < START + Duration::from_secs(60), "{first:?}");
            std::thread::sleep(SHORT);
            let passed = source.now().saturating_since(first);
            assert!(passed > SHORT * 9 / 10 && passed < begun.elapsed() * 11 / 10, "{passed:?}");
        }
    }

    #[test]
    fn only_the_counter_itself_will_do() {
        assert!(is_counter("tsc\n") && is_counter("arch_sys_counter\n"));
        assert!(
            !["", "\n", "hpet\n", "acpi_pm\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n"]
                .into_iter()
                .any(is_counter)
        );
    }

    #[test]
    fn the_distance_stays_on_both_sides() {
        let (from, to) = (Instant::from_nanos(100), Instant::from_nanos(1_000_000));
        let moved = |at| moved(Instant::from_nanos(at), from, to).as_nanos();
        assert_eq!([moved(100), moved(150), moved(30)], [1_000_000, 1_000_050, 999_930]);
        assert_eq!([moved(u64::MAX), moved(u64::MAX - 1)], [u64::MAX; 2], "never, or as good as");
        assert_eq!(super::moved(Instant::EPOCH, to, from), Instant::EPOCH);
        assert_eq!(super::moved(Instant::FAR_FUTURE, to, from), Instant::FAR_FUTURE);
    }
}
