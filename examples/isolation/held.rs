//! A response body that keeps a value until its last byte has been passed on, or until it is
//! dropped.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{Error, body::Body};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

pub(crate) struct Held<T> {
    body: Body,
    deadline: Pin<Box<Sleep>>,
    _kept: T,
}

impl<T: Send + Unpin + 'static> Held<T> {
    /// Returns `body`, which holds `kept` until it ends and fails at `deadline`.
    pub(crate) fn until_sent(body: Body, deadline: Instant, kept: T) -> Body {
        Body::new(Self { body, deadline: Box::pin(sleep_until(deadline)), _kept: kept })
    }
}

impl<T: Unpin> http_body::Body for Held<T> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        let late = |()| Some(Err(Error::new("the upstream fell silent within its answer")));
        self.deadline.as_mut().poll(cx).map(late)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
