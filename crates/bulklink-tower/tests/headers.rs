//! Values from headers: deadlines and keys.
#![cfg(feature = "http")]

use std::convert::Infallible;
use std::future::ready;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulklink_tokio::{Bulkhead, Partitions, Tokio};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::{KeyHeader, Respond, TimeoutHeader};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::Empty;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert_eq, proptest};
use tower::{Layer, Service, service_fn};

const DEFAULT: Duration = Duration::from_millis(12_345);

fn with(name: &'static str, values: &[&[u8]]) -> HeaderMap {
    let name = HeaderName::from_static(name);
    values.iter().map(|value| (name.clone(), HeaderValue::from_bytes(value).unwrap())).collect()
}

fn grpc(value: &str) -> Option<Duration> {
    TimeoutHeader::grpc().read(&with("grpc-timeout", &[value.as_bytes()]))
}

fn unix_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

async fn status(layer: &BulkheadLayer<Request<()>, Tokio, Respond>, name: &'static str, value: &str) -> StatusCode {
    let mut service = layer.layer(service_fn(|_| ready(Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())))));
    let request = Request::builder().header(name, value).body(()).unwrap();
    service.call(request).await.unwrap().status()
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
    assert_eq!(timeout.read(&with("x-timeout-ms", &[b"250"])), Some(Duration::from_millis(250)));
    assert_eq!(timeout.read(&HeaderMap::new()), Some(DEFAULT));
    assert_eq!(timeout.invalid(), 0, "a missing header is none");
    for invalid in [&b"soon"[..], b"", b"-1", b"1e3", b"18446744073709551616", b"\xff"] {
        assert_eq!(clone.read(&with("x-timeout-ms", &[invalid])), Some(DEFAULT), "{invalid:?}");
    }
    assert_eq!(clone.read(&with("x-timeout-ms", &[b"1", b"1"])), Some(DEFAULT), "which of them?");
    assert_eq!(timeout.invalid(), 7);
}

#[test]
fn a_request_cannot_ask_for_more_time_than_the_longest() {
    let timeout = TimeoutHeader::grpc().at_most(Duration::from_secs(5)).or(DEFAULT);
    assert_eq!(timeout.read(&with("grpc-timeout", &[b"8760H"])), Some(Duration::from_secs(5)));
    assert_eq!(timeout.read(&with("grpc-timeout", &[b"4S"])), Some(Duration::from_secs(4)));
    assert_eq!(timeout.read(&HeaderMap::new()), Some(DEFAULT));
    assert_eq!(timeout.invalid(), 0);
}

#[test]
fn a_point_in_time_is_compared_with_the_wall_clock() {
    let timeout = TimeoutHeader::unix_millis("x-deadline").unwrap();
    let read = |millis: u64| timeout.read(&with("x-deadline", &[millis.to_string().as_bytes()])).unwrap();
    let left = read(unix_millis() + 60_000);
    assert!((Duration::from_secs(30)..=Duration::from_secs(60)).contains(&left), "{left:?}");
    assert_eq!((read(unix_millis() - 1), read(0)), (Duration::ZERO, Duration::ZERO));
    assert!(read(u64::MAX) > Duration::from_secs(1 << 40));
}

#[test]
fn a_name_that_no_header_can_have_is_refused() {
    let message = "name must be the name of a header, got \"x timeout\"";
    for error in [
        TimeoutHeader::millis("x timeout").unwrap_err(),
        TimeoutHeader::unix_millis("x timeout").unwrap_err(),
        KeyHeader::new("x timeout", "").unwrap_err(),
    ] {
        assert_eq!(error.to_string(), message);
    }
    assert!(KeyHeader::new("", "anonymous").is_err());
}

