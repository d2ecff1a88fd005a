//! A circuit breaker beside the bulkhead.
//!
//! A bulkhead limits what a slow dependency can take. A *circuit breaker* stops calls to one that
//! fails: after too many failures its circuit *opens*, and calls are rejected immediately. After a
//! *cool-down* the circuit is *half-open*: a few calls are let through as *probes*, and their
//! outcome closes or opens it.

#![doc(html_root_url = "https://docs.rs/bulklink-breaker/latest")]
#![forbid(unsafe_code)]
#![no_std]

extern crate alloc;

pub mod circuit;

pub use bulklink::runtime::Instant;
pub use circuit::{Circuit, Counts, InvalidSetting, Mark, Outcomes, Pass, ProbeId, Refusal, Settings, State, View};
