//! Building a bulkhead of a fleet.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bulklink::runtime::{Runtime, Spawn, SpawnError};
use bulklink::{Bulkhead, InvalidArgument};

use super::bulkhead::FleetBulkhead;
use super::member::Handler;
use super::state::{Options, State};
use super::{Fleet, Open, Outage};
use crate::{Conflict, Declaration, Event, Name, OwnerId, Terms};

/// How many calls of one process ask the store at the same time, unless the builder says otherwise.
const REMOTE_WAITERS: usize = 256;

const MAX_REMOTE_WAITERS: usize = 100_000;

/// How many uses of one grant are possible while permits are kept for a time.
const USES_OF_IDLE: u64 = 64;

/// The largest number that all stores handle exactly.
pub(super) const MAX_UNITS: u64 = 1 << 40;

/// Builds a [`FleetBulkhead`]; made by [`Fleet::bulkhead`].
#[must_use = "a builder does nothing until `build` or `connect`"]
pub struct BulkheadBuilder<R> {
    open: Arc<Open>,
    runtime: R,
    name: Result<Name, InvalidArgument>,
    declared: Declaration,
    limit: Option<u64>,
    waiting_room: usize,
    remote_waiters: usize,
    wait_limit: Option<Duration>,
    options: Options,
    handlers: Vec<Handler>,
}

impl<R: Runtime + Spawn> BulkheadBuilder<R> {
    pub(crate) fn new(fleet: &Fleet<R>, label: &str) -> Self {
        let name = Name::labelled(&fleet.namespace, label);
        let terms = Terms { ttl: Duration::from_secs(10), claim: Duration::from_secs(3), block: 1 };
        let declared = Declaration {
            owner: fleet.owner,
            limit: 0,
            config: 1,
            terms,
            queue: 0,
            beat: Duration::from_secs(1),
            patience: fleet.store_timeout,
            recovers: true,
            info: Arc::clone(&fleet.process),
        };
        Self {
            open: Arc::clone(&fleet.open),
            runtime: fleet.runtime.clone(),
            name,
            declared,
            limit: None,
            waiting_room: 0,
            remote_waiters: REMOTE_WAITERS,
            wait_limit: None,
            options: Options { reuse: 0, idle: Duration::ZERO, outage: Outage::Reject },
            handlers: vec![],
        }
    }

    /// Sets the limit of the whole fleet, in units. Required.
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets the number of the configuration that the limit is from: 1 by default.
    ///
    /// All processes with the same number must declare the same limit. A process with a higher
    /// number replaces the limit, and one with a lower number takes the limit as it is: so a
    /// rolling deployment changes it.
    pub fn config(mut self, number: u64) -> Self {
        self.declared.config = number;
        self
    }

    /// Sets how many calls of the whole fleet may wait on the store, and how many more may wait in
    /// this process: none by default, so that calls are rejected while all units are in use.
    pub fn waiting_room(mut self, calls: usize) -> Self {
        self.waiting_room = calls;
        self
    }

    /// Limits the wait of each call.
    pub fn wait_limit(mut self, limit: Duration) -> Self {
        self.wait_limit = Some(limit);
        self
    }

    /// Sets how many calls of this process may wait on the store at the same time: 256 by default.
    /// Others wait in this process, first come, first served. Calls that do not wait are not
    /// counted.
    pub fn remote_waiters(mut self, calls: usize) -> Self {
        self.remote_waiters = calls;
        self
    }

    /// Sets how long a permit is valid without being renewed: 10 s by default. A process that
    /// crashes holds its units for that long. Must be the same in all processes.
    pub fn lease(mut self, time: Duration) -> Self {
        self.declared.terms.ttl = time;
        self
    }

    /// Sets how long a process counts as alive after a beat, and how long a grant that was pushed
    /// to it waits for being confirmed: 3 s by default. Must be the same in all processes.
    pub fn claim(mut self, time: Duration) -> Self {
        self.declared.terms.claim = time;
        self
    }

    /// Sets the time from one beat to the next, each of which renews all permits of this process:
    /// 1 s by default.
    pub fn beat(mut self, time: Duration) -> Self {
        self.declared.beat = time;
        self
    }

