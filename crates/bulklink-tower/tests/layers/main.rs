//! Layers around services, limits on connections, and the routes of axum.

#[cfg(all(feature = "breaker", feature = "http"))]
mod adaptive;
mod admission;
#[cfg(feature = "reqwest")]
mod clients;
#[cfg(feature = "axum")]
mod connections;
mod deadlines;
#[cfg(feature = "http")]
mod estimates;
mod faults;
#[cfg(all(feature = "breaker", feature = "http"))]
mod guard;
#[cfg(feature = "http")]
mod headers;
#[cfg(feature = "axum")]
mod page;
#[cfg(feature = "axum")]
mod readiness;
#[cfg(feature = "http")]
mod responses;
#[cfg(feature = "http")]
mod sharing;
#[cfg(feature = "http")]
mod sockets;
#[cfg(feature = "http")]
mod upstreams;

use bulklink_tokio::Bulkhead;

fn one_slot() -> Bulkhead {
    Bulkhead::builder("payments").parallelism(1).build().unwrap()
}
