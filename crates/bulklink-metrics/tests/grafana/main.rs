//! The dashboard and the alert rules: by themselves, by Prometheus' tool, and against a scrape.

mod alerts;
mod dashboard;
mod names;
mod scrape;
