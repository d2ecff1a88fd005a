//! The methods of partitions with a capacity that all keys share: classes, shares, and changes.

use core::hash::BuildHasher;

use super::{Class, Lookup, Partitions, Share};
use crate::{Clock, InvalidArgument, ReconfigureError};

impl<K, R: Clock + Clone + Send + Sync + 'static, S> Partitions<K, R, S> {
    /// Returns these partitions for calls of a class: [`key`](Partitions::key),
    /// [`partition`](Partitions::partition) and [`discard`](Partitions::discard) are of the class,
    /// and everything else is of all classes together, as before.
    ///
    /// Calls of a better class are admitted before those of all keys in lower ones, but for keys
    /// within their [floor](Share::floor). So the program decides on it, and not the tenant: for
    /// example, [`Critical`](Class::Critical) for a user that waits and
    /// [`Background`](Class::Background) for a batch.
    ///
    /// A key has a partition for each class that it uses, with the limits of a partition and a
    /// queue of its own: one that is paused or full there holds up no other class. Its
    /// [share](Share), with the ceiling, is for all of them together. All count toward the
    /// [maximum](super::Builder::max_partitions). The keys that [operators
    /// see](super::Builder::show_keys) have the class behind them, but for the normal one.
    ///
    /// A [controller](Partitions::control) gets each of these partitions, and does not know its
    /// class: one that gives each key a limit, such as the share of a fleet, is for keys whose
    /// calls are all of one class.
    ///
    /// Without a [shared capacity](super::Builder::shared_capacity) there are no turns, and a class
    /// has no effect.
    ///
    /// ```
    /// use bulklink_tokio::Partitions;
    /// use bulklink_tokio::partitions::Class;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let models: Partitions<String> = Partitions::builder("models")
    ///     .shared_capacity(1)
    ///     .shared_waiting_room(10)
    ///     .max_partitions(100)
    ///     .build()?;
    /// let (chat, batch) = (models.class(Class::Critical), models.class(Class::Background));
    ///
    /// let running = models.key("ann").slot().await?;
    /// let later = tokio::spawn(batch.key("ann").slot());
    /// tokio::task::yield_now().await;
    /// let sooner = tokio::spawn(chat.key("bob").slot());
    /// tokio::task::yield_now().await;
    /// drop(running);
    /// let bob = sooner.await??;
    /// assert!(!later.is_finished());
    /// drop(bob);
    /// let ann = later.await??;
    /// # drop(ann);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn class(&self, class: Class) -> Self {
        let class = if self.inner.pool().is_some() { class } else { Class::Normal };
        Partitions { class, ..self.clone() }
    }

    /// Changes the [capacity that all keys share](super::Builder::shared_capacity): growing admits
    /// waiting calls in their turns, and shrinking cancels nothing. Floors that are lent may be
    /// more.
    ///
    /// The capacity of each partition follows, unless the builder has set one; that takes as long
    /// as [`reconfigure`](Partitions::reconfigure).
    ///
    /// # Errors
    ///
    /// If the partitions share no capacity, or are closed; if the number is out of its range; or if
    /// it is less than a waiting call asks for, than the floors that are [kept](Share::kept), or
    /// not more than the [headroom](super::Builder::class_headroom) of a class. Nothing has changed
    /// then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink_tokio::Partitions;
    /// # let builder = Partitions::builder("models").shared_capacity(1).max_partitions(10);
    /// # let models: Partitions<String> = builder.build()?;
    /// models.resize_shared(2)?;
    /// let both = (models.key("ann").try_slot()?, models.key("bob").try_slot()?);
    /// assert_eq!(models.status().shared.map(|shared| shared.in_use), Some(2));
    /// # drop(both);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize_shared(&self, units: usize) -> Result<(), ReconfigureError> {
        self.inner.resize_shared(units)
    }
}

impl<K, R: Clock + Clone + Send + Sync + 'static, S: BuildHasher> Partitions<K, R, S> {
    /// Sets the share of a key in the [capacity that all keys
    /// share](super::Builder::shared_capacity), in place of [that of all](super::Builder::share).
    /// It takes effect at once, and stays whether or not the key has a partition, until it is
    /// replaced or [removed](Partitions::remove_share): for keys that the program knows, not for
    /// each that comes.
    ///
    /// # Errors
    ///
    /// If the partitions share no capacity; if a number is out of its range, such as a floor above
    /// the capacity or the ceiling; or if the floors that are [kept](Share::kept) would be more
    /// than the capacity. Nothing has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::Partitions;
    /// use bulklink_tokio::partitions::Share;
    ///
    /// # let builder = Partitions::builder("models").shared_capacity(4).max_partitions(10);
    /// # let models: Partitions<String> = builder.build()?;
    /// models.set_share("ann", Share::new().floor(2).kept())?;
    /// let bobs = (models.key("bob").try_slot()?, models.key("bob").try_slot()?);
    /// assert!(models.key("bob").try_slot().is_err(), "the others are kept for Ann");
    /// let ann = models.key("ann").try_slot()?;
    /// # drop((bobs, ann));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_share<Q: Lookup<K> + ?Sized>(&self, key: &Q, share: Share) -> Result<(), InvalidArgument> {
        self.inner.set_share(key, share)
    }

    /// Removes the share that a key [has of its own](Partitions::set_share), and returns whether it
    /// had one: from now on it has that [of all](super::Builder::share) again.
    ///
    /// ```
    /// # use bulklink_tokio::{Partitions, partitions::Share};
    /// # let builder = Partitions::builder("models").shared_capacity(4).max_partitions(10);
    /// # let models: Partitions<String> = builder.build()?;
    /// models.set_share("ann", Share::new().floor(4).kept())?;
    /// assert!(models.key("bob").try_slot().is_err());
    /// assert!(models.remove_share("ann"));
    /// assert!(models.key("bob").try_slot().is_ok());
    /// assert_eq!(models.share("ann"), Some(Share::new()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_share<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> bool {
        self.inner.remove_share(key)
    }

    /// Returns the share of a key in the shared capacity; `None` if the partitions share none.
    #[must_use]
    pub fn share<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<Share> {
        self.inner.share(key)
    }
}
