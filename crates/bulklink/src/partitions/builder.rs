//! The builder of partitions.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;

use bulklink_core::partitions::Limits;
use bulklink_core::pool;

use super::inner::Inner;
use super::keys::ShowKey;
use super::state::LimitsFor;
use super::{Class, RandomState};
use crate::partitions::Share;
use crate::{Clock, InvalidArgument, Partitions, Reserve, label};

/// Configures and builds [`Partitions`]; returned by [`Partitions::builder`].
///
/// ```
/// use bulklink_tokio::Partitions;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tenants: Partitions<String> = Partitions::builder("tenants")
///     // Of each tenant.
///     .parallelism(5)
///     .waiting_room(20)
///     .wait_limit(Duration::from_secs(2))
///     // Of all tenants.
///     .max_partitions(10_000)
///     .idle_timeout(Duration::from_secs(600))
///     .build()?;
/// let receipt = tenants.key("ann").execute(async { "paid" }).await?;
/// # assert_eq!(receipt, "paid");
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<K, R, S = RandomState> {
    each: crate::Builder<R>,
    max_partitions: Option<usize>,
    idle_timeout: Option<Duration>,
    limits_for: Option<LimitsFor<K>>,
    shared_capacity: Option<usize>,
    shared_waiting_room: Option<usize>,
    class_headroom: [usize; Class::ALL.len()],
    class_relief: Option<usize>,
    share: Option<Share>,
    show_key: Option<ShowKey<K>>,
    hasher: S,
}

impl<K, R: Clock> Builder<K, R> {
    pub(super) fn new(runtime: R, label: &str) -> Self {
        let each = crate::Builder::new(runtime, label);
        let hasher = RandomState::default();
        Builder {
            each,
            max_partitions: None,
            idle_timeout: None,
            limits_for: None,
            shared_capacity: None,
            shared_waiting_room: None,
            class_headroom: [0; Class::ALL.len()],
            class_relief: None,
            share: None,
            show_key: None,
            hasher,
        }
    }
}

impl<K, R: Clock, S> Builder<K, R, S> {
    /// Sets another name, so that one configuration can be cloned for several partitions, as
    /// [`Builder::label`](crate::Builder::label).
    pub fn label(self, label: &str) -> Self {
        self.each(|each| each.label(label))
    }

    /// Sets how many partitions may exist at the same time, from 1 to
    /// [`partitions::Limits::MAX`](super::Limits::MAX). It must be set.
    ///
    /// When one more is needed, the partition that has been idle the longest is evicted. If none is
    /// idle, calls are rejected with [`Reason::PartitionLimit`](crate::Reason::PartitionLimit), so
    /// choose more than are ever in use at the same time.
    pub fn max_partitions(mut self, partitions: usize) -> Self {
        self.max_partitions = Some(partitions);
        self
    }

    /// Sets how long a partition must have been idle for
    /// [`cleanup_idle`](super::Handle::cleanup_idle) to drop it.
    ///
    /// With zero, a cleanup drops every idle partition. Without an idle timeout, a cleanup drops
    /// none, and the end of a call does not read the clock.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Sets the hasher of keys. It runs outside all locks.
    pub fn hasher<T>(self, hasher: T) -> Builder<K, R, T> {
        let Builder { each, max_partitions, idle_timeout, limits_for, show_key, .. } = self;
        let Builder { shared_capacity, shared_waiting_room, class_headroom, class_relief, share, .. } = self;
        Builder {
            each,
            max_partitions,
            idle_timeout,
            limits_for,
            shared_capacity,
            shared_waiting_room,
            class_headroom,
            class_relief,
            share,
            show_key,
            hasher,
        }
    }

