//! How long a request may take, by its header.

use http::HeaderValue;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::*;

const DEFAULT: Duration = Duration::from_millis(12_345);

fn with(name: &'static str, values: &[&[u8]]) -> HeaderMap {
    let name = HeaderName::from_static(name);
    values.iter().map(|value| (name.clone(), HeaderValue::from_bytes(value).unwrap())).collect()
}

impl TimeoutHeader {
    /// Reads a new request with these headers.
    fn read_in(&self, headers: &HeaderMap) -> Option<Duration> {
        let mut request = Request::new(());
        *request.headers_mut() = headers.clone();
        self.read(&mut request).map(|(time, _)| time)
    }
}

fn grpc(value: &str) -> Option<Duration> {
    TimeoutHeader::grpc().at_most(Duration::MAX).read_in(&with("grpc-timeout", &[value.as_bytes()]))
}

fn unix_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

#[test]
fn a_grpc_timeout_has_one_to_eight_digits_and_a_unit() {
    for (value, time) in [
        ("3H", Duration::from_secs(3 * 3600)),
        ("99999999H", Duration::from_secs(99_999_999 * 3600)),
        ("2M", Duration::from_secs(120)),
        ("00000010S", Duration::from_secs(10)),
        ("250m", Duration::from_millis(250)),
        ("7u", Duration::from_micros(7)),
        ("1n", Duration::from_nanos(1)),
        ("0n", Duration::ZERO),
    ] {
        assert_eq!(grpc(value), Some(time), "{value}");
    }
    for value in ["", "S", "1", "1s", "1h", "123456789S", "+1S", "-1S", "1.5S", " 1S", "1S ", "1 S", "1SS", "1é"] {
        assert_eq!(grpc(value), None, "{value}");
    }
}

#[test]
fn an_invalid_timeout_is_the_default_and_is_counted_by_all_clones() {
    let timeout = TimeoutHeader::millis("X-Timeout-Ms").unwrap().or(DEFAULT);
    let clone = timeout.clone();
    assert_eq!(timeout.read_in(&with("x-timeout-ms", &[b"250"])), Some(Duration::from_millis(250)));
    assert_eq!(timeout.read_in(&HeaderMap::new()), Some(DEFAULT));
    assert_eq!(timeout.invalid(), 0, "a missing header is none");
    for invalid in [&b"soon"[..], b"", b"-1", b"1e3", b"18446744073709551616", b"\xff"] {
        assert_eq!(clone.read_in(&with("x-timeout-ms", &[invalid])), Some(DEFAULT), "{invalid:?}");
    }
    assert_eq!(clone.read_in(&with("x-timeout-ms", &[b"1", b"1"])), Some(DEFAULT), "which of them?");
    assert_eq!(timeout.invalid(), 7);
}

#[test]
fn a_request_cannot_ask_for_more_time_than_the_longest() {
    let timeout = TimeoutHeader::grpc().at_most(Duration::from_secs(5)).or(DEFAULT);
    assert_eq!(timeout.read_in(&with("grpc-timeout", &[b"8760H"])), Some(Duration::from_secs(5)));
    assert_eq!(timeout.read_in(&with("grpc-timeout", &[b"4S"])), Some(Duration::from_secs(4)));
    assert_eq!(timeout.read_in(&HeaderMap::new()), Some(DEFAULT));
    assert_eq!(timeout.invalid(), 0);
}

#[test]
fn a_time_that_is_not_the_callers_choice_is_that_of_the_service() {
    let timeout = TimeoutHeader::millis("x-time").unwrap().at_most(Duration::from_secs(5)).or(DEFAULT);
    for (value, origin) in [
        (Some("5000"), Origin::Caller),
        (Some("5001"), Origin::Service),
        (Some("soon"), Origin::Service),
        (None, Origin::Service),
    ] {
        let mut request = Request::new(());
        request.headers_mut().extend(value.map(|value| (HeaderName::from_static("x-time"), value.parse().unwrap())));
        assert_eq!(timeout.read(&mut request).expect("it has a default").1, origin, "{value:?}");
    }
}

