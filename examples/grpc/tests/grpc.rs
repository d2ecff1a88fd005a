//! Tests the service over HTTP/2 on the loopback, with tonic's client.

use std::time::Duration;

use bulklink_tokio::{Bulkhead, Reserve};
use grpc_counter::HIGHEST;
use grpc_counter::proto::Number;
use grpc_counter::proto::counter_client::CounterClient;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// Longer than anything takes; a test that fails ends after this.
const PATIENCE: Duration = Duration::from_secs(8);

/// The milliseconds of a call that a test does not wait for.
const LONG: Number = Number { value: 60_000 };

struct Service {
    calls: Bulkhead,
    endpoint: Endpoint,
    channel: Channel,
    server: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Service {
    /// Starts a service with so many slots and places, and opens one connection to it.
    async fn start(slots: usize, waiting_room: usize) -> Self {
        let reserve = Reserve::Fixed(Duration::from_millis(300));
        let calls = Bulkhead::builder("calls").parallelism(slots).waiting_room(waiting_room).reserve(reserve);
        let calls = calls.build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = Endpoint::from_shared(format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let server = tokio::spawn(grpc_counter::serve(listener, calls.clone()));
        let channel = endpoint.connect().await.unwrap();
        Service { calls, endpoint, channel, server }
    }

    fn client(&self) -> CounterClient<Channel> {
        CounterClient::new(self.channel.clone())
    }

    /// Begins a call that goes on until it is dropped, and waits until it runs.
    async fn occupy(&self) -> Running {
        let running = self.calls.status().in_flight;
        let mut client = self.client();
        let call = Running(tokio::spawn(async move { client.wait(LONG).await.map(|_| ()) }));
        self.runs(running + 1).await;
        call
    }

    /// Waits until so many calls run.
    async fn runs(&self, calls: usize) {
        let reached = timeout(PATIENCE, async {
            while self.calls.status().in_flight != calls {
                sleep(Duration::from_millis(2)).await;
            }
        });
        assert!(reached.await.is_ok(), "{calls} calls, not {}", self.calls.status().in_flight);
    }
}

struct Running(JoinHandle<Result<(), Status>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[tokio::test]
async fn a_call_that_finds_no_slot_gets_a_status_and_a_time_to_retry() {
    let service = Service::start(1, 0).await;
    let rejected = async || {
        let held = service.occupy().await;
        let status = service.client().wait(LONG).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::ResourceExhausted, "calls: All slots are in use."));
        drop(held);
        service.runs(0).await;
        status.metadata().get("grpc-retry-pushback-ms").map(|millis| millis.to_str().unwrap().parse::<u64>().unwrap())
    };
    let fallback = rejected().await.expect("a time to fall back on");
    assert!((1000..=3000).contains(&fallback), "no call has ended, so there is no rate: {fallback}");
    for _ in 0..20 {
        service.client().wait(Number { value: 5 }).await.unwrap();
    }
    assert!(rejected().await.unwrap() >= 1000);
}

#[tokio::test]
async fn a_call_that_would_be_late_is_rejected_in_time_for_its_client() {
    let service = Service::start(1, 1).await;
    let _held = service.occupy().await;
    let begun = Instant::now();
    let mut late = Request::new(LONG);
    late.set_timeout(Duration::from_millis(900));
    let status = service.client().wait(late).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::DeadlineExceeded, "calls: The deadline was too close."));
    assert!(begun.elapsed() >= Duration::from_millis(590), "it waits for as long as it can");
    assert_eq!(service.calls.status().totals.admitted, 1);
}

#[tokio::test]
async fn a_call_that_runs_ends_at_its_deadline_and_frees_its_slot() {
    let service = Service::start(1, 0).await;
    let mut late = Request::new(LONG);
    late.set_timeout(Duration::from_millis(500));
    service.client().wait(late).await.unwrap_err();
    service.runs(0).await;
    assert_eq!(service.client().wait(Number { value: 1 }).await.unwrap().into_inner().value, 1);
}

