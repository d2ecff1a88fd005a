//! The layers of a guard and of a breaker alone.
#![cfg(all(feature = "breaker", feature = "http"))]

mod bodies;
mod breakers;
mod guide;
mod deadlines;
mod keyed;
mod nesting;
mod responses;
mod services;