    /// Lets a permit that is given back pass up to `times` to the next call of this process that
    /// waits, without asking the store: 0 by default. Must be the same in all processes.
    ///
    /// That saves most round trips, and weakens the order: a call can be overtaken by `times` calls
    /// of another process for each permit of the limit. 4 is a good value.
    pub fn reuse(mut self, times: u64) -> Self {
        self.options.reuse = times;
        self
    }

    /// Keeps a permit that is given back for a time, for the next call of this process: not at all
    /// by default. Must be switched on or off in all processes.
    ///
    /// While other calls wait in the fleet, nothing is kept. 20 ms is a good value.
    pub fn idle(mut self, time: Duration) -> Self {
        self.options.idle = time;
        self
    }

    /// Sets what happens to calls while the store is out of reach.
    pub fn on_outage(mut self, outage: Outage) -> Self {
        self.options.outage = outage;
        self
    }

    /// Grants permits immediately after the store has lost its data, without waiting for the
    /// permits of before: up to twice the limit can run until these are known. Must be the same in
    /// all processes.
    pub fn without_quarantine(mut self) -> Self {
        self.declared.recovers = false;
        self
    }

    /// Adds a handler of this bulkhead's events. It runs in the task in which the event happens, so
    /// it must be short. A panic in it is ignored.
    pub fn on_event(mut self, handler: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.handlers.push(Arc::new(handler));
        self
    }

    /// Builds the bulkhead without waiting for the store. Calls wait for the connection.
    ///
    /// # Errors
    ///
    /// If a value is out of its range, or this process has a bulkhead with the same name already.
    pub fn build(mut self) -> Result<FleetBulkhead<R>, InvalidArgument> {
        let name = self.name.clone()?;
        self.complete().map_err(|error| error.of(format_args!("bulkhead {}", name.label())))?;
        let label: Arc<str> = name.label().into();
        let mut local = Bulkhead::builder_on(self.runtime.clone(), &label)
            .parallelism(self.remote_waiters)
            .waiting_room(self.waiting_room);
        if let Some(limit) = self.wait_limit {
            local = local.wait_limit(limit);
        }
        let local = local.build()?;
        let state = State::new(self.open.shared.now(), self.declared, self.options);
        let Some(member) = self.open.shared.add(name, self.handlers, state) else {
            let value = format_args!("{label:?}").to_string();
            return Err(InvalidArgument::new("label", value, "must be built once in a fleet"));
        };
        Ok(FleetBulkhead::new(self.open, member, local, self.runtime, self.wait_limit, self.waiting_room > 0))
    }

    /// Builds the bulkhead, and waits until the store has opened it.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), if the store is out of reach or refuses, or if the processes of
    /// the fleet disagree.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the bulkhead.
    pub async fn connect(self) -> Result<FleetBulkhead<R>, ConnectError> {
        let bulkhead = self.build().map_err(ConnectError::Invalid)?;
        let member = bulkhead.member();
        let opened = poll_fn(|context| member.poll(context, State::poll_opened)).await;
        match opened {
            Ok(()) => Ok(bulkhead),
            Err(Some(conflict)) => Err(ConnectError::Conflict(conflict)),
            Err(None) => Err(ConnectError::Unavailable),
        }
    }

    /// Checks all values, and puts them where they belong.
    fn complete(&mut self) -> Result<(), InvalidArgument> {
        let it = &mut self.declared;
        it.limit = self.limit.unwrap_or_default();
        if !(1..=MAX_UNITS).contains(&it.limit) {
            return Err(InvalidArgument::new("limit", it.limit, format_args!("must be between 1 and {MAX_UNITS}")));
        }
        if !(1..=MAX_UNITS).contains(&it.config) {
            return Err(InvalidArgument::new("config", it.config, format_args!("must be between 1 and {MAX_UNITS}")));
        }
        if !(1..=MAX_REMOTE_WAITERS).contains(&self.remote_waiters) {
            let requirement = format!("must be between 1 and {MAX_REMOTE_WAITERS}");
            return Err(InvalidArgument::new("remote_waiters", self.remote_waiters, requirement));
        }
        let (beat, claim, lease) = (it.beat, it.terms.claim, it.terms.ttl);
        if beat < Duration::from_millis(1) {
            return Err(InvalidArgument::new("beat", format_args!("{beat:?}"), "must be at least 1 ms"));
        }
        if claim < beat * 2 {
            let requirement = format!("must be at least two beats, {:?}", beat * 2);
            return Err(InvalidArgument::new("claim", format_args!("{claim:?}"), requirement));
        }
        if lease < claim || lease > Duration::from_secs(86_400) {
            let requirement = format!("must be at least the claim, {claim:?}, and at most a day");
            return Err(InvalidArgument::new("lease", format_args!("{lease:?}"), requirement));
        }
        if self.options.reuse > 1_000 {
            return Err(InvalidArgument::new("reuse", self.options.reuse, "must be at most 1000"));
        }
        if self.options.idle > beat {
            let requirement = format!("must be at most the beat, {beat:?}");
            return Err(InvalidArgument::new("idle", format_args!("{:?}", self.options.idle), requirement));
        }
        if self.wait_limit.is_some() && self.waiting_room == 0 {
            let requirement = "must not be set without a waiting room";
            return Err(InvalidArgument::new("wait_limit", format_args!("{:?}", self.wait_limit), requirement));
        }
        it.queue = self.waiting_room as u64;
        let idle = if self.options.idle.is_zero() { 1 } else { USES_OF_IDLE };
        it.terms.block = idle.max(self.options.reuse + 1);
        // The store counts in microseconds.
        for time in [&mut it.terms.ttl, &mut it.terms.claim] {
            *time = Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        }
        Ok(())
    }
}

