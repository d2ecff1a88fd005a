//! Long random scripts against the reference models, in larger worlds than a search can afford.
//!
//! Runs as part of `cargo test`; `PROPTEST_CASES=N` tries N scripts of each kind instead of 64, and `PROPTEST_RNG_SEED=N` the
//! same ones in every run. A script that fails is made as short as it can be, and printed as inputs to a world of the search.

#[path = "../exhaustive/check.rs"]
mod check;
mod gate;
#[path = "../exhaustive/model.rs"]
mod model;
mod runner;
mod script;
mod steps;
#[path = "../exhaustive/world.rs"]
mod world;