#[tokio::test]
async fn a_stream_holds_its_slot_up_to_its_trailers() {
    let service = Service::start(1, 0).await;
    let mut numbers = service.client().count(Number { value: 3 }).await.unwrap().into_inner();
    assert_eq!(numbers.message().await.unwrap(), Some(Number { value: 1 }));
    assert_eq!(service.client().wait(LONG).await.unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(numbers.message().await.unwrap(), Some(Number { value: 2 }));
    assert_eq!(numbers.message().await.unwrap(), Some(Number { value: 3 }));
    assert_eq!(numbers.message().await.unwrap(), None);
    service.runs(0).await;
}

#[tokio::test]
async fn a_stream_that_fails_says_so_in_its_trailers() {
    let service = Service::start(1, 0).await;
    let mut numbers = service.client().count(Number { value: HIGHEST + 5 }).await.unwrap().into_inner();
    for value in 1..=HIGHEST {
        assert_eq!(numbers.message().await.unwrap(), Some(Number { value }));
    }
    let status = numbers.message().await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::OutOfRange, "no number is above 12"));
    service.runs(0).await;
}

#[tokio::test]
async fn a_client_that_vanishes_in_mid_stream_frees_its_slot() {
    let service = Service::start(2, 0).await;
    let begin = async |mut client: CounterClient<Channel>| -> Streaming<Number> {
        let mut numbers = client.count(Number { value: u32::MAX }).await.unwrap().into_inner();
        numbers.message().await.unwrap();
        numbers
    };
    let on_shared_connection = begin(service.client()).await;
    let with_its_connection = begin(CounterClient::new(service.endpoint.connect().await.unwrap())).await;
    service.runs(2).await;
    drop(on_shared_connection);
    service.runs(1).await;
    drop(with_its_connection);
    service.runs(0).await;
    assert_eq!(service.calls.status().totals.finished, 2);
}

#[tokio::test]
async fn of_many_streams_on_one_connection_as_many_run_as_there_are_slots() {
    let service = Service::start(5, 7).await;
    let begin = |_| {
        let mut client = service.client();
        tokio::spawn(async move {
            let mut numbers = client.count(Number { value: 3 }).await?.into_inner();
            let mut sum = 0;
            while let Some(number) = numbers.message().await? {
                sum += number.value;
            }
            Ok(sum)
        })
    };
    let streams: Vec<JoinHandle<Result<u32, Status>>> = (0..40).map(begin).collect();
    let mut counted = 0;
    for stream in streams {
        match stream.await.unwrap() {
            Ok(sum) => {
                assert_eq!(sum, 6);
                counted += 1;
            }
            Err(status) => assert_eq!(status.code(), Code::ResourceExhausted),
        }
    }
    service.runs(0).await;
    let totals = service.calls.status().totals;
    assert!((12..40).contains(&counted), "five at a time, and seven after them: {counted}");
    assert_eq!((totals.admitted, totals.admitted + totals.saturated), (counted, 40));
}

#[tokio::test]
async fn health_answers_when_every_slot_is_taken() {
    let service = Service::start(2, 0).await;
    let _held = (service.occupy().await, service.occupy().await);
    let request = HealthCheckRequest { service: "counter.Counter".into() };
    let health = HealthClient::new(service.channel.clone()).check(request).await.unwrap();
    assert_eq!(health.into_inner().status, 1, "serving");
}

#[tokio::test]
async fn a_bulkhead_that_is_closed_rejects_new_calls_and_lets_the_others_end() {
    let Service { calls, channel, server, .. } = Service::start(2, 0).await;
    let mut client = CounterClient::new(channel);
    let mut numbers = client.count(Number { value: 5 }).await.unwrap().into_inner();
    calls.close();
    assert_eq!(client.wait(LONG).await.unwrap_err().code(), Code::Unavailable);
    let mut last = 0;
    while let Some(number) = numbers.message().await.unwrap() {
        last = number.value;
    }
    assert_eq!(last, 5);
    timeout(PATIENCE, server).await.expect("it ends").unwrap().unwrap();
}
