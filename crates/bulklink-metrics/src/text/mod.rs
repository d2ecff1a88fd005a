//! The text that Prometheus scrapes: its own format, and OpenMetrics.

mod format;

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use bulklink::InvalidArgument;
use bulklink::plumbing::contain;

pub use self::format::Format;
use crate::Exporter;
use crate::exporter::lock;
use crate::table::{Id, Kind, Metric, NAMES};
use crate::walk::{Member, Value, Visit};

/// The samples of each metric of the table: they must follow each other, while a walk has all
/// samples of a member together.
pub(crate) struct Families {
    samples: Vec<String>,
    /// The labels of the member, escaped, without the brace that ends them.
    labels: String,
}

impl Default for Families {
    fn default() -> Self {
        Families { samples: vec![String::new(); NAMES.len()], labels: String::new() }
    }
}

/// Appends metrics of the program itself.
pub(crate) type OwnText = Arc<dyn Fn(Format, &mut String) + Send + Sync>;

impl Exporter {
    /// Has this function append metrics of the program itself to each text, before the exporter's:
    /// nothing may follow the end of OpenMetrics.
    ///
    /// What it appends must be in that format, and end in a line break. In OpenMetrics, the `TYPE`
    /// of a counter does not have the `_total` that its samples have. If it panics, the text has
    /// nothing of it. Outputs other than text do not have these metrics.
    ///
    /// ```
    /// use bulklink_metrics::{Exporter, Format};
    ///
    /// let exporter = Exporter::default();
    /// exporter.add_text(|_, text| text.push_str("# TYPE workers gauge\nworkers 4\n"));
    /// let text = exporter.render(Format::OpenMetrics);
    /// assert!(text.starts_with("# TYPE workers gauge\nworkers 4\n"));
    /// ```
    pub fn add_text(&self, append: impl Fn(Format, &mut String) + Send + Sync + 'static) {
        lock(&self.shared.own_texts).push(Arc::new(append));
    }

    /// Adds a counter of the program itself to each text, such as that of a header's invalid
    /// values. `help` is its meaning. It is not in outputs other than text.
    ///
    /// If `read` panics, the text does not have it.
    ///
    /// # Errors
    ///
    /// If `name` is not that of a counter, with letters, digits and underscores and `_total` at its
    /// end, begins with `bulklink_`, as those of the exporter do, or was added before.
    ///
    /// ```
    /// use bulklink_metrics::{Exporter, Format};
    ///
    /// let exporter = Exporter::default();
    /// exporter.add_counter("reloads_total", "Reloads of the list of prices.", || 7)?;
    /// assert!(exporter.render(Format::Prometheus).contains("\nreloads_total 7\n"));
    /// # Ok::<(), bulklink_tokio::InvalidArgument>(())
    /// ```
    pub fn add_counter(
        &self,
        name: &str,
        help: &str,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<(), InvalidArgument> {
        let family = counter(name)?.to_owned();
        if !lock(&self.shared.own_counters).insert(name.into()) {
            return Err(InvalidArgument::new("name", format_args!("{name:?}"), "must be that of no other counter"));
        }
        let (name, help) = (name.to_owned(), help.replace('\\', "\\\\").replace('\n', "\\n"));
        self.add_text(move |format, text| {
            let (value, suffix) = (read(), if format == Format::Prometheus { "_total" } else { "" });
            put(
                text,
                format_args!("# HELP {family}{suffix} {help}\n# TYPE {family}{suffix} counter\n{name} {value}\n"),
            );
        });
        Ok(())
    }

    /// Returns all metrics as text.
    ///
    /// It reads each bulkhead once, under its lock, in the time that a
    /// [status](bulklink::Handle::status) takes; and partitions in proportion to their number. To
    /// reuse the memory of the text, use [`render_into`](Exporter::render_into).
    ///
    /// ```
    /// # use bulklink::Registry;
    /// use bulklink_metrics::{Exporter, Format};
    ///
    /// # fn answer(exporter: &Exporter, accept: &str) -> (&'static str, String) {
    /// let format = Format::negotiate(accept);
    /// (format.content_type(), exporter.render(format))
    /// # }
    /// # let exporter = Exporter::new(&Registry::new());
    /// # let (kind, text) = answer(&exporter, "application/openmetrics-text");
    /// # assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    /// # assert!(text.ends_with("# EOF\n"));
    /// ```
    #[must_use]
    pub fn render(&self, format: Format) -> String {
        let mut text = String::new();
        self.render_into(format, &mut text);
        text
    }

    /// Appends all metrics to a text. The end of OpenMetrics is written too, so nothing may follow.
    pub fn render_into(&self, format: Format, text: &mut String) {
        // Outside of all locks, as they are foreign.
        let own_texts = lock(&self.shared.own_texts).clone();
        for append in own_texts {
            let before = text.len();
            if !contain(|| append(format, text)) {
                text.truncate(before);
            }
        }
        let families = &mut *lock(&self.shared.text);
        families.samples.iter_mut().for_each(String::clear);
        let left_out = self.walk(families);
        let name = Id::LeftOut.metric().name;
        put(&mut families.samples[Id::LeftOut as usize], format_args!("{name} {left_out}\n"));
        text.reserve(families.samples.iter().map(String::len).sum::<usize>() + 200 * NAMES.len());
        for (metric, samples) in NAMES.iter().zip(&families.samples).filter(|(_, samples)| !samples.is_empty()) {
            header(metric, format, text);
            text.push_str(samples);
        }
        if format == Format::OpenMetrics {
            text.push_str("# EOF\n");
        }
    }
}

/// Returns the name of a counter without `_total`.
fn counter(name: &str) -> Result<&str, InvalidArgument> {
    // A colon is for recording rules.
    let is_letter = |character: char| character.is_ascii_alphabetic() || character == '_';
    let invalid = |requirement| InvalidArgument::new("name", format_args!("{name:?}"), requirement);
    if name.starts_with("bulklink_") {
        return Err(invalid("must not begin with `bulklink_`"));
    }
    let family = name.strip_suffix("_total").filter(|family| {
        family.starts_with(is_letter)
            && family.chars().all(|character| is_letter(character) || character.is_ascii_digit())
    });
    family.ok_or_else(|| invalid("must have letters, digits and underscores, and end in `_total`"))
}

fn header(metric: &Metric, format: Format, text: &mut String) {
    let name = match format {
        Format::Prometheus => metric.name,
        Format::OpenMetrics => metric.family(),
    };
    put(text, format_args!("# HELP {name} {}\n# TYPE {name} {}\n", metric.help, metric.kind.as_str()));
    if let (Format::OpenMetrics, Some(unit)) = (format, metric.name_unit()) {
        put(text, format_args!("# UNIT {name} {unit}\n"));
    }
}

impl Visit for Families {
    fn member(&mut self, member: &Member<'_>) {
        self.labels.clear();
        self.labels.push_str("{bulkhead=\"");
        escape(member.label, &mut self.labels);
        put(&mut self.labels, format_args!("\",kind=\"{}\"", member.kind));
    }