#[test]
fn an_invalid_key_is_the_default_and_is_counted_by_all_clones() {
    let tenant = KeyHeader::new("x-tenant", "anonymous").unwrap();
    let clone = tenant.clone();
    for (value, key) in [("ann", "ann"), (" ann\t", "ann"), ("ann & bob", "ann & bob"), ("änn", "änn")] {
        assert_eq!(tenant.read(&with("x-tenant", &[value.as_bytes()])), key);
    }
    let longest = [b'a'; 128];
    assert_eq!(tenant.read(&with("x-tenant", &[&longest])).len(), 128);
    assert_eq!((tenant.missing(), tenant.invalid()), (0, 0));
    assert_eq!(clone.read(&HeaderMap::new()), "anonymous");
    for invalid in [&b""[..], b" ", b"ann\tbob", b"\xff", "ann\u{85}".as_bytes(), &[b'a'; 129]] {
        assert_eq!(clone.read(&with("x-tenant", &[invalid])), "anonymous", "{invalid:?}");
    }
    assert_eq!(clone.read(&with("x-tenant", &[b"ann", b"bob"])), "anonymous", "which of them?");
    assert_eq!((tenant.missing(), tenant.invalid()), (1, 7));
    assert_eq!(tenant.at_most(2).read(&with("x-tenant", &[b"ann"])), "anonymous");
}

#[tokio::test]
async fn a_request_whose_time_is_over_is_rejected_and_one_with_a_bad_header_is_not() {
    let orders = Bulkhead::builder("orders").parallelism(1).build().unwrap();
    let timeout = TimeoutHeader::grpc();
    let layer = BulkheadLayer::new(&orders).deadline_from(&timeout).respond();
    assert_eq!(status(&layer, "grpc-timeout", "0S").await, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(status(&layer, "grpc-timeout", "99999999H").await, StatusCode::OK);
    assert_eq!((timeout.invalid(), orders.status().totals.admitted), (0, 1));
    assert_eq!(status(&layer, "grpc-timeout", "soon").await, StatusCode::OK);
    assert_eq!(timeout.invalid(), 1);
    let endless = TimeoutHeader::millis("x-timeout-ms").unwrap();
    let layer = BulkheadLayer::new(&orders).deadline_from(&endless).respond();
    assert_eq!(status(&layer, "x-timeout-ms", &u64::MAX.to_string()).await, StatusCode::OK);
}

#[tokio::test]
async fn each_tenant_has_its_own_slots_and_a_bad_key_is_counted_once() {
    let tenants: Partitions<String> = Partitions::builder("tenants").parallelism(1).max_partitions(9).build().unwrap();
    let tenant = KeyHeader::new("x-tenant", "anonymous").unwrap();
    let layer = BulkheadLayer::keyed_by_header(&tenants, &tenant).respond();
    let _of_ann = tenants.try_slot("ann").unwrap();
    let _of_anonymous = tenants.try_slot("anonymous").unwrap();
    assert_eq!(status(&layer, "x-tenant", "ann").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(status(&layer, "x-tenant", "bob").await, StatusCode::OK);
    assert_eq!(status(&layer, "x-tenant", "\t").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(status(&layer, "other", "ann").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!((tenant.missing(), tenant.invalid()), (1, 1));
}

proptest! {
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
        let key = KeyHeader::new("grpc-timeout", "anonymous").unwrap();
        let mut headers = HeaderMap::new();
        for value in values.iter().filter_map(|value| HeaderValue::from_bytes(value).ok()) {
            headers.append("grpc-timeout", value);
        }
        for headers in [headers, with("grpc-timeout", &[digits.as_bytes()])] {
            let found = headers.get_all("grpc-timeout").iter().count();
            for reader in &readers {
                let before = reader.invalid();
                let time = reader.read(&headers);
                prop_assert_eq!(time.is_some(), found > 0 && reader.invalid() == before);
                prop_assert_eq!(time.filter(|&time| time > DEFAULT), None);
            }
            let before = (key.missing(), key.invalid());
            let read = key.read(&headers);
            let counted = key.missing() - before.0 + key.invalid() - before.1;
            prop_assert_eq!(counted == 1, read == "anonymous");
            prop_assert_eq!(key.missing() > before.0, found == 0);
        }
    }
}
