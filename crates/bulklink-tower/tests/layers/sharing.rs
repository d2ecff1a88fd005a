//! Slots that the service holds for longer than its answer.

use std::convert::Infallible;
use std::future::ready;

use bulklink_tokio::{Bulkhead, EventFilter, EventKind, Tokio};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::{HeldSlot, Respond};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use tower::{ServiceBuilder, ServiceExt, service_fn};

type Layer = BulkheadLayer<Request<()>, Tokio, Respond>;

/// Returns how many slots of two layers are held after the answer, by the value that the service
/// kept; first outside.
async fn held_after_the_answer(
    request: Request<()>,
    outer: impl Fn(Layer) -> Layer,
    inner: impl Fn(Layer) -> Layer,
) -> (usize, usize) {
    let bulkhead = |label| Bulkhead::builder(label).parallelism(1).build().unwrap();
    let bulkheads = [bulkhead("outer"), bulkhead("inner")];
    let in_flight = || (bulkheads[0].status().in_flight, bulkheads[1].status().in_flight);
    let layers = ServiceBuilder::new()
        .layer(outer(BulkheadLayer::new(&bulkheads[0]).respond()))
        .layer(inner(BulkheadLayer::new(&bulkheads[1]).respond()));
    let (sender, receiver) = std::sync::mpsc::channel();
    let service = layers.service(service_fn(|mut request: Request<()>| {
        sender.send(request.extensions_mut().remove::<HeldSlot>()).unwrap();
        ready(Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())))
    }));
    drop(service.oneshot(request).await.unwrap());
    let held = receiver.recv().unwrap();
    let after = in_flight();
    drop(held);
    assert_eq!(in_flight(), (0, 0));
    after
}

#[tokio::test]
async fn a_service_holds_the_slots_of_all_layers_that_share_them() {
    let held = async |outer: fn(Layer) -> Layer, inner: fn(Layer) -> Layer| {
        held_after_the_answer(Request::new(()), outer, inner).await
    };
    let shared: fn(Layer) -> Layer = Layer::share_slot;
    let kept: fn(Layer) -> Layer = |layer| layer;
    assert_eq!(held(shared, shared).await, (1, 1));
    assert_eq!(held(shared, kept).await, (1, 0));
    assert_eq!(held(kept, shared).await, (0, 1));
    assert_eq!(held(kept, kept).await, (0, 0));
}

#[tokio::test]
async fn an_upgrade_holds_the_slots_of_all_layers() {
    let upgrade = Request::builder().header("upgrade", "websocket").body(()).unwrap();
    assert_eq!(held_after_the_answer(upgrade, |layer| layer, |layer| layer).await, (1, 1));
}

#[tokio::test]
async fn an_exempt_request_finds_a_held_slot_that_holds_nothing() {
    let orders = Bulkhead::builder("orders").parallelism(1).build().unwrap();
    let layer = BulkheadLayer::new(&orders).exempt(|_: &Request<()>| true).respond().share_slot();
    let (sender, receiver) = std::sync::mpsc::channel();
    let service = ServiceBuilder::new().layer(layer).service(service_fn(|mut request: Request<()>| {
        sender.send(request.extensions_mut().remove::<HeldSlot>()).unwrap();
        ready(Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())))
    }));
    drop(service.oneshot(Request::new(())).await.unwrap());
    assert!(receiver.recv().unwrap().is_some());
    assert_eq!(orders.status().in_flight, 0);
}

#[tokio::test]
async fn a_part_of_a_shared_slot_is_given_back_while_the_rest_is_held() {
    let bulkhead = |label| Bulkhead::builder(label).capacity(100).build().unwrap();
    let [outer, inner, own] = ["outer", "inner", "own"].map(bulkhead);
    let in_use = || [&outer, &inner, &own].map(|bulkhead| bulkhead.status().in_use);
    let shared = |bulkhead: &Bulkhead, cost| -> Layer { BulkheadLayer::new(bulkhead).cost(move |_| cost).respond() };
    let (sender, receiver) = std::sync::mpsc::channel();
    let service = ServiceBuilder::new()
        .layer(shared(&outer, 40).share_slot())
        .layer(shared(&own, 20))
        .layer(shared(&inner, 10).share_slot())
        .service(service_fn(|mut request: Request<()>| {
            sender.send(request.extensions_mut().remove::<HeldSlot>()).unwrap();
            ready(Ok::<_, Infallible>(Response::new("text".to_owned())))
        }));
    let response = service.oneshot(Request::new(())).await.unwrap();
    let held = receiver.recv().unwrap().expect("it is shared");
    assert_eq!(in_use(), [40, 10, 20]);
    let give_back = |units| {
        held.clone().give_back(units);
        in_use()
    };
    assert_eq!((give_back(0), give_back(6)), ([40, 10, 20], [34, 4, 20]));
    assert_eq!(give_back(9), [25, 1, 20], "one unit at least is held");
    assert_eq!((give_back(usize::MAX), give_back(1)), ([1, 1, 20], [1, 1, 20]));
    drop(held);
    assert_eq!(in_use(), [1, 1, 20], "the body holds the rest");
    drop(response);
    assert_eq!(in_use(), [0, 0, 0]);
    let totals = outer.status().totals;
    assert_eq!((totals.admitted, totals.finished), (1, 1 + outer.status().split));
}

/// It runs under no lock of the slot.
#[tokio::test]
async fn a_handler_of_events_can_give_back_too() {
    let orders = Bulkhead::builder("orders").capacity(100).build().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel::<Option<HeldSlot>>();
    let place = std::sync::Arc::new(std::sync::Mutex::new(None::<HeldSlot>));
    let held = std::sync::Arc::clone(&place);
    orders.handle().add_event_handler(EventFilter::ALL, move |event| {
        // Once: its own part is an event, too.
        if let (EventKind::Split, Some(held)) = (event.kind, held.lock().unwrap().take()) {
            held.give_back(3);
        }
    });
    let layer = BulkheadLayer::new(&orders).cost(|_: &Request<()>| 40).respond().share_slot();
    let service = ServiceBuilder::new().layer(layer).service(service_fn(|mut request: Request<()>| {
        sender.send(request.extensions_mut().remove()).unwrap();
        ready(Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())))
    }));
    let _response = service.oneshot(Request::new(())).await.unwrap();
    let held = receiver.recv().unwrap().expect("it is shared");
    *place.lock().unwrap() = Some(held.clone());
    held.give_back(5);
    assert_eq!(orders.status().in_use, 32);
}
