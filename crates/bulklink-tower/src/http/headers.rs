//! Values from a request's headers: the time that it may take, and its owner.

#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::str;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulklink::runtime::Runtime;
use bulklink::{InvalidArgument, Partitions};
use http::{HeaderMap, HeaderName, HeaderValue, Request};

use crate::BulkheadLayer;
use crate::admission::Extension;
use crate::deadline::Origin;

/// The longest time that a request can ask for by default: as long as clients of language models
/// wait for an answer unless they are configured otherwise.
const LONGEST_TIME: Duration = Duration::from_secs(600);

/// The longest keys that a [`KeyHeader`] reads by default, in bytes.
const LONGEST_KEY: usize = 128;

/// Reads in a header how long a request may take, for
/// [`deadline_from`](BulkheadLayer::deadline_from).
///
/// | made by | header | value |
/// | --- | --- | --- |
/// | [`grpc`](TimeoutHeader::grpc) | `grpc-timeout` | one to eight digits and a unit: `H`, `M`, `S`, `m`, `u` or `n` |
/// | [`millis`](TimeoutHeader::millis) | any | milliseconds from now |
/// | [`unix_millis`](TimeoutHeader::unix_millis) | any | a point in time: milliseconds since 1970 in UTC |
///
/// Numbers have only digits, without a sign, a fraction or spaces. Any other value is invalid, and
/// so are two headers of the name. An invalid value is [counted](TimeoutHeader::invalid), and the
/// request gets the [default](TimeoutHeader::or), which is no deadline; so does a request without
/// the header, which is not counted. Clones share the count.
///
/// A request can ask for ten minutes at most, or for [another time](TimeoutHeader::at_most); a
/// longer one counts as that. A client that asks for more cannot wait for longer.
///
/// Zero, and a point in time that has passed, are valid: the request's time is over, and it is
/// rejected immediately, as expired.
///
/// The time begins when the request comes to the layer. A handler cannot read it here: by then, the
/// request may have waited for most of it.
///
/// ```
/// use bulklink_tokio::Bulkhead;
/// use bulklink_tower::BulkheadLayer;
/// use bulklink_tower::http::TimeoutHeader;
/// use std::time::Duration;
///
/// let orders = Bulkhead::builder("orders").parallelism(16).waiting_room(64).build()?;
/// let (usual, longest) = (Duration::from_secs(10), Duration::from_secs(60));
/// let timeout = TimeoutHeader::grpc().or(usual).at_most(longest);
/// let layer = BulkheadLayer::new(&orders).deadline_from(&timeout).respond();
/// # let _: BulkheadLayer<http::Request<()>, _, _> = layer;
/// assert_eq!(timeout.invalid(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TimeoutHeader {
    name: HeaderName,
    format: Format,
    default: Option<Duration>,
    longest: Duration,
    invalid: Arc<AtomicUsize>,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Grpc,
    Millis,
    UnixMillis,
}

/// Reads the owner of a request in a header, for
/// [`keyed_by_header`](BulkheadLayer::keyed_by_header): the key of its partition.
///
/// A request without the header has the default key, and is counted as
/// [missing](KeyHeader::missing). A value is invalid if it is empty, longer than 128 bytes or
/// [another length](KeyHeader::at_most), not UTF-8, or has control characters, and so are two
/// headers of the name: such a request has the default key, too, and is counted as
/// [invalid](KeyHeader::invalid). Spaces around a key are not part of it. Clones share the counts.
///
/// The header must be trusted: a client that may choose its value is another tenant
/// with each request.
///
/// ```
/// use bulklink_tokio::Partitions;
/// use bulklink_tower::BulkheadLayer;
/// use bulklink_tower::http::{KeyHeader, Responses};
/// use http::StatusCode;
///
/// let tenants = Partitions::<String>::builder("tenants");
/// let tenants = tenants.parallelism(4).max_partitions(1000).build()?;
/// let tenant = KeyHeader::new("x-tenant", "anonymous")?;
/// let layer = BulkheadLayer::keyed_by_header(&tenants, &tenant)
///     .respond_with(&Responses::new().status(StatusCode::TOO_MANY_REQUESTS));
/// # let _: BulkheadLayer<http::Request<()>, _, _> = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyHeader {
    name: HeaderName,
    default: &'static str,
    longest: usize,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    missing: AtomicUsize,
    invalid: AtomicUsize,
}

/// The key that a [`KeyHeader`] finds in a request.
enum Found<'a> {
    Key(&'a str),
    Missing,
    Invalid,
}

impl TimeoutHeader {
    /// Reads `grpc-timeout`, as the protocol of gRPC defines it.
    #[must_use]
    pub fn grpc() -> Self {
        TimeoutHeader::of(HeaderName::from_static("grpc-timeout"), Format::Grpc)
    }

