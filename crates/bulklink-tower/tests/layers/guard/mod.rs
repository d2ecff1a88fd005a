//! The layers of a guard and of a breaker alone.

mod bodies;
mod breakers;
mod deadlines;
#[cfg(feature = "axum")]
mod guide;
mod keyed;
mod nesting;
mod responses;
mod services;
