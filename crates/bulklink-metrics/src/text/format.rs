//! The two formats of the text, and which of them a client prefers.

/// A format of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Prometheus' text format 0.0.4.
    #[default]
    Prometheus,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// Returns the format that the value of an `Accept` header prefers. It is OpenMetrics only if
    /// the value names it, because every client reads the other.
    ///
    /// ```
    /// use bulklink_metrics::Format;
    ///
    /// let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3";
    /// assert_eq!(Format::negotiate(prometheus), Format::OpenMetrics);
    /// assert_eq!(Format::negotiate("text/html, */*;q=0.8"), Format::Prometheus);
    /// assert_eq!(Format::negotiate(""), Format::Prometheus);
    /// ```
    #[must_use]
    pub fn negotiate(accept: &str) -> Self {
        let (mut open_metrics, mut text) = (0, 0);
        for range in accept.split(',').map(Range::of) {
            match range.kind {
                kind if kind.eq_ignore_ascii_case("application/openmetrics-text") && range.accepts("1.0.0") => {
                    open_metrics = open_metrics.max(range.quality);
                }
                kind if kind.eq_ignore_ascii_case("text/plain") && range.accepts("0.0.4") => {
                    text = text.max(range.quality);
                }
                _ => {}
            }
        }
        if open_metrics > 0 && open_metrics >= text { Format::OpenMetrics } else { Format::Prometheus }
    }

    /// Returns the value of the `Content-Type` header.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A range of an `Accept` header.
struct Range<'a> {
    kind: &'a str,
    version: Option<&'a str>,
    /// In thousandths.
    quality: u16,
}

impl<'a> Range<'a> {
    fn of(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut range = Range { kind: parts.next().unwrap_or_default(), version: None, quality: 1000 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim() {
                name if name.eq_ignore_ascii_case("version") => range.version = Some(value),
                name if name.eq_ignore_ascii_case("q") => range.quality = thousandths(value),
                _ => {}
            }
        }
        range
    }

    fn accepts(&self, version: &str) -> bool {
        self.version.is_none_or(|wanted| wanted == version)
    }
}

/// A quality that is no number is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1000")]
fn thousandths(quality: &str) -> u16 {
    let quality: f64 = quality.parse().unwrap_or(0.0);
    (quality.clamp(0.0, 1.0) * 1000.0) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_metrics_is_chosen_only_where_it_is_named_and_not_less_wanted() {
        use Format::{OpenMetrics, Prometheus};
        let server = "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,\
            text/plain;version=1.0.0;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        for (accept, format) in [
            (server, OpenMetrics),
            ("", Prometheus),
            ("*/*", Prometheus),
            ("application/*", Prometheus),
            ("application/openmetrics-text", OpenMetrics),
            ("APPLICATION/OpenMetrics-Text; Version=\"1.0.0\"; Q=0.1", OpenMetrics),
            ("application/openmetrics-text;version=0.0.1", Prometheus),
            ("application/openmetrics-text;version=2.0.0", Prometheus),
            ("application/openmetrics-text;q=0", Prometheus),
            ("application/openmetrics-text;q=0.2,text/plain;q=0.5", Prometheus),
            ("application/openmetrics-text;q=0.2,text/plain;version=1.0.0;q=0.5", OpenMetrics),
            ("application/openmetrics-text;q=much", Prometheus),
            ("application/openmetrics-text;q=NaN", Prometheus),
            (",;=,;;q", Prometheus),
        ] {
            assert_eq!(Format::negotiate(accept), format, "{accept}");
        }
    }
}
