//! The output through the `metrics` facade.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Key, Label, Level, Metadata, Recorder, SharedString, Unit};

use crate::Exporter;
use crate::continued::Continued;
use crate::exporter::lock;
use crate::table::{Id, Kind, Metric, NAMES};
use crate::walk::{Member, Value, Visit};

/// How many keys of the partitions of one label are recorded: a recorder cannot forget a series.
const MOST_KEYS: usize = 1_000;

static METADATA: Metadata<'static> = Metadata::new("bulklink", Level::INFO, Some(module_path!()));

impl Exporter {
    /// Records all metrics with the recorder of the `metrics` facade: the local one of this thread,
    /// or the global one. Call it before each rendering or push.
    ///
    /// The names and labels are those of [the table](crate::NAMES). The facade has no way to set a
    /// histogram, and its counters are whole numbers. So the parts of a histogram are series of
    /// their own: `…_bucket` with the label `le` and `…_count` are counters, `…_sum` is a gauge,
    /// and so are `bulklink_busy_unit_seconds_total` and `bulklink_offered_unit_seconds_total`. In
    /// Prometheus, `rate` and `histogram_quantile` work on them as on a histogram.
    ///
    /// A recorder cannot forget a series. When a bulkhead is gone, its gauges are set to zero once,
    /// except for the sums, and its counters stay as they are; the gauge of a limit or a ceiling
    /// that was lifted is set to zero too. If one with the same label is created later, its
    /// counters go on from there. So the memory of the exporter grows with the labels that ever
    /// were, as the recorder's does. Of partitions that [show their
    /// keys](bulklink::partitions::Builder::show_keys), the first 1,000 keys that are among the
    /// worst are recorded.
    ///
    /// ```
    /// use bulklink_metrics::Exporter;
    /// use bulklink_tokio::{Bulkhead, Registry};
    /// use metrics_exporter_prometheus::PrometheusBuilder;
    ///
    /// let recorder = PrometheusBuilder::new().build_recorder();
    /// let handle = recorder.handle();
    ///
    /// let registry = Registry::new();
    /// registry.create(Bulkhead::builder("payments").parallelism(10))?;
    /// let exporter = Exporter::new(&registry);
    /// metrics::with_local_recorder(&recorder, || exporter.record());
    /// let text = handle.render();
    /// assert!(text.contains("bulklink_capacity{bulkhead=\"payments\",kind=\"bulkhead\"} 10"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record(&self) {
        let recorded = &mut *lock(&self.shared.recorded);
        metrics::with_recorder(|recorder| {
            for metric in NAMES {
                describe(recorder, metric);
            }
            recorded.walks += 1;
            let mut pass = Pass { recorder, recorded, current: None };
            let left_out = self.walk(&mut pass);
            pass.finish();
            drop(pass);
            let key = Key::from_static_name(Id::LeftOut.metric().name);
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            recorder.register_gauge(&key, &METADATA).set(left_out as f64);
            recorded.silence_the_gone(recorder);
        });
    }
}

/// The recorder's state of every bulkhead that ever was exported.
#[derive(Default)]
pub(crate) struct Recorded {
    walks: u64,
    members: HashMap<(&'static str, Arc<str>), History>,
}

/// The recorded figures of the bulkheads of one label.
#[derive(Default)]
struct History {
    /// The walk that saw it last.
    seen: u64,
    /// The gauges of the latest walk, to set to zero; none if that is done.
    gauges: Vec<Key>,
    /// The keys of partitions that ever were recorded.
    keys: HashSet<Arc<str>>,
    counters: Continued,
}

impl History {
    /// Returns whether this key of partitions may be recorded: it was before, or few others were.
    fn may_have(&mut self, key: &Arc<str>) -> bool {
        self.keys.contains(key) || self.keys.len() < MOST_KEYS && self.keys.insert(Arc::clone(key))
    }
}

struct Pass<'a> {
    recorder: &'a dyn Recorder,
    recorded: &'a mut Recorded,
    current: Option<Current>,
}

/// The member that is being visited. Its history is put back afterwards.
struct Current {
    kind: &'static str,
    label: Arc<str>,
    history: History,
    /// The gauges of the walk before.
    before: Vec<Key>,
}

impl Pass<'_> {
    /// Ends the visit of a member: sets the gauges to zero that it had before and has no more, such
    /// as that of a limit that was lifted.
    fn finish(&mut self) {
        if let Some(current) = &mut self.current {
            let before = mem::take(&mut current.before);
            let now = &current.history.gauges;
            if before != *now {
                for key in before.iter().filter(|key| !now.contains(key)) {
                    self.recorder.register_gauge(key, &METADATA).set(0.0);
                }
            }
            self.put_back();
        }
    }

    fn put_back(&mut self) {
        if let Some(Current { kind, label, mut history, before }) = self.current.take() {
            history.gauges.extend(before);
            self.recorded.members.insert((kind, label), history);
        }
    }
}

/// Keeps the history also if the recorder has panicked.
impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.put_back();
    }
}

