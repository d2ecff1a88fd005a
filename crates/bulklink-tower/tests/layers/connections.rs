//! A limit on connections, over real sockets.

use std::convert::Infallible;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use axum::serve::{Listener, ListenerExt};
use bulklink_tokio::{Bulkhead, Reason, Tokio};
use bulklink_tower::{Connection, LimitedListener, rejection};
use futures_util::FutureExt;
use futures_util::future::join_all;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);
/// Long enough for a server on the loopback to answer, if it wanted to.
const MOMENT: Duration = Duration::from_millis(100);

fn connections(limit: usize) -> Bulkhead {
    Bulkhead::builder("connections").parallelism(limit).waiting_room(1).build().unwrap()
}

async fn listen(bulkhead: &Bulkhead) -> (LimitedListener<TcpListener, Tokio>, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (LimitedListener::new(listener, bulkhead), address)
}

/// A server on axum, and what shuts it down.
struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    async fn start(bulkhead: &Bulkhead) -> Self {
        let (listener, address) = listen(bulkhead).await;
        let (stop, stopped) = oneshot::channel();
        let app = Router::new().route("/", get(async || "served"));
        let server = axum::serve(listener, app).with_graceful_shutdown(async { drop(stopped.await) });
        Server { address, stop, task: tokio::spawn(server.into_future()) }
    }

    async fn shut_down(self) {
        drop(self.stop);
        timeout(LONG, self.task).await.expect("it ends").unwrap().unwrap();
    }
}

struct Client(TcpStream);

impl Client {
    async fn connect(address: SocketAddr) -> Self {
        Client(timeout(LONG, TcpStream::connect(address)).await.unwrap().unwrap())
    }

    async fn ask(&mut self) {
        self.0.write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
    }

    async fn is_answered(&mut self, within: Duration) -> bool {
        let mut answer = Vec::new();
        let read = async {
            while !answer.ends_with(b"served") {
                answer.push(self.0.read_u8().await.unwrap());
            }
        };
        timeout(within, read).await.is_ok()
    }

    async fn is_served(&mut self) -> bool {
        self.ask().await;
        self.is_answered(LONG).await
    }
}

async fn until(condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(LONG, holds).await.expect("it never holds");
}

fn idle(bulkhead: &Bulkhead) -> bool {
    let status = bulkhead.status();
    (status.in_flight, status.waiting) == (0, 0)
}

