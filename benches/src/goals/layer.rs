//! *layer*: a request passes the layers around a service that is ready and answers immediately.
//! Each request has a clone of the service, as in hyper and axum.
//!
//! Tower's three layers are a limit, the rejection when it is reached, and a limit on the time, in
//! the order of axum's examples. The request is a number, so that the layers' own work shows, and
//! all rejections are errors. The same with requests of HTTP, which are large and are moved from
//! layer to layer: tower's layers give back the slot at the response's head; ours holds it until
//! the body is dropped, and makes responses of rejections. Those requests are made before the
//! measurement.

use std::alloc::System;
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread::sleep;
use std::time::Duration;

use bulklink_tokio::Bulkhead;
use bulklink_tower::BulkheadLayer;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{Empty, Full};
use stats_alloc::{Region, StatsAlloc};
use tower::load_shed::error::Overloaded;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::goal::{Figure, Goal, Limit, Row};
use crate::measure::float;
use crate::peers::tokio_runtime;
use crate::scene::{Meter, Pace, Scene};
use crate::work::{now, repeat};

type Request = http::Request<Empty<Bytes>>;
type Answer = Response<Full<Bytes>>;

const LIMIT: usize = 16;
const TIME: Duration = Duration::from_secs(1);

/// Names of readings of allocations.
const OURS: &str = "a request through a layer";
const TOWER: &str = "a request through tower's three layers";

pub(crate) fn goal() -> Goal {
    let [tower, resilience, bare] = ["tower's three layers", "tower-resilience", "the service alone"];
    let request = "a request through the layer";
    let http = "an HTTP request through the layer, until its body is dropped";
    let timed = "the same, cancelled after a second";
    let (rejected, shed) = ("a request rejected, as a response with the status 503", "tower's LoadShed, mapped");
    let frame = "a frame of a body, instructions more";
    let allocations = Figure::Memory(OURS.to_owned(), Some(TOWER.to_owned()), "allocations");
    let rows = [
        Row::instructions(request, tower, small_ours(), small_tower()).at_most(0.5),
        Row::instructions(request, resilience, small_ours(), small_resilience()).at_most(0.2),
        Row::instructions(rejected, shed, our_rejection(), shed_and_mapped()).at_most(1.5),
        Row::new(http, tower, allocations).limit(Limit::Ours(0.0)),
        Row::instructions(frame, "the body alone", frames_in_a_slot(), frames()).limit(Limit::More(15.0)),
        Row::instructions(http, tower, ours(), three_layers()),
        Row::instructions(http, resilience, ours(), tower_resilience()),
        Row::instructions(http, bare, ours(), alone()),
        Row::instructions(timed, tower, ours_by_deadline(), three_layers()),
        Row::time(request, tower, small_ours(), small_tower()),
        Row::time(request, resilience, small_ours(), small_resilience()),
        Row::time(http, tower, ours(), three_layers()),
        Row::time(http, resilience, ours(), tower_resilience()),
        Row::time(timed, tower, ours_by_deadline(), three_layers()),
        Row::time(rejected, shed, our_rejection(), shed_and_mapped()),
    ];
    Goal::new("layer", rows)
}

/// So few that the requests, which are made before, stay in the caches.
const REQUESTS: usize = 1_000;

