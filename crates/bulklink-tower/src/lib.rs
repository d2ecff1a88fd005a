//! [Bulklink](bulklink) in an HTTP service: a bulkhead around a route, an upstream or any other
//! [`Service`](tower_service::Service).

#![doc(html_root_url = "https://docs.rs/bulklink-tower/latest")]
#![forbid(unsafe_code)]

mod admission;
mod backpressure;
mod future;
#[cfg(feature = "http")]
pub mod http;
mod layer;
mod outcome;
mod rejection;
mod service;

pub use backpressure::{BackpressureLayer, BackpressureService};
pub use future::ResponseFuture;
pub use layer::BulkheadLayer;
pub use outcome::Errors;
pub use rejection::{BoxError, rejection};
pub use service::BulkheadService;
