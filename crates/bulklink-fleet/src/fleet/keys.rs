//! A share for each key of partitions.

use std::fmt::Display;
use std::sync::Arc;

use bulklink::runtime::{Clock, Runtime};
use bulklink::{Ceiling, Handle, InvalidArgument, Partitions};

use super::{Fleet, FleetShare, JoinError, ShareBuilder, ceiling};
use crate::Name;

impl<R: Runtime<Sleep: Send>> Fleet<R> {
    /// Shares a limit for each key of these partitions: all processes that share partitions of this
    /// label have it together, as with [`share`](Fleet::share) for one bulkhead.
    ///
    /// `options` sets the limit of a key, and what else a [`ShareBuilder`] has; only
    /// `connect_within` means nothing here. It is called when a partition is created, and should be
    /// quick. The first call of a key waits for the store, or [fetches](ShareBuilder::fetch): two
    /// round trips.
    ///
    /// A key costs the store commands only while it has calls. When its partition is evicted, its
    /// units go back; an idle partition has none, and after ten seconds nothing is listened to for
    /// it any more. The store keeps some memory for each name that was ever used.
    ///
    /// The name of a limit is the label of the partitions, a colon, and the text of the key,
    /// [escaped](crate::Name) and of at most 200 bytes. Keys that are different must have different
    /// texts. No key is in a status, a rejection or a metric. A key has one share: its calls must
    /// all be of one [class](Partitions::class), as each class has a partition of its own, and that
    /// of a second one is refused.
    ///
    /// If the options of a key are invalid, or its name is too long or has a share in this fleet
    /// already, its calls are rejected or expire, and [`ceiling::REFUSED`] is the name of its
    /// ceiling, with the [`JoinError`] as its cause; so also if `options` panics, without a cause.
    /// [`share_of`](Fleet::share_of) has the state of a key on the store, and
    /// [`error`](Fleet::error) why it cannot be reached.
    ///
    /// # Errors
    ///
    /// If a partition exists already: share partitions before their first call. If they are shared
    /// already, or their label has a colon.
    ///
    /// ```
    /// use bulklink_fleet::{Fleet, MemoryStore};
    /// use bulklink_tokio::{Partitions, Tokio};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemoryStore::new(Tokio);
    /// let fleet = Fleet::builder(store, Tokio).namespace("prod").build()?;
    /// let tenants = Partitions::<String>::builder("tenants");
    /// let tenants = tenants.parallelism(50).waiting_room(9).max_partitions(999).build()?;
    /// fleet.share_partitions(&tenants, |tenant: &String, share| {
    ///     share.limit(if tenant == "ann" { 20 } else { 5 })
    /// })?;
    /// let slot = tenants.key("ann").slot().await?;
    /// drop(slot);
    /// # Ok(())
    /// # }
    /// ```
    pub fn share_partitions<K: Display, P: Clock + Clone + Send + Sync + 'static, S>(
        &self,
        partitions: &Partitions<K, P, S>,
        options: impl Fn(&K, ShareBuilder<R>) -> ShareBuilder<R> + Send + Sync + 'static,
    ) -> Result<(), JoinError> {
        // Otherwise two keys of two partitions could have one name.
        if partitions.label().contains(':') {
            let invalid = InvalidArgument::new("label", format_args!("{:?}", partitions.label()), "must have no colon");
            return Err(JoinError::Invalid(invalid));
        }
        let (fleet, label) = (self.clone(), partitions.label().to_owned());
        let begin = move |key: &K, bulkhead: &Handle, held: Ceiling| {
            let mut refused = Refused { ceiling: Some(held), name: ceiling::REFUSED, why: None };
            let builder = fleet.share_as(bulkhead, fleet.name_of(&label, key));
            match options(key, builder).begin(true) {
                Ok(_) => refused.ceiling = None,
                Err(JoinError::Closed) => refused.name = ceiling::LEFT,
                Err(error) => refused.why = Some(error),
            }
        };
        partitions.control(ceiling::SHARE, begin).map_err(JoinError::Invalid)
    }

    /// Returns the share of the key with this text, if its partition exists and the fleet shares
    /// it: for its figures and tokens, and to change the limit of this key. It ends with the
    /// partition. A bulkhead of the fleet with the same name on the store is found as well.
    #[must_use]
    pub fn share_of<K, P: Clock + Clone + Send + Sync + 'static, S>(
        &self,
        partitions: &Partitions<K, P, S>,
        key: impl Display,
    ) -> Option<FleetShare<R>> {
        let seat = self.open.hub.of_name(&self.name_of(partitions.label(), &key).ok()?)?;
        Some(FleetShare { seat, runtime: self.runtime.clone() })
    }

    /// The name of a key of partitions with this label.
    fn name_of(&self, label: &str, key: &impl Display) -> Result<Name, InvalidArgument> {
        let text = format!("{}:{key}", label.trim());
        Name::exact(&self.namespace, &text).map_err(|invalid| invalid.of("key", &text))
    }
}

/// Keeps the ceiling of a key at zero, by this name, for which no share was made.
struct Refused {
    ceiling: Option<Ceiling>,
    name: &'static str,
    why: Option<JoinError>,
}

impl Drop for Refused {
    fn drop(&mut self) {
        if let Some(mut ceiling) = self.ceiling.take() {
            ceiling.rename(self.name);
            ceiling.set_cause(self.why.take().map(|why| Arc::new(why) as _));
            ceiling.keep();
        }
    }
}
