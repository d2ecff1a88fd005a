//! The tables of the guide beside the responses that the code makes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::response::IntoResponse;
use bulklink::runtime::SpawnError;
use bulklink::testing::{Executor, FakeClock};
use bulklink::{Bulkhead, Partitions, Reason, Rejection, Request};
use bulklink_breaker::{Guard, GuardError};
use bulklink_tower::http::Responses;
use bulklink_tower::{BoxError, Failure};
use futures_util::FutureExt;
use http::{StatusCode, header};

const PAGE: &str = include_str!("../../../../../docs/guide/rejections-to-http.md");
const SECOND: Duration = Duration::from_secs(1);

/// Checks the response to an error against the row that begins with this text: the status, and
/// whether there is a `Retry-After`.
fn row(first: &str, responses: &Responses, error: impl Into<BoxError>) {
    let row = PAGE.lines().find_map(|line| line.strip_prefix("| ")?.strip_prefix(first)?.strip_prefix(" | "));
    let mut cells = row.unwrap_or_else(|| panic!("no row {first}")).split(" | ");
    let (status, time) = (cells.next().expect("a status"), cells.next().expect("a time"));
    let response = Failure::with(responses, error).into_response();
    assert!(status.starts_with(response.status().as_str()), "{first}: {} is not {status}", response.status());
    assert_eq!(response.headers().contains_key(header::RETRY_AFTER), time != "none", "{first}: {time}");
}

/// The rejection of a call in these partitions with the key 0, where 0 and 1 have a call each.
fn of_tenants(executor: &Executor) -> (Rejection, Rejection) {
    let builder = Partitions::builder_on(executor.runtime(), "tenants").parallelism(1).max_partitions(2);
    let tenants: Partitions<u8, _> = builder.build().unwrap();
    let _running = [0, 1].map(|tenant| tenants.key(&tenant).try_slot().unwrap());
    (tenants.key(&0).try_slot().unwrap_err(), tenants.key(&2).try_slot().unwrap_err())
}

#[test]
fn each_rejection_has_the_status_that_the_guide_says() {
    let mut executor = Executor::new(FakeClock::new());
    let reports = Bulkhead::builder_on(executor.runtime(), "reports").parallelism(1).waiting_room(1);
    let reports = reports.collect_limit(SECOND).build().unwrap();
    let (usual, per_tenant) = (Responses::new(), Responses::new().status(StatusCode::TOO_MANY_REQUESTS));
    let running = reports.try_slot().unwrap();
    row("`Saturated`", &usual, reports.try_slot().unwrap_err());
    for (first, request) in [
        ("`Expired`", Request::new().within(SECOND)),
        ("`Expired`, and `is_by_deadline()`: the caller's own", Request::new().deadline_after(SECOND)),
    ] {
        let reports = reports.clone();
        let call = executor.spawn(async move { reports.with(request).slot().await.unwrap_err() });
        executor.advance(SECOND);
        let rejection = call.output().expect("its time is over");
        assert_eq!(rejection.reason(), Reason::Expired);
        row(first, &usual, rejection);
    }
    let mut uncollected = Box::pin(reports.owned().slot());
    assert!((&mut uncollected).now_or_never().is_none());
    drop(running);
    executor.advance(2 * SECOND);
    drop(reports.try_slot());
    row("`Uncollected`", &usual, uncollected.now_or_never().expect("it was taken back").unwrap_err());
    for (cost, first) in [(2, "`InvalidCost` above the whole capacity"), (0, "`InvalidCost` of zero, `InvalidLimits`")]
    {
        row(first, &usual, reports.with(Request::new().cost(cost)).try_slot().unwrap_err());
    }
    let fleet = reports.handle().ceiling("fleet");
    fleet.set(0);
    fleet.set_cause(Some(Arc::new(io::Error::from(io::ErrorKind::ConnectionRefused))));
    let unavailable = "`Saturated` or `Expired` with a source, and nothing allowed: `unavailable` in the answer";
    row(unavailable, &per_tenant, reports.try_slot().unwrap_err());
    // The store is away, and all that it has granted is in use.
    fleet.set(1);
    let running = reports.try_slot().unwrap();
    row("`Saturated`", &usual, reports.try_slot().unwrap_err());
    let response = Failure::with(&usual, reports.try_slot().unwrap_err()).into_response();
    assert_eq!(response.headers()["bulklink-rejected"], "saturated");
    drop(running);
    fleet.set(0);
    let waits = reports.clone();
    let late = executor.spawn(async move { waits.with(Request::new().deadline_after(SECOND)).slot().await });
    executor.advance(SECOND);
    let late = late.output().expect("its time is over").unwrap_err();
    assert_eq!(late.reason(), Reason::Expired);
    let response = Failure::with(&usual, late.clone()).into_response();
    assert_eq!(response.headers()["bulklink-rejected"], "unavailable");
    row(unavailable, &per_tenant, late);
    reports.close();
    row("`Closed`", &usual, reports.try_slot().unwrap_err());

    let (of_tenant, without_partition) = of_tenants(&executor);
    row("`Saturated` or `Expired` in a partition for each tenant", &per_tenant, of_tenant);
    row("`PartitionLimit`", &per_tenant, without_partition);
    let invalid = Partitions::builder_on(executor.runtime(), "tenants").parallelism(1).max_partitions(1);
    let invalid = invalid.limits_for(|_: &u8, limits| limits.with_capacity(0)).build().unwrap();
    row("`InvalidCost` of zero, `InvalidLimits`", &per_tenant, invalid.key(&0).try_slot().unwrap_err());
}

#[test]
fn each_error_of_a_guard_has_the_status_that_the_guide_says() {
    let mut executor = Executor::new(FakeClock::new());
    let bulkhead = Bulkhead::builder_on(executor.runtime(), "orders").parallelism(1).build().unwrap();
    let guard = Guard::builder(&bulkhead).run_limit(SECOND).build().unwrap();
    let endless = guard.clone();
    let late = executor.spawn(async move { endless.execute(std::future::pending::<io::Result<()>>()).await });
    executor.advance(SECOND);
    row("`TimedOut`", &Responses::new(), late.output().expect("its time is over").unwrap_err());
    while let Ok(call) = guard.breaker().admit() {
        call.fail();
    }
    let open = guard.execute(async { Ok::<_, io::Error>(()) }).now_or_never().expect("it is open").unwrap_err();
    row("`Open`", &Responses::new(), open);
    let refused = GuardError::<io::Error>::Refused(SpawnError::new("there is no thread"));
    row("`Refused` (closures only)", &Responses::new(), refused);
}
