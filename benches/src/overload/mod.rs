//! Goodput under overload: how many requests are answered in time while more come than the upstream
//! can serve, by what protects the upstream.
//!
//! Clients send the requests of a [scene](scene::Scene) over loopback to a server of axum, whatever
//! became of the earlier ones, and close the connection at the deadline. The server passes each
//! request to the [upstream], unless the [protection](front::Protection) in front rejects it.
//! Server and clients have a thread each.
//!
//! [`adaptive`] has the scenes for limits that find themselves.

pub mod adaptive;
pub mod front;
pub mod load;
pub mod plot;
pub mod report;
pub mod scene;
pub mod tally;
pub mod upstream;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tokio::time::Instant;

use self::front::Protection;
use self::scene::{GREEDY, Scene};
use self::tally::{Figures, Used, Window};
use self::upstream::Upstream;

/// In what time a client wants its answer.
pub const DEADLINE: Duration = Duration::from_millis(200);

/// How long each combination runs.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The time before the measurement.
    pub warm_up: Duration,
    /// The time that is measured; of tenants twice as long, as the most of them send little.
    pub measured: Duration,
    /// The same for bursts: whole periods of them.
    pub bursts: Duration,
}

impl Effort {
    /// For figures to keep.
    pub const FULL: Effort =
        Effort { warm_up: Duration::from_secs(1), measured: Duration::from_secs(4), bursts: Duration::from_secs(12) };

    /// For a first look.
    pub const QUICK: Effort = Effort {
        warm_up: Duration::from_millis(300),
        measured: Duration::from_millis(800),
        bursts: Duration::from_millis(1_500),
    };
}

/// The figures of one combination.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The protection in front of the upstream.
    pub protection: Protection,
    /// The calls that were sent.
    pub scene: Scene,
    /// The figures of all calls, or of the tenants within their share.
    pub figures: Figures,
    /// The figures of the tenant that sends more than its share, if there is one.
    pub greedy: Option<Figures>,
    /// How the upstream's capacity was used.
    pub used: Used,
}

/// Runs these scenes, the protections of a scene one after the other, and passes each outcome
/// to `seen`.
///
/// # Errors
///
/// If the system lacks the resources.
pub fn run(
    scenes: impl IntoIterator<Item = Scene>,
    effort: Effort,
    mut seen: impl FnMut(&Outcome),
) -> io::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for scene in scenes {
        for protection in scene.protections() {
            let outcome = measure(protection, scene, effort)?;
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
pub fn measure(protection: Protection, scene: Scene, effort: Effort) -> io::Result<Outcome> {
    let upstream = Arc::new(Upstream::new());
    let (server, clients) = (one_thread()?, one_thread()?);
    let address = serve(&server, front::protected(protection, &upstream))?;
    let measured = match scene {
        Scene::Load(_) => effort.measured,
        Scene::Bursts => effort.bursts,
        Scene::Tenants => 2 * effort.measured,
    };
    let script = scene.script(effort.warm_up + measured);
    let begin = Instant::now() + Duration::from_millis(20);
    let sent = clients.block_on(load::send(address, &script, begin));
    // Calls that are still in the server have no clients any more.
    server.shutdown_background();
    let window = Window { begin: begin + effort.warm_up, end: begin + effort.warm_up + measured };
    let figures = |tenants| tally::figures(&sent, &upstream.begun(), window, tenants);
    let greedy = (scene == Scene::Tenants).then(|| figures(GREEDY..=GREEDY));
    let used = tally::used(&sent, &upstream.works(), window);
    Ok(Outcome { protection, scene, figures: figures(0..=GREEDY - 1), greedy, used })
}

fn one_thread() -> io::Result<Runtime> {
    runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

fn serve(server: &Runtime, front: Router) -> io::Result<SocketAddr> {
    let listener = server.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let listener = axum::serve::ListenerExt::tap_io(listener, |connection| {
        // Without it, an answer may wait for an acknowledgement.
        let _ = connection.set_nodelay(true);
    });
    server.spawn(async move { axum::serve(listener, front).await });
    Ok(address)
}