#[tokio::test]
async fn never_more_connections_are_open_than_the_limit_and_each_is_served() {
    let bulkhead = connections(3);
    let (mut listener, address) = listen(&bulkhead).await;
    let open = Arc::new(AtomicUsize::new(0));
    let peak = Arc::new(AtomicUsize::new(0));
    let server = tokio::spawn({
        let (open, peak) = (Arc::clone(&open), Arc::clone(&peak));
        async move {
            loop {
                let (mut connection, _) = listener.accept().await.unwrap();
                peak.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let open = Arc::clone(&open);
                tokio::spawn(async move {
                    let byte = connection.read_u8().await.unwrap();
                    sleep(Duration::from_millis(2)).await;
                    connection.write_u8(byte + 1).await.unwrap();
                    assert_eq!(connection.read_u8().await.ok(), None);
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        }
    });
    let clients = (0..40).map(|byte| async move {
        let mut client = Client::connect(address).await.0;
        client.write_u8(byte).await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), byte + 1);
    });
    timeout(LONG, join_all(clients)).await.expect("each is served");
    assert_eq!(peak.load(Ordering::SeqCst), 3);
    until(|| bulkhead.status().in_flight == 1).await;
    server.abort();
    until(|| idle(&bulkhead)).await;
}

#[tokio::test]
async fn on_axum_a_connection_beyond_the_limit_is_served_when_another_is_closed() {
    let bulkhead = connections(1);
    let server = Server::start(&bulkhead).await;
    let (mut first, mut second) = (Client::connect(server.address).await, Client::connect(server.address).await);
    assert!(first.is_served().await);
    second.ask().await;
    assert!(!second.is_answered(MOMENT).await);
    assert!(first.is_served().await, "a connection that is kept alive keeps its slot");
    drop(first);
    assert!(second.is_answered(LONG).await);
    drop(second);
    server.shut_down().await;
    assert!(idle(&bulkhead));
    assert_eq!(bulkhead.status().totals.rejected(), 0);
}

#[tokio::test]
async fn a_client_that_sends_nothing_holds_a_slot_and_one_that_has_sent_all_is_answered() {
    let bulkhead = connections(2);
    let server = Server::start(&bulkhead).await;
    let silent = Client::connect(server.address).await;
    until(|| bulkhead.status().in_flight == 2).await;
    let mut half_open = Client::connect(server.address).await;
    half_open.ask().await;
    half_open.0.shutdown().await.unwrap();
    assert!(half_open.is_answered(LONG).await);
    // The server closes the connection that the client has half closed.
    assert_eq!(half_open.0.read(&mut [0]).await.unwrap(), 0);
    assert!(Client::connect(server.address).await.is_served().await);
    drop(silent);
    server.shut_down().await;
    assert!(idle(&bulkhead));
}

#[tokio::test]
async fn a_graceful_shutdown_ends_a_listener_that_waits_for_a_slot_or_for_a_client() {
    for limit in [1, 2] {
        let bulkhead = connections(limit);
        let server = Server::start(&bulkhead).await;
        let mut client = Client::connect(server.address).await;
        assert!(client.is_served().await);
        until(|| bulkhead.status().in_flight == limit && bulkhead.status().waiting == 2 - limit).await;
        server.shut_down().await;
        assert!(idle(&bulkhead), "{limit}");
    }
}

#[tokio::test]
async fn a_closed_bulkhead_accepts_nothing_and_keeps_what_is_open() {
    let bulkhead = connections(2);
    let server = Server::start(&bulkhead).await;
    let mut open = Client::connect(server.address).await;
    assert!(open.is_served().await);
    bulkhead.close();
    until(|| bulkhead.status().in_flight == 1).await;
    let mut late = Client::connect(server.address).await;
    late.ask().await;
    assert!(!late.is_answered(MOMENT).await);
    assert!(open.is_served().await);
    server.shut_down().await;
    timeout(LONG, bulkhead.handle().closed()).await.expect("no slot is held");
}

#[tokio::test]
async fn accepting_fails_with_the_rejection_of_a_closed_bulkhead() {
    let bulkhead = connections(1);
    let (mut listener, _) = listen(&bulkhead).await;
    let (error, ()) = tokio::join!(timeout(LONG, listener.accept()), async {
        assert_eq!(bulkhead.status().in_flight, 1);
        bulkhead.close();
    });
    let error = error.expect("it ends").unwrap_err();
    assert_eq!(rejection(&error).unwrap().reason(), Reason::Closed);
    assert!(listener.accept().await.is_err());
    assert!(idle(&bulkhead));
}

#[tokio::test]
async fn accepting_that_is_dropped_loses_no_slot_and_no_connection() {
    let bulkhead = connections(1);
    let (mut listener, address) = listen(&bulkhead).await;
    for _ in 0..100 {
        assert!(listener.accept().now_or_never().is_none());
        assert!(idle(&bulkhead));
    }
    let slot = bulkhead.try_slot().unwrap();
    assert!(timeout(Duration::from_millis(5), listener.accept()).await.is_err());
    drop(slot);
    assert!(idle(&bulkhead));
    let client = Client::connect(address).await;
    let (connection, peer) = timeout(LONG, listener.accept()).await.unwrap().unwrap();
    assert_eq!(peer, client.0.local_addr().unwrap());
    assert_eq!(bulkhead.status().in_flight, 1);
    drop(connection);
    assert!(idle(&bulkhead));
}

#[tokio::test]
async fn accepting_that_fails_gives_its_slot_back() {
    let bulkhead = connections(1);
    let deaf = TcpSocket::new_v4().unwrap().as_fd().try_clone_to_owned().unwrap();
    let deaf = std::net::TcpListener::from(deaf);
    deaf.set_nonblocking(true).unwrap();
    let mut listener = LimitedListener::new(TcpListener::from_std(deaf).unwrap(), &bulkhead);
    let error = timeout(LONG, listener.accept()).await.unwrap().unwrap_err();
    assert!(rejection(&error).is_none(), "{error}");
    assert!(idle(&bulkhead));
}

#[tokio::test]
async fn without_room_to_wait_in_a_connection_is_served_when_another_is_closed() {
    let bulkhead = Bulkhead::builder("connections").parallelism(1).build().unwrap();
    let server = Server::start(&bulkhead).await;
    let (mut first, mut second) = (Client::connect(server.address).await, Client::connect(server.address).await);
    assert!(first.is_served().await);
    second.ask().await;
    assert!(!second.is_answered(MOMENT).await);
    drop(first);
    assert!(second.is_answered(LONG).await);
    // A slot that no connection of the listener gives back.
    bulkhead.resize(2).unwrap();
    until(|| bulkhead.status().in_flight == 2).await;
    drop(second);
    server.shut_down().await;
    assert!(idle(&bulkhead));
}

/// A listener that always has a client.
struct Crowd;

impl Listener for Crowd {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        (duplex(1).0, ())
    }

    fn local_addr(&self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn without_room_to_wait_in_the_listener_hears_of_its_connections_at_once_and_of_others_soon() {
    let bulkhead = Bulkhead::builder("connections").parallelism(1).build().unwrap();
    let mut listener = LimitedListener::new(Crowd, &bulkhead);
    let (first, ()) = listener.accept().await;
    let begun = Instant::now();
    let accepted = tokio::join!(listener.accept(), async {
        sleep(Duration::from_millis(5)).await;
        drop(first);
    });
    assert_eq!(begun.elapsed(), Duration::from_millis(5));
    drop(accepted);
    let slot = bulkhead.try_slot().unwrap();
    let begun = Instant::now();
    tokio::join!(listener.accept(), async {
        sleep(Duration::from_millis(5)).await;
        drop(slot);
    });
    assert!(begun.elapsed() <= Duration::from_millis(55), "{:?}", begun.elapsed());
    assert!(idle(&bulkhead));
}

#[tokio::test]
async fn a_wait_limit_does_not_end_the_wait_for_a_slot() {
    let builder = Bulkhead::builder("connections").parallelism(1).waiting_room(1);
    let bulkhead = builder.wait_limit(Duration::from_millis(10)).build().unwrap();
    let server = Server::start(&bulkhead).await;
    let mut first = Client::connect(server.address).await;
    assert!(first.is_served().await);
    until(|| bulkhead.status().totals.expired > 1).await;
    let mut second = Client::connect(server.address).await;
    second.ask().await;
    drop(first);
    assert!(second.is_answered(LONG).await);
}

#[tokio::test]
async fn with_hyper_util_all_streams_of_a_connection_share_its_slot() {
    let bulkhead = connections(1);
    let (mut listener, address) = listen(&bulkhead).await;
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let service = tower::service_fn(async |_| {
                sleep(Duration::from_millis(5)).await;
                Ok::<_, Infallible>(http::Response::new("served".to_owned()))
            });
            let server = auto::Builder::new(TokioExecutor::new());
            tokio::spawn(async move {
                let service = TowerToHyperService::new(service);
                drop(server.serve_connection(TokioIo::new(connection), service).await);
            });
        }
    });
    let client = || reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let ask = move |client: reqwest::Client| async move {
        let response = client.get(format!("http://{address}/")).send().await.unwrap();
        assert_eq!(response.version(), http::Version::HTTP_2);
        response.text().await.unwrap()
    };
    let first = client();
    let answers = timeout(LONG, join_all((0..50).map(|_| ask(first.clone())))).await.unwrap();
    assert!(answers.iter().all(|answer| answer == "served"));
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().totals.admitted), (1, 1));
    let second = tokio::spawn(ask(client()));
    sleep(MOMENT).await;
    assert!(!second.is_finished());
    drop(first);
    assert_eq!(timeout(LONG, second).await.unwrap().unwrap(), "served");
}