fn http(name: &str, body: impl Fn(usize, Meter<'_>) + 'static) -> Scene {
    Scene::new(format!("layer/{name}"), body).pace(Pace::Fixed(REQUESTS))
}

/// The service that all layers are put around.
fn service() -> impl Serves<Answer, Infallible> {
    service_fn(|_: Request| answer())
}

fn answer() -> Ready<Result<Answer, Infallible>> {
    ready(Ok(Response::new(Full::new(Bytes::from_static(b"done")))))
}

/// A service that a server can clone for each request.
trait Serves<A, E>: Service<Request, Response = A, Error = E, Future: Send> + Clone + Send + 'static {}

impl<A, E, S> Serves<A, E> for S where
    S: Service<Request, Response = A, Error = E, Future: Send> + Clone + Send + 'static
{
}

fn bulkhead() -> Bulkhead {
    Bulkhead::builder("bench").parallelism(LIMIT).build().expect("these are valid limits")
}

fn our_layer(bulkhead: &Bulkhead) -> impl Serves<Response<bulklink_tower::http::Body<Full<Bytes>>>, Infallible> {
    ServiceBuilder::new().layer(BulkheadLayer::new(bulkhead).respond()).service(service())
}

fn towers_layers() -> impl Serves<Answer, BoxError> {
    ServiceBuilder::new().load_shed().concurrency_limit(LIMIT).timeout(TIME).service(service())
}

fn alone() -> Scene {
    http("service alone", |operations, meter| call(&service(), operations, meter))
}

fn ours() -> Scene {
    http("BulkheadLayer", |operations, meter| call(&our_layer(&bulkhead()), operations, meter))
}

fn ours_by_deadline() -> Scene {
    http("BulkheadLayer with a deadline", |operations, meter| {
        let layer = BulkheadLayer::new(&bulkhead()).deadline_after(|_: &Request| Some(TIME)).cancel_at_deadline();
        call(&ServiceBuilder::new().layer(layer.respond()).service(service()), operations, meter);
    })
}

fn three_layers() -> Scene {
    http("tower", |operations, meter| call(&towers_layers(), operations, meter))
}

fn tower_resilience() -> Scene {
    http("tower-resilience", |operations, meter| {
        call(&ServiceBuilder::new().layer(resilience()).service(service()), operations, meter);
    })
}

/// The time is that of a wait.
fn small_ours() -> Scene {
    Scene::new("layer/BulkheadLayer, a number", |operations, meter| {
        let builder = Bulkhead::builder("bench").parallelism(LIMIT).waiting_room(LIMIT).wait_limit(TIME);
        let layer = BulkheadLayer::new(&builder.build().expect("these are valid limits"));
        call_small(&ServiceBuilder::new().layer(layer).service(service_fn(echo)), operations, meter);
    })
}

fn small_tower() -> Scene {
    Scene::new("layer/tower, a number", |operations, meter| {
        let layers = ServiceBuilder::new().load_shed().concurrency_limit(LIMIT).timeout(TIME);
        call_small(&layers.service(service_fn(echo)), operations, meter);
    })
}

fn small_resilience() -> Scene {
    Scene::new("layer/tower-resilience, a number", |operations, meter| {
        call_small(&ServiceBuilder::new().layer(resilience()).service(service_fn(echo)), operations, meter);
    })
}

fn resilience() -> tower_resilience_bulkhead::BulkheadLayer {
    let layer = tower_resilience_bulkhead::BulkheadLayer::builder().max_concurrent_calls(LIMIT);
    layer.reject_when_full().name("bench").build().expect("these are valid limits")
}

fn echo(request: u32) -> Ready<Result<u32, Infallible>> {
    ready(Ok(request))
}

/// The bulkhead has released slots and rejected requests before, so that it has a rate to estimate
/// from.
fn our_rejection() -> Scene {
    http("BulkheadLayer full", |operations, meter| {
        let bulkhead = bulkhead();
        let service = our_layer(&bulkhead);
        let fill = || (0..LIMIT).map(|_| bulkhead.try_slot().expect("there is room")).collect::<Vec<_>>();
        for _ in 0..3 {
            let _held = fill();
            refuse(&service);
            sleep(Duration::from_millis(2));
        }
        let _held = fill();
        assert!(refuse(&service).contains_key(RETRY_AFTER), "there is a rate");
        call(&service, operations, meter);
    })
}

/// The error becomes a response as in axum's examples.
fn shed_and_mapped() -> Scene {
    http("tower full", |operations, meter| {
        let runtime = tokio_runtime();
        let _entered = runtime.enter();
        let inside = towers_layers();
        let _held: Vec<_> = (0..LIMIT).map(|_| reserved::<Request, _>(inside.clone())).collect();
        let service = inside.map_result(|result| result.or_else(mapped));
        refuse(&service);
        call(&service, operations, meter);
    })
}

fn mapped(error: BoxError) -> Result<Answer, BoxError> {
    if !error.is::<Overloaded>() {
        return Err(error);
    }
    let mut response = Response::new(Full::new(Bytes::from_static(b"The service is overloaded.")));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    Ok(response)
}

/// Returns a clone that has taken a permit by being ready.
fn reserved<Q, S: Service<Q, Error: Debug>>(mut service: S) -> S {
    let ready = service.poll_ready(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(ready, Poll::Ready(Ok(()))), "there is room");
    service
}

/// Checks that a request is rejected, and returns the headers of the response.
fn refuse<B, S>(service: &S) -> HeaderMap
where
    S: Service<Request, Response = Response<B>, Error: Debug> + Clone,
{
    let response = now(|| service.clone().oneshot(Request::default())).expect("an answer");
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    response.into_parts().0.headers
}

/// Sends requests of HTTP, and drops each response.
fn call<S>(service: &S, operations: usize, meter: Meter<'_>)
where
    S: Service<Request, Error: Debug> + Clone,
{
    let runtime = tokio_runtime();
    let _entered = runtime.enter();
    let mut requests = (0..2 * operations).map(|_| Request::default()).collect::<Vec<_>>().into_iter();
    meter(&mut || {
        for request in requests.by_ref().take(operations) {
            drop(black_box(now(|| service.clone().oneshot(request)).expect("an answer")));
        }
    });
}

/// Sends numbers.
fn call_small<S>(service: &S, operations: usize, meter: Meter<'_>)
where
    S: Service<u32, Error: Debug> + Clone,
{
    let runtime = tokio_runtime();
    let _entered = runtime.enter();
    repeat(operations, meter, || {
        let mut service = reserved(service.clone());
        now(|| service.call(black_box(7))).expect("an answer")
    });
}

/// A body without an end. The data is always the same.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"data")))))
    }
}

fn frames() -> Scene {
    Scene::new("layer/frames", |operations, meter| poll_frames(Endless, operations, meter))
}

fn frames_in_a_slot() -> Scene {
    Scene::new("layer/frames in a slot", |operations, meter| {
        let bulkhead = bulkhead();
        let service = service_fn(|_: Request| ready(Ok::<_, Infallible>(Response::new(Endless))));
        let service = ServiceBuilder::new().layer(BulkheadLayer::new(&bulkhead).respond()).service(service);
        let response = now(|| service.oneshot(Request::default())).expect("an answer");
        assert_eq!(bulkhead.status().in_flight, 1);
        poll_frames(response.into_body(), operations, meter);
    })
}

fn poll_frames<B: Body<Error: Debug>>(body: B, operations: usize, meter: Meter<'_>) {
    let mut body = pin!(body);
    let mut context = Context::from_waker(Waker::noop());
    meter(&mut || {
        for _ in 0..operations {
            assert!(black_box(body.as_mut().poll_frame(&mut context)).is_ready());
        }
    });
}

/// Returns the allocations of one request that do not come from the service.
pub(crate) fn read(heap: &StatsAlloc<System>) -> [(String, f64); 2] {
    let alone = allocations(heap, &service());
    let ours = allocations(heap, &our_layer(&bulkhead())) - alone;
    let tower = allocations(heap, &towers_layers()) - alone;
    [(OURS.to_owned(), ours), (TOWER.to_owned(), tower)]
}

fn allocations<S: Service<Request, Error: Debug> + Clone>(heap: &StatsAlloc<System>, service: &S) -> f64 {
    let mut allocations = 0;
    call(service, REQUESTS, &mut |work| {
        work();
        let region = Region::new(heap);
        work();
        let change = region.change();
        allocations = change.allocations + change.reallocations;
    });
    float(allocations as u128) / float(REQUESTS as u128)
}
