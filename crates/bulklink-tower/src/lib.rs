//! [Bulklink](bulklink) in an HTTP service: a bulkhead around a route, an upstream or any other
//! [`Service`](https://docs.rs/tower-service/0.3/tower_service/trait.Service.html).
//!
//! The slot of a request is held for as long as the work really takes in this process: until its
//! response's body has ended, has failed or was dropped, because the client has gone. What an
//! upstream still does for a request that was dropped is not part of it.
//!
//! ```
//! use axum::{Router, routing::get};
//! use bulklink_tokio::Bulkhead;
//! use bulklink_tower::BulkheadLayer;
//! use std::time::Duration;
//!
//! let orders = Bulkhead::builder("orders")
//!     .parallelism(16)
//!     .waiting_room(50)
//!     .wait_limit(Duration::from_secs(2))
//!     .build()?;
//! let limit = BulkheadLayer::new(&orders).respond();
//!
//! let app: Router = Router::new()
//!     .route("/orders", get(async || "42 orders").layer(limit))
//!     .route("/health", get(async || "up"));
//! # Ok::<(), bulklink_tokio::InvalidArgument>(())
//! ```
//!
//! The guide has pages on [servers and clients][axum], on [deadlines that travel][deadlines], and
//! [a service to copy][service].
//!
//! [axum]: https://github.com/bulklink/bulklink/blob/main/docs/guide/axum.md
//! [deadlines]: https://github.com/bulklink/bulklink/blob/main/docs/guide/deadlines.md
//! [service]: https://github.com/bulklink/bulklink/blob/main/docs/guide/whole-service.md
//!
//! # Which layer do I want?
//!
//! | the service | the layer, a [`BulkheadLayer`] but for the last |
//! | --- | --- |
//! | is a route of a server, on axum, hyper or tonic | [`new`]`(&bulkhead)`, then [`respond`] |
//! | is a client of an HTTP upstream | [`new`]`(&bulkhead)`, then [`hold_body`] |
//! | has users that must not starve each other | [`keyed`]`(&partitions, key)`, then one of those |
//! | is of another protocol | [`new`]`(&bulkhead)` alone: the slot is held until the answer |
//! | is not to be called while it fails | `GuardLayer` or `BreakerLayer`, feature `breaker` |
//! | is a client of many hosts, each of which may fail | `GuardLayer::keyed`, feature `breaker` |
//! | is called by a program that relies on `poll_ready` | [`BackpressureLayer::new`]`(&bulkhead)` |
//!
//! [`new`]: BulkheadLayer::new
//! [`respond`]: BulkheadLayer::respond
//! [`hold_body`]: BulkheadLayer::hold_body
//! [`keyed`]: BulkheadLayer::keyed
//!
//! A bulkhead is shared by all that use it, on purpose: the layers made of its clones, the services
//! that a layer makes, and their clones. For a limit of its own, a route needs its own bulkhead.
//! Do not put layers of the same bulkhead into each other: a request would wait for itself.
//!
//! # In a struct
//!
//! A layer has the type of its requests, the runtime, and what it does with answers; without
//! `respond` and `hold_body`, the last is [`Errors`]. A service has that of the service inside too.
//! The bound `Outcome` in signatures holds for [`Errors`], [`Respond`](http::Respond) and
//! [`HoldBody`](http::HoldBody), and for nothing else.
//!
//! ```
//! # #[cfg(feature = "reqwest")]
//! # fn example() {
//! use axum::extract::Request;
//! use bulklink_tokio::{Bulkhead, Tokio};
//! use bulklink_tower::http::{HoldBody, Respond};
//! use bulklink_tower::{BoxError, BulkheadLayer, BulkheadService};
//! use tower::{Layer, util::BoxCloneSyncService};
//!
//! struct Limits {
//!     route: BulkheadLayer<Request, Tokio, Respond>,
//!     client: BulkheadService<reqwest::Client, reqwest::Request, Tokio, HoldBody>,
//!     /// The same without its layers in the type.
//!     boxed: BoxCloneSyncService<reqwest::Request, reqwest::Response, BoxError>,
//! }
//!
//! fn limits(bulkhead: &Bulkhead) -> Limits {
//!     let layer = BulkheadLayer::new(bulkhead).hold_body();
//!     let client = layer.layer(reqwest::Client::new());
//!     let boxed = BoxCloneSyncService::new(client.clone());
//!     Limits { route: BulkheadLayer::new(bulkhead).respond(), client, boxed }
//! }
//! # }
//! ```
//!
//! # When a request is admitted
//!
//! In `call`, if the fast path has a free slot or rejects it; otherwise its future takes a place in
//! the queue, or a slot, when it is first polled. `poll_ready` reserves nothing, so a clone that is
//! ready and never called takes no slot from the others. When the request has its slot, a clone of
//! the service inside is asked whether it is ready, and then called. Requests that wait are
//! admitted first come, first served.
//!
//! Poll the future, or drop it: one that is kept without either keeps its slot, or is handed one.
//! [`collect_limit`](bulklink::Builder::collect_limit) takes back those that were handed over.
//!
//! # Until when the slot is held
//!
//! - A body that is one piece has ended when the server has taken it, before it has been sent. For
//!   large answers, stream the body, or limit the connections with a `LimitedListener`.
//! - A connection that is upgraded, as for a websocket, outlives its response. Its handler must
//!   keep the [`HeldSlot`](http::HeldSlot), or the slot is free when the upgrade begins.
//! - A client that goes away ends its request. On HTTP/1, a server notices that while it reads the
//!   request's body or writes the response: a request that waits with a body that has not been read
//!   keeps its place until the limit on its wait.
//!
//! # Rejections
//!
//! A server [responds](http::Responses) to them. Otherwise they are errors: [`rejection`] finds a
//! [`Rejection`](bulklink::Rejection) in a [`BoxError`], however deep it is. The service inside has
//! not been called then. An `OpenCircuit` and a `TimedOut` of a guard are the [`BoxError`] itself,
//! through all layers of this crate: `error.downcast_ref::<OpenCircuit>()` returns it.
//!
//! # Cancel safety
//!
//! A future that is dropped drops the request, or the service's future, and then gives
//! back its slot or its place in the queue. The same holds if the service panics.
//!
//! # Versions
//!
//! The API has types of tower-layer 0.3 and tower-service 0.3. The feature `http` is for http 1,
//! http-body 1 and bytes 1, `axum` for axum 0.8, `reqwest` for reqwest 0.13. Events are of
//! tracing 0.1.
//! Their next versions come with [one of this crate][versions].
//!
//! [versions]: https://github.com/bulklink/bulklink/blob/main/docs/VERSIONS.md

