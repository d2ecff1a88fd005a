//! Values from headers: deadlines and keys.

use std::convert::Infallible;
use std::future::ready;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, Partitions, Tokio};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::{KeyHeader, Respond, TimeoutHeader};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::Empty;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert_eq, proptest};
use tokio::{join, time::sleep};
use tower::{Layer, Service, ServiceExt, service_fn};

fn with(name: &'static str, values: &[&[u8]]) -> HeaderMap {
    let name = HeaderName::from_static(name);
    values.iter().map(|value| (name.clone(), HeaderValue::from_bytes(value).unwrap())).collect()
}

async fn status(layer: &BulkheadLayer<Request<()>, Tokio, Respond>, name: &'static str, value: &str) -> StatusCode {
    let mut service = layer.layer(service_fn(|_| ready(Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())))));
    let request = Request::builder().header(name, value).body(()).unwrap();
    service.call(request).await.unwrap().status()
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
    let endless = TimeoutHeader::millis("x-timeout-ms").unwrap().at_most(Duration::MAX);
    let layer = BulkheadLayer::new(&orders).deadline_from(&endless).respond();
    assert_eq!(status(&layer, "x-timeout-ms", &u64::MAX.to_string()).await, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_first_request_with_a_header_of_an_hour_takes_no_time_from_later_ones() {
    let orders = Bulkhead::builder("orders").parallelism(1).waiting_room(10).build().unwrap();
    let timeout = TimeoutHeader::millis("x-timeout-ms").unwrap().at_most(Duration::MAX);
    let work = async |request: Request<Duration>| {
        sleep(*request.body()).await;
        Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
    };
    let service = BulkheadLayer::new(&orders).deadline_from(&timeout).respond().layer(service_fn(work));
    let send = async |time: Duration, work: Duration| {
        let request = Request::builder().header("x-timeout-ms", time.as_millis().to_string()).body(work).unwrap();
        service.clone().oneshot(request).await.unwrap().status()
    };
    let (second, work) = (Duration::from_secs(1), Duration::from_millis(100));
    assert_eq!(send(3600 * second, work / 100).await, StatusCode::OK);
    for _ in 0..100 {
        let burst = async { join!(send(second, work), send(second, work), send(second, work)) };
        assert_eq!(join!(burst, sleep(6 * work)).0, (StatusCode::OK, StatusCode::OK, StatusCode::OK));
    }
    assert_eq!((orders.status().totals.admitted, orders.status().ended_late), (301, 0));
}

#[tokio::test]
async fn each_tenant_has_its_own_slots_and_a_bad_key_is_counted_once() {
    let tenants: Partitions<String> = Partitions::builder("tenants").parallelism(1).max_partitions(9).build().unwrap();
    let tenant = KeyHeader::new("x-tenant", "anonymous").unwrap();
    let layer = BulkheadLayer::keyed_by_header(&tenants, &tenant).respond();
    let _of_ann = tenants.key("ann").try_slot().unwrap();
    let _of_anonymous = tenants.key("anonymous").try_slot().unwrap();
    assert_eq!(status(&layer, "x-tenant", "ann").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(status(&layer, "x-tenant", "bob").await, StatusCode::OK);
    assert_eq!(status(&layer, "x-tenant", "\t").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(status(&layer, "other", "ann").await, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!((tenant.missing(), tenant.invalid()), (1, 1));
}

proptest! {
    #[test]
    fn whatever_the_keys_are_nothing_panics_and_each_bad_one_counts(
        values in vec(vec(any::<u8>(), 0..12), 0..3),
        digits in "[0-9HMSmun+. ]{0,22}",
    ) {
        let key = KeyHeader::new("x-tenant", "anonymous").unwrap();
        let mut headers = HeaderMap::new();
        for value in values.iter().filter_map(|value| HeaderValue::from_bytes(value).ok()) {
            headers.append("x-tenant", value);
        }
        for headers in [headers, with("x-tenant", &[digits.as_bytes()])] {
            let found = headers.get_all("x-tenant").iter().count();
            let before = (key.missing(), key.invalid());
            let read = key.read(&headers);
            let counted = key.missing() - before.0 + key.invalid() - before.1;
            prop_assert_eq!(counted == 1, read == "anonymous");
            prop_assert_eq!(key.missing() > before.0, found == 0);
        }
    }
}