impl Visit for Pass<'_> {
    fn member(&mut self, member: &Member<'_>) {
        self.finish();
        let key = (member.kind, Arc::from(member.label));
        let (label, mut history) = match self.recorded.members.remove_entry(&key) {
            Some(((_, label), history)) => (label, history),
            None => (key.1, History::default()),
        };
        history.counters.begin(member.instance);
        history.seen = self.recorded.walks;
        let before = mem::take(&mut history.gauges);
        history.gauges.reserve(before.len());
        self.current = Some(Current { kind: member.kind, label, history, before });
    }

    fn value(&mut self, id: Id, label: Option<&'static str>, value: Value) {
        let Some(current) = &mut self.current else { return };
        let metric = id.metric();
        let key = current.key(metric.name, metric.label.zip(label));
        match (metric.kind, value) {
            (Kind::Counter, Value::Whole(value)) => current.count(self.recorder, &key, value),
            (Kind::Counter, Value::Real(value)) => current.add_up(self.recorder, &key, value),
            (_, value) => current.set(self.recorder, key, value),
        }
    }

    fn of_key(&mut self, id: Id, key: Arc<str>, value: Value) {
        let Some(current) = &mut self.current else { return };
        if current.history.may_have(&key) {
            let label = Label::new("key", SharedString::from_shared(key));
            let key = current.key(id.metric().name, None).with_extra_labels(vec![label]);
            current.set(self.recorder, key, value);
        }
    }

    fn histogram(&mut self, id: Id, up_to: &mut dyn Iterator<Item = (&'static str, u64)>, count: u64, sum: Duration) {
        let Some(current) = &mut self.current else { return };
        let [bucket_name, count_name, sum_name] = parts(id);
        for (edge, count) in up_to {
            let key = current.key(bucket_name, Some(("le", edge)));
            current.count(self.recorder, &key, count);
        }
        let key = current.key(count_name, None);
        current.count(self.recorder, &key, count);
        let key = current.key(sum_name, None);
        current.add_up(self.recorder, &key, sum.as_secs_f64());
    }
}

impl Current {
    fn key(&self, name: &'static str, label: Option<(&'static str, &'static str)>) -> Key {
        let bulkhead = Label::new("bulkhead", SharedString::from_shared(Arc::clone(&self.label)));
        let mut labels = vec![bulkhead, Label::from_static_parts("kind", self.kind)];
        labels.extend(label.map(|(name, value)| Label::from_static_parts(name, value)));
        Key::from_parts(name, labels)
    }

    fn set(&mut self, recorder: &dyn Recorder, key: Key, value: Value) {
        #[expect(clippy::cast_precision_loss, reason = "gauges are small numbers")]
        let value = match value {
            Value::Whole(value) => value as f64,
            Value::Real(value) => value,
        };
        recorder.register_gauge(&key, &METADATA).set(value);
        self.history.gauges.push(key);
    }

    fn count(&mut self, recorder: &dyn Recorder, key: &Key, value: u64) {
        let total = self.history.counters.count(value);
        recorder.register_counter(key, &METADATA).absolute(total);
    }

    fn add_up(&mut self, recorder: &dyn Recorder, key: &Key, value: f64) {
        let total = self.history.counters.add_up(value);
        recorder.register_gauge(key, &METADATA).set(total);
    }
}

impl Recorded {
    /// Sets the gauges of members that this walk has not seen to zero, once.
    fn silence_the_gone(&mut self, recorder: &dyn Recorder) {
        for history in self.members.values_mut().filter(|history| history.seen < self.walks) {
            for key in mem::take(&mut history.gauges) {
                recorder.register_gauge(&key, &METADATA).set(0.0);
            }
        }
    }
}

/// The names of a histogram's buckets, count and sum.
fn parts(id: Id) -> [&'static str; 3] {
    match id {
        Id::Hold => ["bulklink_hold_seconds_bucket", "bulklink_hold_seconds_count", "bulklink_hold_seconds_sum"],
        _ => ["bulklink_wait_seconds_bucket", "bulklink_wait_seconds_count", "bulklink_wait_seconds_sum"],
    }
}

fn describe(recorder: &dyn Recorder, metric: &'static Metric) {
    let unit = match metric.unit {
        "s" => Unit::Seconds,
        _ => Unit::Count,
    };
    let help = || SharedString::const_str(metric.help);
    match metric.kind {
        Kind::Gauge => recorder.describe_gauge(metric.name.into(), Some(unit), help()),
        Kind::Counter if metric.unit == "s" => recorder.describe_gauge(metric.name.into(), Some(unit), help()),
        Kind::Counter => recorder.describe_counter(metric.name.into(), Some(unit), help()),
        Kind::Histogram => {
            let id = if metric.name == Id::Hold.metric().name { Id::Hold } else { Id::Wait };
            let [bucket, count, sum] = parts(id);
            recorder.describe_counter(bucket.into(), Some(Unit::Count), help());
            recorder.describe_counter(count.into(), Some(Unit::Count), help());
            recorder.describe_gauge(sum.into(), Some(Unit::Seconds), help());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_each_histogram_are_named_after_it() {
        for id in [Id::Wait, Id::Hold] {
            let name = id.metric().name;
            assert_eq!(parts(id), ["bucket", "count", "sum"].map(|part| format!("{name}_{part}")));
        }
        assert_eq!(NAMES.iter().filter(|metric| metric.kind == Kind::Histogram).count(), 2);
    }
}
