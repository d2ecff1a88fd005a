//! Classifiers, of a breaker alone, of a guard and of responses of HTTP.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bulklink::Bulkhead;
use bulklink::testing::{Executor, FakeClock};
use bulklink_breaker::{Breaker, BreakerError, BreakerTotals, ByHttpStatus, Classify, Guard, Outcome, Settings};
use http::{Response, StatusCode};

/// Counts by the result: the error `"foreign"` says nothing of the dependency, and 0 is a failure.
#[derive(Clone, Copy)]
struct ByResult;

impl Classify<u32, &'static str> for ByResult {
    fn classify(&self, result: &Result<u32, &'static str>) -> Outcome {
        match result {
            Err("panic") => panic!("the classifier panicked"),
            Err("foreign") => Outcome::Ignore,
            Err(_) | Ok(0) => Outcome::Failure,
            Ok(_) => Outcome::Success,
        }
    }
}

const RESULTS: [Result<u32, &str>; 4] = [Ok(1), Ok(0), Err("foreign"), Err("failed")];

fn counts(totals: &BreakerTotals) -> [u64; 5] {
    [totals.successes, totals.failures, totals.ignored, totals.cancelled, totals.panicked]
}

#[test]
fn a_breaker_alone_counts_by_its_classifier() {
    let mut executor = Executor::new(FakeClock::new());
    let settings = Settings::of_last(100).failures(100);
    let breaker = Breaker::builder_on(executor.clock(), "test").settings(settings).classify(ByResult).build().unwrap();
    for result in RESULTS {
        // The classifier does not change the result.
        assert_eq!(breaker.blocking_execute(|| result).map_err(BreakerError::operation), result.map_err(Some));
    }
    assert_eq!(counts(&breaker.status().totals), [1, 2, 1, 0, 0]);
    // Operations that end in their first poll, and later.
    for yields in [false, true] {
        for result in RESULTS {
            let breaker = breaker.clone();
            let operation = async move {
                if yields {
                    tokio::task::yield_now().await;
                }
                result
            };
            let call = async move { breaker.execute(operation).await.map_err(BreakerError::operation) };
            assert_eq!(executor.block_on(call), result.map_err(Some));
        }
    }
    assert_eq!(counts(&breaker.status().totals), [3, 6, 3, 0, 0]);
    for blocking in [false, true] {
        let breaker = breaker.clone();
        let call = AssertUnwindSafe(|| {
            if blocking {
                breaker.blocking_execute(|| Err("panic")).is_ok()
            } else {
                let breaker = breaker.clone();
                executor.block_on(async move { breaker.execute(async { Err("panic") }).await.is_ok() })
            }
        });
        assert!(catch_unwind(call).is_err());
    }
    assert_eq!(counts(&breaker.status().totals), [3, 6, 3, 2, 0], "nothing is known of the operation");
}

#[test]
fn a_guard_counts_by_the_classifier_of_its_breaker() {
    let mut executor = Executor::new(FakeClock::new());
    let breaker = Breaker::builder_on(executor.clock(), "test").classify(ByResult).build().unwrap();
    let bulkhead = Bulkhead::builder_on(executor.runtime(), "test").parallelism(1).build().unwrap();
    let guard = Guard::builder(&bulkhead).breaker(&breaker).build().unwrap();
    for result in RESULTS {
        let guard = guard.clone();
        executor.block_on(async move { guard.execute(async move { result }).await }).ok();
    }
    assert_eq!(counts(&breaker.status().totals), [1, 2, 1, 0, 0]);
    let refused = Guard::builder(&bulkhead).classify(ByResult).breaker(&breaker).build().unwrap_err();
    assert_eq!(refused.to_string(), "classify must be set after breaker, got it before");

    let all_fail = |_: &Result<u32, &'static str>| Outcome::Failure;
    let strict = Guard::builder(&bulkhead).breaker(&breaker).classify(all_fail).build().unwrap();
    executor.block_on(async move { strict.execute(async { RESULTS[0] }).await }).ok();
    assert_eq!(counts(&breaker.status().totals), [1, 3, 1, 0, 0], "in place of the breaker's own");
}

