//! HTTP: bodies that hold slots, rejections as responses, and values from headers.

mod body;
#[cfg(feature = "breaker")]
mod guard;
mod headers;
pub(crate) mod hold;
mod pause;
mod remote;
#[cfg(feature = "reqwest")]
mod reqwest;
mod respond;
mod stream;
mod templates;
pub(crate) mod upstream;

pub use body::Body;
pub use headers::{KeyHeader, TimeoutHeader};
pub use hold::{HeldSlot, HoldBody, HoldSlot};
pub use pause::{PauseFuture, PauseLayer, PauseService};
pub use remote::RemoteRejection;
#[cfg(feature = "reqwest")]
pub use reqwest::host;
#[cfg(feature = "axum")]
pub(crate) use respond::UpstreamTimedOut;
pub use respond::{Respond, Responses};
pub use stream::{LimitedStream, StreamLimitFuture, StreamLimitLayer, StreamLimitService, StreamTimedOut};
