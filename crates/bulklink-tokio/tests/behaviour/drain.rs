//! An orderly end: the steps and their times in virtual time, and a server of axum under load.

use std::future::{pending, ready};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use bulklink_tokio::{Bulkhead, Drain, Drained, Partitions, Readiness, Registry};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

const SECOND: Duration = Duration::from_secs(1);

fn readiness() -> Readiness {
    Readiness::new(10 * SECOND).unwrap()
}

fn registry() -> (Registry, Bulkhead) {
    let registry = Registry::new();
    let bulkhead = registry.create(Bulkhead::builder("orders").parallelism(8).waiting_room(8)).unwrap();
    (registry, bulkhead)
}

/// A drain that begins after a second.
fn drain(registry: &Registry) -> Drain {
    Drain::new(registry).when(sleep(SECOND))
}

#[tokio::test(start_paused = true)]
async fn it_is_not_ready_first_and_closes_after_the_notice_and_ends_with_the_last_call() {
    let (begin, (registry, orders), readiness) = (Instant::now(), registry(), readiness());
    let draining = tokio::spawn(drain(&registry).readiness(&readiness).notice(5 * SECOND).run());
    sleep(SECOND / 2).await;
    assert!(readiness.is_ready());
    sleep_until(begin + 3 * SECOND).await;
    assert!(readiness.is_draining() && !readiness.is_ready());
    assert!(!registry.is_closed());
    let running = orders.slot().await.expect("all is served during the notice");
    sleep_until(begin + 6 * SECOND + SECOND / 2).await;
    assert!(registry.is_closed() && orders.try_slot().is_err());
    sleep_until(begin + 9 * SECOND).await;
    drop(running);
    let drained = draining.await.unwrap().unwrap();
    assert_eq!(begin.elapsed(), 9 * SECOND);
    assert!(drained.is_complete() && drained.running().is_empty());
    assert_eq!(drained.to_string(), "drained");
}

