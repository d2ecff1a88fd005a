//! One limit that the processes of a fleet share.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bulklink::runtime::{Instant, Runtime};
use bulklink::{Bulkhead, Request};

use super::Open;
use super::member::Member;
use super::permit::Permit;
use super::reply::Reply;
use super::state::{Refused, State};
use crate::{Command, LocalStatus, Outcome, Reason, Rejection, Status, StoreError, Version};

/// How many leases, waiters and processes one status returns at most.
const PAGE: u64 = 1_000;

/// One limit that the processes of a fleet share; made by [`Fleet::bulkhead`].
///
/// Cheap to clone. When the last clone is dropped, calls that wait are rejected, and the process
/// leaves the bulkhead; its permits stay valid until they are dropped.
///
/// # Fairness
///
/// First come, first served, in the whole fleet: counted from when the store has the call. A call
/// that does not wait never overtakes one that does. With [`reuse`], calls of one process can
/// overtake those of others.
///
/// # Cancel safety
///
/// Every future may be dropped in any state. A call that waits gives up its place, and a grant that
/// is on its way is given back.
///
/// [`Fleet::bulkhead`]: crate::Fleet::bulkhead
/// [`reuse`]: crate::BulkheadBuilder::reuse
pub struct FleetBulkhead<R> {
    inner: Arc<Inner<R>>,
}

struct Inner<R> {
    member: Arc<Member>,
    /// Bounds how many calls of this process ask the store or wait there.
    local: Bulkhead<R>,
    runtime: R,
    wait_limit: Option<Duration>,
    has_room: bool,
    /// After the bulkhead itself, which closes first.
    _open: Arc<Open>,
}

impl<R> Drop for Inner<R> {
    fn drop(&mut self) {
        self.member.with(State::close);
    }
}

/// A call that has no result yet. Dropping it ends the call.
struct Asking<'a> {
    member: &'a Arc<Member>,
    stage: Stage,
}

enum Stage {
    /// It waits in this process to ask the store.
    Local,
    /// It asks the store under this number, or waits there.
    Remote(u64),
    Over,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        match self.stage {
            Stage::Local => self.member.with(|state, _| state.cancel_locally()),
            Stage::Remote(number) => self.member.with(|state, now| state.cancel(now, number)),
            Stage::Over => {}
        }
    }
}

impl<R: Runtime> FleetBulkhead<R> {
    pub(super) fn new(
        open: Arc<Open>,
        member: Arc<Member>,
        local: Bulkhead<R>,
        runtime: R,
        wait_limit: Option<Duration>,
        has_room: bool,
    ) -> Self {
        Self { inner: Arc::new(Inner { member, local, runtime, wait_limit, has_room, _open: open }) }
    }

    pub(super) fn member(&self) -> Arc<Member> {
        Arc::clone(&self.inner.member)
    }

    /// Acquires a permit, and waits until it is this call's turn or the wait limit passes.
    ///
    /// # Errors
    ///
    /// If there is no room to wait, if the wait limit passes, if the store is out of reach, if the
    /// processes of the fleet disagree, or if the bulkhead is closed.
    pub async fn acquire(&self) -> Result<Permit, Rejection> {
        self.acquire_with(Request::new()).await
    }

    /// As [`acquire`](Self::acquire), with a cost, a limit or a deadline for this call.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), and if the cost is zero or above the fleet's limit.
    pub async fn acquire_with(&self, request: Request<R::Instant>) -> Result<Permit, Rejection> {
        let Inner { member, local, runtime, wait_limit, has_room, .. } = &*self.inner;
        let begin = runtime.now();
        let (cost, wait) = request.resolve(runtime, begin, *wait_limit);
        let cost = u64::from(cost);
        let reject = |reason| self.reject_locally(cost, reason, since(begin, runtime.now()));
        if cost == 0 {
            return Err(reject(Reason::InvalidCost));
        }
        let Some((may_wait, end)) = wait else {
            return Err(reject(Reason::Expired));
        };
        let is_instant = end <= begin;
        let waits = may_wait && *has_room && !is_instant;
        let mut asking = Asking { member, stage: Stage::Local };
        // The slot is given back once the call has its permit: it bounds those that wait.
        let _turn = if waits {
            let turn = local.slot_with(request.cost(1)).await;
            Some(turn.map_err(|rejection| {
                asking.stage = Stage::Over;
                reject(reason_of(rejection.reason()))
            })?)
        } else {
            None
        };
        let end = (waits && end < Instant::FAR_FUTURE).then(|| end.saturating_since(Instant::EPOCH));
        let number = member.with(|state, now| state.ask(now, cost, waits, end));
        asking.stage = Stage::Remote(number);
        let result = poll_fn(|context| member.poll(context, |state, waker| state.poll_call(number, waker))).await;
        asking.stage = Stage::Over;
        match result {
            Ok(mut grant) => {
                grant.waited = since(begin, runtime.now());
                Ok(Permit::new(Arc::clone(member), grant))
            }
            Err(mut refused) => {
                refused.waited = since(begin, runtime.now());
                if is_instant && may_wait && refused.reason == Reason::Saturated {
                    refused.reason = Reason::Expired;
                }
                Err(self.rejection(cost, refused))
            }
        }
    }

