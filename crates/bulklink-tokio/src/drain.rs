//! The orderly end of a service: not ready, then closed, drained and ended.

mod config;

use std::error::Error;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink::{InvalidArgument, Readiness, Registry};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

pub use self::config::DrainConfig;
use crate::signals::Signals;

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
type Step = Box<dyn FnOnce() -> BoxFuture + Send>;

/// How long calls have to end unless it is set: with a notice of 5 s, this is less than the 30 s
/// after which Kubernetes kills.
const LIMIT: Duration = Duration::from_secs(20);

/// Ends a service in order, on SIGTERM or Ctrl-C, so that no call is lost:
///
/// 1. The [readiness](Drain::readiness) is set to draining. The service still serves everything
///    for the time of the [notice](Drain::notice), until load balancers have noticed.
/// 2. The registry is [closed](Registry::close_all): waiting calls and new ones are rejected, and a
///    server still answers so. Operations go on until they have ended, at most for the
///    [limit](Drain::limit). The [other steps](Drain::also) of the end begin.
/// 3. The server stops accepting connections, and ends when those that it has are done, within the
///    same limit, and so do the other steps.
///
/// **Each signal more** ends a step early: the notice, if there is one, and then the wait for
/// operations and the server. So with a notice, a signal that was sent twice, as by a terminal and
/// a parent process, cuts no call.
///
/// With the feature `tracing`, each step is an event of the level `INFO`, and a cut is one of the
/// level `WARN`.
///
/// # Operations that run longer than the limit
///
/// A stream that goes on for ever holds its slot beyond any limit. It is named in the [`Drained`]
/// that is returned, and [`serve`](Drain::serve) drops the server. Its connections are tasks of the
/// runtime, and end with that when `main` returns. But a runtime that is dropped, as by
/// `#[tokio::main]`, waits for closures on its blocking threads: with such operations, end it by
/// [`Runtime::shutdown_background`], or the process
/// by [`std::process::exit`]. Await nothing after the drain that waits for operations: that would
/// have no limit, and the signals end the process no more.
///
/// [`Runtime::shutdown_background`]: https://docs.rs/tokio/1/tokio/runtime/struct.Runtime.html
///
/// # Examples
///
/// ```no_run
/// use bulklink_tokio::{Drain, Readiness, Registry};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let (registry, readiness) = (Registry::new(), Readiness::new(Duration::from_secs(10))?);
/// let listener = tokio::net::TcpListener::bind("0.0.0.0:8080").await?;
/// let app = axum::Router::new();
///
/// let drain = Drain::new(&registry).readiness(&readiness).notice(Duration::from_secs(5));
/// let server = |closed| axum::serve(listener, app).with_graceful_shutdown(closed);
/// println!("{}", drain.serve(server).await?);
/// # Ok(())
/// # }
/// ```
#[must_use = "it does nothing until it is run or serves"]
pub struct Drain {
    steps: Steps,
    when: Option<BoxFuture>,
}

/// How a [`Drain`] has ended, with the operations that still ran.
///
/// Its text can be logged: `drained`, or `not drained, orders: 3 running`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it may not be complete"]
pub struct Drained {
    running: Vec<(Arc<str>, usize)>,
    has_connections: bool,
    has_steps: bool,
}

impl Drain {
    /// Creates the drain of a registry, on SIGTERM and Ctrl-C, and on Ctrl-C alone where there is
    /// no unix. There is no notice, and the limit is 20 s.
    pub fn new(registry: &Registry) -> Self {
        let registry = registry.clone();
        let (also, running) = (Vec::new(), JoinSet::new());
        let steps = Steps { registry, readiness: None, notice: Duration::ZERO, limit: LIMIT, also, running };
        Drain { steps, when: None }
    }

    /// Begins by setting this readiness to [draining](Readiness::set_draining).
    pub fn readiness(self, readiness: &Readiness) -> Self {
        Drain { steps: Steps { readiness: Some(readiness.clone()), ..self.steps }, ..self }
    }

    /// Sets the time between the signal and the closing, in which everything is still served: as
    /// long as a load balancer takes to notice. That is its period of probes, times the failures
    /// that it waits for.
    pub fn notice(self, notice: Duration) -> Self {
        Drain { steps: Steps { notice, ..self.steps }, ..self }
    }

    /// Sets how long operations, and then the server, have from the closing on; 20 s by default.
    /// With the notice, it should be less than the time after which the process is killed.
    ///
    /// # Errors
    ///
    /// If it is zero.
    pub fn limit(self, limit: Duration) -> Result<Self, InvalidArgument> {
        if limit.is_zero() {
            return Err(InvalidArgument::new("limit", "0 s", "must be longer than zero").of("drain"));
        }
        Ok(Drain { steps: Steps { limit, ..self.steps }, ..self })
    }

