//! The layers of a guard and of a breaker alone.
#![cfg(all(feature = "breaker", feature = "http"))]

mod bodies;
mod breakers;
mod deadlines;
mod guide;
mod keyed;
mod nesting;
mod responses;
mod services;