    /// Acquires a permit if a unit is free and no call waits. Does not wait for one, but does wait
    /// for the store's answer.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    pub async fn try_acquire(&self) -> Result<Permit, Rejection> {
        self.acquire_with(Request::new().now()).await
    }

    /// Acquires a permit, and runs the operation with it.
    ///
    /// The operation goes on if the permit is [lost](Permit::lost); see
    /// [`execute_until_lost`](Self::execute_until_lost).
    ///
    /// # Errors
    ///
    /// If the call is rejected. The operation has not begun then.
    pub async fn execute<T>(&self, operation: impl Future<Output = T>) -> Result<T, Rejection> {
        self.execute_with(Request::new(), operation).await
    }

    /// As [`execute`](Self::execute), with a cost, a limit or a deadline for this call.
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    pub async fn execute_with<T>(
        &self,
        request: Request<R::Instant>,
        operation: impl Future<Output = T>,
    ) -> Result<T, Rejection> {
        let _permit = self.acquire_with(request).await?;
        Ok(operation.await)
    }

    /// Acquires a permit, and runs the operation with it until the permit is [lost](Permit::lost).
    ///
    /// # Errors
    ///
    /// If the call is rejected, or if the permit is lost: then the operation is dropped.
    pub async fn execute_until_lost<T>(
        &self,
        request: Request<R::Instant>,
        operation: impl Future<Output = T>,
    ) -> Result<T, ExecuteError> {
        let permit = self.acquire_with(request).await.map_err(ExecuteError::Rejected)?;
        let mut lost = pin!(permit.lost());
        let mut operation = pin!(operation);
        poll_fn(|context| {
            if let Poll::Ready(value) = operation.as_mut().poll(context) {
                return Poll::Ready(Ok(value));
            }
            lost.as_mut().poll(context).map(|()| Err(ExecuteError::Lost))
        })
        .await
    }

    /// Wraps an async function: each call of it acquires a permit first.
    pub fn wrap<F>(&self, function: F) -> Wrapped<F, R> {
        Wrapped { bulkhead: self.clone(), function }
    }

    /// Returns what this process knows, without asking the store.
    pub fn local_status(&self) -> LocalStatus {
        let Inner { member, local, .. } = &*self.inner;
        let waiting_locally = local.status().waiting;
        member.with(|state, _| LocalStatus {
            label: Arc::clone(&member.label),
            is_connected: state.is_connected(),
            held: state.held(),
            waiting: state.waiting(),
            waiting_locally,
            occupancy: state.occupancy(),
            processes: state.processes(),
            totals: state.totals(),
        })
    }

    /// Asks the store for the state of the whole fleet, with at most 1,000 leases, waiters and
    /// processes.
    ///
    /// # Errors
    ///
    /// If the store is out of reach, or refuses.
    pub async fn status(&self) -> Result<Status, StoreError> {
        match self.ask(Command::Status { offset: 0, count: PAGE }).await? {
            Outcome::Status(status) => Ok(*status),
            _ => Err(StoreError::Malformed),
        }
    }

    /// Changes the limit of the whole fleet, if it still has the expected version. Returns the new
    /// version.
    ///
    /// Raising it grants calls that wait, in order. Lowering it ends nothing: while more is in use
    /// than the new limit, nothing is granted. Processes that start later with the same
    /// configuration take the new limit.
    ///
    /// # Errors
    ///
    /// If the limit is zero or too large, if it has another version by now, or if the store is out
    /// of reach.
    pub async fn set_limit(&self, limit: u64, expected: Version) -> Result<Version, SetLimitError> {
        if !(1..=super::build::MAX_UNITS).contains(&limit) {
            let requirement = format!("must be between 1 and {}", super::build::MAX_UNITS);
            return Err(SetLimitError::Invalid(bulklink::InvalidArgument::new("limit", limit, requirement)));
        }
        let answer = self.ask_store(Command::SetLimit { limit, expected }).await.map_err(SetLimitError::Store)?;
        let version = answer.head.map(|head| head.version).unwrap_or_default();
        match answer.outcome {
            Outcome::Done => Ok(version),
            Outcome::VersionConflict => Err(SetLimitError::Version(version)),
            _ => Err(SetLimitError::Store(StoreError::Malformed)),
        }
    }

    /// Drops all leases that have expired and all waiters of dead processes now. Returns the units
    /// that became free, and the number of waiters.
    ///
    /// Every command does a part of that on the way, so this is never needed for correctness.
    ///
    /// # Errors
    ///
    /// If the store is out of reach, or refuses.
    pub async fn reap_expired(&self) -> Result<(u64, u64), StoreError> {
        let (mut units, mut waiters, mut offset) = (0, 0, 0);
        loop {
            let answer = self.ask_store(Command::Reap { full: true, offset }).await?;
            let Outcome::Reaped { freed, dropped, next } = answer.outcome else { return Ok((units, waiters)) };
            (units, waiters, offset) = (units + freed, waiters + dropped, next);
            if !answer.head.is_some_and(|head| head.more) {
                return Ok((units, waiters));
            }
        }
    }

    /// Closes the bulkhead in this process, and completes when all its permits are given back and
    /// the store knows.
    ///
    /// Calls that wait are rejected as [`Closed`](Reason::Closed), and so are later ones. While the
    /// store is out of reach, it completes after one lease time.
    ///
    /// # Cancel safety
    ///
    /// The bulkhead is closed when this is called, before the future is polled.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<R> {
        let member = self.member();
        self.inner.local.close();
        member.with(State::close);
        async move { poll_fn(|context| member.poll(context, State::poll_over)).await }
    }

    async fn ask(&self, command: Command) -> Result<Outcome, StoreError> {
        self.ask_store(command).await.map(|answer| answer.outcome)
    }

    async fn ask_store(&self, command: Command) -> Result<crate::Answer, StoreError> {
        let reply = Arc::new(Reply::default());
        self.inner.member.with(|state, _| state.ask_directly(command, Arc::clone(&reply)));
        reply.get().await
    }

    /// The call is rejected without having asked the store.
    fn reject_locally(&self, cost: u64, reason: Reason, waited: Duration) -> Rejection {
        self.inner.member.with(|state, _| state.reject_locally(reason, waited));
        self.rejection(cost, Refused { reason, waited, conflict: None })
    }

    fn rejection(&self, cost: u64, refused: Refused) -> Rejection {
        let Refused { reason, waited, conflict } = refused;
        let member = &self.inner.member;
        let occupancy = member.with(|state, _| state.occupancy());
        Rejection { label: Arc::clone(&member.label), reason, cost, waited, occupancy, conflict }
    }
}