#[tokio::test(start_paused = true)]
async fn what_runs_beyond_the_limit_is_counted_by_its_bulkhead() {
    let (begin, (registry, orders)) = (Instant::now(), registry());
    registry.create(Bulkhead::builder("idle").parallelism(1)).unwrap();
    let tenants = Partitions::builder("tenants").parallelism(1).max_partitions(9);
    let tenants: Partitions<String> = registry.create_partitions(tenants).unwrap();
    let _running = (orders.try_slot(), orders.try_slot(), tenants.key("ann").try_slot(), tenants.key("bob").try_slot());
    let drained = drain(&registry).limit(7 * SECOND).unwrap().run().await.unwrap();
    assert_eq!(begin.elapsed(), 8 * SECOND, "there is no notice unless it is set");
    assert!(!drained.is_complete() && !drained.has_connections());
    assert_eq!(drained.running(), [("orders".into(), 2), ("tenants".into(), 2)]);
    assert_eq!(drained.to_string(), "not drained, orders: 2 running, tenants: 2 running");

    let (begin, (registry, orders)) = (Instant::now(), self::registry());
    let _running = orders.try_slot();
    let drained = drain(&registry).run().await.unwrap();
    assert_eq!((begin.elapsed(), drained.is_complete()), (21 * SECOND, false), "20 s by default");
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_zero_is_refused_and_the_longest_is_none() {
    let (registry, orders) = registry();
    let refused = Drain::new(&registry).limit(Duration::ZERO).unwrap_err();
    assert_eq!(refused.to_string(), "drain: limit must be longer than zero, got 0 s");
    let running = orders.try_slot().unwrap();
    let drain = drain(&registry).notice(Duration::ZERO).limit(Duration::MAX).unwrap();
    assert!(format!("{drain:?}").contains("on_signal: false"), "{drain:?}");
    let draining = tokio::spawn(drain.run());
    sleep(1_000_000 * SECOND).await;
    assert!(!draining.is_finished());
    drop(running);
    assert!(draining.await.unwrap().unwrap().is_complete());
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_is_dropped_undoes_nothing_and_goes_no_further() {
    let ((registry, orders), readiness) = (registry(), readiness());
    let draining = tokio::spawn(drain(&registry).readiness(&readiness).notice(5 * SECOND).run());
    sleep(2 * SECOND).await;
    draining.abort();
    sleep(60 * SECOND).await;
    assert!(readiness.is_draining() && !registry.is_closed());
    let running = orders.try_slot().unwrap();
    let again = tokio::spawn(Drain::new(&registry).readiness(&readiness).when(ready(())).run());
    sleep(SECOND).await;
    again.abort();
    drop(running);
    sleep(SECOND).await;
    assert!(registry.is_closed());
    assert!(Drain::new(&registry).when(ready(())).run().await.unwrap().is_complete(), "also a closed one");
}

#[tokio::test(start_paused = true)]
async fn the_server_is_ended_after_the_calls_and_returned_from() {
    let (begin, (registry, orders)) = (Instant::now(), registry());
    let running = orders.owned().slot().await.unwrap();
    tokio::spawn(async move {
        sleep(3 * SECOND).await;
        drop(running);
    });
    // A server that needs a second for its connections.
    let server = async |closed| {
        let () = std::future::IntoFuture::into_future(closed).await;
        assert_eq!(begin.elapsed(), 3 * SECOND);
        sleep(SECOND).await;
        Ok::<_, io::Error>(())
    };
    let drained = drain(&registry).serve(|closed| Box::pin(server(closed))).await.unwrap();
    assert_eq!((begin.elapsed(), drained.is_complete()), (4 * SECOND, true));
}

#[tokio::test(start_paused = true)]
async fn a_server_with_connections_that_stay_is_dropped_when_the_limit_passes() {
    for slot_is_held in [false, true] {
        let (begin, (registry, orders)) = (Instant::now(), registry());
        let _running = slot_is_held.then(|| orders.try_slot().unwrap());
        let drain = drain(&registry).limit(4 * SECOND).unwrap();
        let drained = drain.serve(|_| pending::<io::Result<()>>()).await.unwrap();
        assert_eq!(begin.elapsed(), 5 * SECOND);
        assert!(drained.has_connections() && !drained.is_complete());
        let text = if slot_is_held { "orders: 1 running" } else { "the server has open connections" };
        assert_eq!(drained.to_string(), format!("not drained, {text}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_or_fails_by_itself_ends_the_drain() {
    let (begin, (registry, _)) = (Instant::now(), registry());
    let failed = drain(&registry).serve(|_| ready(Err::<(), _>("the port is gone"))).await.unwrap_err();
    assert_eq!(failed.to_string(), "the port is gone");
    let drained = drain(&registry).serve(|_| ready(Ok::<(), io::Error>(()))).await.unwrap();
    assert!(drained.is_complete() && !registry.is_closed());
    assert_eq!(begin.elapsed(), Duration::ZERO);
    let fails_late = |closed: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| async {
        closed.await;
        Err::<(), _>("late")
    };
    let failed = drain(&registry).serve(|closed| Box::pin(fails_late(closed))).await.unwrap_err();
    assert_eq!(failed.to_string(), "late");
}

/// Sends a request on a connection of its own, and returns the head and the body of the answer.
async fn fetch(address: std::net::SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// A load balancer sends requests until the service says that it is not ready, and some beyond:
/// each is answered, though the service ends meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_no_call_is_lost() {
    let ((registry, orders), readiness) = (registry(), readiness());
    let (ready_now, handled) = (readiness.clone(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&handled);
    let order = async move || {
        let Ok(_slot) = orders.slot().await else { return (StatusCode::SERVICE_UNAVAILABLE, "rejected") };
        sleep(Duration::from_millis(30)).await;
        count.fetch_add(1, Ordering::Relaxed);
        (StatusCode::OK, "done")
    };
    let probe = async move || if ready_now.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let app = Router::new().route("/order", get(order)).route("/ready", get(probe));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let is_ready = Arc::new(AtomicBool::new(true));

    // Half a second for a load balancer that looks every 50 ms.
    let drain = Drain::new(&registry).when(sleep(Duration::from_millis(400))).readiness(&readiness);
    let drain = drain.notice(Duration::from_millis(500)).limit(10 * SECOND).unwrap();
    let serving = tokio::spawn(drain.serve(|closed| axum::serve(listener, app).with_graceful_shutdown(closed)));

    let probes = Arc::clone(&is_ready);
    let balancer = tokio::spawn(async move {
        while fetch(address, "/ready").await.unwrap().starts_with("HTTP/1.1 200") {
            sleep(Duration::from_millis(50)).await;
        }
        probes.store(false, Ordering::Relaxed);
    });
    let mut clients = JoinSet::new();
    for _ in 0..6 {
        let is_ready = Arc::clone(&is_ready);
        clients.spawn(async move {
            let mut answered = 0;
            while is_ready.load(Ordering::Relaxed) {
                let answer = fetch(address, "/order").await.expect("an answer");
                assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("done"), "{answer}");
                answered += 1;
            }
            answered
        });
    }
    let answered: usize = clients.join_all().await.into_iter().sum();
    balancer.await.unwrap();
    let drained: Drained = serving.await.unwrap().unwrap();
    assert!(drained.is_complete(), "{drained}");
    assert_eq!(answered, handled.load(Ordering::Relaxed));
    assert!(answered > 30, "{answered}");
    assert!(fetch(address, "/order").await.is_err(), "the listener is closed");
}

#[tokio::test(start_paused = true)]
async fn work_beside_a_server_that_ends_by_itself_is_waited_for_after_the_signal() {
    let (registry, jobs) = registry();
    let begin = Instant::now();
    let job = jobs.owned().slot().await.unwrap();
    tokio::spawn(async move {
        sleep(5 * SECOND).await;
        drop(job);
    });
    // It ends on a signal of its own, within the notice.
    let server = |_closed| async {
        sleep(2 * SECOND).await;
        Ok::<_, io::Error>(())
    };
    let server = |closed| Box::pin(server(closed));
    let drained = drain(&registry).notice(3 * SECOND).serve(server).await.unwrap();
    assert_eq!((begin.elapsed(), drained.to_string(), registry.is_closed()), (5 * SECOND, "drained".into(), true));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_before_the_signal_closes_nothing() {
    let (registry, _) = registry();
    let drained = drain(&registry).serve(|_closed| ready(Ok::<_, io::Error>(()))).await.unwrap();
    assert_eq!((drained.is_complete(), registry.is_closed()), (true, false));
    let error = drain(&registry).serve(|_closed| ready(Err::<(), _>(io::Error::other("no port")))).await;
    assert_eq!(error.unwrap_err().to_string(), "no port");
}

/// As a fleet is left: it waits for the operations, and then for a store.
#[tokio::test(start_paused = true)]
async fn another_step_begins_when_the_registry_is_closed_and_is_waited_for() {
    let (begin, (registry, orders)) = (Instant::now(), registry());
    let running = orders.owned().slot().await.unwrap();
    let step = {
        let registry = registry.clone();
        async move || {
            assert_eq!((begin.elapsed(), registry.is_closed()), (3 * SECOND, true));
            sleep(SECOND).await;
            drop(running);
            sleep(5 * SECOND).await;
        }
    };
    let panics = async || panic!("a bug of a step");
    let drain = drain(&registry).notice(2 * SECOND).also(step).also(panics);
    assert!(format!("{drain:?}").contains("also: 2"), "{drain:?}");
    // The server is ended after the operation, and not after the step.
    let server = |closed: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| async move {
        closed.await;
        assert_eq!(begin.elapsed(), 4 * SECOND);
        Ok::<_, io::Error>(())
    };
    let drained = drain.serve(|closed| Box::pin(server(closed))).await.unwrap();
    assert_eq!((begin.elapsed(), drained.complete()), (9 * SECOND, Ok(())));
}

#[tokio::test(start_paused = true)]
async fn another_step_is_aborted_at_the_limit_and_is_named_if_all_else_has_ended() {
    for runs_a_server in [false, true] {
        let (begin, (registry, orders), step) = (Instant::now(), registry(), Arc::new(()));
        let held = Arc::clone(&step);
        let drain = drain(&registry).limit(7 * SECOND).unwrap().also(move || async {
            pending::<()>().await;
            drop(held);
        });
        let drained = if runs_a_server {
            let end = |closed: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| async {
                closed.await;
                Ok::<_, io::Error>(())
            };
            drain.serve(|closed| Box::pin(end(closed))).await.unwrap()
        } else {
            drain.run().await.unwrap()
        };
        assert_eq!((begin.elapsed(), orders.status().in_flight), (8 * SECOND, 0));
        assert!(!drained.is_complete() && drained.running().is_empty() && !drained.has_connections());
        let error = drained.complete().unwrap_err();
        assert_eq!(error.to_string(), "not drained, another step has not ended");
        assert_eq!(format!("{error:?}"), error.to_string());
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&step), 1, "it was dropped");
    }
}

#[cfg(feature = "serde")]
#[tokio::test(start_paused = true)]
async fn a_section_of_a_configuration_sets_its_times() {
    use bulklink_tokio::DrainConfig;
    let read = |text: &str| toml::from_str::<DrainConfig>(text);
    for (text, notice, limit) in
        [("", 2, 3), ("notice = \"4s\"", 4, 3), ("limit = \"5s\"", 2, 5), ("notice = \"0s\"\nlimit = \"1m\"", 0, 60)]
    {
        let (begin, (registry, orders)) = (Instant::now(), registry());
        let _running = orders.try_slot().unwrap();
        let drain = Drain::new(&registry).when(async {}).notice(2 * SECOND).limit(3 * SECOND).unwrap();
        let drained = drain.configured(&read(text).unwrap()).unwrap().run().await.unwrap();
        assert_eq!((begin.elapsed(), drained.is_complete()), ((notice + limit) * SECOND, false), "{text}");
    }
    let refused = Drain::new(&registry().0).configured(&read("limit = \"0s\"").unwrap()).unwrap_err();
    assert_eq!(refused.to_string(), "drain: limit must be longer than zero, got 0 s");
    assert!(read("limit = 5").is_err() && read("wait = \"5s\"").is_err());
}
