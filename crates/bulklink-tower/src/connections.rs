//! A limit on connections: a listener that takes a slot before it accepts.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink::runtime::Runtime;
use bulklink::{Bulkhead, EventFilter, EventKind, HandlerId, OwnedSlot, Reason, Rejection};
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long the listener waits to ask again, if no room lets it wait for a slot, and none of its
/// own connections is closed.
const PAUSE: Duration = Duration::from_millis(50);

/// A listener that limits connections: it takes a slot of its bulkhead before it accepts, and each
/// connection holds its slot until it is closed.
///
/// While no slot is free, nothing is accepted. The kernel then keeps a number of new connections in
/// its backlog, which is the place where clients wait, and in its order; the server has spent
/// nothing on them.
///
/// It is a listener of `axum::serve` around another one, with the feature `axum`:
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::{Router, routing::get};
/// use bulklink_tokio::Bulkhead;
/// use bulklink_tower::LimitedListener;
/// use tokio::net::TcpListener;
///
/// async fn serve() -> Result<(), Box<dyn std::error::Error>> {
///     let builder = Bulkhead::builder("connections");
///     let connections = builder.parallelism(1000).waiting_room(1).build()?;
///     let listener = TcpListener::bind("127.0.0.1:8080").await?;
///     let app = Router::new().route("/", get(async || "hello"));
///     axum::serve(LimitedListener::new(listener, &connections), app).await?;
///     Ok(())
/// }
/// # }
/// ```
///
/// In a loop of your own, such as one around the `auto` builder of hyper-util, call
/// [`accept`](LimitedListener::accept); where the listener is not one of tokio's, get the slot by
/// [`owned`](Bulkhead::owned) and make a [`Connection`] with it.
///
/// # The bulkhead
///
/// Give it a waiting room of one for each listener that uses it. The listener waits there for as
/// long as it takes, whatever the wait limit is. Without room it waits, too, but each of its
/// attempts counts as a rejection, and a slot that another listener or a [resize](Bulkhead::resize)
/// makes free is noticed up to 50 ms later.
///
/// A listener that waits for a client has a slot already, so `in_flight` is one more than there are
/// connections, and a listener without clients keeps one slot from other listeners.
///
/// Keep-alive connections keep their slots while they are idle: limit how long a server lets them
/// idle. What runs on a connection may need slots of other bulkheads, and must not need one of this
/// one.
///
/// # Closing
///
/// When the bulkhead is closed, the listener accepts nothing more and gives back the slot for the
/// next connection; open connections go on. [`accept`](LimitedListener::accept) then fails, and
/// `axum::serve` has no listeners that can fail, so it waits for its graceful shutdown. The kernel
/// fills its backlog until the listener is dropped, so shut the server down as well.
///
/// # Addresses
///
/// `ConnectInfo<SocketAddr>` is available behind `tap_io`, even of a closure that does nothing. The
/// rules for foreign traits permit no shorter way:
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::serve::ListenerExt;
/// use axum::{Router, extract::ConnectInfo, routing::get};
/// # use bulklink_tokio::Bulkhead;
/// # use bulklink_tower::LimitedListener;
/// use std::net::SocketAddr;
/// # use tokio::net::TcpListener;
///
/// # async fn serve(connections: Bulkhead) -> Result<(), Box<dyn std::error::Error>> {
/// async fn show(ConnectInfo(peer): ConnectInfo<SocketAddr>) -> String {
///     peer.to_string()
/// }
///
/// let listener = TcpListener::bind("127.0.0.1:8080").await?;
/// let listener = LimitedListener::new(listener, &connections)
///     .tap_io(|connection| drop(connection.get_ref().set_nodelay(true)));
/// let app = Router::new().route("/", get(show));
/// axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
/// # Ok(())
/// # }
/// # }
/// ```
#[derive(Debug)]
pub struct LimitedListener<L, R: Runtime> {
    listener: L,
    slots: Slots<R>,
}

pin_project! {
    /// A connection that holds a slot until it is dropped: a stream of tokio, with the properties
    /// of the stream `I` inside.
    #[derive(Debug)]
    pub struct Connection<I> {
        #[pin]
        io: I,
        // The last field, because the connection must be closed before its slot is free.
        held: Held,
    }
}

/// A slot, and the listener that hears of it when it is free.
#[derive(Debug)]
struct Held {
    slot: Option<OwnedSlot>,
    listener: Option<Arc<Notify>>,
}

/// Where the slots come from, apart from the listener, which need not be `Sync`.
struct Slots<R: Runtime> {
    bulkhead: Bulkhead<R>,
    /// Notified when a connection is closed, and when the bulkhead is.
    changed: Arc<Notify>,
    on_close: HandlerId,
}

impl<L, R: Runtime> LimitedListener<L, R> {
    /// Makes a listener of connections that hold slots of the bulkhead.
    pub fn new(listener: L, bulkhead: &Bulkhead<R>) -> Self {
        LimitedListener { listener, slots: Slots::new(bulkhead) }
    }

    /// Returns the listener inside.
    pub fn get_ref(&self) -> &L {
        &self.listener
    }
}