fn since(begin: Instant, now: Instant) -> Duration {
    now.saturating_since(begin)
}

fn reason_of(reason: bulklink::Reason) -> Reason {
    match reason {
        bulklink::Reason::Saturated => Reason::Saturated,
        bulklink::Reason::Closed => Reason::Closed,
        bulklink::Reason::InvalidCost => Reason::InvalidCost,
        _ => Reason::Expired,
    }
}

impl<R> Clone for FleetBulkhead<R> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<R> fmt::Debug for FleetBulkhead<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetBulkhead").field("name", &self.inner.member.name).finish_non_exhaustive()
    }
}

/// An async function, each call of which acquires a permit first; made by [`FleetBulkhead::wrap`].
pub struct Wrapped<F, R> {
    bulkhead: FleetBulkhead<R>,
    function: F,
}

impl<F, R: Runtime> Wrapped<F, R> {
    /// Acquires a permit, and then calls the function with `argument`. For several arguments, pass
    /// a tuple.
    ///
    /// # Errors
    ///
    /// If the call is rejected. The function is never called then.
    pub async fn call<A, O: Future>(&self, argument: A) -> Result<O::Output, Rejection>
    where
        F: Fn(A) -> O,
    {
        self.bulkhead.execute(async { (self.function)(argument).await }).await
    }
}

impl<F, R> fmt::Debug for Wrapped<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrapped").field("bulkhead", &self.bulkhead).finish_non_exhaustive()
    }
}

/// Why an operation has no output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The call was rejected, and the operation has not begun.
    Rejected(Rejection),
    /// The permit was lost, and the operation was dropped.
    Lost,
}

impl fmt::Display for ExecuteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::Lost => f.write_str("the permit was lost, and the operation was dropped"),
        }
    }
}

impl Error for ExecuteError {}

/// Why the limit of a fleet has not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetLimitError {
    /// The limit is out of its range.
    Invalid(bulklink::InvalidArgument),
    /// The limit has this version by now.
    Version(Version),
    /// The store is out of reach, or refuses.
    Store(StoreError),
}

impl fmt::Display for SetLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::Version(version) => write!(f, "the limit has changed meanwhile: it has version {version} now"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl Error for SetLimitError {}