    /// Adds a step of the end, such as that a fleet is left: `.also(move || fleet.close())`.
    ///
    /// It begins when the registry is closed, as a task, beside the operations that still run. It
    /// may wait for them. When the [limit](Drain::limit) passes it is aborted at its next `await`,
    /// and the drain is not [complete](Drained::is_complete). It does not begin if the server ends
    /// before the signal.
    ///
    /// Several steps run at the same time.
    pub fn also<F>(mut self, step: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.steps.also.push(Box::new(|| Box::pin(step())));
        self
    }

    /// Begins when this future completes, in place of a signal: for tests, or for a command of
    /// one's own.
    pub fn when(self, when: impl Future<Output = ()> + Send + 'static) -> Self {
        Drain { when: Some(Box::pin(when)), ..self }
    }

    /// Waits for the signal, drains the registry, and returns which operations still run. For a
    /// program without a server.
    ///
    /// # Errors
    ///
    /// If the signals cannot be received.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future undoes nothing: after the signal, the service stays not ready or closed.
    /// The signals do not end the process any more from when the future is first polled.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time and I/O.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, Drain, Registry};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let registry = Registry::new();
    /// let reports = registry.create(Bulkhead::builder("reports").parallelism(4))?;
    /// let endless = reports.try_slot()?;
    ///
    /// let drained = Drain::new(&registry).when(async {}).run().await?;
    /// assert_eq!(drained.to_string(), "not drained, reports: 1 running");
    /// # drop(endless);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run(self) -> io::Result<Drained> {
        let Drain { mut steps, when } = self;
        let mut trigger = Trigger::new(when)?;
        trigger.next().await;
        let deadline = steps.take(&mut trigger).await;
        steps.end(&mut trigger, deadline).await;
        Ok(steps.drained(false))
    }

    /// Runs a server until the signal, drains the registry, and ends the server.
    ///
    /// `server` gets the future that ends the server, such as for the `with_graceful_shutdown` of
    /// `axum::serve`; it completes when no call runs any more, or the limit has passed.
    ///
    /// # Errors
    ///
    /// If the server fails, or if the signals cannot be received. A server that ends by itself is
    /// no error: before the signal, that ends this too, and after it, the registry is drained all
    /// the same.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the server, and undoes nothing. The signals do not end the process
    /// any more from when the future is first polled.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time and I/O.
    pub async fn serve<S, E>(self, server: impl FnOnce(BoxFuture) -> S) -> Result<Drained, Box<dyn Error + Send + Sync>>
    where
        S: IntoFuture<Output = Result<(), E>>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let Drain { mut steps, when } = self;
        let mut trigger = Trigger::new(when)?;
        let (end, ended) = oneshot::channel::<()>();
        let closed = Box::pin(async {
            // The sender is only dropped.
            let _ = ended.await;
        });
        let mut server = pin!(server(closed).into_future());
        let begun = poll_fn(|context| match server.as_mut().poll(context) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending => trigger.poll(context).map(|()| None),
        });
        if let Some(ended) = begun.await {
            ended.map_err(Into::into)?;
            return Ok(steps.drained(false));
        }
        let (mut ended, mut deadline) = {
            let (mut ended, mut drain) = (None, pin!(steps.take(&mut trigger)));
            let drained = poll_fn(|context| {
                if ended.is_none() {
                    if let Poll::Ready(result) = server.as_mut().poll(context) {
                        ended = Some(result);
                    }
                }
                drain.as_mut().poll(context)
            });
            let deadline = drained.await;
            (ended, deadline)
        };
        if ended.is_none() {
            drop(end);
            match trigger.cut(timeout_at(deadline, server)).await {
                Some(result) => ended = result.ok(),
                None => deadline = Instant::now(),
            }
        }
        steps.end(&mut trigger, deadline).await;
        let has_connections = ended.is_none();
        ended.unwrap_or(Ok(())).map_err(Into::into)?;
        Ok(steps.drained(has_connections))
    }
}

struct Steps {
    registry: Registry,
    readiness: Option<Readiness>,
    notice: Duration,
    limit: Duration,
    also: Vec<Step>,
    /// Those of `also` that have begun.
    running: JoinSet<()>,
}

impl Steps {
    /// Takes all steps after the signal but the last, and returns when the limit passes.
    async fn take(&mut self, trigger: &mut Trigger) -> Instant {
        if let Some(readiness) = &self.readiness {
            readiness.set_draining();
        }
        #[cfg(feature = "tracing")]
        tracing::info!(notice = ?self.notice, limit = ?self.limit, "draining");
        if !self.notice.is_zero() {
            trigger.cut(sleep(self.notice)).await;
        }
        self.registry.close_all();
        #[cfg(feature = "tracing")]
        tracing::info!("closed");
        for step in self.also.drain(..) {
            self.running.spawn(async move { step().await });
        }
        // A limit beyond the end of time is none.
        let now = Instant::now();
        let deadline = now.checked_add(self.limit).unwrap_or_else(|| now + Duration::from_secs(1 << 30));
        let waited = trigger.cut(timeout_at(deadline, self.registry.closed())).await;
        // After a signal that cuts the calls, the server does not wait for them either.
        if waited.is_some() { deadline } else { Instant::now() }
    }

