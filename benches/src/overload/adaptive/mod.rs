//! Goodput under overload with limits that find themselves, beside limits that are right, and that
//! are wrong.
//!
//! Clients and server are those of the other [scenes](super). The upstream is a
//! [model](station::Station) whose capacity may change.

pub mod front;
pub mod report;
mod rules;
pub mod scene;
pub mod station;
pub mod tally;
pub mod upstream;

use std::io;
use std::time::Duration;

use tokio::time::{Instant, interval_at};

use self::front::{Guard, Probe, guarded};
use self::scene::Scene;
use self::tally::{Reading, Recovery};
use self::upstream::Upstream;
use super::tally::{Figures, Window, figures};
use super::{load, one_thread, serve};

/// The fixed limits of the sweep.
pub const FIXED: [usize; 11] = [4, 6, 8, 12, 16, 24, 32, 40, 48, 64, 96];

/// From one reading of the limit to the next.
const READ: Duration = Duration::from_millis(20);

/// How long each combination runs.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The time before the measurement.
    pub warm_up: Duration,
    /// The time that is measured; of [`Scene::Capacity`], the time of each phase.
    pub measured: Duration,
}

impl Effort {
    /// For figures to keep.
    pub const FULL: Effort = Effort { warm_up: Duration::from_secs(2), measured: Duration::from_secs(10) };

    /// For a first look.
    pub const QUICK: Effort = Effort { warm_up: Duration::from_millis(200), measured: Duration::from_millis(400) };

    /// Returns when the upstream's capacity changes, from the beginning on.
    #[must_use]
    pub fn steps(self) -> [Duration; 2] {
        [1, 2].map(|phases| self.warm_up + phases * self.measured)
    }

    /// Returns how long a scene is measured.
    fn length(self, scene: Scene) -> Duration {
        if scene == Scene::Capacity { 3 * self.measured } else { self.measured }
    }
}

/// The figures of one combination.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The limit in front of the upstream.
    pub guard: Guard,
    /// The calls and the upstream.
    pub scene: Scene,
    /// The figures of all calls.
    pub figures: Figures,
    /// The mean of the limit over time.
    pub mean_limit: f64,
    /// The answers in time in each phase of the capacity, per second, if there are several.
    pub phases: Vec<f64>,
    /// After each change of the capacity, the time until it was in use.
    pub recoveries: Vec<Recovery>,
    /// The limit and the answers over time.
    pub readings: Vec<Reading>,
}

/// Runs every combination, the guards of a scene one after the other, and passes each outcome to
/// `seen`.
///
/// # Errors
///
/// If the system lacks the resources.
pub fn run(effort: Effort, seen: impl FnMut(&Outcome)) -> io::Result<Vec<Outcome>> {
    let of = |scene| Guard::all(scene).map(|guard| (guard, scene));
    measure_all(Scene::ALL.into_iter().flat_map(of), effort, seen)
}

/// Runs every scene with all the [`FIXED`] limits, and passes each outcome to `seen`.
///
/// # Errors
///
/// If the system lacks the resources.
pub fn sweep(effort: Effort, seen: impl FnMut(&Outcome)) -> io::Result<Vec<Outcome>> {
    let of = |scene| FIXED.map(|limit| (Guard::Fixed(limit), scene));
    measure_all(Scene::ALL.into_iter().flat_map(of), effort, seen)
}

fn measure_all(
    combinations: impl Iterator<Item = (Guard, Scene)>,
    effort: Effort,
    mut seen: impl FnMut(&Outcome),
) -> io::Result<Vec<Outcome>> {
    let outcomes = combinations.map(|(guard, scene)| measure(guard, scene, effort));
    outcomes.inspect(|outcome| outcome.iter().for_each(&mut seen)).collect()
}

/// Measures one combination, with an upstream, a server and clients of its own.
///
/// # Errors
///
/// If the system lacks the resources.
pub fn measure(guard: Guard, scene: Scene, effort: Effort) -> io::Result<Outcome> {
    let (server, clients) = (one_thread()?, one_thread()?);
    let length = effort.warm_up + effort.length(scene);
    let script = scene.script(length);
    let begin = Instant::now() + Duration::from_millis(20);
    let upstream = Upstream::new(scene.plan(effort), begin);
    let (front, probe) = guarded(guard, &upstream);
    let address = serve(&server, front)?;
    server.spawn(upstream.clone().run());
    let limits = clients.spawn(read(probe, begin, length));
    let (sent, limits) = clients.block_on(async { (load::send(address, &script, begin).await, limits.await) });
    // Calls that are still in the server have no clients any more.
    server.shutdown_background();
    let limits = limits.map_err(io::Error::other)?;
    let window = Window { begin: begin + effort.warm_up, end: begin + length };
    let answers = tally::answers(&sent, begin);
    let has_phases = scene == Scene::Capacity;
    Ok(Outcome {
        guard,
        scene,
        figures: figures(&sent, &upstream.begun(), window, 0..=0),
        mean_limit: tally::mean(&limits, effort.warm_up),
        phases: if has_phases { tally::phases(&answers, effort) } else { Vec::new() },
        recoveries: if has_phases { tally::recoveries(&answers, effort) } else { Vec::new() },
        readings: tally::readings(&limits, &answers, length),
    })
}

/// Returns the limits from the beginning on, at equal distances of [`READ`].
async fn read(probe: Probe, begin: Instant, length: Duration) -> Vec<usize> {
    let mut interval = interval_at(begin, READ);
    let mut limits = Vec::new();
    while READ * u32::try_from(limits.len()).unwrap_or(u32::MAX) < length {
        interval.tick().await;
        limits.push(probe());
    }
    limits
}