impl<R> fmt::Debug for BulkheadBuilder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkheadBuilder").field("name", &self.name).field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// Why there is no [`Fleet`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A value is missing or out of its range.
    Invalid(InvalidArgument),
    /// The runtime refuses to run the fleet's task.
    Spawn(SpawnError),
    /// The process can have no identity.
    Random(RandomError),
}

impl From<InvalidArgument> for BuildError {
    fn from(error: InvalidArgument) -> Self {
        Self::Invalid(error)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::Spawn(error) => error.fmt(f),
            Self::Random(error) => error.fmt(f),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Random(error) => error.source(),
            Self::Invalid(_) | Self::Spawn(_) => None,
        }
    }
}

/// Why a bulkhead of a fleet could not be opened on the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// A value is missing or out of its range.
    Invalid(InvalidArgument),
    /// The processes of the fleet disagree.
    Conflict(Conflict),
    /// The store is out of reach, or refuses.
    Unavailable,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::Conflict(conflict) => conflict.fmt(f),
            Self::Unavailable => f.write_str("the store is out of reach, or refuses"),
        }
    }
}

impl Error for ConnectError {}

/// The operating system gives no random bits, so a process can have no identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomError(getrandom::Error);

impl fmt::Display for RandomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operating system gives no random bits")
    }
}

impl Error for RandomError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Returns 128 random bits of the operating system. Nothing that a process keeps, and that those
/// forked from it would share, goes into them.
pub(super) fn random_owner(
    fill: impl FnOnce(&mut [u8]) -> Result<(), getrandom::Error>,
) -> Result<OwnerId, RandomError> {
    let mut bits = [0; size_of::<u128>()];
    fill(&mut bits).map_err(RandomError)?;
    Ok(OwnerId::from(u128::from_ne_bytes(bits)))
}

/// Returns the name of the program and the number of the process.
pub(super) fn program() -> String {
    let path = std::env::args_os().next().map(std::path::PathBuf::from).unwrap_or_default();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{name}-{}", std::process::id())
}

/// Replaces what is not printable ASCII, and shortens the text.
pub(super) fn printable(text: &str) -> String {
    let printable = |char: char| if char.is_ascii_graphic() { char } else { '_' };
    let text: String = text.trim().chars().take(100).map(printable).collect();
    if text.is_empty() { "-".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_what_the_system_gives_for_it_and_nothing_else() {
        for byte in [1, 2, 1] {
            let owner = random_owner(|bits| {
                bits.fill(byte);
                Ok(())
            });
            assert_eq!(owner, Ok(OwnerId::from(u128::from_ne_bytes([byte; 16]))));
        }
    }

    #[test]
    fn a_system_without_random_bits_is_an_error_with_its_cause() {
        let refused = random_owner(|_| Err(getrandom::Error::UNSUPPORTED)).expect_err("there are none");
        let error = BuildError::Random(refused);
        assert_eq!(error.to_string(), "the operating system gives no random bits");
        let cause = error.source().expect("it is kept").to_string();
        assert_eq!(cause, getrandom::Error::UNSUPPORTED.to_string());
    }
}
