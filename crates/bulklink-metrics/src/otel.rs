//! The output through OpenTelemetry: observable instruments.

use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use opentelemetry::metrics::{AsyncInstrument, Meter};
use opentelemetry::{KeyValue, StringValue};

use crate::Exporter;
use crate::continued::Continued;
use crate::exporter::lock;
use crate::table::{Id, Kind, Metric, NAMES};
use crate::walk::{Member, Value, Visit};

/// Between two instruments of a collection, less time passes. Without a bound, an instrument that
/// is rarely collected would show figures that the collection of another has read long ago.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long a reader may pause without being forgotten: usually it collects every minute.
const LONGEST_INTERVAL: Duration = Duration::from_secs(150);

impl Exporter {
    /// Creates observable instruments for all metrics on a meter. Each collection reads every
    /// bulkhead once. If a provider has several readers, the SDK gives each observation to all of
    /// them: their figures are of one reading only where they do not collect at the same time.
    ///
    /// The names are those of [the table](crate::NAMES), with the attributes `bulkhead` and `kind`.
    /// OpenTelemetry has no observable histogram, and recording each wait in another one would need
    /// an event handler, which every call would pay for. So a histogram is three counters:
    /// `bulklink.wait.bucket`, with the attribute `le`, counts the waits of at most so many
    /// seconds; `bulklink.wait.count` is their number, and `bulklink.wait.sum` their sum in
    /// seconds.
    ///
    /// An SDK limits the attribute sets of an instrument, usually to 2,000. A bulkhead has 23
    /// buckets, so beyond 86 bulkheads and partitions a view must raise the limit of the buckets,
    /// or drop them.
    ///
    /// The instruments keep all exported members alive for as long as the meter's provider lives.
    /// Call this once for a meter. A bulkhead that is gone is not observed any more. If one with
    /// the same label is created later, its counters begin at zero, which is a reset. But if no
    /// collection comes in between, they go on from those of the old one: an SDK that exports
    /// differences cannot take a counter that runs back.
    ///
    /// ```
    /// # use bulklink::Registry;
    /// use bulklink_metrics::Exporter;
    ///
    /// let registry = Registry::new();
    /// Exporter::new(&registry).observe_with(&opentelemetry::global::meter("bulklink"));
    /// ```
    pub fn observe_with(&self, meter: &Meter) {
        let collection = Arc::new(Collection { exporter: self.clone(), states: Mutex::default() });
        for instrument in instruments() {
            instrument.create(meter, &collection);
        }
    }
}

/// An instrument: a metric of the table, or a part of a histogram.
struct Instrument {
    number: usize,
    metric: &'static Metric,
    name: String,
    unit: &'static str,
    kind: Kind,
    is_whole: bool,
}

/// All instruments. The parts of a histogram follow each other, in the order of [`Part`].
fn instruments() -> Vec<Instrument> {
    let mut all = Vec::new();
    for metric in NAMES {
        let is_whole = metric.name_unit().is_none();
        let mut add = |name: String, unit, kind, is_whole| {
            let number = all.len();
            all.push(Instrument { number, metric, name, unit, kind, is_whole });
        };
        if metric.kind == Kind::Histogram {
            let name = |part| format!("{}.{part}", metric.otel_name);
            let counted = if metric.name == Id::Hold.metric().name { "{operation}" } else { "{call}" };
            add(name("bucket"), counted, Kind::Counter, true);
            add(name("count"), counted, Kind::Counter, true);
            add(name("sum"), metric.unit, Kind::Counter, false);
        } else {
            add(metric.otel_name.to_owned(), metric.unit, metric.kind, is_whole);
        }
    }
    all
}

/// Where the parts of a histogram are, beside its first instrument.
enum Part {
    Bucket,
    Count,
    Sum,
}

impl Instrument {
    /// The API has a callback for each instrument, not one for all.
    fn create(self, meter: &Meter, collection: &Arc<Collection>) {
        let Instrument { number, metric, name, unit, kind, is_whole } = self;
        let collection = Arc::clone(collection);
        let whole = {
            let collection = Arc::clone(&collection);
            move |observer: &dyn AsyncInstrument<u64>| collection.observe_whole(number, observer)
        };
        let real = move |observer: &dyn AsyncInstrument<f64>| collection.observe_real(number, observer);
        macro_rules! build {
            ($builder:ident, $callback:expr) => {{
                meter.$builder(name).with_unit(unit).with_description(metric.help).with_callback($callback).build();
            }};
        }
        match (kind, is_whole) {
            (Kind::Counter, true) => build!(u64_observable_counter, whole),
            (Kind::Counter, false) => build!(f64_observable_counter, real),
            (_, true) => build!(u64_observable_gauge, whole),
            (_, false) => build!(f64_observable_gauge, real),
        }
    }
}

/// The state that the callbacks of one collection share. The first one reads all figures.
struct Collection {
    exporter: Exporter,
    /// By thread: a collection is on one thread, and several readers can collect at a time.
    states: Mutex<HashMap<ThreadId, Observations>>,
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collection").field("exporter", &self.exporter).finish_non_exhaustive()
    }
}

