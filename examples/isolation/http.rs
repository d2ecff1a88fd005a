//! An HTTP server on a free loopback port, and an HTTP client.

use std::{io, net::SocketAddr};

use axum::{Router, serve::ListenerExt};
use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(crate) type Client = legacy::Client<HttpConnector, Empty<Bytes>>;

pub(crate) fn client() -> Client {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    legacy::Client::builder(TokioExecutor::new()).build(connector)
}

/// Accepts connections until it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    accepting: JoinHandle<io::Result<()>>,
}

impl Server {
    pub(crate) async fn start(router: Router) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let serving = axum::serve(listener.tap_io(disable_nagle), router);
        let accepting = tokio::spawn(serving.into_future());
        Ok(Self { address, accepting })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Without this, small writes wait for an acknowledgement and show up as latency of the gateway.
fn disable_nagle(connection: &mut TcpStream) {
    let _ = connection.set_nodelay(true);
}
