//! Limits on the time of a streamed response.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bulklink::runtime::{Instant, Runtime};
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::{BoxError, Deadline};

/// Limits the time of streamed responses: to the first frame, between frames, and until the
/// [`Deadline`] of the request.
///
/// A stream that is too slow ends with the error [`StreamTimedOut`], which aborts the response: its
/// reader can distinguish that from a complete one. The slot of the request is given back then. Put
/// it inside the layer of the bulkhead.
///
/// But for the deadline, only the sender of the stream is measured: a frame that is there is passed
/// on, however long its reader has taken for those before it. A server asks for no frame while it
/// cannot send, so a client that stops reading holds its stream beyond the deadline: limit the time
/// of such connections.
///
/// The time to the first frame begins when the server asks for it, right after the head. Without
/// [`first`](StreamLimitLayer::first) it is limited as that between frames.
///
/// ```
/// use axum::{Router, routing::get};
/// use bulklink_tokio::{Bulkhead, Tokio};
/// use bulklink_tower::BulkheadLayer;
/// use bulklink_tower::http::StreamLimitLayer;
/// use std::time::Duration;
///
/// let chats = Bulkhead::builder("chats").parallelism(100).build()?;
/// let stream = StreamLimitLayer::new(Tokio)
///     .first(Duration::from_secs(20))
///     .silence(Duration::from_secs(5));
/// let app: Router = Router::new()
///     .route("/chat", get(async || "data: hello\n\n"))
///     .layer(stream)
///     .layer(BulkheadLayer::new(&chats).respond());
/// # Ok::<(), bulklink_tokio::InvalidArgument>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StreamLimitLayer<R> {
    first: Option<Duration>,
    silence: Option<Duration>,
    runtime: R,
}

impl<R: Runtime> StreamLimitLayer<R> {
    /// Makes a layer that ends streams at the deadlines of their requests.
    #[must_use]
    pub fn new(runtime: R) -> Self {
        StreamLimitLayer { first: None, silence: None, runtime }
    }

    /// Limits the time to the first frame, such as the first token of a model.
    #[must_use]
    pub fn first(mut self, time: Duration) -> Self {
        self.first = Some(time);
        self
    }

    /// Limits the time between two frames.
    #[must_use]
    pub fn silence(mut self, time: Duration) -> Self {
        self.silence = Some(time);
        self
    }
}

impl<S, R: Clone> Layer<S> for StreamLimitLayer<R> {
    type Service = StreamLimitService<S, R>;

    fn layer(&self, inner: S) -> Self::Service {
        StreamLimitService { inner, layer: self.clone() }
    }
}

/// A service with limits on its streams; made by a [`StreamLimitLayer`].
#[derive(Clone, Debug)]
pub struct StreamLimitService<S, R> {
    inner: S,
    layer: StreamLimitLayer<R>,
}

impl<S, Q, B, R> Service<Request<Q>> for StreamLimitService<S, R>
where
    S: Service<Request<Q>, Response = Response<B>>,
    R: Runtime,
{
    type Response = Response<LimitedStream<B, R>>;
    type Error = S::Error;
    type Future = StreamLimitFuture<S::Future, R>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let deadline = request.extensions().get().cloned();
        StreamLimitFuture { inner: self.inner.call(request), deadline, layer: self.layer.clone() }
    }
}

pin_project! {
    /// The future of a request through a [`StreamLimitLayer`].
    #[must_use = "futures do nothing unless polled"]
    pub struct StreamLimitFuture<F, R> {
        #[pin]
        inner: F,
        deadline: Option<Deadline>,
        layer: StreamLimitLayer<R>,
    }
}

impl<F, B, E, R> Future for StreamLimitFuture<F, R>
where
    F: Future<Output = Result<Response<B>, E>>,
    R: Runtime,
{
    type Output = Result<Response<LimitedStream<B, R>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = ready!(this.inner.poll(context))?;
        let StreamLimitLayer { first, silence, runtime } = this.layer.clone();
        let end = this.deadline.take().map(|deadline| runtime.now().saturating_add(deadline.left()));
        let next = first.or(silence);
        let limits = Limits { begun: false, has_ended: false, next, silence, end, due: None };
        Poll::Ready(Ok(response.map(|body| LimitedStream { body, limits, sleep: None, runtime })))
    }
}

pin_project! {
    /// The body of a response with limits on its time; see [`StreamLimitLayer`].
    pub struct LimitedStream<B, R: Runtime> {
        #[pin]
        body: B,
        limits: Limits,
        // The timer, and for when it was made.
        sleep: Option<(Instant, Pin<Box<R::Sleep>>)>,
        runtime: R,
    }
}

/// The limits of a stream.
#[derive(Debug)]
struct Limits {
    /// Whether a frame has come.
    begun: bool,
    /// Whether a limit has passed.
    has_ended: bool,
    /// On the time to the next frame.
    next: Option<Duration>,
    silence: Option<Duration>,
    /// The deadline of the request.
    end: Option<Instant>,
    /// When the frame must have come that the reader waits for, if it waits.
    due: Option<Instant>,
}

impl Limits {
    fn frame(&mut self) {
        (self.begun, self.next, self.due) = (true, self.silence, None);
    }

    /// Returns until when the reader waits.
    fn wait(&mut self, now: Instant) -> Option<Instant> {
        self.due = self.due.or_else(|| self.next.map(|next| now.saturating_add(next)));
        [self.due, self.end].into_iter().flatten().min()
    }

    /// Ends the stream.
    fn error(&mut self, now: Instant) -> StreamTimedOut {
        self.has_ended = true;
        StreamTimedOut(match () {
            () if self.end.is_some_and(|end| end <= now) => Which::Deadline,
            () if self.begun => Which::Silence,
            () => Which::First,
        })
    }
}

impl<B: Body<Error: Into<BoxError>>, R: Runtime> Body for LimitedStream<B, R> {
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let this = self.project();
        if this.limits.has_ended {
            return Poll::Ready(None);
        }
        // Also while frames are there at once.
        if let Some(end) = this.limits.end {
            let now = this.runtime.now();
            if end <= now {
                return Poll::Ready(Some(Err(this.limits.error(now).into())));
            }
        }
        if let Poll::Ready(frame) = this.body.poll_frame(context) {
            this.limits.frame();
            *this.sleep = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        loop {
            let now = this.runtime.now();
            let Some(due) = this.limits.wait(now) else { return Poll::Pending };
            if due <= now {
                return Poll::Ready(Some(Err(this.limits.error(now).into())));
            }
            if this.sleep.as_ref().is_none_or(|(at, _)| *at != due) {
                *this.sleep = Some((due, Box::pin(this.runtime.sleep_until(due))));
            }
            let Some((_, sleep)) = this.sleep else { return Poll::Pending };
            ready!(sleep.as_mut().poll(context));
            // The clock decides, not the timer. One that completes early is made again by the next
            // poll; a loop might not end.
            *this.sleep = None;
            if this.runtime.now() < due {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.limits.has_ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: fmt::Debug, R: Runtime> fmt::Debug for LimitedStream<B, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("LimitedStream");
        debug.field("body", &self.body).field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl<F, R> fmt::Debug for StreamLimitFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamLimitFuture").finish_non_exhaustive()
    }
}

/// The error of a stream that was too slow for its [`StreamLimitLayer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamTimedOut(Which);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    First,
    Silence,
    Deadline,
}

impl fmt::Display for StreamTimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Which::First => "the stream has not begun in time",
            Which::Silence => "the stream was silent for too long",
            Which::Deadline => "the stream has not ended by the deadline of its request",
        })
    }
}

impl Error for StreamTimedOut {}