    /// Reads the header `name`, a number of milliseconds.
    ///
    /// # Errors
    ///
    /// If `name` cannot be the name of a header.
    pub fn millis(name: &str) -> Result<Self, InvalidArgument> {
        Ok(TimeoutHeader::of(header_name(name)?, Format::Millis))
    }

    /// Reads the header `name`, a point in time, in milliseconds since 1970 in UTC.
    ///
    /// It is compared with the wall clock of this machine when the request arrives, so that of the
    /// client must agree with it. From then on, changes of the wall clock make no difference.
    ///
    /// # Errors
    ///
    /// If `name` cannot be the name of a header.
    pub fn unix_millis(name: &str) -> Result<Self, InvalidArgument> {
        Ok(TimeoutHeader::of(header_name(name)?, Format::UnixMillis))
    }

    fn of(name: HeaderName, format: Format) -> Self {
        TimeoutHeader { name, format, default: None, longest: LONGEST_TIME, invalid: Arc::default() }
    }

    /// Sets the time of requests without the header, or with an invalid value.
    #[must_use]
    pub fn or(mut self, default: Duration) -> Self {
        self.default = Some(default);
        self
    }

    /// Sets the longest time that a request can ask for; a longer one counts as this one. It is ten
    /// minutes by default, as long as clients of language models usually wait for an answer; with
    /// `Duration::MAX`, there is none. The default of [`or`](TimeoutHeader::or) is not affected.
    #[must_use]
    pub fn at_most(mut self, longest: Duration) -> Self {
        self.longest = longest;
        self
    }

    /// Returns how long the request may take, and if its caller says so. Counts an invalid value,
    /// once in all its layers.
    ///
    /// Only layers read it, when the request comes: later, some of that time has been spent.
    ///
    /// ```compile_fail
    /// use bulklink_tower::http::TimeoutHeader;
    /// let _ = TimeoutHeader::grpc().read(&mut http::Request::new(()));
    /// ```
    fn read<B>(&self, request: &mut Request<B>) -> Option<(Duration, Origin)> {
        let default = self.default.map(|time| (time, Origin::Service));
        let Some(value) = only_value(request.headers(), &self.name) else {
            return default;
        };
        if let Some(time) = self.format.parse(value) {
            let origin = if time > self.longest { Origin::Service } else { Origin::Caller };
            return Some((time.min(self.longest), origin));
        }
        let Invalid(found) = request.extensions_mut().get_or_insert_default();
        if !found.contains(&self.name) {
            found.push(self.name.clone());
            self.invalid.fetch_add(1, Ordering::Relaxed);
        }
        default
    }

    /// Writes how long a request may take into its headers, in place of what is there: rounded down
    /// to milliseconds, or for gRPC to a unit in which it has at most eight digits.
    ///
    /// ```
    /// use bulklink_tower::http::TimeoutHeader;
    /// use http::HeaderMap;
    /// use std::time::Duration;
    ///
    /// let mut headers = HeaderMap::new();
    /// TimeoutHeader::grpc().apply(&mut headers, Duration::from_millis(250));
    /// assert_eq!(headers["grpc-timeout"], "250000u");
    /// ```
    pub fn apply(&self, headers: &mut HeaderMap, time: Duration) {
        headers.insert(self.name.clone(), self.format.write(time));
    }

    /// Returns how many invalid values this reader and its clones have found: one for a request,
    /// however many layers read it.
    #[must_use]
    pub fn invalid(&self) -> u64 {
        self.invalid.load(Ordering::Relaxed) as u64
    }
}

/// The headers of a request with an invalid value that a layer has counted.
#[derive(Clone, Default)]
struct Invalid(Vec<HeaderName>);

impl Format {
    fn write(self, time: Duration) -> HeaderValue {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).into();
        match self {
            Format::Grpc => {
                const UNITS: [(u128, char); 6] = [
                    (1, 'n'),
                    (1_000, 'u'),
                    (1_000_000, 'm'),
                    (1_000_000_000, 'S'),
                    (60_000_000_000, 'M'),
                    (3_600_000_000_000, 'H'),
                ];
                const MOST: u128 = 99_999_999;
                let nanos = time.as_nanos();
                let fits = UNITS.into_iter().find(|(unit, _)| nanos / unit <= MOST);
                let text = match fits {
                    Some((unit, letter)) => format!("{}{letter}", nanos / unit),
                    None => format!("{MOST}H"),
                };
                HeaderValue::try_from(text).expect("digits and a letter")
            }
            Format::Millis => millis(time),
            Format::UnixMillis => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                millis(now.saturating_add(time))
            }
        }
    }

    fn parse(self, value: &[u8]) -> Option<Duration> {
        match self {
            Format::Grpc => {
                let (unit, digits) = value.split_last().filter(|(_, digits)| digits.len() <= 8)?;
                let amount = number(digits)?;
                match unit {
                    b'H' => Some(Duration::from_secs(amount * 3600)),
                    b'M' => Some(Duration::from_secs(amount * 60)),
                    b'S' => Some(Duration::from_secs(amount)),
                    b'm' => Some(Duration::from_millis(amount)),
                    b'u' => Some(Duration::from_micros(amount)),
                    b'n' => Some(Duration::from_nanos(amount)),
                    _ => None,
                }
            }
            Format::Millis => number(value).map(Duration::from_millis),
            Format::UnixMillis => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                number(value).map(|deadline| Duration::from_millis(deadline).saturating_sub(now))
            }
        }
    }
}

