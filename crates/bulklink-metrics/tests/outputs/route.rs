//! The route for a scrape, and metrics of the program itself.

use std::fmt::Write;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use bulklink_metrics::{Exporter, Format, metrics_route};
use openmetrics_parser::openmetrics::parse_openmetrics;
use openmetrics_parser::prometheus::parse_prometheus;
use tower::ServiceExt;

use crate::scene::Scene;

const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Nothing waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the answer waits"),
    }
}

fn ask(app: &Router, method: &str, accept: &[&str]) -> (StatusCode, String, String) {
    let request = Request::builder().method(method).uri("/metrics");
    let request = accept.iter().fold(request, |request, accept| request.header("accept", *accept));
    let response = now(app.clone().oneshot(request.body(Body::empty()).unwrap())).unwrap();
    let (head, body) = response.into_parts();
    let content_type = head.headers.get("content-type").map_or("", |value| value.to_str().unwrap()).to_owned();
    if head.status == StatusCode::OK {
        assert_eq!(head.headers["vary"], "accept");
    }
    (head.status, content_type, String::from_utf8(now(to_bytes(body, usize::MAX)).unwrap().to_vec()).unwrap())
}

#[test]
fn the_route_answers_in_the_format_that_the_scrape_prefers() {
    let scene = Scene::new();
    let exporter = Exporter::new(&scene.registry);
    // In a router with a state, of a scrape that sends its ranges in two headers.
    let app = Router::new().route("/metrics", metrics_route::<u64>(&exporter)).with_state(42);
    let open = "application/openmetrics-text;version=1.0.0;q=0.5";
    for (accept, expected) in [
        (&[][..], PLAIN),
        (&["text/html, */*;q=0.8"], PLAIN),
        (&[open], OPEN),
        (&["text/plain;q=0.2", open], OPEN),
        (&[open, "text/plain;q=0.7"], PLAIN),
    ] {
        let (status, content_type, text) = ask(&app, "GET", accept);
        assert_eq!((status, &*content_type), (StatusCode::OK, expected), "{accept:?}");
        assert_eq!(text, exporter.render(if expected == OPEN { Format::OpenMetrics } else { Format::Prometheus }));
    }
    assert_eq!(ask(&app, "HEAD", &[open]), (StatusCode::OK, OPEN.to_owned(), String::new()));
    assert_eq!(ask(&app, "POST", &[]).0, StatusCode::METHOD_NOT_ALLOWED);
}

#[test]
fn metrics_of_the_program_come_before_and_a_panic_of_one_leaves_nothing() {
    let exporter = Exporter::new(&Scene::new().registry);
    let without = exporter.render(Format::OpenMetrics);
    exporter.add_text(|format, text| {
        let name = if format == Format::OpenMetrics { "reloads" } else { "reloads_total" };
        let _ = writeln!(text, "# HELP {name} Texts.\n# TYPE {name} counter\nreloads_total 3");
    });
    exporter.add_text(|_, text| {
        text.push_str("half a li");
        panic!("the figures are gone");
    });
    exporter.add_text(|_, text| text.push_str("# TYPE workers gauge\nworkers 4\n"));
    let open = exporter.render(Format::OpenMetrics);
    let own = "# HELP reloads Texts.\n# TYPE reloads counter\nreloads_total 3\n# TYPE workers gauge\nworkers 4\n";
    assert_eq!(open, format!("{own}{without}"));
    // The parser knows no units of histograms.
    let without_units: Vec<_> = open.lines().filter(|line| !line.starts_with("# UNIT")).collect();
    parse_openmetrics(&format!("{}\n", without_units.join("\n"))).expect("valid OpenMetrics");
    parse_prometheus(&exporter.render(Format::Prometheus)).expect("valid text");
}