    /// Sets a function that gives each key limits of its own. It gets the key and the limits of
    /// this configuration, or those that a [reconfiguration](Partitions::reconfigure) has set.
    ///
    /// It is called when a partition is created, and for each partition that is kept when all are
    /// reconfigured. It should be quick. It may read settings that change: then
    /// [reconfigure](Partitions::reconfigure) the partitions, with the same limits if only those of
    /// keys have changed. For a key without limits of its own, return those that were passed.
    ///
    /// It runs under a lock, as the comparison of [keys](Partitions#keys) does: it must not call
    /// back into the same partitions, or the call never returns. If it panics, the call panics and
    /// nothing has changed.
    ///
    /// # Errors
    ///
    /// If it returns limits that are invalid, a call for this key is rejected as
    /// [`InvalidLimits`](crate::Reason::InvalidLimits), and no partition is created or evicted for
    /// it. A reconfiguration is refused with each reason, and changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::{Limits, Partitions};
    ///
    /// let tenants: Partitions<String> = Partitions::builder("tenants")
    ///     .parallelism(2)
    ///     .max_partitions(10)
    ///     .limits_for(|tenant: &String, limits: Limits| match tenant.as_str() {
    ///         "ann" => limits.with_capacity(10 * limits.capacity),
    ///         _ => limits,
    ///     })
    ///     .build()?;
    /// let slots = (tenants.key("ann").try_slot()?, tenants.key("bob").try_slot()?);
    /// let capacity = |tenant| Some(tenants.partition(tenant)?.limits().capacity);
    /// assert_eq!((capacity("ann"), capacity("bob")), (Some(20), Some(2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn limits_for(mut self, limits: impl Fn(&K, crate::Limits) -> crate::Limits + Send + Sync + 'static) -> Self {
        self.limits_for = Some(Arc::new(limits));
        self
    }

    /// Lets operators see the keys, as the texts that this function returns: for example, hosts
    /// always, and tenants if their names are no secret.
    ///
    /// [`Handle::worst_keys`](super::Handle::worst_keys) then has an answer. So do a page and
    /// metrics which ask it, and the event of a rejection by a partition, with the feature
    /// `tracing`. Nothing else shows a key.
    ///
    /// Different keys should have different texts. Of equal ones, metrics have one. A long text is
    /// kept whole, and cut off where it is shown.
    ///
    /// It is called when a partition is created, outside all locks, and the text is kept with the
    /// partition. If it panics, that is counted as a [panic of a
    /// handler](super::Status::handler_panics), and the key is not shown.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::Partitions;
    ///
    /// let hosts: Partitions<(String, u16)> = Partitions::builder("hosts")
    ///     .parallelism(16)
    ///     .max_partitions(100)
    ///     .show_keys(|(host, port)| format!("{host}:{port}"))
    ///     .build()?;
    /// let _slot = hosts.key(&("example.com".to_owned(), 443)).try_slot()?;
    /// let worst = hosts.handle().worst_keys(10).expect("they are shown");
    /// assert_eq!(&*worst.in_use[0].key, "example.com:443");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn show_keys(mut self, show: impl Fn(&K) -> String + Send + Sync + 'static) -> Self {
        self.show_key = Some(Arc::new(show));
        self
    }

    /// Has all keys share one capacity, in fair turns, in place of a capacity for each: at most so
    /// many units are in use in all partitions together, and all of them are used while any call
    /// waits that may run; but a call that costs more than is free collects them in its turn.
    ///
    /// While calls wait, each key gets units in proportion to the weight of its [share](Share), and
    /// a key that has asked little is served soon, however much others ask. The limits of each
    /// partition go on to hold: its [capacity](Builder::parallelism) is the most that one key can
    /// use, in each [class](Partitions::class). It need not be set: it is then the shared one, and
    /// follows it when that is [resized](Partitions::resize_shared).
    ///
    /// See [shared capacity](crate::Partitions#shared-capacity).
    ///
    /// ```
    /// use bulklink_tokio::Partitions;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let models: Partitions<String> = Partitions::builder("models")
    ///     .shared_capacity(40)
    ///     .shared_waiting_room(500)
    ///     .wait_limit(Duration::from_secs(2))
    ///     .max_partitions(100_000)
    ///     .build()?;
    /// let reply = models.key("ann").execute(async { "a reply" }).await?;
    /// # assert_eq!(reply, "a reply");
    /// assert_eq!(models.status().shared.map(|shared| shared.capacity), Some(40));
    /// # Ok(())
    /// # }
    /// ```
    pub fn shared_capacity(mut self, units: usize) -> Self {
        self.shared_capacity = Some(units);
        self
    }

    /// Sets how many operations may wait in all partitions together. By default, only the
    /// [waiting room](Builder::waiting_room) of each partition is bounded; with this, that need not
    /// be set, and one key may then fill the room until others come.
    ///
    /// When it is full, a call of a key with few waiters takes the place of the newest waiter of
    /// the key with the most for its weight, which is rejected as
    /// [`Displaced`](crate::Reason::Displaced): so no key can keep others out by filling the room.
    /// Of the waiters, those of the lowest [class](Partitions::class) make room first, also within
    /// the floor of their key.
    /// It needs a [shared capacity](Builder::shared_capacity).
    pub fn shared_waiting_room(mut self, operations: usize) -> Self {
        self.shared_waiting_room = Some(operations);
        self
    }

    /// Sets how many units of the [shared capacity](Builder::shared_capacity) the calls of a
    /// [class](Partitions::class) leave free for those of better classes, unless they are within
    /// the [floor](Share::floor) of their key; by default none. So a call of a better class need
    /// not wait for the end of a long operation of a lower one.
    ///
    /// It must be less than the capacity, and the best class leaves none. A lower class should
    /// leave at least as many as a better one, or it takes what that has left.
    ///
    /// ```
    /// # use bulklink_tokio::Partitions;
    /// # use bulklink_tokio::partitions::Class;
    /// let models: Partitions<String> = Partitions::builder("models")
    ///     .shared_capacity(4)
    ///     .class_headroom(Class::Background, 1)
    ///     .max_partitions(10)
    ///     .build()?;
    /// let batch = models.class(Class::Background);
    /// let running = [(); 3].map(|()| batch.key("ann").try_slot().expect("three are free"));
    /// assert!(batch.key("ann").try_slot().is_err());
    /// assert!(models.key("bob").try_slot().is_ok());
    /// # drop(running);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn class_headroom(mut self, class: Class, units: usize) -> Self {
        self.class_headroom[class as usize] = units;
        self
    }

    /// Has a [class](Partitions::class) whose turn was passed over so many times in a row, by calls
    /// of better ones, be served before them once, also with units of its
    /// [headroom](Builder::class_headroom); but not with more units than are free at once. By
    /// default never: then lower classes wait for as long as better ones use the whole [shared
    /// capacity](Builder::shared_capacity).
    pub fn class_relief(mut self, calls: usize) -> Self {
        self.class_relief = Some(calls);
        self
    }

    /// Sets the share of each key in the [shared capacity](Builder::shared_capacity) that
    /// [has none of its own](crate::Partitions::set_share). Its floor cannot be
    /// [kept](Share::kept). By default, all keys have the weight one.
    pub fn share(mut self, share: Share) -> Self {
        self.share = Some(share);
        self
    }

    /// Sets the configuration of each partition, with the name of the partitions.
    pub(crate) fn of_each(self, each: crate::Builder<R>) -> Self {
        Builder { each, ..self }
    }

    /// Sets all limits of each partition in one step, as
    /// [`Builder::limits`](crate::Builder::limits).
    pub fn limits(self, limits: crate::Limits) -> Self {
        self.each(|each| each.limits(limits))
    }

    /// Sets how many operations may run concurrently in each partition, as
    /// [`Builder::parallelism`](crate::Builder::parallelism).
    pub fn parallelism(self, operations: usize) -> Self {
        self.each(|each| each.parallelism(operations))
    }

    /// Sets how many units may be in use concurrently in each partition, as
    /// [`Builder::capacity`](crate::Builder::capacity).
    pub fn capacity(self, units: usize) -> Self {
        self.each(|each| each.capacity(units))
    }

    /// Sets how many operations may wait in each partition, as
    /// [`Builder::waiting_room`](crate::Builder::waiting_room).
    pub fn waiting_room(self, operations: usize) -> Self {
        self.each(|each| each.waiting_room(operations))
    }

    /// Bounds the waiting room of each partition in units as well, as
    /// [`Builder::waiting_room_units`](crate::Builder::waiting_room_units).
    pub fn waiting_room_units(self, units: usize) -> Self {
        self.each(|each| each.waiting_room_units(units))
    }

    /// Sets the longest time that a call may wait, as
    /// [`Builder::wait_limit`](crate::Builder::wait_limit).
    #[doc(alias = "timeout")]
    pub fn wait_limit(self, limit: Duration) -> Self {
        self.each(|each| each.wait_limit(limit))
    }

    /// Sets whether waits are measured, as
    /// [`Builder::measure_waits`](crate::Builder::measure_waits).
    pub fn measure_waits(self, measured: bool) -> Self {
        self.each(|each| each.measure_waits(measured))
    }

    /// Sets whether the time is measured for which operations hold their slots, as
    /// [`Builder::measure_holds`](crate::Builder::measure_holds).
    pub fn measure_holds(self, measured: bool) -> Self {
        self.each(|each| each.measure_holds(measured))
    }

    /// Sets how long a slot that was handed to a waiting call may be not collected, as
    /// [`Builder::collect_limit`](crate::Builder::collect_limit). The call's future still keeps
    /// its partition, until it is polled or dropped.
    pub fn collect_limit(self, limit: Duration) -> Self {
        self.each(|each| each.collect_limit(limit))
    }

    /// Sets how much time the wait of a call with a deadline leaves to the operation, as
    /// [`Builder::reserve`](crate::Builder::reserve). Each partition follows its own calls.
    pub fn reserve(self, reserve: Reserve) -> Self {
        self.each(|each| each.reserve(reserve))
    }

    /// Has a machine find the limit of each partition, as
    /// [`Builder::adaptive`](crate::Builder::adaptive) does: each partition has its own, which
    /// begins anew when the partition does.
    pub fn adaptive(self, limit: impl crate::limit::Limit + Clone + Send + Sync + 'static) -> Self {
        self.each(|each| each.adaptive(limit))
    }

    /// Sets what the limit of each partition does at first, as
    /// [`Builder::limit_mode`](crate::Builder::limit_mode) does.
    pub fn limit_mode(self, mode: crate::limit::Mode) -> Self {
        self.each(|each| each.limit_mode(mode))
    }

    /// Returns the limits of the shared capacity, and the share of each key, if there is one.
    fn shared(&self) -> Result<Option<(pool::Limits, Share)>, InvalidArgument> {
        let Some(capacity) = self.shared_capacity else {
            let room = self.shared_waiting_room.map(|room| ("shared_waiting_room", room));
            let headroom = self.class_headroom.into_iter().find(|&units| units > 0);
            let relief = self.class_relief.map(|calls| ("class_relief", calls));
            let of_classes = headroom.map(|units| ("class_headroom", units)).or(relief);
            let lone = room.or(of_classes).or(self.share.map(|share| ("share", share.weight)));
            return lone.map_or(Ok(None), |(field, value)| {
                Err(InvalidArgument::new(field, value, "needs a shared_capacity, which is not set"))
            });
        };
        let most = bulklink_core::Limits::MAX;
        let refused = |field, value, why: &str| Err(InvalidArgument::new(field, value, why));
        if capacity > most {
            return refused("shared_capacity", capacity, &format!("must be at least 1 and at most {most}"));
        }
        let critical = self.class_headroom[Class::Critical as usize];
        if critical > 0 {
            return refused("class_headroom", critical, "must be 0 for the class critical, the best one");
        }
        if let Some(&units) = self.class_headroom.iter().find(|&&units| units >= capacity.max(1)) {
            return refused("class_headroom", units, &format!("must be less than the capacity, {capacity}"));
        }
        let narrow = |limit: usize| u32::try_from(limit).unwrap_or(u32::MAX);
        let mut limits = pool::Limits::new(narrow(capacity));
        if let Some(room) = self.shared_waiting_room {
            limits.waiting_room = narrow(room);
        }
        limits.headroom = self.class_headroom.map(narrow);
        limits.relief = match self.class_relief {
            Some(0) => return refused("class_relief", 0, "must be at least 1"),
            relief => relief.map_or(0, narrow),
        };
        let share = self.share.unwrap_or_default();
        limits.check()?;
        share.check_for_all(&limits)?;
        Ok(Some((limits, share)))
    }

    /// Completes the limits of each partition by those that all share.
    fn with_shared(mut self) -> Self {
        let Some(capacity) = self.shared_capacity else { return self };
        if let (0, Some(waiting_room)) = (self.each.limits.waiting_room, self.shared_waiting_room) {
            self.each.limits.waiting_room = waiting_room;
        }
        if self.each.parallelism.is_none() && self.each.capacity.is_none() {
            self.each = self.each.capacity(capacity);
            self.each.is_bounded_by_shared = true;
        }
        self
    }

    fn each(mut self, change: impl FnOnce(crate::Builder<R>) -> crate::Builder<R>) -> Self {
        self.each = change(self.each);
        self
    }
}

