//! A route of axum for a scrape.

use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};

use crate::{Exporter, Format};

/// Makes a route that answers with all metrics, in the format that the scrape's `Accept` prefers.
///
/// It takes no slot: add it after the layers, which would limit it, too. Metrics of the program
/// itself come before, by [`Exporter::add_text`].
///
/// # Examples
///
/// ```
/// use axum::Router;
/// use bulklink_metrics::{Exporter, metrics_route};
/// use bulklink_tokio::Registry;
///
/// let exporter = Exporter::new(&Registry::new());
/// let app: Router = Router::new().route("/metrics", metrics_route(&exporter));
/// ```
pub fn metrics_route<S>(exporter: &Exporter) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let exporter = exporter.clone();
    get(async move |headers: HeaderMap| answer(&exporter, &headers))
}

fn answer(exporter: &Exporter, headers: &HeaderMap) -> impl IntoResponse + use<> {
    let ranges: Vec<&str> = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let format = Format::negotiate(&ranges.join(","));
    // A proxy must not answer a client with the format of another one.
    ([(header::CONTENT_TYPE, format.content_type()), (header::VARY, "accept")], exporter.render(format))
}
