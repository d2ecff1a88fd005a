//! How a bulkhead comes to its share.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bulklink::runtime::Runtime;
use bulklink::{Handle, InvalidArgument};

use super::config::{Configured, Values};
use super::seat::Seat;
use super::share::FleetShare;
use super::state::Standing;
use super::{Fleet, JoinError, Outage, ceiling};
use crate::Name;
use crate::share::{Declaration, Policy, Share, Tuning};

/// The largest number that all stores handle exactly, with room for sums.
pub(super) const MAX_NUMBER: u64 = 1 << 40;

/// The limit of a fleet for a bulkhead of this process, which is being declared; made by
/// [`Fleet::share`].
#[must_use = "a builder does nothing until `connect`"]
pub struct ShareBuilder<R> {
    fleet: Fleet<R>,
    bulkhead: Handle,
    name: Result<Name, InvalidArgument>,
    pub(super) values: Values,
    /// The values before those of a configuration, if it has some.
    pub(super) base: Option<Values>,
    tuning: Tuning,
    patience: Duration,
}

impl<R: Runtime<Sleep: Send>> Fleet<R> {
    /// Begins to share the limit of the fleet with this bulkhead, under its label. All processes
    /// that share a limit of one name on the same store, in the same namespace, have it together.
    ///
    /// From [`connect`](ShareBuilder::connect) on, the bulkhead has a [ceiling]: the units that the
    /// store has granted to this process. Calls are admitted as ever, by this process alone; and
    /// the sum of all shares is never above the limit.
    ///
    /// ```
    /// use bulklink_fleet::{Fleet, MemoryStore};
    /// use bulklink_tokio::{Bulkhead, Tokio};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemoryStore::new(Tokio);
    /// let fleet = Fleet::builder(store, Tokio).namespace("prod").build()?;
    /// let payments = Bulkhead::builder("payments").parallelism(50).waiting_room(100).build()?;
    /// let share = fleet.share(&payments).limit(100).connect().await?;
    ///
    /// let slot = payments.slot().await?;
    /// assert_eq!(share.status().limit, 100);
    /// drop(slot);
    /// # Ok(())
    /// # }
    /// ```
    pub fn share(&self, bulkhead: &impl AsRef<Handle>) -> ShareBuilder<R> {
        let bulkhead = bulkhead.as_ref();
        self.share_as(bulkhead, Name::labelled(&self.namespace, bulkhead.label()))
    }

    pub(super) fn share_as(&self, bulkhead: &Handle, name: Result<Name, InvalidArgument>) -> ShareBuilder<R> {
        ShareBuilder {
            fleet: self.clone(),
            bulkhead: bulkhead.clone(),
            name,
            values: Values::default(),
            base: None,
            tuning: Tuning::default(),
            patience: Duration::from_secs(5),
        }
    }
}

impl<R: Runtime<Sleep: Send>> ShareBuilder<R> {
    /// Sets the limit of the whole fleet, in units. Required.
    pub fn limit(mut self, units: usize) -> Self {
        self.values.limit = Some(units);
        self
    }

    /// Sets the part of this process among those that wait for units, relative to others: 1 by
    /// default.
    pub fn weight(mut self, weight: u32) -> Self {
        self.values.weight = weight;
        self
    }

    /// Sets the number of the configuration that limit and terms are from: 1 by default.
    ///
    /// All processes with the same number must declare the same. A process with a higher number
    /// replaces them, and one with a lower number takes them as they are: so a rolling deployment
    /// changes them. If the fleet contradicts a process that has joined it, such as after all were
    /// idle, the process takes them too, and its status [says so](super::ShareStatus::declined).
    pub fn config(mut self, number: u64) -> Self {
        self.values.config = number;
        self
    }

    /// Sets how long units can be used after the last word of the store: 10 s by default. A process
    /// that crashes holds its units for that long. Must be the same in all processes.
    pub fn lease(mut self, time: Duration) -> Self {
        self.values.terms.lease = time;
        self
    }

    /// Sets how long a process without units keeps its place: 3 s by default. Must be the same in
    /// all processes.
    pub fn claim(mut self, time: Duration) -> Self {
        self.values.terms.claim = time;
        self
    }

    /// Does without the quarantine after a loss of the store's data, in which nothing is granted.
    /// Then up to twice the limit can be in use for a lease. Must be the same in all processes.
    pub fn without_quarantine(mut self) -> Self {
        self.values.terms.recovers = false;
        self
    }

    /// Sets how the units move: see [`Tuning`].
    pub fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// Moves each unit after each use while other processes wait, as mutual exclusion needs: see
    /// [`Tuning::strict`].
    pub fn strict(self) -> Self {
        let tuning = self.tuning.strict();
        self.tuning(tuning)
    }