impl<R: Runtime> LimitedListener<TcpListener, R> {
    /// Acquires a slot, and then accepts a connection, which holds it.
    ///
    /// # Errors
    ///
    /// If the listener fails, as `TcpListener::accept` does. The slot is given back. If the process
    /// has too many open files, wait for some time before you call this again.
    ///
    /// If the bulkhead is closed: [`rejection`](crate::rejection) finds the rejection in the error.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives back the slot, or its place in the waiting room. No connection is
    /// lost.
    ///
    /// ```
    /// use axum::{Router, routing::get};
    /// # use bulklink_tokio::Tokio;
    /// # use bulklink_tower::LimitedListener;
    /// use hyper_util::rt::{TokioExecutor, TokioIo};
    /// use hyper_util::server::conn::auto;
    /// use hyper_util::service::TowerToHyperService;
    /// # use tokio::net::TcpListener;
    ///
    /// # async fn serve(mut listener: LimitedListener<TcpListener, Tokio>) -> std::io::Result<()> {
    /// let app: Router = Router::new().route("/", get(async || "hello"));
    /// loop {
    ///     let (connection, _) = listener.accept().await?;
    ///     let service = TowerToHyperService::new(app.clone());
    ///     tokio::spawn(async move {
    ///         let server = auto::Builder::new(TokioExecutor::new());
    ///         server.serve_connection_with_upgrades(TokioIo::new(connection), service).await
    ///     });
    /// }
    /// # }
    /// ```
    pub async fn accept(&mut self) -> io::Result<(Connection<TcpStream>, std::net::SocketAddr)> {
        self.slots.accept(self.listener.accept()).await
    }
}

#[cfg(unix)]
impl<R: Runtime> LimitedListener<tokio::net::UnixListener, R> {
    /// Acquires a slot, and then accepts a connection, which holds it: as for a `TcpListener`.
    ///
    /// # Errors
    ///
    /// If the listener fails, or the bulkhead is closed: as for a `TcpListener`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no slot and no connection: as for a `TcpListener`.
    pub async fn accept(&mut self) -> io::Result<(Connection<tokio::net::UnixStream>, tokio::net::unix::SocketAddr)> {
        self.slots.accept(self.listener.accept()).await
    }
}

#[cfg(feature = "axum")]
impl<L: axum::serve::Listener, R: Runtime<Sleep: Send>> axum::serve::Listener for LimitedListener<L, R> {
    type Io = Connection<L::Io>;
    type Addr = L::Addr;

    /// As the listener inside, which handles errors of its own; waits for ever if the bulkhead is
    /// closed.
    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.slots.in_slot(self.listener.accept()).await {
            Ok(((io, address), held)) => (Connection { io, held }, address),
            Err(_) => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

impl<R: Runtime> Slots<R> {
    fn new(bulkhead: &Bulkhead<R>) -> Self {
        let changed = Arc::new(Notify::new());
        let on_close = bulkhead.handle().add_event_handler(EventFilter::of(EventKind::Closed), {
            let changed = Arc::clone(&changed);
            move |_| changed.notify_one()
        });
        Slots { bulkhead: bulkhead.clone(), changed, on_close }
    }

    async fn accept<I, A>(&self, accept: impl Future<Output = io::Result<(I, A)>>) -> io::Result<(Connection<I>, A)> {
        let (accepted, held) = self.in_slot(accept).await.map_err(io::Error::other)?;
        let (io, address) = accepted?;
        Ok((Connection { io, held }, address))
    }

    /// Awaits `accept` in a slot, or the rejection of a closed bulkhead.
    async fn in_slot<T>(&self, accept: impl Future<Output = T>) -> Result<(T, Held), Rejection> {
        let mut accept = pin!(accept);
        loop {
            let held = self.slot().await?;
            let mut closed = pin!(self.closed());
            let accepted = poll_fn(|context| match accept.as_mut().poll(context) {
                Poll::Ready(accepted) => Poll::Ready(Some(accepted)),
                Poll::Pending => closed.as_mut().poll(context).map(|()| None),
            });
            if let Some(accepted) = accepted.await {
                return Ok((accepted, held));
            }
            // The next slot is rejected.
        }
    }

    async fn slot(&self) -> Result<Held, Rejection> {
        loop {
            match self.bulkhead.owned().slot().await {
                Ok(slot) => return Ok(Held { slot: Some(slot), listener: Some(Arc::clone(&self.changed)) }),
                Err(rejection) if rejection.reason() == Reason::Closed => return Err(rejection),
                // A slot that has been free since then has left a notification.
                Err(_) => drop(timeout(PAUSE, self.changed.notified()).await),
            }
        }
    }

    async fn closed(&self) {
        while !self.bulkhead.is_closed() {
            self.changed.notified().await;
        }
    }
}

impl<R: Runtime> Drop for Slots<R> {
    fn drop(&mut self) {
        self.bulkhead.handle().remove_event_handler(self.on_close);
    }
}

impl<R: Runtime> fmt::Debug for Slots<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").field("label", &self.bulkhead.label()).finish_non_exhaustive()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.slot.take());
        if let Some(listener) = &self.listener {
            listener.notify_one();
        }
    }
}

impl<I> Connection<I> {
    /// Makes a connection that holds a slot.
    pub fn new(io: I, slot: OwnedSlot) -> Self {
        Connection { io, held: Held { slot: Some(slot), listener: None } }
    }

    /// Returns the stream inside.
    pub fn get_ref(&self) -> &I {
        &self.io
    }

    /// Returns the stream inside.
    pub fn get_mut(&mut self) -> &mut I {
        &mut self.io
    }
}

impl<I: AsyncRead> AsyncRead for Connection<I> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.project().io.poll_read(context, buffer)
    }
}

impl<I: AsyncWrite> AsyncWrite for Connection<I> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.project().io.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().io.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().io.poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().io.poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