/// The observations of one walk, by the number of their instrument.
struct Observations {
    /// When an instrument was observed last.
    observed_at: Option<Instant>,
    instruments: Vec<Instruments>,
    /// The first instrument of each metric.
    first: HashMap<&'static str, usize>,
    bulkhead: Arc<str>,
    kind: &'static str,
    counters: Continued,
    /// The counters of the members that this walk has visited, except for the latest.
    members: HashMap<(&'static str, Arc<str>), Continued>,
    /// Those of the walk before that are not visited yet.
    before: HashMap<(&'static str, Arc<str>), Continued>,
}

#[derive(Default)]
struct Instruments {
    /// Whether it has been observed since the walk. If it is observed again, that is the next
    /// collection.
    is_observed: bool,
    observations: Vec<(Vec<KeyValue>, Value)>,
}

impl Default for Observations {
    fn default() -> Self {
        let all = instruments();
        let mut first = HashMap::new();
        for instrument in &all {
            first.entry(instrument.metric.name).or_insert(instrument.number);
        }
        let instruments = all.iter().map(|_| Instruments::default()).collect();
        let (counters, members, before) = Default::default();
        Observations { observed_at: None, instruments, first, bulkhead: "".into(), kind: "", counters, members, before }
    }
}

impl Collection {
    fn observe_whole(&self, number: usize, observer: &dyn AsyncInstrument<u64>) {
        self.observe(number, |value, attributes| {
            if let Value::Whole(value) = value {
                observer.observe(value, attributes);
            }
        });
    }

    fn observe_real(&self, number: usize, observer: &dyn AsyncInstrument<f64>) {
        self.observe(number, |value, attributes| {
            if let Value::Real(value) = value {
                observer.observe(value, attributes);
            }
        });
    }

    fn observe(&self, number: usize, mut each: impl FnMut(Value, &[KeyValue])) {
        let states = &mut *lock(&self.states);
        let this = thread::current().id();
        if states.get(&this).is_none_or(|state| state.is_stale(number)) {
            states.retain(|thread, state| *thread == this || state.rest());
            let state = states.entry(this).or_default();
            state.begin();
            let left_out = self.exporter.walk(state);
            state.add(state.first[Id::LeftOut.metric().name], vec![], left_out.into());
        }
        let Some(state) = states.get_mut(&this) else { return };
        state.observed_at = Some(Instant::now());
        let instrument = &mut state.instruments[number];
        instrument.is_observed = true;
        for (attributes, value) in &instrument.observations {
            each(*value, attributes);
        }
    }
}

impl Observations {
    fn is_stale(&self, number: usize) -> bool {
        self.instruments[number].is_observed || self.has_paused(LONGEST_PAUSE)
    }

    fn has_paused(&self, longest: Duration) -> bool {
        self.observed_at.is_none_or(|at| at.elapsed() > longest)
    }

    /// Frees the memory of a collection that is over. Returns whether its reader may collect again.
    fn rest(&mut self) -> bool {
        if self.has_paused(LONGEST_PAUSE) {
            self.instruments.iter_mut().for_each(|instrument| instrument.observations = Vec::new());
        }
        !self.has_paused(LONGEST_INTERVAL)
    }

    fn begin(&mut self) {
        self.put_back();
        self.before = mem::take(&mut self.members);
        for instrument in &mut self.instruments {
            instrument.is_observed = false;
            instrument.observations.clear();
        }
    }

    /// Keeps the counters of the member that was visited last.
    fn put_back(&mut self) {
        self.members.insert((self.kind, Arc::clone(&self.bulkhead)), mem::take(&mut self.counters));
    }

    fn add(&mut self, number: usize, attributes: Vec<KeyValue>, value: Value) {
        self.instruments[number].observations.push((attributes, value));
    }

    fn attributes(&self, label: Option<(&'static str, &'static str)>) -> Vec<KeyValue> {
        let bulkhead = StringValue::from(Arc::clone(&self.bulkhead));
        let mut attributes = vec![KeyValue::new("bulkhead", bulkhead), KeyValue::new("kind", self.kind)];
        attributes.extend(label.map(|(name, value)| KeyValue::new(name, value)));
        attributes
    }
}

impl Visit for Observations {
    fn member(&mut self, member: &Member<'_>) {
        self.put_back();
        (self.bulkhead, self.kind) = (member.label.into(), member.kind);
        self.counters = self.before.remove(&(self.kind, Arc::clone(&self.bulkhead))).unwrap_or_default();
        self.counters.begin(member.instance);
    }

    fn value(&mut self, id: Id, label: Option<&'static str>, value: Value) {
        let metric = id.metric();
        let value = match (metric.kind, value) {
            (Kind::Counter, Value::Whole(value)) => self.counters.count(value).into(),
            (Kind::Counter, Value::Real(value)) => self.counters.add_up(value).into(),
            _ => value,
        };
        self.add(self.first[metric.name], self.attributes(metric.label.zip(label)), value);
    }

    fn of_key(&mut self, id: Id, key: Arc<str>, value: Value) {
        let mut attributes = self.attributes(None);
        attributes.push(KeyValue::new("key", StringValue::from(key)));
        self.add(self.first[id.metric().name], attributes, value);
    }

    fn histogram(&mut self, id: Id, up_to: &mut dyn Iterator<Item = (&'static str, u64)>, count: u64, sum: Duration) {
        let first = self.first[id.metric().name];
        for (edge, count) in up_to {
            let count = self.counters.count(count);
            self.add(first + Part::Bucket as usize, self.attributes(Some(("le", edge))), count.into());
        }
        let (count, sum) = (self.counters.count(count), self.counters.add_up(sum.as_secs_f64()));
        self.add(first + Part::Count as usize, self.attributes(None), count.into());
        self.add(first + Part::Sum as usize, self.attributes(None), sum.into());
    }
}
