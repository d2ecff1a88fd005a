//! All bulkheads for Prometheus: gauges and counters from their figures at each scrape, and a
//! histogram of waits from events.

use std::fmt;
use std::sync::Arc;

use bulklink_tokio::{Event, EventFilter, EventKind, Limits, Reason, Snapshot, Totals, partitions::Sums};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::admission::Admission;
use crate::layers::Headers;

const WAIT_BUCKETS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];

type Waits = Family<[(&'static str, Arc<str>); 1], Histogram, fn() -> Histogram>;

pub(crate) fn registry(admission: &Arc<Admission>, headers: &Headers) -> Registry {
    let mut metrics = Registry::default();
    metrics.register_collector(Box::new(Figures(Arc::clone(admission), headers.clone())));

    let waits = Waits::new_with_constructor(|| Histogram::new(WAIT_BUCKETS));
    metrics.register("bulkhead_wait_seconds", "Waits that ended in admission", waits.clone());
    let observe = move |event: &Event| {
        if let (EventKind::Admitted, Some(waited)) = (event.kind, event.waited()) {
            waits.get_or_create(&[("bulkhead", Arc::clone(&event.label))]).observe(waited.as_secs_f64());
        }
    };
    // Calls that find a slot free cause none of these events, and pay nothing for the handler.
    for bulkhead in admission.registry.handles() {
        bulkhead.add_event_handler_for(EventFilter::WAITS, observe.clone());
    }
    for partitions in admission.registry.partition_handles() {
        partitions.add_event_handler_for(EventFilter::WAITS, observe.clone());
    }
    metrics
}

#[derive(Debug)]
struct Figures(Arc<Admission>, Headers);

/// The figures of a bulkhead, or the sums of all partitions, with the limits of each.
struct Row {
    label: Arc<str>,
    limits: Limits,
    in_flight: usize,
    in_use: usize,
    waiting: usize,
    partitions: usize,
    active: usize,
    limit_rejected: u64,
    totals: Totals,
}

type Read = fn(&Row) -> u64;

type Figure = (&'static str, &'static str, Read);

const GAUGES: [Figure; 7] = [
    ("bulkhead_in_flight", "Operations running", |row| row.in_flight as u64),
    ("bulkhead_in_use", "Units in use", |row| row.in_use as u64),
    ("bulkhead_capacity", "Units that may be in use, in each partition", |row| row.limits.capacity as u64),
    ("bulkhead_waiting", "Calls waiting", |row| row.waiting as u64),
    ("bulkhead_waiting_room", "Calls that may wait, in each partition", |row| row.limits.waiting_room as u64),
    ("bulkhead_partitions", "Partitions kept", |row| row.partitions as u64),
    ("bulkhead_active_partitions", "Partitions in use", |row| row.active as u64),
];

const COUNTERS: [Figure; 5] = [
    ("bulkhead_admitted", "Calls admitted", |row| row.totals.admitted),
    ("bulkhead_queued", "Calls that waited", |row| row.totals.queued),
    ("bulkhead_cancelled", "Calls cancelled while they waited", |row| row.totals.cancelled),
    ("bulkhead_abandoned", "Calls cancelled between admission and operation", |row| row.totals.abandoned),
    ("bulkhead_finished", "Operations ended", |row| row.totals.finished),
];

const REJECTIONS: [(Reason, Read); 4] = [
    (Reason::Saturated, |row| row.totals.saturated),
    (Reason::Expired, |row| row.totals.expired + row.totals.expired_before_queue),
    (Reason::Closed, |row| row.totals.closed()),
    (Reason::PartitionLimit, |row| row.limit_rejected),
];

impl Figures {
    fn rows(&self) -> Vec<Row> {
        let bulkheads = self.0.registry.statuses().into_iter().map(|status| {
            let Snapshot { limits, in_flight, in_use, waiting, totals, .. } = *status;
            let (partitions, active, limit_rejected) = (0, 0, 0);
            Row { label: status.label, limits, in_flight, in_use, waiting, partitions, active, limit_rejected, totals }
        });
        let partitions = self.0.registry.partition_handles().into_iter().map(|handle| {
            let Sums { label, in_flight, in_use, waiting, partitions, limit_rejected, totals, .. } = handle.sums();
            let (limits, active) = (handle.status().each, handle.status().active_partitions);
            Row { label, limits, in_flight, in_use, waiting, partitions, active, limit_rejected, totals }
        });
        bulkheads.chain(partitions).collect()
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let rows = self.rows();
        for (name, help, get) in GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for row in &rows {
                ConstGauge::new(get(row)).encode(family.encode_family(&[("bulkhead", &*row.label)])?)?;
            }
        }
        for (name, help, get) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for row in &rows {
                ConstCounter::new(get(row)).encode(family.encode_family(&[("bulkhead", &*row.label)])?)?;
            }
        }
        let mut family = encoder.encode_descriptor("bulkhead_rejected", "Calls rejected", None, MetricType::Counter)?;
        for (row, (reason, get)) in rows.iter().flat_map(|row| REJECTIONS.map(|rejections| (row, rejections))) {
            let labels = [("bulkhead", &*row.label), ("reason", reason.as_str())];
            ConstCounter::new(get(row)).encode(family.encode_family(&labels)?)?;
        }
        let help = "Invalid values of headers, counted by each layer that reads them";
        let mut family = encoder.encode_descriptor("invalid_headers", help, None, MetricType::Counter)?;
        for (header, invalid) in [("x-timeout-ms", self.1.timeout.invalid()), ("x-tenant", self.1.tenant.invalid())] {
            ConstCounter::new(invalid as u64).encode(family.encode_family(&[("header", header)])?)?;
        }
        Ok(())
    }
}
