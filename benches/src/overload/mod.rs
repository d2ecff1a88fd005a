//! Goodput under overload: how many requests are answered in time while more come than the upstream
//! can serve, by what protects the upstream.
//!
//! Clients send requests over loopback to a server of axum, whatever became of the earlier ones,
//! and close the connection at the deadline. The server passes each request to the
//! [upstream], unless the [protection](front::Protection) in front rejects it. Server and
//! clients have a thread each.

pub mod front;
pub mod load;
pub mod plot;
pub mod report;
pub mod tally;
pub mod upstream;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tokio::time::Instant;

use self::front::Protection;
use self::tally::{Figures, Window};
use self::upstream::Upstream;

/// The offered loads, as multiples of the upstream's capacity.
pub const LOADS: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 10.0];

/// In what time a client wants its answer.
pub const DEADLINE: Duration = Duration::from_millis(200);

/// How long each combination runs.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The time before the measurement.
    pub warm_up: Duration,
    /// The time that is measured.
    pub measured: Duration,
}

impl Effort {
    /// For figures to keep.
    pub const FULL: Effort = Effort { warm_up: Duration::from_secs(1), measured: Duration::from_secs(4) };

    /// For a first look.
    pub const QUICK: Effort = Effort { warm_up: Duration::from_millis(300), measured: Duration::from_millis(800) };
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The protection in front of the upstream.
    pub protection: Protection,
    /// The offered load, as a multiple of the upstream's capacity.
    pub load: f64,
    /// The measured figures.
    pub figures: Figures,
}

/// Runs every combination, the protections of a load one after the other, and passes each outcome
/// to `seen`.
///
/// # Errors
///
/// If the system lacks the resources.
pub fn run(effort: Effort, mut seen: impl FnMut(&Outcome)) -> io::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for load in LOADS {
        for protection in Protection::ALL {
            let figures = measure(protection, load, effort)?;
            let outcome = Outcome { protection, load, figures };
            seen(&outcome);
            outcomes.push(outcome);
        }
    }
    Ok(outcomes)
}

/// Measures one combination, with an upstream, a server and clients of its own.
///
/// # Errors
///
/// If the system lacks the resources.
pub fn measure(protection: Protection, load: f64, effort: Effort) -> io::Result<Figures> {
    let upstream = Arc::new(Upstream::new());
    let (server, clients) = (one_thread()?, one_thread()?);
    let address = serve(&server, protection, &upstream)?;
    let begin = Instant::now() + Duration::from_millis(20);
    let end = begin + effort.warm_up + effort.measured;
    let sent = clients.block_on(load::send(address, load * upstream::CAPACITY, begin, end));
    // Calls that are still in the server have no clients any more.
    server.shutdown_background();
    let window = Window { begin: begin + effort.warm_up, end };
    Ok(tally::figures(&sent, &upstream.begun(), window))
}

fn one_thread() -> io::Result<Runtime> {
    runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

fn serve(server: &Runtime, protection: Protection, upstream: &Arc<Upstream>) -> io::Result<SocketAddr> {
    let listener = server.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let listener = axum::serve::ListenerExt::tap_io(listener, |connection| {
        // Without it, an answer may wait for an acknowledgement.
        let _ = connection.set_nodelay(true);
    });
    let front = front::protected(protection, upstream);
    server.spawn(async move { axum::serve(listener, front).await });
    Ok(address)
}
