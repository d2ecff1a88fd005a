//! Under load, neither a reload nor the end of the service loses a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::{Client, StatusCode};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::harness::{Section, Service, Settings, roomy};

const CLIENTS: usize = 12;

/// A section in which the clients wait, and are never rejected.
fn narrow(parallelism: i64) -> Section {
    Section { parallelism, waiting_room: CLIENTS, wait_limit: None }
}

/// Sends calls one after the other, as a load balancer does, until the service says that it is not
/// ready; returns how many. Each must be answered, also those on connections that are kept.
async fn client(address: String, path: &'static str, is_ready: Arc<AtomicBool>) -> usize {
    let (client, url) = (Client::new(), format!("http://{address}{path}"));
    let mut answered = 0;
    while is_ready.load(Ordering::Relaxed) {
        let answer = client.get(&url).send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        answer.bytes().await.expect("the whole answer");
        answered += 1;
    }
    answered
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_and_the_end_of_the_service_lose_no_call_under_load() {
    let before = Settings { orders: narrow(1), export: narrow(2), notice_ms: 1000, ..roomy() };
    let mut service = Service::start(before).await;
    let is_ready = Arc::new(AtomicBool::new(true));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let path = ["/orders/1", "/export/3"][number % 2];
        clients.spawn(client(service.address().to_owned(), path, Arc::clone(&is_ready)));
    }
    for (parallelism, waiting_room) in [(4, CLIENTS), (1, CLIENTS), (8, 3 * CLIENTS), (2, CLIENTS)] {
        let section = Section { waiting_room, ..narrow(parallelism) };
        service.write(&Settings { orders: section, export: section, ..before });
        service.signal("-HUP");
        service.shows("capacity", "orders", u64::try_from(parallelism).unwrap()).await;
        sleep(Duration::from_millis(100)).await;
    }
    service.write_text("half [a file");
    service.signal("-HUP");
    service.logged("the settings are refused").await;

    service.signal("-TERM");
    let problem = service.readiness(503).await;
    assert!(problem.contains("\"draining\":true"), "{problem}");
    is_ready.store(false, Ordering::Relaxed);
    let answered: usize = clients.join_all().await.into_iter().sum();
    assert!(answered > CLIENTS, "{answered}");
    assert_eq!(service.ended().await.code(), Some(0));
    service.logged("drained").await;
}
