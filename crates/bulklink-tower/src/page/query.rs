//! The query of a request for the page.

use axum::http::{HeaderMap, header};

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// How much of a wrong value is repeated in an error, in characters.
const QUOTED: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) limit: usize,
    pub(super) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Html,
    Json,
}

impl Query {
    /// Reads the parameters and the header `Accept`. The error is a sentence with the parameter,
    /// its value, and the allowed ones.
    pub(super) fn parse(query: &str, headers: &HeaderMap) -> Result<Self, String> {
        let mut parsed = Query { limit: DEFAULT_LIMIT, format: accepted(headers) };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (name, value) {
                ("limit", _) => {
                    let limit = value.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
                    parsed.limit =
                        limit.ok_or_else(|| format!("limit must be from 1 to {MAX_LIMIT}, got {}", quoted(value)))?;
                }
                ("format", "text") => parsed.format = Format::Text,
                ("format", "html") => parsed.format = Format::Html,
                ("format", "json") => parsed.format = Format::Json,
                ("format", _) => return Err(format!("format must be text, html or json, got {}", quoted(value))),
                _ => return Err(format!("parameters must be limit or format, got {}", quoted(name))),
            }
        }
        Ok(parsed)
    }
}

/// Returns a value from a query, escaped and not too long.
fn quoted(value: &str) -> String {
    let short: String = value.chars().take(QUOTED).collect();
    let rest = if short.len() < value.len() { " and more" } else { "" };
    format!("{short:?}{rest}")
}

/// Returns JSON or HTML if it is named, and accepted no less than text is.
fn accepted(headers: &HeaderMap) -> Format {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let (mut json, mut html, mut text) = (0.0_f32, 0.0_f32, 0.0_f32);
    for range in values.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let quality: f32 = quality.map_or(1.0, |quality| quality.parse().unwrap_or(0.0));
        match &*name {
            "application/json" => json = quality.max(json),
            "text/html" => html = quality.max(html),
            "text/plain" | "text/*" => text = quality.max(text),
            _ => {}
        }
    }
    if json > 0.0 && json >= html.max(text) {
        Format::Json
    } else if html > 0.0 && html >= text {
        Format::Html
    } else {
        Format::Text
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn json_is_for_clients_that_name_it_and_prefer_no_text() {
        for (accept, format) in [
            ("", Format::Text),
            ("*/*", Format::Text),
            ("application/json", Format::Json),
            ("application/json, text/plain, */*", Format::Json),
            ("Application/JSON;q=0.5", Format::Json),
            ("application/json;q=0.5, text/plain", Format::Text),
            ("text/html,application/xml;q=0.9,*/*;q=0.8", Format::Html),
            ("text/html;q=0.5, text/plain", Format::Text),
            ("text/html;q=0, */*", Format::Text),
            ("application/json, text/html;q=0.9", Format::Json),
            ("application/json;q=0", Format::Text),
            ("application/json;q=x", Format::Text),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(Query::parse("", &headers).expect("no parameters").format, format, "{accept}");
        }
    }

    #[test]
    fn an_error_names_the_parameter_its_value_and_its_range() {
        let no_headers = HeaderMap::new();
        let parse = |query| Query::parse(query, &no_headers);
        assert_eq!(parse("limit=1000&format=json&"), Ok(Query { limit: 1_000, format: Format::Json }));
        let long = format!("limit={}", "9".repeat(1_000));
        let nines = "9".repeat(40);
        for (query, error) in [
            ("limit=0", r#"limit must be from 1 to 1000, got "0""#),
            ("limit=1001", r#"limit must be from 1 to 1000, got "1001""#),
            ("limit", r#"limit must be from 1 to 1000, got """#),
            (&long, &format!("limit must be from 1 to 1000, got {nines:?} and more")),
            ("format=xml", r#"format must be text, html or json, got "xml""#),
            ("limits=5", r#"parameters must be limit or format, got "limits""#),
            ("a\"\u{7f}=5", r#"parameters must be limit or format, got "a\"\u{7f}""#),
        ] {
            assert_eq!(parse(query), Err(error.to_string()));
        }
    }
}