    /// Waits for the other steps until then.
    async fn end(&mut self, trigger: &mut Trigger, deadline: Instant) {
        // A panic ends a step, too.
        let all = async { while self.running.join_next().await.is_some() {} };
        trigger.cut(timeout_at(deadline, all)).await;
    }

    fn drained(&self, has_connections: bool) -> Drained {
        let bulkheads = self.registry.statuses().into_iter().map(|status| (status.label.clone(), status.in_flight));
        let partitions = self.registry.partition_handles();
        let partitions = partitions.iter().map(|set| (Arc::from(set.label()), set.sums().in_flight));
        let running = bulkheads.chain(partitions).filter(|(_, in_flight)| *in_flight > 0).collect();
        let drained = Drained { running, has_connections, has_steps: !self.running.is_empty() };
        #[cfg(feature = "tracing")]
        if drained.is_complete() {
            tracing::info!("drained");
        } else {
            tracing::warn!("{drained}");
        }
        drained
    }
}

impl Drained {
    /// Returns whether all operations have ended, and the server, and each [other
    /// step](Drain::also).
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.running.is_empty() && !self.has_connections && !self.has_steps
    }

    /// Returns the error of a drain that is not [complete](Drained::is_complete), for `main`.
    ///
    /// # Errors
    ///
    /// If an operation, the server or another step had not ended. Its text is that of this.
    ///
    /// ```no_run
    /// # use bulklink_tokio::{Drain, Registry};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let registry = Registry::new();
    /// Ok(Drain::new(&registry).run().await?.complete()?)
    /// # }
    /// ```
    pub fn complete(self) -> Result<(), NotDrained> {
        if self.is_complete() { Ok(()) } else { Err(NotDrained(self)) }
    }

    /// Returns the labels of the bulkheads and partitions whose operations had not ended, and how
    /// many of them.
    #[must_use]
    pub fn running(&self) -> &[(Arc<str>, usize)] {
        &self.running
    }

    /// Returns whether the server had not ended, so that connections were cut, if it had any: where
    /// operations take the whole limit, it has no time to end.
    #[must_use]
    pub fn has_connections(&self) -> bool {
        self.has_connections
    }
}

impl fmt::Display for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_complete() {
            return f.write_str("drained");
        }
        f.write_str("not drained")?;
        self.running.iter().try_for_each(|(label, running)| write!(f, ", {label}: {running} running"))?;
        match self {
            Drained { running, .. } if !running.is_empty() => Ok(()),
            Drained { has_connections: true, .. } => f.write_str(", the server has open connections"),
            Drained { .. } => f.write_str(", another step has not ended"),
        }
    }
}

/// The error of a drain that is not [complete](Drained::complete). Its debug form, which `main`
/// prints, is its text.
#[derive(Clone, PartialEq, Eq)]
pub struct NotDrained(Drained);

impl fmt::Display for NotDrained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for NotDrained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for NotDrained {}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain")
            .field("registry", &self.steps.registry)
            .field("readiness", &self.steps.readiness)
            .field("notice", &self.steps.notice)
            .field("limit", &self.steps.limit)
            .field("also", &self.steps.also.len())
            .field("on_signal", &self.when.is_none())
            .finish()
    }
}

/// The signal or the future that begins a drain, and hurries it.
enum Trigger {
    Signals(Signals),
    /// Completes once.
    Future(Option<BoxFuture>),
}

impl Trigger {
    fn new(when: Option<BoxFuture>) -> io::Result<Self> {
        Ok(if when.is_some() { Trigger::Future(when) } else { Trigger::Signals(Signals::to_end()?) })
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self {
            Trigger::Signals(signals) => signals.poll(context),
            Trigger::Future(None) => Poll::Pending,
            Trigger::Future(Some(when)) => {
                let polled = when.as_mut().poll(context);
                if polled.is_ready() {
                    *self = Trigger::Future(None);
                }
                polled
            }
        }
    }

    async fn next(&mut self) {
        poll_fn(|context| self.poll(context)).await;
    }

    /// Runs a step until it ends, or until another signal cuts it.
    async fn cut<T>(&mut self, step: impl Future<Output = T>) -> Option<T> {
        let mut step = pin!(step);
        let cut = poll_fn(|context| match step.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => self.poll(context).map(|()| None),
        });
        cut.await
    }
}
