//! A pause of a bulkhead while its upstream asks for it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use bulklink::runtime::{Instant, Runtime, Spawn};
use bulklink::{Ceiling, Handle};
use http::{HeaderMap, StatusCode, header};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::remote::time_to_wait;

/// The name of the ceiling.
const BY: &str = "retry-after";

/// Pauses a bulkhead while its upstream asks for it: by 429 Too Many Requests or 503 Service
/// Unavailable with a `Retry-After`, whoever sends it.
///
/// Put it inside the layer of the bulkhead, next to the client. While the pause lasts, calls wait
/// as if all slots were taken, or are rejected, and their
/// [`restriction`](bulklink::Rejection::restriction) has the name `retry-after`; so the upstream
/// gets no requests that it would refuse. A later response can make the pause longer, and none
/// makes it shorter. Calls that run already go on, and the response itself is passed on.
///
/// `Retry-After` is read in seconds or as a date; `retry-after-ms` and `grpc-retry-pushback-ms` go
/// before it. A pause is never longer than a minute, unless [`at_most`](PauseLayer::at_most) sets
/// another time.
///
/// All services that the layer makes, and their clones, share the pause. A task of the runtime ends
/// it: where none can be spawned, there is no pause, and one lasts for as long as a runtime that
/// only runs in `block_on` is not entered. It ends with the layer and its services, too.
///
/// ```
/// use bulklink_tokio::{Bulkhead, Tokio};
/// use bulklink_tower::BulkheadLayer;
/// use bulklink_tower::http::PauseLayer;
/// use std::time::Duration;
/// use tower::{Layer, service_fn};
///
/// let model = Bulkhead::builder("model").parallelism(20).waiting_room(100).build()?;
/// let pause = PauseLayer::new(&model, Tokio).at_most(Duration::from_secs(20));
/// let client = pause.layer(service_fn(async |request: http::Request<()>| {
///     Ok::<_, std::io::Error>(http::Response::new(String::new()))
/// }));
/// let client = BulkheadLayer::new(&model).hold_body().layer(client);
/// # _ = tower::util::BoxCloneService::new(client);
/// # Ok::<(), bulklink_tokio::InvalidArgument>(())
/// ```
#[derive(Clone)]
pub struct PauseLayer<R> {
    pause: Arc<Pause>,
    longest: Duration,
    runtime: R,
}

struct Pause {
    ceiling: Ceiling,
    /// The end of the pause, while a task waits for it.
    until: Mutex<Option<Instant>>,
}

impl<R: Runtime<Sleep: Send> + Spawn> PauseLayer<R> {
    /// Makes a layer that pauses this bulkhead.
    #[must_use]
    pub fn new(bulkhead: &impl AsRef<Handle>, runtime: R) -> Self {
        let pause = Pause { ceiling: bulkhead.as_ref().ceiling(BY), until: Mutex::new(None) };
        PauseLayer { pause: Arc::new(pause), longest: Duration::from_secs(60), runtime }
    }

    /// Sets the longest pause; a longer `Retry-After` counts as this one.
    #[must_use]
    pub fn at_most(mut self, longest: Duration) -> Self {
        self.longest = longest;
        self
    }

    fn note(&self, status: StatusCode, headers: &HeaderMap) {
        let asks = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        let Some(time) = asks.then(|| retry_after(headers, SystemTime::now())).flatten() else { return };
        let time = time.min(self.longest);
        if time.is_zero() {
            return;
        }
        let until = self.runtime.now().saturating_add(time);
        let is_new = {
            let mut present = self.pause.until();
            let is_new = present.is_none();
            *present = (*present).max(Some(until));
            is_new
        };
        if is_new {
            self.pause.settle();
            let end = End { pause: Arc::downgrade(&self.pause), has_ended: false };
            let runtime = self.runtime.clone();
            // Where no task can run, dropping it ends the pause.
            _ = self.runtime.spawn(async move { end.wait(&runtime).await });
        }
    }
}

impl Pause {
    fn until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the ceiling as the pause is, which may change meanwhile: under no lock, because wakers
    /// are foreign.
    fn settle(&self) {
        loop {
            let is_paused = self.until().is_some();
            if is_paused {
                self.ceiling.set(0);
            } else {
                self.ceiling.lift();
            }
            if self.until().is_some() == is_paused {
                return;
            }
        }
    }
}

