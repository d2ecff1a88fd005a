//! Tokio with a cheaper clock.

use bulklink::{Clock, Home, Instant, Spawn, Timer, Tsc};

use crate::home::home;
use crate::{Tokio, TokioSleep};

/// Tokio's timers and tasks, and the processor's time stamp counter ([`Tsc`]) as the clock. With the feature `tsc`.
///
/// For bulkheads where calls wait all the time, and the readings of the clock show. Requests take tokio's instants as before.
/// Paused or advanced tokio time does not move this clock, so tests that use it want [`Tokio`].
///
/// ```
/// use bulklink_tokio::TokioTsc;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let payments = bulklink::Bulkhead::<TokioTsc>::builder("payments")
///     .parallelism(10)
///     .waiting_room(50)
///     .wait_limit(Duration::from_secs(2))
///     .build()?;
/// assert_eq!(payments.execute(async { "paid" }).await?, "paid");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokioTsc;

/// The same point in time on another clock, told by how far it is from both clocks' present.
fn translate(at: Instant, from: &impl Clock, to: &impl Clock) -> Instant {
    let (there, here) = (from.now(), to.now());
    here.saturating_add(at.saturating_since(there)).saturating_sub(there.saturating_since(at))
}

impl Clock for TokioTsc {
    type Instant = tokio::time::Instant;

    fn now(&self) -> Instant {
        Tsc.now()
    }

    fn instant(&self, at: tokio::time::Instant) -> Instant {
        translate(Tokio.instant(at), &Tokio, &Tsc)
    }
}

impl Timer for TokioTsc {
    type Sleep = TokioSleep;

    fn sleep_until(&self, deadline: Instant) -> TokioSleep {
        Tokio.sleep_until(translate(deadline, &Tsc, &Tokio))
    }

    fn home(&self) -> Option<Home<Self>> {
        home()
    }
}

impl Spawn for TokioTsc {
    /// # Panics
    ///
    /// Outside of a tokio runtime, as [`tokio::spawn`] does.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        Tokio.spawn(task);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn deadlines_are_as_far_away_on_one_clock_as_on_the_other() {
        let hour = Duration::from_secs(3600);
        let (near, far) = (Duration::from_secs(3590), Duration::from_secs(3610));
        let now = tokio::time::Instant::now();
        let ahead = TokioTsc.instant(now + hour).saturating_since(Tsc.now());
        let behind = Tsc.now().saturating_since(TokioTsc.instant(now - hour));
        assert!((near..far).contains(&ahead) && (near..far).contains(&behind), "{ahead:?} {behind:?}");
    }
}
