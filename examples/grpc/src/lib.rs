//! A gRPC service that runs a bounded number of calls at a time, and answers each in time.

use std::pin::Pin;
use std::time::Duration;

use bulklink_tokio::{Bulkhead, InvalidArgument};
use bulklink_tower::BulkheadLayer;
use bulklink_tower::http::TimeoutHeader;
use futures_util::stream::{self, Stream, StreamExt};
use http::Request;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::body::Body;
use tonic::transport::Server;
use tonic::{Response, Status};

use proto::Number;
use proto::counter_server::{Counter, CounterServer};

/// The compiled definition of `proto/counter.proto`.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
pub mod proto {
    tonic::include_proto!("counter");
}

/// The last number of a streamed call, before it fails.
pub const HIGHEST: u32 = 12;

/// Makes the bulkhead: 16 calls run, and 64 wait for at most a second.
///
/// # Errors
///
/// None with these limits.
pub fn bulkhead() -> Result<Bulkhead, InvalidArgument> {
    Bulkhead::builder("calls").parallelism(16).waiting_room(64).wait_limit(Duration::from_secs(1)).build()
}

/// Serves calls in slots of the bulkhead, until it is closed and they have ended.
///
/// # Errors
///
/// If the listener fails.
pub async fn serve(listener: TcpListener, calls: Bulkhead) -> Result<(), tonic::transport::Error> {
    let layer = BulkheadLayer::new(&calls)
        .exempt(|request: &Request<Body>| request.uri().path().starts_with("/grpc.health.v1.Health/"))
        // Tonic itself cancels calls at their deadline; this lets none begin that would be late.
        .deadline_from(&TimeoutHeader::grpc())
        .respond();
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<CounterServer<Service>>().await;
    Server::builder()
        .layer(layer)
        .add_service(health)
        .add_service(CounterServer::new(Service))
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async move { calls.handle().closed().await })
        .await
}

#[derive(Debug)]
struct Service;

#[tonic::async_trait]
impl Counter for Service {
    async fn wait(&self, request: tonic::Request<Number>) -> Result<Response<Number>, Status> {
        let number = request.into_inner();
        sleep(Duration::from_millis(number.value.into())).await;
        Ok(Response::new(number))
    }

    type CountStream = Pin<Box<dyn Stream<Item = Result<Number, Status>> + Send>>;

    /// The slot is held until the stream has ended, or the client has gone.
    async fn count(&self, request: tonic::Request<Number>) -> Result<Response<Self::CountStream>, Status> {
        let numbers = stream::iter(1..=request.into_inner().value).then(async |value| {
            sleep(Duration::from_millis(20)).await;
            if value > HIGHEST {
                return Err(Status::out_of_range(format!("no number is above {HIGHEST}")));
            }
            Ok(Number { value })
        });
        Ok(Response::new(numbers.boxed()))
    }
}
