//! Bulkheads and partitions from a configuration, as in [`bulklink::config`]. With the feature
//! `watch`, the functions `watch` and `follow` apply a file whenever it changes.

pub use bulklink::config::*;

#[cfg(feature = "watch")]
pub use crate::follow::{Follow, follow};
#[cfg(feature = "watch")]
pub use crate::watch::{Watch, watch};
