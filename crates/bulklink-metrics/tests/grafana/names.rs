//! The names and labels in an expression, against the table.

use bulklink_metrics::{Kind, Metric, NAMES};

/// The labels that a scrape has on every metric of a bulkhead.
const COMMON: [&str; 4] = ["bulkhead", "kind", "job", "instance"];

/// A metric that an expression names, and the part of a histogram.
pub(crate) fn named(series: &str) -> Option<&'static Metric> {
    NAMES.iter().find(|metric| match metric.kind {
        Kind::Histogram => ["_bucket", "_count", "_sum"].iter().any(|part| {
            let name = series.strip_suffix(part);
            name == Some(metric.name)
        }),
        _ => metric.name == series,
    })
}

/// The words of a text that are names of metrics.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("bulklink_"))
}

/// Finds what an expression names and the table does not have.
pub(crate) fn unknown(expression: &str) -> Vec<String> {
    let mut unknown: Vec<_> = names(expression).filter(|name| named(name).is_none()).map(str::to_owned).collect();
    let labels: Vec<_> = names(expression).filter_map(named).filter_map(|metric| metric.label).collect();
    let used = labels_in(expression, "{", "}").into_iter().chain(labels_in(expression, "by (", ")"));
    unknown.extend(used.filter(|label| !COMMON.contains(&&**label) && !labels.contains(&&**label)));
    unknown
}

/// The words before an operator, or between commas, in all brackets of this kind.
fn labels_in(expression: &str, open: &str, close: &str) -> Vec<String> {
    let brackets = expression.split(open).skip(1).filter_map(|rest| rest.split(close).next());
    let labels = brackets.flat_map(|list| list.split(',')).map(|item| {
        let end = item.find(['=', '!']).unwrap_or(item.len());
        item[..end].trim().to_owned()
    });
    labels.collect()
}

#[test]
fn an_unknown_name_or_label_is_found() {
    assert_eq!(unknown("sum by (job, le) (rate(bulklink_wait_seconds_bucket{bulkhead=~\"$a\"}[5m]))"), [""; 0]);
    assert_eq!(unknown("bulklink_rejected_total{reason!~\"a,b\"}"), ["b\""], "no comma in a value, please");
    assert_eq!(unknown("bulklink_waits / bulklink_in_use"), ["bulklink_waits"]);
    assert_eq!(unknown("bulklink_wait_seconds"), ["bulklink_wait_seconds"]);
    assert_eq!(unknown("sum by (reason) (bulklink_in_use{path=\"a\"})"), ["path", "reason"]);
}