fn outcome<T, E>(by_status: &ByHttpStatus, result: Result<T, E>) -> Outcome
where
    ByHttpStatus: Classify<T, E>,
{
    by_status.classify(&result)
}

fn response(status: u16, is_marked: bool) -> Response<&'static str> {
    let mut response = Response::builder().status(status).header("retry-after", "1");
    if is_marked {
        response = response.header("bulklink-rejected", "saturated");
    }
    response.body("").unwrap()
}

/// Also of a response of reqwest.
#[track_caller]
fn counts_as(by_status: &ByHttpStatus, status: u16, is_marked: bool, expected: Outcome) {
    let response = || response(status, is_marked);
    assert_eq!(outcome::<_, ()>(by_status, Ok(response())), expected, "{status}");
    let of_reqwest = reqwest::Response::from(response());
    assert_eq!(outcome::<_, reqwest::Error>(by_status, Ok(of_reqwest)), expected, "{status}, of reqwest");
}

#[test]
fn responses_of_http_are_counted_by_their_status() {
    let by_status = ByHttpStatus::new();
    for status in 100..1000 {
        let expected = match status {
            429 => Outcome::Ignore,
            408 | 500..=599 => Outcome::Failure,
            _ => Outcome::Success,
        };
        counts_as(&by_status, status, false, expected);
        counts_as(&by_status, status, true, Outcome::Ignore);
    }
    assert_eq!(outcome::<Response<()>, _>(&by_status, Err("no connection")), Outcome::Failure);
    assert_eq!(outcome::<reqwest::Response, _>(&by_status, Err("no connection")), Outcome::Failure);
}

#[test]
fn the_outcome_of_a_status_can_be_changed() {
    let by_status = ByHttpStatus::new()
        .count(StatusCode::TOO_MANY_REQUESTS, Outcome::Success)
        .count(StatusCode::TOO_MANY_REQUESTS, Outcome::Failure)
        .count(StatusCode::NOT_IMPLEMENTED, Outcome::Ignore);
    let unchanged = by_status.clone();
    let changed = by_status.count(StatusCode::NOT_FOUND, Outcome::Failure);
    for (status, expected) in [(429, Outcome::Failure), (501, Outcome::Ignore), (404, Outcome::Failure)] {
        counts_as(&changed, status, false, expected);
    }
    counts_as(&changed, 429, true, Outcome::Failure);
    counts_as(&changed, 503, true, Outcome::Ignore);
    counts_as(&unchanged, 404, false, Outcome::Success);
}

/// What users store: no alias and no cast is needed.
#[test]
fn a_guard_and_a_breaker_by_status_can_be_stored() {
    struct Stored {
        guard: Guard<bulklink_tokio::Tokio, ByHttpStatus>,
        breaker: Breaker<ByHttpStatus>,
    }
    fn is_usable<T: Clone + Debug + Send + Sync + 'static>(_: &T) {}
    let bulkhead = bulklink_tokio::Bulkhead::builder("test").parallelism(1).build().unwrap();
    let breaker = Breaker::builder_on(bulklink_tokio::Tokio, "test").classify(ByHttpStatus::new()).build().unwrap();
    let stored = Stored { guard: Guard::builder(&bulkhead).breaker(&breaker).build().unwrap(), breaker };
    is_usable(&stored.guard);
    is_usable(&stored.breaker);
    for _ in 0..5 {
        stored.breaker.blocking_execute(|| Ok::<_, ()>(response(503, false))).unwrap();
    }
    assert!(stored.guard.blocking_execute(|| Ok::<_, ()>(response(200, false))).is_err(), "they share the circuit");
}
