//! Exports the figures of [Bulklink](bulklink)'s bulkheads, circuit breakers and shares of fleets
//! to Prometheus, the `metrics` facade and OpenTelemetry.
//!
//! ```
//! # #[cfg(feature = "text")]
//! # {
//! use bulklink_metrics::{Exporter, Format};
//! use bulklink_tokio::{Bulkhead, Registry};
//!
//! let registry = Registry::new();
//! let payments = registry.create(Bulkhead::builder("payments").parallelism(10))?;
//! let exporter = Exporter::new(&registry);
//!
//! // The handler of `GET /metrics`:
//! let metrics = |accept: &str| {
//!     let format = Format::negotiate(accept);
//!     (format.content_type(), exporter.render(format))
//! };
//! # assert!(metrics("").1.contains("bulklink_left_out 0"));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | feature | output |
//! | --- | --- |
//! | `text`, on by default | [`Exporter::render`]: the text for Prometheus, also as OpenMetrics |
//! | `metrics` | `Exporter::record`, for the recorder of the `metrics` facade |
//! | `opentelemetry` | `Exporter::observe_with`, which creates observable instruments on a meter |
//!
//! With the feature `axum`, `metrics_route` is the route for a scrape. To all outputs, the feature
//! `breaker` adds the circuit breakers of `bulklink-breaker`, and the feature `fleet` the shares of
//! `bulklink-fleet`.
//!
//! An exporter reads the figures when it is asked to, and adds no event handler. So an exported
//! bulkhead keeps its fast path, and a gauge shows the present, not a count. All figures of
//! one bulkhead are of one moment. [`NAMES`] is the table of all metrics, for a program; the [page
//! of the guide][guide] shows it. The package has a dashboard and alert rules, in its folder
//! [`grafana`].
//!
//! [guide]: https://github.com/bulklink/bulklink/blob/main/docs/guide/metrics.md
//!
//! Counters never go back while a bulkhead lives, also where partitions are dropped. A new bulkhead
//! under the label of one that is gone begins at zero, which Prometheus and OpenTelemetry take as a
//! reset.
//!
//! # Labels
//!
//! Every metric but `bulklink_left_out` has the labels `bulkhead`, which is the label of the
//! bulkhead, the partitions, the breaker or the share, or the path of the file of settings, and
//! `kind`, which is `bulkhead`, `partitions`, `breaker`, `share` or `settings`. A label of more
//! than [`MAX_LABEL`] bytes is cut, and ends in a hash of the whole. Of partitions that [show their
//! keys](bulklink::partitions::Builder::show_keys), the ten with the most load are exported; of
//! others, no key.
//!
//! # Versions
//!
//! The feature `axum` is for axum 0.8, `metrics` for metrics 0.24, and `opentelemetry` for
//! opentelemetry 0.33.
//! Their next versions come with [one of this crate][versions].
//!
//! [`grafana`]: https://docs.rs/crate/bulklink-metrics/latest/source/grafana/
//! [versions]: https://github.com/bulklink/bulklink/blob/main/docs/VERSIONS.md

#![doc(html_root_url = "https://docs.rs/bulklink-metrics/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![cfg_attr(not(any(feature = "text", feature = "metrics", feature = "opentelemetry")), allow(dead_code))]

#[cfg(any(feature = "metrics", feature = "opentelemetry"))]
mod continued;
mod edges;
mod exporter;
#[cfg(feature = "metrics")]
mod facade;
mod label;
#[cfg(feature = "opentelemetry")]
mod otel;
#[cfg(feature = "axum")]
mod route;
#[cfg(feature = "fleet")]
mod shares;
mod table;
#[cfg(feature = "text")]
mod text;
mod walk;

pub use exporter::Exporter;
pub use label::MAX_LABEL;
#[cfg(feature = "axum")]
pub use route::metrics_route;
pub use table::{Kind, Metric, NAMES, Subject};
#[cfg(feature = "text")]
pub use text::Format;
