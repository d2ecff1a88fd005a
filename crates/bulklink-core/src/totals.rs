//! The counters of a gate. They only increase, and wrap.

use core::ops::AddAssign;
use core::time::Duration;

/// A sum of nanoseconds of 128 bits, in two halves: a gate is smaller without the alignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    low: u64,
    high: u64,
}

impl Sum {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the halves")]
    pub(crate) const fn of(nanos: u128) -> Self {
        Sum { low: nanos as u64, high: (nanos >> 64) as u64 }
    }

    #[inline]
    pub(crate) const fn nanos(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    #[inline]
    pub(crate) fn add(&mut self, nanos: u128) {
        *self = Sum::of(self.nanos().saturating_add(nanos));
    }

    pub(crate) const fn since(self, earlier: Sum) -> Self {
        Sum::of(self.nanos().saturating_sub(earlier.nanos()))
    }

    /// Returns the sum, or the longest possible duration.
    pub(crate) fn duration(self) -> Duration {
        const SECOND: u128 = 1_000_000_000;
        let (seconds, nanos) = (self.nanos() / SECOND, self.nanos() % SECOND);
        match (u64::try_from(seconds), u32::try_from(nanos)) {
            (Ok(seconds), Ok(nanos)) => Duration::new(seconds, nanos),
            _ => Duration::MAX,
        }
    }
}

/// Declares [`Totals`] with its difference, so that no counter can be left out of an interval; and
/// [`Counted`], the part of it that a gate counts: the rest follows from that.
macro_rules! totals {
    (
        counted { $($(#[$doc:meta])* $name:ident,)* }
        counted_with_restriction { $($(#[$restricted_doc:meta])* $restricted:ident,)* }
        computed { $($(#[$computed_doc:meta])* $computed:ident,)* }
    ) => {
        /// Counters since the gate was created, or over an [`Interval`](crate::Interval). The
        /// counters of 64 bits wrap.
        ///
        /// These hold at all times, with the occupancy of the same [`Snapshot`](crate::Snapshot):
        ///
        /// - admitted = finished + abandoned + in flight, plus merges less splits
        /// - queued = admitted from queue + cancelled + expired + displaced + closed while waiting,
        ///   plus waiting
        /// - rejected = saturated + expired + expired before queue + displaced + closed; a
        ///   cancellation is not a rejection
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Totals {
            $($(#[$doc])* pub $name: u64,)*
            $($(#[$restricted_doc])* #[cfg(feature = "restriction")] pub $restricted: u64,)*
            $($(#[$computed_doc])* pub $computed: u64,)*
            /// See [`cumulative_wait`](Totals::cumulative_wait).
            pub(crate) waited: Sum,
        }

        impl Totals {
            /// Returns the counts since these counters were `earlier`.
            #[must_use]
            pub fn since(&self, earlier: &Totals) -> Totals {
                Totals {
                    $($name: self.$name.wrapping_sub(earlier.$name),)*
                    $(
                        #[cfg(feature = "restriction")]
                        $restricted: self.$restricted.wrapping_sub(earlier.$restricted),
                    )*
                    $($computed: self.$computed.wrapping_sub(earlier.$computed),)*
                    waited: self.waited.since(earlier.waited),
                }
            }
        }

        /// The counters of a gate.
        #[cfg(feature = "restriction")]
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct Counted {
            $(pub(crate) $name: u64,)*
            $(pub(crate) $restricted: u64,)*
            pub(crate) waited: Sum,
        }

        #[cfg(feature = "restriction")]
        impl Counted {
            /// Returns all totals, of which none is computed yet.
            pub(crate) fn totals(&self) -> Totals {
                Totals {
                    $($name: self.$name,)*
                    $($restricted: self.$restricted,)*
                    $($computed: 0,)*
                    waited: self.waited,
                }
            }
        }

        /// Adds the counters of another gate, so that many are counted together.
        impl AddAssign for Totals {
            fn add_assign(&mut self, other: Totals) {
                $(self.$name = self.$name.wrapping_add(other.$name);)*
                $(
                    #[cfg(feature = "restriction")]
                    {
                        self.$restricted = self.$restricted.wrapping_add(other.$restricted);
                    }
                )*
                $(self.$computed = self.$computed.wrapping_add(other.$computed);)*
                self.waited.add(other.waited.nanos());
            }
        }
    };
}

totals! {
    counted {
        /// Requests admitted, immediately or from the queue.
        admitted,
        /// Requests admitted from the queue.
        admitted_from_queue,
        /// Units of the requests admitted.
        admitted_units,
        /// Units of the requests admitted from the queue.
        admitted_from_queue_units,
        /// Requests that were cancelled, or lost their slot, after admission and before their
        /// operation began.
        abandoned,
        /// Units of the requests abandoned.
        abandoned_units,
        /// Requests that joined the queue.
        queued,
        /// Units of the requests that joined the queue.
        queued_units,
        /// Requests rejected because there was no room.
        saturated,
        /// Requests that expired in the queue.
        expired,
        /// Requests that expired before they could queue.
        expired_before_queue,
        /// Requests cancelled while they waited.
        cancelled,
        /// Requests rejected on entry because the gate was closed.
        closed_before_queue,
        /// Waiting requests rejected when the gate closed.
        closed_while_waiting,
    }
    counted_with_restriction {
        /// Requests that gave up their place in the queue to those of other lines of a
        /// [pool](crate::pool).
        displaced,
    }
    computed {
        /// Operations that ended, with any outcome; also those that were written off.
        finished,
        /// Units that operations have given back at their end.
        finished_units,
    }
}

/// Without restrictions, a gate keeps all of them: that takes less code.
#[cfg(not(feature = "restriction"))]
pub(crate) type Counted = Totals;

#[cfg(not(feature = "restriction"))]
impl Totals {
    pub(crate) fn totals(&self) -> Totals {
        *self
    }
}

impl Totals {
    /// Returns the number of requests admitted without waiting.
    #[must_use]
    pub const fn direct_admitted(&self) -> u64 {
        self.admitted.wrapping_sub(self.admitted_from_queue)
    }

    /// Returns the number of requests rejected because the gate was closed.
    #[must_use]
    pub const fn closed(&self) -> u64 {
        self.closed_before_queue.wrapping_add(self.closed_while_waiting)
    }

    /// Returns the number of requests rejected, for any reason but one: a request whose slot was
    /// [taken back](crate::Snapshot::taken_back) has been admitted, and counts as abandoned.
    #[must_use]
    pub const fn rejected(&self) -> u64 {
        self.saturated
            .wrapping_add(self.expired)
            .wrapping_add(self.expired_before_queue)
            .wrapping_add(self.given_up())
            .wrapping_add(self.closed())
    }

    /// Returns the number of requests displaced: none without restrictions.
    #[cfg_attr(not(feature = "restriction"), expect(clippy::unused_self, reason = "there are none then"))]
    pub(crate) const fn given_up(&self) -> u64 {
        #[cfg(feature = "restriction")]
        let displaced = self.displaced;
        #[cfg(not(feature = "restriction"))]
        let displaced = 0;
        displaced
    }

    /// Returns the number of requests that left the queue, for any reason.
    #[must_use]
    pub const fn settled_waiting(&self) -> u64 {
        self.admitted_from_queue
            .wrapping_add(self.cancelled)
            .wrapping_add(self.expired)
            .wrapping_add(self.given_up())
            .wrapping_add(self.closed_while_waiting)
    }

    /// Returns the sum of all waits that ended in admission.
    #[must_use]
    pub fn cumulative_wait(&self) -> Duration {
        self.waited.duration()
    }

    /// Returns the mean wait of requests admitted from the queue, or `None` if there were none.
    #[must_use]
    pub fn average_wait(&self) -> Option<Duration> {
        let nanos = self.waited.nanos().checked_div(u128::from(self.admitted_from_queue))?;
        // No single wait exceeds 64 bits of nanoseconds, so neither does their mean.
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_many_gates_add_up_and_wrap() {
        let (mut all, one) = (Totals::default(), Totals { admitted: 3, saturated: 2, ..Totals::default() });
        for _ in 0..2 {
            all += one;
        }
        assert_eq!((all, all.since(&one)), (Totals { admitted: 6, saturated: 4, ..Totals::default() }, one));
        all += Totals { admitted: u64::MAX, waited: Sum::of(u128::MAX), ..Totals::default() };
        all += Totals { waited: Sum::of(5), ..Totals::default() };
        assert_eq!((all.admitted, all.waited), (5, Sum::of(u128::MAX)));
    }

    #[test]
    fn waits_are_summed_past_64_bits_of_nanoseconds() {
        let years = Duration::from_secs(600 * 365 * 24 * 3600) + Duration::from_nanos(7);
        assert!(u64::try_from(years.as_nanos()).is_err());
        let waited = |nanos| Totals { waited: Sum::of(nanos), ..Totals::default() }.cumulative_wait();
        assert_eq!(waited(years.as_nanos()), years);
        assert_eq!(waited(u128::MAX), Duration::MAX);
    }
}