#[tokio::test]
async fn an_axum_handler_finds_the_address_of_its_client() {
    let (listener, address) = listen(&connections(1)).await;
    let listener = listener.tap_io(|connection| connection.get_ref().set_nodelay(true).unwrap());
    let app = Router::new()
        .route("/", get(async |ConnectInfo(peer): ConnectInfo<SocketAddr>| format!("{} served", peer.port())));
    tokio::spawn(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).into_future());
    let mut client = Client::connect(address).await;
    client.ask().await;
    let mut answer = String::new();
    while !answer.ends_with("served") {
        answer.push(char::from(client.0.read_u8().await.unwrap()));
    }
    assert!(answer.contains(&format!("{} served", client.0.local_addr().unwrap().port())), "{answer}");
}

#[tokio::test]
async fn a_connection_is_the_stream_inside_with_its_vectored_writes() {
    let bulkhead = connections(1);
    let path = std::env::temp_dir().join(format!("bulklink-tower-{}.socket", std::process::id()));
    let mut listener = LimitedListener::new(UnixListener::bind(&path).unwrap(), &bulkhead);
    let mut client = UnixStream::connect(&path).await.unwrap();
    std::fs::remove_file(path).unwrap();
    let (mut connection, _) = listener.accept().await.unwrap();
    assert_eq!(connection.is_write_vectored(), connection.get_ref().is_write_vectored());
    let parts = [IoSlice::new(b"one "), IoSlice::new(b"two")];
    assert_eq!(connection.write_vectored(&parts).await.unwrap(), 7);
    connection.shutdown().await.unwrap();
    let mut text = String::new();
    timeout(LONG, client.read_to_string(&mut text)).await.expect("it ends").unwrap();
    assert_eq!(text, "one two");
    client.write_all(b"three").await.unwrap();
    drop(client);
    text.clear();
    connection.read_to_string(&mut text).await.unwrap();
    assert_eq!((&*text, bulkhead.status().in_flight), ("three", 1));
    drop(connection);
    let slot = bulkhead.owned().try_slot().unwrap();
    let by_hand = Connection::new((), slot);
    assert_eq!(bulkhead.status().in_flight, 1);
    drop(by_hand);
    assert!(idle(&bulkhead));
}
