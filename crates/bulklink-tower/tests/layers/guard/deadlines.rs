//! Calls that fail because their callers wait no longer.

use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::time::Duration;

use bulklink::Bulkhead;
use bulklink::runtime::{Clock, Timer};
use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink_breaker::{BreakerConfig, BreakerRegistry, ByHttpStatus, Guard, GuardBuilder, Settings, State};
use bulklink_tower::http::TimeoutHeader;
use bulklink_tower::{BulkheadLayer, Deadline, GuardLayer};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tower::{Layer, Service, ServiceExt, service_fn};

const MILLISECOND: Duration = Duration::from_millis(1);
const RUN_LIMIT: Duration = Duration::from_secs(1);

/// How the handler ends a call to its upstream whose caller waits no longer.
#[derive(Clone, Copy, Debug)]
enum End {
    Status,
    Error,
    /// The head has come in time.
    Body,
}

type Answer = Response<StreamBody<BoxStream<'static, Result<Frame<Bytes>, io::Error>>>>;

fn answer(status: StatusCode, chunk: Result<&'static str, io::ErrorKind>) -> Answer {
    let chunk = chunk.map(|text| Frame::data(text.into())).map_err(io::Error::from);
    let mut answer = Response::new(StreamBody::new(Box::pin(stream::once(ready(chunk))) as _));
    *answer.status_mut() = status;
    answer
}

struct Gateway {
    executor: Executor,
    guard: Guard<FakeRuntime, ByHttpStatus>,
}

impl Gateway {
    fn new(
        set: impl FnOnce(GuardBuilder<FakeRuntime, ByHttpStatus>) -> GuardBuilder<FakeRuntime, ByHttpStatus>,
    ) -> Self {
        let executor = Executor::new(FakeClock::new());
        let bulkhead = Bulkhead::builder_on(executor.runtime(), "search").parallelism(4).build().unwrap();
        let guard = Guard::builder(&bulkhead).settings(Settings::consecutive(5)).classify(ByHttpStatus::new());
        Gateway { executor, guard: set(guard).build().unwrap() }
    }

    /// A handler that gives its upstream, which takes `time`, no more than its caller has left.
    fn handler(
        &self,
        time: Duration,
        end: End,
    ) -> impl Service<Request<()>, Response = Answer, Error = io::Error, Future: Send> + Clone + Send + use<> {
        let runtime = self.executor.runtime();
        service_fn(move |request: Request<()>| {
            let runtime = runtime.clone();
            async move {
                let left = request.extensions().get::<Deadline>().map_or(Duration::MAX, Deadline::left);
                runtime.sleep_until(runtime.now() + time.min(left)).await;
                match end {
                    _ if time < left => Ok(answer(StatusCode::OK, Ok("found"))),
                    End::Status => Ok(answer(StatusCode::GATEWAY_TIMEOUT, Ok("late"))),
                    End::Error => Err(io::ErrorKind::TimedOut.into()),
                    End::Body => Ok(answer(StatusCode::OK, Err(io::ErrorKind::TimedOut))),
                }
            }
        })
    }

    /// Sends this many requests with this header, to an upstream that takes `time`.
    fn send(&mut self, requests: u32, header: &str, time: Duration, end: End) -> Option<StatusCode> {
        let timeout = TimeoutHeader::millis("x-timeout-ms").unwrap().or(800 * MILLISECOND).at_most(2 * RUN_LIMIT);
        let outer = Bulkhead::builder_on(self.executor.runtime(), "all").parallelism(4).build().unwrap();
        let outer = BulkheadLayer::new(&outer).deadline_from(&timeout).respond();
        let service = outer.layer(GuardLayer::new(&self.guard).respond().layer(self.handler(time, end)));
        let mut status = None;
        for _ in 0..requests {
            let mut request = Request::new(());
            if !header.is_empty() {
                request.headers_mut().insert("x-timeout-ms", header.parse().unwrap());
            }
            let service = service.clone();
            let task = self.executor.spawn(async move {
                let response = service.oneshot(request).await?;
                let status = response.status();
                response.into_body().collect().await.map(|_| status)
            });
            while !task.is_finished() {
                self.executor.advance(10 * MILLISECOND);
            }
            status = task.output().expect("it has ended").ok();
        }
        status
    }

    fn state(&self) -> State {
        self.guard.breaker().status().circuit.state
    }
}

#[test]
fn callers_with_short_deadlines_do_not_open_the_circuit_for_others() {
    for run_limit in [None, Some(RUN_LIMIT)] {
        for end in [End::Status, End::Error, End::Body] {
            let mut gateway = Gateway::new(|guard| match run_limit {
                Some(limit) => guard.run_limit(limit),
                None => guard,
            });
            gateway.send(20, "60", 100 * MILLISECOND, end);
            let totals = gateway.guard.status().breaker.totals;
            assert_eq!((totals.failures, totals.cancelled), (0, 20), "{run_limit:?}, {end:?}");
            assert_eq!(gateway.send(1, "700", 100 * MILLISECOND, end), Some(StatusCode::OK));
        }
    }
}