#[test]
fn by_default_a_request_cannot_ask_for_more_than_ten_minutes() {
    let (minutes, in_an_hour) = (Duration::from_secs(600), (unix_millis() + 3_600_000).to_string());
    let (millis, unix) = (TimeoutHeader::millis("x-time").unwrap(), TimeoutHeader::unix_millis("x-time").unwrap());
    let read = |header: &TimeoutHeader, value: &str| header.read_in(&with("x-time", &[value.as_bytes()]));
    assert_eq!(read(&millis, "600000"), Some(minutes));
    assert_eq!(read(&millis, "600001"), Some(minutes));
    assert_eq!(read(&unix, &in_an_hour), Some(minutes));
    assert_eq!(TimeoutHeader::grpc().read_in(&with("grpc-timeout", &[b"1H"])), Some(minutes));
    assert_eq!((millis.invalid(), unix.invalid()), (0, 0), "it is not invalid");
    assert_eq!(read(&millis.or(2 * minutes), "soon"), Some(2 * minutes), "the default is the service's own");
}

#[test]
fn a_point_in_time_is_compared_with_the_wall_clock() {
    let timeout = TimeoutHeader::unix_millis("x-deadline").unwrap().at_most(Duration::MAX);
    let read = |millis: u64| timeout.read_in(&with("x-deadline", &[millis.to_string().as_bytes()])).unwrap();
    let left = read(unix_millis() + 60_000);
    assert!((Duration::from_secs(30)..=Duration::from_secs(60)).contains(&left), "{left:?}");
    assert_eq!((read(unix_millis() - 1), read(0)), (Duration::ZERO, Duration::ZERO));
    assert!(read(u64::MAX) > Duration::from_secs(1 << 40));
}

#[test]
fn a_grpc_timeout_is_written_in_the_finest_unit_with_at_most_eight_digits() {
    for (time, value) in [
        (Duration::ZERO, "0n"),
        (Duration::from_nanos(99_999_999), "99999999n"),
        (Duration::from_nanos(100_000_999), "100000u"),
        (Duration::from_millis(250), "250000u"),
        (Duration::from_secs(600), "600000m"),
        (Duration::from_secs(99_999_999), "99999999S"),
        (Duration::from_secs(100_000_000), "1666666M"),
        (Duration::MAX, "99999999H"),
    ] {
        let mut headers = with("grpc-timeout", &[b"old", b"older"]);
        TimeoutHeader::grpc().apply(&mut headers, time);
        assert_eq!(headers.get_all("grpc-timeout").iter().collect::<Vec<_>>(), [value], "{time:?}");
    }
}

proptest! {
    #[test]
    fn a_time_that_is_written_is_read_again(nanos in 0..1_u64 << 62) {
        let time = Duration::from_nanos(nanos);
        let precision = Duration::from_millis(1).max(time / 1_000_000);
        let wall_clock = Duration::from_secs(10);
        for (header, tolerance) in [
            (TimeoutHeader::grpc(), precision),
            (TimeoutHeader::millis("x-time").unwrap(), precision),
            (TimeoutHeader::unix_millis("x-time").unwrap(), wall_clock),
        ] {
            let header = header.at_most(Duration::MAX);
            let mut headers = HeaderMap::new();
            header.apply(&mut headers, time);
            let read = header.read_in(&headers).expect("it was written");
            prop_assert!(read <= time && time.saturating_sub(read) <= tolerance, "{read:?} of {time:?}");
        }
    }

    #[test]
    fn whatever_the_values_are_nothing_panics_and_each_bad_one_counts(
        values in vec(vec(any::<u8>(), 0..12), 0..3),
        digits in "[0-9HMSmun+. ]{0,22}",
    ) {
        let readers = [
            TimeoutHeader::grpc().at_most(DEFAULT),
            TimeoutHeader::millis("grpc-timeout").unwrap().at_most(DEFAULT),
            TimeoutHeader::unix_millis("grpc-timeout").unwrap().at_most(DEFAULT),
        ];
        let mut headers = HeaderMap::new();
        for value in values.iter().filter_map(|value| HeaderValue::from_bytes(value).ok()) {
            headers.append("grpc-timeout", value);
        }
        for headers in [headers, with("grpc-timeout", &[digits.as_bytes()])] {
            let found = headers.get_all("grpc-timeout").iter().count();
            for reader in &readers {
                let before = reader.invalid();
                let time = reader.read_in(&headers);
                prop_assert_eq!(time.is_some(), found > 0 && reader.invalid() == before);
                prop_assert_eq!(time.filter(|&time| time > DEFAULT), None);
            }
        }
    }
}