impl KeyHeader {
    /// Reads the header `name`; requests without a readable key have the key `default`.
    ///
    /// # Errors
    ///
    /// If `name` cannot be the name of a header.
    pub fn new(name: &str, default: &'static str) -> Result<Self, InvalidArgument> {
        Ok(KeyHeader { name: header_name(name)?, default, longest: LONGEST_KEY, counts: Arc::default() })
    }

    /// Sets the length of the longest valid keys, in bytes.
    #[must_use]
    pub fn at_most(mut self, bytes: usize) -> Self {
        self.longest = bytes;
        self
    }

    /// Returns the key of the request with these headers, and counts one that is missing or
    /// invalid.
    #[must_use]
    pub fn read<'a>(&self, headers: &'a HeaderMap) -> &'a str {
        let count = match self.find(headers) {
            Found::Key(key) => return key,
            Found::Missing => &self.counts.missing,
            Found::Invalid => &self.counts.invalid,
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.default
    }

    /// Returns how many requests without the header this reader and its clones have read.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.counts.missing.load(Ordering::Relaxed) as u64
    }

    /// Returns how many invalid keys this reader and its clones have found.
    #[must_use]
    pub fn invalid(&self) -> u64 {
        self.counts.invalid.load(Ordering::Relaxed) as u64
    }

    /// Returns the key without counting.
    fn peek<'a>(&self, headers: &'a HeaderMap) -> &'a str {
        match self.find(headers) {
            Found::Key(key) => key,
            Found::Missing | Found::Invalid => self.default,
        }
    }

    fn find<'a>(&self, headers: &'a HeaderMap) -> Found<'a> {
        let Some(value) = only_value(headers, &self.name) else {
            return Found::Missing;
        };
        let key = value.trim_ascii();
        if key.is_empty() || key.len() > self.longest {
            return Found::Invalid;
        }
        match str::from_utf8(key) {
            Ok(key) if !key.chars().any(char::is_control) => Found::Key(key),
            _ => Found::Invalid,
        }
    }
}

/// Returns the header's value, if it is there. Several are returned as an empty one, which is not
/// valid either.
fn only_value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(if values.next().is_none() { first.as_bytes() } else { &[] })
}

/// Reads digits alone, which `u64::from_str` does not demand.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits)?;
    str::from_utf8(digits).ok()?.parse().ok()
}

fn header_name(name: &str) -> Result<HeaderName, InvalidArgument> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| InvalidArgument::new("name", format_args!("{name:?}"), "must be the name of a header"))
}

impl<B, R: Runtime, O> BulkheadLayer<Request<B>, R, O> {
    /// Sets in what time the whole request is to be over, with its work, from a header: as
    /// [`deadline_after`](BulkheadLayer::deadline_after).
    #[must_use]
    pub fn deadline_from(self, header: &TimeoutHeader) -> Self {
        let header = header.clone();
        self.with_deadline(move |request| header.read(request)).with_extension(Extension {
            find: |request| request.extensions().get().cloned(),
            leave: |request, deadline| _ = request.extensions_mut().insert(deadline),
        })
    }
}

impl<B, R: Runtime> BulkheadLayer<Request<B>, R> {
    /// Makes a layer of partitions by the key in a header: as [`keyed`](BulkheadLayer::keyed)
    /// with [`KeyHeader::read`]. Each request is counted once, also if it is exempt.
    pub fn keyed_by_header<S>(partitions: &Partitions<String, R, S>, header: &KeyHeader) -> Self
    where
        S: BuildHasher + Send + Sync + 'static,
    {
        let (keys, counts) = (header.clone(), header.clone());
        // The key of a request that is rejected is read again.
        BulkheadLayer::keyed(partitions, move |request: &Request<B>| keys.peek(request.headers())).request(
            move |request, call| {
                let _ = counts.read(request.headers());
                call
            },
        )
    }
}
