//! The clients: they send the calls of a scene, and each closes its connection at its deadline.

use std::net::SocketAddr;

use axum::http::{Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::DEADLINE;
use super::front::{CALL, TENANT, TIMEOUT, WORK};
use super::scene::Call;

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Answered within the deadline, at this time.
    Answered(Instant),
    /// Answered with an error.
    Rejected,
    /// Not answered within the deadline.
    GivenUp,
}

/// A call that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it was to be sent. Its deadline counts from here, even if it was sent late.
    pub due: Instant,
    /// Its tenant.
    pub tenant: usize,
    /// What became of it.
    pub fate: Fate,
}

/// Sends the calls, and returns them in the same order when all are over.
///
/// # Panics
///
/// If a client panics.
pub async fn send(address: SocketAddr, script: &[Call], begin: Instant) -> Vec<Sent> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let mut calls: Vec<JoinHandle<Sent>> = Vec::new();
    for (number, planned) in script.iter().enumerate() {
        sleep_until(begin + planned.at).await;
        calls.push(tokio::spawn(call(client.clone(), address, number, *planned, begin)));
    }
    let mut sent = Vec::new();
    for call in calls {
        sent.push(call.await.expect("no client panics"));
    }
    sent
}

async fn call(
    client: Client<HttpConnector, Empty<Bytes>>,
    address: SocketAddr,
    number: usize,
    Call { at, tenant, work }: Call,
    begin: Instant,
) -> Sent {
    let due = begin + at;
    let deadline = due + DEADLINE;
    let left = deadline.saturating_duration_since(Instant::now()).as_millis();
    let request = Request::get(format!("http://{address}/")).header(CALL, number).header(TIMEOUT, left.to_string());
    let request = request.header(TENANT, tenant).header(WORK, work.unwrap_or_default().as_micros().to_string());
    let request = request.body(Empty::new()).expect("a valid request");
    let exchange = async {
        let response = client.request(request).await.ok()?;
        let status = response.status();
        response.into_body().collect().await.ok()?;
        Some(status)
    };
    let fate = match timeout_at(deadline, exchange).await {
        Ok(Some(StatusCode::OK)) => Fate::Answered(Instant::now()),
        Ok(_) => Fate::Rejected,
        Err(_) => Fate::GivenUp,
    };
    Sent { due, tenant, fate }
}
