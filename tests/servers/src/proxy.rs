//! A network between a client and a server, with what goes wrong in one.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::Server;

/// A port that leads to a server's socket. Its connections end when this is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    net: Arc<Net>,
}

/// What all connections share.
#[derive(Debug)]
struct Net {
    socket: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    delay: Duration,
    is_black_hole: bool,
    replies_to_drop: usize,
    is_closed: bool,
    /// Those that last are alive.
    connections: Vec<Weak<Ends>>,
}

impl Proxy {
    /// Listens on a free port of the loopback, for a server of Redis.
    ///
    /// # Panics
    ///
    /// Panics if no port is free.
    pub fn start(server: &Server) -> Self {
        Self::to(server.socket())
    }

    /// Listens on a free port of the loopback, for any server that listens on a socket.
    ///
    /// # Panics
    ///
    /// Panics if no port is free.
    pub fn to(socket: PathBuf) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let net = Net { socket, state: Mutex::default(), changed: Condvar::new() };
        let net = Arc::new(net);
        let shared = Arc::clone(&net);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.lock().is_closed {
                    return;
                }
                // A server that does not run refuses the connection.
                let _ = shared.connect(client);
            }
        });
        Proxy { address, net }
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the URL for the default user of Redis.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Holds all that arrives from now on for the time, in both directions.
    pub fn delay(&self, time: Duration) {
        self.net.change(|state| state.delay = time);
    }

    /// Ends all connections. New ones are accepted.
    pub fn cut(&self) {
        self.net.change(State::cut);
    }

    /// Loses the next replies: the server has received the commands, but the connection ends where
    /// the reply should come. What arrives together counts once.
    pub fn drop_replies(&self, count: usize) {
        self.net.change(|state| state.replies_to_drop = count);
    }

    /// Lets nothing through, in both directions, but accepts connections and keeps them.
    pub fn black_hole(&self) {
        self.net.change(|state| state.is_black_hole = true);
    }

    /// Ends the black hole. All that it has held arrives, as it does when TCP sends it again.
    pub fn heal(&self) {
        self.net.change(|state| state.is_black_hole = false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.net.change(|state| {
            state.is_closed = true;
            state.is_black_hole = false;
            state.cut();
        });
        // Wakes the thread that accepts connections, which then ends.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn cut(&mut self) {
        for ends in self.connections.drain(..).filter_map(|ends| ends.upgrade()) {
            ends.close();
        }
    }
}

impl Net {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn connect(self: &Arc<Self>, client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let server = UnixStream::connect(&self.socket)?;
        let ends = Arc::new(Ends { client: client.try_clone()?, server: server.try_clone()? });
        let mut state = self.lock();
        state.connections.retain(|ends| ends.strong_count() > 0);
        state.connections.push(Arc::downgrade(&ends));
        drop(state);
        self.carry(client.try_clone()?, server.try_clone()?, Direction::ToServer, Arc::clone(&ends));
        self.carry(server, client, Direction::ToClient, ends);
        Ok(())
    }

    /// Carries bytes in one direction, until one end is closed.
    fn carry(
        self: &Arc<Self>,
        mut from: impl Read + Send + 'static,
        mut to: impl Write + Send + 'static,
        direction: Direction,
        ends: Arc<Ends>,
    ) {
        // Two threads, so that bytes are read at the time at which they arrive.
        let (input, output) = mpsc::channel();
        let net = Arc::clone(self);
        thread::spawn(move || {
            let mut bytes = [0; 16 * 1024];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                let due = Instant::now() + net.lock().delay;
                if input.send((due, bytes[..count].to_vec())).is_err() {
                    break;
                }
            }
        });
        let net = Arc::clone(self);
        thread::spawn(move || {
            for (due, bytes) in output {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                if net.is_dropped(direction) || to.write_all(&bytes).is_err() {
                    break;
                }
            }
            ends.close();
        });
    }

    /// Waits while nothing is let through. Returns whether the bytes at hand are a reply to drop.
    fn is_dropped(&self, direction: Direction) -> bool {
        let state = self.changed.wait_while(self.lock(), |state| state.is_black_hole);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let is_dropped = direction == Direction::ToClient && state.replies_to_drop > 0;
        state.replies_to_drop -= usize::from(is_dropped);
        is_dropped
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

/// Both ends of a connection.
#[derive(Debug)]
struct Ends {
    client: TcpStream,
    server: UnixStream,
}

impl Ends {
    fn close(&self) {
        let _ = (self.client.shutdown(Shutdown::Both), self.server.shutdown(Shutdown::Both));
    }
}
