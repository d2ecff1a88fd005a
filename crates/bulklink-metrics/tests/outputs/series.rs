//! The outputs in one form: each series as Prometheus writes it, with its value.

use std::collections::BTreeMap;

use bulklink_metrics::{Exporter, Format};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, MeterProviderBuilder, PeriodicReader, SdkMeterProvider};

/// `name{label="value"}`, with the labels in order, and the value.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Series(pub(crate) BTreeMap<String, f64>);

impl Series {
    /// Reads a text. Values hold no space.
    pub(crate) fn of(text: &str) -> Self {
        let samples = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let samples = samples.map(|line| line.rsplit_once(' ').expect("a series and its value"));
        let mut all = BTreeMap::new();
        for (series, value) in samples {
            let earlier = all.insert(in_order(series), value.parse().expect("a number"));
            assert_eq!(earlier, None, "{series} twice");
        }
        Series(all)
    }

    /// Returns the value of a series, as a whole number.
    #[expect(clippy::cast_possible_truncation, reason = "a count")]
    pub(crate) fn count(&self, series: &str) -> Option<i64> {
        self.0.get(series).map(|value| *value as i64)
    }

    /// Returns the names, without labels.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.0.keys().map(|series| series.split('{').next().unwrap_or(series)).collect();
        names.dedup();
        names
    }
}

/// Text and facade have the label of a metric after the kind.
fn in_order(series: &str) -> String {
    let parts = series.split_once('{').and_then(|(name, labels)| {
        let (bulkhead, rest) = labels.strip_suffix('}')?.split_once(",kind=\"")?;
        let (kind, label) = rest.split_once("\",")?;
        Some((name, [bulkhead.to_owned(), format!("kind=\"{kind}\""), label.to_owned()]))
    });
    let Some((name, mut labels)) = parts else { return series.to_owned() };
    labels.sort();
    format!("{name}{{{}}}", labels.join(","))
}

/// One of the outputs.
pub(crate) trait Output {
    /// Exports everything now, by the names of Prometheus.
    fn read(&self) -> Series;
}

pub(crate) struct Text(pub(crate) Exporter);

impl Output for Text {
    fn read(&self) -> Series {
        Series::of(&self.0.render(Format::Prometheus))
    }
}

pub(crate) struct Facade {
    pub(crate) exporter: Exporter,
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
}

impl Facade {
    pub(crate) fn new(exporter: Exporter) -> Self {
        Self::with(exporter, PrometheusBuilder::new())
    }

    pub(crate) fn with(exporter: Exporter, builder: PrometheusBuilder) -> Self {
        let recorder = builder.build_recorder();
        Facade { exporter, handle: recorder.handle(), recorder }
    }

    pub(crate) fn recorder(&self) -> &PrometheusRecorder {
        &self.recorder
    }

    pub(crate) fn text(&self) -> String {
        metrics::with_local_recorder(&self.recorder, || self.exporter.record());
        self.handle.render()
    }
}

impl Output for Facade {
    fn read(&self) -> Series {
        Series::of(&self.text())
    }
}

pub(crate) struct OpenTelemetry {
    provider: SdkMeterProvider,
    collected: InMemoryMetricExporter,
}

impl OpenTelemetry {
    pub(crate) fn new(exporter: &Exporter) -> Self {
        Self::with(exporter, |provider| provider)
    }

    pub(crate) fn with(exporter: &Exporter, change: impl FnOnce(MeterProviderBuilder) -> MeterProviderBuilder) -> Self {
        Self::to(exporter, InMemoryMetricExporter::default(), change)
    }

    pub(crate) fn to(
        exporter: &Exporter,
        collected: InMemoryMetricExporter,
        change: impl FnOnce(MeterProviderBuilder) -> MeterProviderBuilder,
    ) -> Self {
        let reader = PeriodicReader::builder(collected.clone()).build();
        let provider = change(SdkMeterProvider::builder().with_reader(reader)).build();
        exporter.observe_with(&provider.meter("bulklink"));
        OpenTelemetry { provider, collected }
    }

    /// The series of one collection, by the names of OpenTelemetry, and the unit of each name.
    pub(crate) fn collect(&self) -> (Series, BTreeMap<String, String>) {
        self.collected.reset();
        self.provider.force_flush().expect("the exporter takes it");
        let (mut series, mut units) = (BTreeMap::new(), BTreeMap::new());
        for resource in self.collected.get_finished_metrics().expect("it keeps them") {
            for metric in resource.scope_metrics().flat_map(|scope| scope.metrics().collect::<Vec<_>>()) {
                units.insert(metric.name().to_owned(), metric.unit().to_owned());
                for (labels, value) in points(metric.data()) {
                    let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
                    assert_eq!(series.insert(format!("{}{labels}", metric.name()), value), None);
                }
            }
        }
        (Series(series), units)
    }
}

/// The data points, with the labels in the order of the other outputs.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn points(data: &AggregatedMetrics) -> Vec<(String, f64)> {
    let labels = |attributes: &mut dyn Iterator<Item = &opentelemetry::KeyValue>| {
        let mut labels: Vec<_> = attributes.map(|label| format!("{}=\"{}\"", label.key, label.value)).collect();
        labels.sort();
        labels.join(",")
    };
    match data {
        AggregatedMetrics::U64(MetricData::Sum(sum)) => {
            assert!(sum.is_monotonic());
            sum.data_points().map(|point| (labels(&mut point.attributes()), point.value() as f64)).collect()
        }
        AggregatedMetrics::F64(MetricData::Sum(sum)) => {
            assert!(sum.is_monotonic());
            sum.data_points().map(|point| (labels(&mut point.attributes()), point.value())).collect()
        }
        AggregatedMetrics::U64(MetricData::Gauge(gauge)) => {
            gauge.data_points().map(|point| (labels(&mut point.attributes()), point.value() as f64)).collect()
        }
        AggregatedMetrics::F64(MetricData::Gauge(gauge)) => {
            gauge.data_points().map(|point| (labels(&mut point.attributes()), point.value())).collect()
        }
        other => panic!("unexpected: {other:?}"),
    }
}

impl Output for OpenTelemetry {
    /// The names as a collector turns them into those of Prometheus.
    fn read(&self) -> Series {
        let (series, units) = self.collect();
        let translated = series.0.into_iter().map(|(series, value)| {
            let (name, labels) = series.split_at(series.find('{').unwrap_or(series.len()));
            let metric = bulklink_metrics::NAMES.iter().find(|metric| metric.otel_name == name);
            let parts = |metric: &&bulklink_metrics::Metric| name.starts_with(&format!("{}.", metric.otel_name));
            let name = match (metric, name.rsplit_once('.')) {
                (Some(metric), _) => metric.name.to_owned(),
                (None, Some((_, part))) => {
                    let metric = bulklink_metrics::NAMES.iter().find(parts).expect("it is in the table");
                    format!("{}_{part}", metric.name)
                }
                (None, None) => panic!("{name}, {units:?}"),
            };
            (format!("{name}{labels}"), value)
        });
        Series(translated.collect())
    }
}

/// All outputs of an exporter.
pub(crate) fn outputs(exporter: &Exporter) -> Vec<(&'static str, Box<dyn Output>)> {
    vec![
        ("text", Box::new(Text(exporter.clone()))),
        ("facade", Box::new(Facade::new(exporter.clone()))),
        ("OpenTelemetry", Box::new(OpenTelemetry::new(exporter))),
    ]
}
