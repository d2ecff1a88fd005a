//! How long a call that was rejected would have to wait, by the rate at which units become free;
//! and how long calls have waited already.

use core::time::Duration;

use crate::Handle;
use crate::foreign::attempt;

impl Handle {
    /// Estimates how long a call of this cost, made now, would have to wait for its units: for the
    /// `Retry-After` of a call that was rejected.
    ///
    /// Call it for each rejection: each call also samples the rate for the next estimates. Called
    /// now and then, it returns `None`.
    ///
    /// The estimate is the units of all calls that wait, plus `cost`, less the free units, divided
    /// by the rate at which units were given back recently. It is zero if no call waits and as many
    /// units are free; where keys [share a capacity](crate::Partitions#shared-capacity), if the
    /// call would be admitted at once. It ignores that calls in the queue may expire, and that
    /// other calls may come first; to keep many rejected callers from coming back together, add a
    /// random part.
    ///
    /// The rate is sampled in this method and nowhere else, so admission costs the same as without
    /// it. It looks back as far as the work needs: 1 to 10 seconds
    /// while that gives back many slots, and otherwise over 8 to 16 slots, up to about 10 minutes,
    /// or to the last slots if they are older. With fewer rejections, it looks back up to 30
    /// seconds further. Time in which the bulkhead was paused counts. If slots are given back more
    /// slowly than before, the estimate grows with the time since then.
    ///
    /// Returns `None` if there is no estimate:
    ///
    /// - The bulkhead is closed or paused, or `cost` is zero or more than the capacity, or than a
    ///   [ceiling](crate::Ceiling) ever admits.
    /// - There is no recent rate. The first call of this method takes a sample, and so does the
    ///   first one after 30 seconds without any. A rate is known from 100 milliseconds after that,
    ///   or from 1 millisecond after it if 8 slots have been given back meanwhile. So of a wave of
    ///   calls that are rejected in the same moment, none has an estimate.
    /// - No unit has been given back since the first sample: the estimate would be infinite.
    /// - The clock has been set back, or panics. Time that passes after it was set back counts
    ///   again.
    ///
    /// It reads the clock once, takes the lock once, and allocates nothing but a sample at the
    /// first call.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let payments = Bulkhead::builder("payments").parallelism(1).build()?;
    /// let running = payments.slot().await?;
    /// assert!(payments.slot().await.is_err());
    /// assert_eq!(payments.estimated_wait(1), None, "no rate is known yet");
    ///
    /// tokio::time::sleep(Duration::from_millis(400)).await;
    /// drop(running);
    /// let _running = payments.slot().await?;
    /// assert!(payments.slot().await.is_err());
    /// assert_eq!(payments.estimated_wait(1), Some(Duration::from_millis(400)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn estimated_wait(&self, cost: usize) -> Option<Duration> {
        // Read before the lock is taken, because it is foreign.
        let now = attempt(|| self.shared.now());
        let is_short = self.shared.pool().is_some_and(|pool| pool.is_short(&self.shared, cost));
        self.shared.with_gate(|state| state.estimated_wait(cost, now, is_short))
    }
}