#![doc(html_root_url = "https://docs.rs/bulklink-tower/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod admission;
mod backpressure;
#[cfg(feature = "tokio")]
mod connections;
mod deadline;
#[cfg(feature = "axum")]
mod failure;
mod future;
#[cfg(feature = "breaker")]
mod guard;
#[cfg(feature = "http")]
pub mod http;
mod layer;
#[cfg(feature = "http")]
mod log;
mod outcome;
#[cfg(feature = "axum")]
pub mod page;
#[cfg(feature = "axum")]
mod readiness;
mod rejection;
mod service;

pub use backpressure::{BackpressureLayer, BackpressureService};
#[cfg(feature = "breaker")]
#[doc(inline)]
pub use bulklink_breaker::plumbing::KeyedGuards;
#[cfg(feature = "tokio")]
pub use connections::{Connection, LimitedListener};
pub use deadline::Deadline;
#[cfg(feature = "axum")]
pub use failure::Failure;
pub use future::ResponseFuture;
#[cfg(feature = "breaker")]
pub use guard::{BreakerLayer, GuardLayer, GuardService};
pub use layer::BulkheadLayer;
pub use outcome::Errors;
#[cfg(feature = "axum")]
pub use readiness::readiness_route;
pub use rejection::{BoxError, DeadlinePassed, rejection};
pub use service::BulkheadService;