    /// Sets what happens to calls when the store is out of reach and the lease has ended: they are
    /// rejected by default.
    pub fn on_outage(mut self, outage: Outage) -> Self {
        self.values.outage = outage;
        self
    }

    /// Sets how long a call that finds no unit of the share waits for more where it would be
    /// rejected: if it [may not wait](bulklink::Request::now), or the waiting room has no place. 10
    /// ms by default; zero for not at all. So it is rejected because of the fleet, and not because
    /// the units are elsewhere: see [`Ceiling::set_fetch`](bulklink::Ceiling::set_fetch).
    ///
    /// While the store cannot be reached, and in a quarantine, there is nothing to wait for.
    pub fn fetch(mut self, wait: Duration) -> Self {
        self.values.fetch = wait;
        self
    }

    /// Sets for how long [`connect`](Self::connect) tries to reach the store: 5 s by default.
    pub fn connect_within(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// Declares the limit, and waits until the store has answered. From the call of this on, also
    /// before the future is polled, and until the store has answered, the bulkhead admits no call.
    /// It is tried again and again, until its time is over: for ever with a
    /// [time](Self::connect_within) of `Duration::MAX`, for a program that begins without its
    /// store.
    ///
    /// The share lasts as long as its bulkhead, or until the process [leaves](FleetShare::leave):
    /// dropping the handle that this returns changes nothing.
    ///
    /// # Errors
    ///
    /// If a value is invalid, if this process shares a bulkhead of this name already, if other
    /// processes have declared other values, or if the store cannot be reached or refuses: then the
    /// [source](std::error::Error::source) says why. The bulkhead is as it was before.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the bulkhead is as it was before.
    pub fn connect(self) -> impl Future<Output = Result<FleetShare<R>, JoinError>> + use<R> {
        let runtime = self.fleet.runtime.clone();
        let deadline = runtime.now().saturating_add(self.patience);
        let begun = self.begin(false).map(|share| (Joining(Some(Arc::clone(&share.seat))), share));
        async move {
            let (mut joining, share) = begun?;
            let mut sleep = pin!(runtime.sleep_until(deadline));
            let joined = poll_fn(|context| {
                let known = share.seat.poll(context, |standing, _| match standing {
                    Standing::Joining(_) => None,
                    Standing::Refused(refusal) => Some(Err(JoinError::Refused(refusal.clone()))),
                    Standing::Joined => Some(Ok(())),
                    Standing::Left => Some(Err(JoinError::Closed)),
                });
                let unreached = || Err(share.seat.unreached());
                if known.is_ready() { known } else { sleep.as_mut().poll(context).map(|()| unreached()) }
            });
            joined.await?;
            joining.0 = None;
            drop(joining);
            Ok(share)
        }
    }

    /// Begins the share, under a ceiling of zero. Where the fleet has other values for the same
    /// configuration, it goes on with those if it `yields`.
    pub(super) fn begin(self, yields: bool) -> Result<FleetShare<R>, JoinError> {
        let (configured, declaration) = self.check().map_err(JoinError::Invalid)?;
        let name = self.name.map_err(JoinError::Invalid)?;
        let share = Share::new(self.fleet.id, self.values.weight, declaration).yielding(yields);
        let machines = (share, Policy::new(self.tuning));
        let hub = &self.fleet.open.hub;
        let signal = Arc::clone(&hub.signal);
        let seat = hub.add(&name, |number, seq, away| {
            let machines = (machines.0.after(seq), machines.1);
            let ceiling = self.bulkhead.ceiling(ceiling::UNAVAILABLE);
            Seat::new(number, name.clone(), ceiling, &configured, machines, away, signal)
        })?;
        Ok(FleetShare { seat, runtime: self.fleet.runtime })
    }
}

impl<R> ShareBuilder<R> {
    /// Checks the values, and returns what the process declares by them.
    pub(super) fn check(&self) -> Result<(Configured, Declaration), InvalidArgument> {
        let can_wait = self.bulkhead.limits().waiting_room > 0;
        let declaration = self.values.check(&self.tuning, can_wait)?;
        // The partition of a key has the label of all, and the key is in the name.
        let is_of_key = self.name.as_ref().is_ok_and(|name| name.label() != self.bulkhead.label());
        let (values, base, tuning) = (self.values, self.base, self.tuning);
        Ok((Configured { values, base, tuning, can_wait, is_of_key }, declaration))
    }
}

/// Gives up a share after its `connect` has failed or was dropped.
struct Joining(Option<Arc<Seat>>);

impl Drop for Joining {
    fn drop(&mut self) {
        if let Some(seat) = self.0.take() {
            seat.give_up();
        }
    }
}

impl<R> fmt::Debug for ShareBuilder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShareBuilder")
            .field("name", &self.name)
            .field("limit", &self.values.limit)
            .finish_non_exhaustive()
    }
}
