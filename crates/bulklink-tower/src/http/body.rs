//! A body that holds its slot.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;

use super::hold::Held;

pin_project! {
    /// The body `B` of a response, which holds the slot of its request, and its call of a guard,
    /// until it has ended or failed, or is dropped; or the body of a rejection.
    ///
    /// Frames, trailers and size hints are those of `B`.
    pub struct Body<B> {
        #[pin]
        content: Content<B>,
        // The last field, because the body must be dropped before its slot is free.
        held: Option<Held>,
    }
}

pin_project! {
    #[project = ContentProjection]
    enum Content<B> {
        Inner { #[pin] body: B },
        /// The whole body of a rejection.
        Rejection { bytes: Bytes },
        Ended,
    }
}

impl<B: http_body::Body> Body<B> {
    /// Makes a body that holds `held` until `body` has ended. If it is empty, that is now.
    pub(crate) fn holding(body: B, held: Option<Held>) -> Self {
        let (ended, held) = if body.is_end_stream() { (held, None) } else { (None, held) };
        if let Some(held) = ended {
            held.end(false);
        }
        Body { content: Content::Inner { body }, held }
    }

    pub(crate) fn rejection(bytes: Bytes) -> Self {
        let content = if bytes.is_empty() { Content::Ended } else { Content::Rejection { bytes } };
        Body { content, held: None }
    }
}

impl<B> http_body::Body for Body<B>
where
    B: http_body::Body,
    B::Data: From<Bytes>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        let frame = match this.content.as_mut().project() {
            ContentProjection::Inner { mut body } => {
                let frame = ready!(body.as_mut().poll_frame(context));
                if let Some(Ok(_)) = frame {
                    // A server may drop it now, without asking for another frame.
                    if let Some(held) = this.held.as_mut().filter(|held| held.call.is_some()) {
                        if body.is_end_stream() {
                            held.end_call(false);
                        }
                    }
                    return Poll::Ready(frame);
                }
                frame
            }
            ContentProjection::Rejection { bytes } => Some(Ok(Frame::data(std::mem::take(bytes).into()))),
            ContentProjection::Ended => return Poll::Ready(None),
        };
        let has_failed = matches!(frame, Some(Err(_)));
        this.content.set(Content::Ended);
        if let Some(held) = this.held.take() {
            held.end(has_failed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Inner { body } => body.is_end_stream(),
            Content::Rejection { .. } => false,
            Content::Ended => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Inner { body } => body.size_hint(),
            Content::Rejection { bytes } => SizeHint::with_exact(bytes.len() as u64),
            Content::Ended => SizeHint::with_exact(0),
        }
    }
}

/// The empty body, which holds nothing.
impl<B: Default> Default for Body<B> {
    fn default() -> Self {
        Body { content: Content::Ended, held: None }
    }
}

impl<B> fmt::Debug for Body<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = match &self.content {
            Content::Inner { .. } => "open",
            Content::Rejection { .. } => "rejection",
            Content::Ended => "ended",
        };
        f.debug_struct("Body").field("content", &content).field("held", &self.held).finish()
    }
}
