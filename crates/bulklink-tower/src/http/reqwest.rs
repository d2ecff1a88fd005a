//! Responses of reqwest that hold slots.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bulklink::OwnedSlot;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;
use reqwest::ResponseBuilderExt;

use super::hold::{Held, HoldSlot, ShareSlot, SlotOf};
use super::upstream::{Upstream, broken_off};
use super::{Body, HeldSlot, upstream};
use crate::BoxError;
use crate::deadline::{Deadline, Origin, RequestClock};

/// Returns the host of a request, with its port if that is not the usual one: a key for a bulkhead
/// for each upstream. A name and a password in the URL are not part of it.
///
/// ```
/// # use reqwest::{Method, Request};
/// let url = "https://user:secret@example.com:8443/path".parse()?;
/// let request = Request::new(Method::GET, url);
/// assert_eq!(bulklink_tower::http::host(&request), "example.com:8443");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn host(request: &reqwest::Request) -> &str {
    host_of(request.url())
}

fn host_of(url: &reqwest::Url) -> &str {
    let authority = url.authority();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// A request cannot carry a slot to the code that uses the connection, so the response does.
impl ShareSlot for reqwest::Request {
    fn share(&mut self, slot: OwnedSlot, _: bool) -> Held {
        SlotOf::Body { slot }.into()
    }

    fn deadline(&self, clock: &RequestClock) -> Option<Deadline> {
        self.timeout().map(|time| clock.after(*time, Origin::Client))
    }

    /// The rest of its timeout, without its wait for a slot.
    fn leave_deadline(&mut self, deadline: Deadline) {
        *self.timeout_mut() = Some(deadline.left());
    }

    fn headers_to_send(&mut self) -> &mut HeaderMap {
        self.headers_mut()
    }
}

/// The response holds the slot until its body has been read to the end, has failed or was dropped.
/// URL, extensions, timeouts and the length of the body stay as they are.
///
/// Two things differ. An error of the body names the bulkhead and the host, and has more sources,
/// which the methods of [`reqwest::Error`] look through. And a connection that is upgraded holds no
/// slot by itself: take the [`HeldSlot`] out of the response's extensions before `upgrade`, and
/// keep it as long as the connection.
impl HoldSlot for reqwest::Response {
    type Holding = reqwest::Response;

    fn status_of(&self) -> http::StatusCode {
        self.status()
    }

    fn log_error(&mut self, held: Option<&Held>) {
        let status = self.status();
        if status.is_server_error() {
            let host = host_of(self.url()).to_owned();
            upstream::answered(Some(&host), status, self.extensions_mut(), held);
        }
    }

    fn hold(self, held: Option<Held>) -> reqwest::Response {
        let Some(mut held) = held else {
            return self;
        };
        let url = self.url().clone();
        let upstream = Upstream { label: held.label(), host: Some(host_of(&url).into()) };
        let mut response: http::Response<reqwest::Body> = self.into();
        // The conversion back takes the URL from the extensions, where only this puts it.
        if let Ok(with_url) = http::Response::builder().url(url).body(()) {
            response.extensions_mut().extend(with_url.into_parts().0.extensions);
        }
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            if let Some(SlotOf::Body { slot }) = held.slot.take() {
                // A layer inside has put its own slot there.
                let inner = response.extensions_mut().remove();
                response.extensions_mut().insert(HeldSlot::new(Some(slot), inner));
            }
        }
        response.map(|body| reqwest::Body::wrap(Body::holding(Named { body, upstream }, Some(held)))).into()
    }
}

pin_project! {
    /// The body of an upstream's response, whose errors name the upstream.
    struct Named {
        #[pin]
        body: reqwest::Body,
        upstream: Upstream,
    }
}

impl http_body::Body for Named {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        let frame = ready!(this.body.poll_frame(context));
        Poll::Ready(frame.map(|frame| frame.map_err(|error| broken_off(this.upstream, error))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
