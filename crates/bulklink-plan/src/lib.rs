//! Finds the limits of a bulkhead for a load: parallelism, waiting room and wait limit.
//!
//! [`plan`] searches for them. Each candidate is simulated: calls come and hold their slots in
//! virtual time, and the [`Gate`](bulklink_core::Gate) that decides in a service decides on them,
//! millions per second. So its rules hold, and no others.
//!
//! ```
//! use bulklink_plan::{Ask, Distribution, plan};
//! use std::ops::ControlFlow;
//! use std::time::Duration;
//!
//! let mut ask = Ask::new(40.0, Distribution::exponential(Duration::from_millis(50)));
//! ask.rejected = 0.05;
//! # ask.budget = 100_000;
//! let plan = plan(&ask, |_| ControlFlow::Continue(()))?;
//! println!("{:?}", plan.limits);
//! assert!(plan.figures.rejected.mean <= 0.05);
//! # Ok::<(), bulklink_plan::InvalidArgument>(())
//! ```
//!
//! - [`Ask`] has the load and the goal, and [`Plan`] is the answer, with the price of wrong
//!   assumptions;
//! - [`Sim`] is one bulkhead under one [`Load`], for other questions.
//!
//! The program `bulklink-plan` asks from a terminal. It is the feature `command`, which is on by
//! default; a library needs it not.

#![doc(html_root_url = "https://docs.rs/bulklink-plan/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod ask;
mod distribution;
mod estimate;
mod guess;
mod load;
mod measure;
mod plan;
mod random;
mod sim;
mod what_if;

pub use bulklink_core::{Instant, InvalidArgument, Limits, Reason, Reserve, Snapshot};

pub use ask::{Ask, Burst};
pub use distribution::Distribution;
pub use estimate::Estimate;
pub use load::{Arrivals, Kind, Load, ScriptedCall};
pub use measure::Figures;
pub use plan::{Plan, Progress, WhatIf, plan};
pub use sim::{Decision, Sim};