    fn value(&mut self, id: Id, label: Option<&'static str>, value: Value) {
        self.sample(id, label, value);
    }

    fn of_key(&mut self, id: Id, key: Arc<str>, value: Value) {
        self.sample(id, Some(&key), value);
    }

    fn histogram(&mut self, id: Id, up_to: &mut dyn Iterator<Item = (&'static str, u64)>, count: u64, sum: Duration) {
        debug_assert_eq!(id.metric().kind, Kind::Histogram);
        let (name, samples) = (id.metric().name, &mut self.samples[id as usize]);
        for (edge, count) in up_to {
            samples.push_str(name);
            samples.push_str("_bucket");
            samples.push_str(&self.labels);
            put(samples, format_args!(",le=\"{edge}\"}} {count}\n"));
        }
        let (labels, sum) = (&self.labels, sum.as_secs_f64());
        put(samples, format_args!("{name}_sum{labels}}} {sum}\n{name}_count{labels}}} {count}\n"));
    }
}

impl Families {
    fn sample(&mut self, id: Id, label: Option<&str>, value: Value) {
        let (metric, samples) = (id.metric(), &mut self.samples[id as usize]);
        samples.push_str(metric.name);
        samples.push_str(&self.labels);
        if let (Some(name), Some(value)) = (metric.label, label) {
            put(samples, format_args!(",{name}=\""));
            escape(value, samples);
            samples.push('"');
        }
        match value {
            Value::Whole(value) => put(samples, format_args!("}} {value}\n")),
            Value::Real(value) => put(samples, format_args!("}} {value}\n")),
        }
    }
}

/// Appends the value of a label, such as the name of a bulkhead or of a controller.
fn escape(value: &str, text: &mut String) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_with_quotes_backslashes_and_line_breaks_stays_one_value() {
        let mut text = String::new();
        escape("a\"b\\c\nd} 1\r{ä", &mut text);
        assert_eq!(text, "a\\\"b\\\\c\\nd} 1\r{ä");
    }
}