impl<K, R, S> Builder<K, R, S>
where
    K: Send + 'static,
    R: Clock + Clone + Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    /// Builds the partitions. Each is created when it is first needed.
    ///
    /// # Errors
    ///
    /// If a number is out of its range; if the number of partitions was not set, or none of
    /// parallelism, capacity and shared capacity was; if a share or a shared waiting room was set
    /// without a shared capacity; or if the label is blank or contains control or invisible
    /// characters (see [Labels](crate::Builder#labels)). The error names the field and the value.
    pub fn build(self) -> Result<Partitions<K, R, S>, InvalidArgument> {
        let shared = self.shared().map_err(|invalid| match label::check(&self.each.label) {
            Ok(label) => invalid.of(format_args!("partitions {label}")),
            Err(invalid) => invalid,
        })?;
        let Builder { each, max_partitions, idle_timeout, limits_for, show_key, hasher, .. } = self.with_shared();
        let identity = each.check("partitions")?;
        let max_partitions =
            max_partitions.ok_or_else(|| InvalidArgument::new("max_partitions", "nothing", "must be set"));
        let inner = max_partitions.and_then(|max| {
            let limits = Limits::new(max).with_idle_timeout(idle_timeout);
            Inner::new(each.with_own_log(), &identity, limits, limits_for, shared, show_key, hasher)
        });
        let inner = inner.map_err(|invalid| invalid.of(format_args!("partitions {}", identity.label)))?;
        Ok(Partitions { inner, class: Class::Normal })
    }
}

/// A function of keys is only ever called, and a panic of it changes nothing.
impl<K, R: UnwindSafe, S: UnwindSafe> UnwindSafe for Builder<K, R, S> {}
impl<K, R: RefUnwindSafe, S: RefUnwindSafe> RefUnwindSafe for Builder<K, R, S> {}

impl<K, R: Clone, S: Clone> Clone for Builder<K, R, S> {
    fn clone(&self) -> Self {
        Builder {
            each: self.each.clone(),
            max_partitions: self.max_partitions,
            idle_timeout: self.idle_timeout,
            limits_for: self.limits_for.clone(),
            shared_capacity: self.shared_capacity,
            shared_waiting_room: self.shared_waiting_room,
            class_headroom: self.class_headroom,
            class_relief: self.class_relief,
            share: self.share,
            show_key: self.show_key.clone(),
            hasher: self.hasher.clone(),
        }
    }
}

impl<K, R: fmt::Debug, S> fmt::Debug for Builder<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("each", &self.each)
            .field("max_partitions", &self.max_partitions)
            .field("idle_timeout", &self.idle_timeout)
            .finish_non_exhaustive()
    }
}