/// Ends the pause when it is dropped, also if the runtime drops its task early.
struct End {
    pause: Weak<Pause>,
    has_ended: bool,
}

impl End {
    async fn wait(mut self, runtime: &impl Runtime) {
        while let Some(until) = self.next(runtime.now()) {
            runtime.sleep_until(until).await;
        }
    }

    /// Returns when to look again, unless the pause is over. From then on, another may begin.
    fn next(&mut self, now: Instant) -> Option<Instant> {
        let pause = self.pause.upgrade()?;
        let mut until = pause.until();
        if until.is_some_and(|until| until > now) {
            return *until;
        }
        (*until, self.has_ended) = (None, true);
        None
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let Some(pause) = self.pause.upgrade() else { return };
        if !self.has_ended {
            *pause.until() = None;
        }
        pause.settle();
    }
}

/// Returns how long the sender of these headers asks to wait.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let other = || {
        let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            // Beyond all numbers.
            return Some(Duration::MAX);
        }
        let at = httpdate::parse_http_date(text).ok()?;
        Some(at.duration_since(now).unwrap_or_default())
    };
    time_to_wait(headers).or_else(other)
}

impl<S, R: Clone> Layer<S> for PauseLayer<R> {
    type Service = PauseService<S, R>;

    fn layer(&self, inner: S) -> PauseService<S, R> {
        PauseService { inner, layer: self.clone() }
    }
}

impl<R> fmt::Debug for PauseLayer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PauseLayer").field("longest", &self.longest).finish_non_exhaustive()
    }
}

/// A client whose upstream can pause its bulkhead; made by a [`PauseLayer`].
#[derive(Clone, Debug)]
pub struct PauseService<S, R> {
    inner: S,
    layer: PauseLayer<R>,
}

/// The head of a response. Only this crate implements it.
pub trait Head {
    /// Returns the status.
    fn status(&self) -> StatusCode;

    /// Returns the headers.
    fn headers(&self) -> &HeaderMap;
}

impl<B> Head for http::Response<B> {
    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }
}

#[cfg(feature = "reqwest")]
impl Head for reqwest::Response {
    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }
}

impl<S, Q, R> Service<Q> for PauseService<S, R>
where
    S: Service<Q, Response: Head>,
    R: Runtime<Sleep: Send> + Spawn,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = PauseFuture<S::Future, R>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        PauseFuture { inner: self.inner.call(request), layer: self.layer.clone() }
    }
}

pin_project! {
    /// The future of a request through a [`PauseLayer`].
    #[must_use = "futures do nothing unless polled"]
    pub struct PauseFuture<F, R> {
        #[pin]
        inner: F,
        layer: PauseLayer<R>,
    }
}

impl<F, A, E, R> Future for PauseFuture<F, R>
where
    F: Future<Output = Result<A, E>>,
    A: Head,
    R: Runtime<Sleep: Send> + Spawn,
{
    type Output = Result<A, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<A, E>> {
        let this = self.project();
        let result = ready!(this.inner.poll(context));
        if let Ok(response) = &result {
            this.layer.note(response.status(), response.headers());
        }
        Poll::Ready(result)
    }
}

impl<F, R> fmt::Debug for PauseFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PauseFuture").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    #[test]
    fn retry_after_is_read_in_each_form() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for (name, value, expected) in [
            ("retry-after", "7", Some(Duration::from_secs(7))),
            ("retry-after", "0", Some(Duration::ZERO)),
            ("retry-after", "99999999999999999999", Some(Duration::MAX)),
            ("retry-after-ms", "250", Some(Duration::from_millis(250))),
            ("retry-after", "Sun, 09 Sep 2001 01:47:10 GMT", Some(Duration::from_secs(30))),
            ("retry-after", "Sun, 09 Sep 2001 01:46:30 GMT", Some(Duration::ZERO)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("x-other", "7", None),
        ] {
            let pair = (HeaderName::from_static(name), HeaderValue::from_static(value));
            assert_eq!(retry_after(&HeaderMap::from_iter([pair]), now), expected, "{name}: {value}");
        }
    }
}