/// As that of the guard is, which a configuration changes.
#[test]
fn a_deadline_is_short_beside_the_run_limit_of_now() {
    let circuits = BreakerRegistry::new();
    let mut gateway = Gateway::new(|guard| guard.run_limit(RUN_LIMIT));
    circuits.add(&gateway.guard).unwrap();
    let limit = |gateway: &mut Gateway, millis| {
        let mut section = BreakerConfig::default();
        section.run_limit = Some(millis * MILLISECOND);
        circuits.apply(&BTreeMap::from([("search".to_owned(), section)]), &gateway.executor.clock()).unwrap();
        gateway.send(20, "60", 100 * MILLISECOND, End::Status);
        gateway.guard.status().breaker.totals.failures
    };
    assert_eq!(limit(&mut gateway, 200), 0);
    assert_eq!(limit(&mut gateway, 60), 5, "they leave as long as it is");
}

#[test]
fn an_upstream_that_stalls_for_everyone_opens_the_circuit() {
    let stalled = 10 * RUN_LIMIT;
    for (run_limit, header, why) in [
        (Some(RUN_LIMIT), "1500", "the run limit ends it"),
        (Some(RUN_LIMIT), "1000", "the upstream had as long as the run limit"),
        (Some(RUN_LIMIT), "", "the service itself has set this deadline"),
        (None, "", "the service itself has set this deadline"),
        (None, "60000", "the service allows no more"),
    ] {
        for end in [End::Status, End::Error, End::Body] {
            let mut gateway = Gateway::new(|guard| match run_limit {
                Some(limit) => guard.run_limit(limit),
                None => guard,
            });
            gateway.send(5, header, stalled, end);
            assert_eq!(gateway.state(), State::Open, "{run_limit:?}, {header:?}, {end:?}: {why}");
        }
    }
}

#[test]
fn calls_that_end_at_short_deadlines_can_be_slow_or_count_as_cancelled_ones_do() {
    let slow = Settings::of_last(5).slow_calls(50 * MILLISECOND, 5);
    let mut gateway = Gateway::new(|guard| guard.settings(slow).run_limit(RUN_LIMIT));
    gateway.send(20, "40", RUN_LIMIT / 2, End::Status);
    assert_eq!(gateway.state(), State::Closed, "too short to be slow");
    gateway.send(5, "60", RUN_LIMIT / 2, End::Status);
    assert_eq!(gateway.state(), State::Open);

    let mut gateway = Gateway::new(|guard| guard.count_cancelled(true).run_limit(RUN_LIMIT));
    gateway.send(5, "60", RUN_LIMIT / 2, End::Error);
    assert_eq!(gateway.state(), State::Open);
}

/// A service that is called has the deadline less the margin, and rounded down.
#[test]
fn a_margin_is_no_part_of_the_time_that_an_upstream_has() {
    let timeout = TimeoutHeader::millis("x-timeout-ms").unwrap();
    for (time, failures) in [(60, 1), (79, 0)] {
        let mut gateway = Gateway::new(|guard| guard.run_limit(RUN_LIMIT));
        let outer = Bulkhead::builder_on(gateway.executor.runtime(), "all").parallelism(1).build().unwrap();
        let runtime = gateway.executor.runtime();
        let upstream = service_fn(move |_: Request<()>| {
            let runtime = runtime.clone();
            async move {
                runtime.sleep_until(runtime.now() + time * MILLISECOND).await;
                Ok::<_, io::Error>(answer(StatusCode::GATEWAY_TIMEOUT, Ok("late")))
            }
        });
        let client = GuardLayer::new(&gateway.guard).hold_body().forward_deadline(&timeout, 20 * MILLISECOND);
        let service = BulkheadLayer::new(&outer).deadline_from(&timeout).hold_body().layer(client.layer(upstream));
        let request = Request::builder().header("x-timeout-ms", "100").body(()).unwrap();
        let task = gateway.executor.spawn(service.oneshot(request));
        for _ in 0..time {
            gateway.executor.advance(MILLISECOND);
        }
        assert_eq!(task.output().expect("it has answered").unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(gateway.guard.status().breaker.totals.failures, failures, "after {time} ms");
    }
}

/// It can be the caller's, or a limit that the client itself sets.
#[cfg(feature = "reqwest")]
#[test]
fn the_timeout_of_a_request_of_reqwest_is_short_if_the_run_limit_is_longer() {
    let timeout = TimeoutHeader::millis("x-timeout-ms").unwrap();
    for (limit, cancelled) in [(None, 0), (Some(2 * RUN_LIMIT), 1), (Some(RUN_LIMIT / 2), 0)] {
        let mut gateway = Gateway::new(|guard| match limit {
            Some(limit) => guard.run_limit(limit),
            None => guard,
        });
        // By this margin its time is over at once.
        let layer = GuardLayer::new(&gateway.guard).hold_body();
        let layer = if limit == Some(RUN_LIMIT / 2) { layer } else { layer.forward_deadline(&timeout, RUN_LIMIT) };
        let service = layer.layer(service_fn(async |_: reqwest::Request| {
            Err::<reqwest::Response, _>(io::Error::from(io::ErrorKind::TimedOut))
        }));
        let mut request = reqwest::Request::new(http::Method::GET, "http://localhost".parse().unwrap());
        *request.timeout_mut() = Some(RUN_LIMIT);
        gateway.executor.block_on(service.oneshot(request)).unwrap_err();
        let totals = gateway.guard.status().breaker.totals;
        assert_eq!((totals.cancelled, totals.failures), (cancelled, 1 - cancelled), "{limit:?}");
    }
}
