//! The operations behind a bulkhead: how long a call takes, as more are in flight.

use crate::random::{Distribution, Random};

/// How a backend serves its calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Workers behind a hidden queue in FIFO order.
    Workers,
    /// Calls share the servers: `n` calls on `c` servers progress by `min(n, c)` in all.
    Sharing,
    /// Calls share one server by the universal scalability law: `n` calls progress by
    /// `n / (1 + contention (n - 1) + crosstalk n (n - 1))` in all.
    Scaling {
        /// The share of the work that only one call at a time can do.
        contention: f64,
        /// The work that each pair of calls adds.
        crosstalk: f64,
    },
    /// As many calls as connections share one server, as by [`Scaling`](Kind::Scaling); the others
    /// wait in a hidden queue in FIFO order.
    Pool {
        /// The share of the work that only one call at a time can do.
        contention: f64,
        /// The work that each pair of calls adds.
        crosstalk: f64,
    },
    /// The hold is fixed at the start by the number in flight: linear between these points of
    /// number and seconds, and constant beyond them.
    Curve(&'static [(f64, f64)]),
    /// At most as many calls as servers. Further ones fail after 5 ms, or are dropped: they never
    /// end by themselves.
    Capped {
        /// Whether further calls are dropped.
        drops: bool,
    },
    /// Tokens of a bucket; a call that finds none fails after 20 ms. Others take their work,
    /// whatever is in flight.
    Metered {
        /// Tokens that come each second.
        rate: f64,
        /// The most tokens in the bucket.
        burst: f64,
        /// The tokens that a call takes that fails; the bucket may owe as many as it can have.
        penalty: f64,
    },
}

/// A backend from a time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// When the phase begins, in seconds.
    pub from: f64,
    /// Workers, servers, connections or the cap, by the kind.
    pub servers: f64,
    /// A factor of the work of calls that begin.
    pub work: f64,
    /// The speed of the work; zero is a pause.
    pub speed: f64,
    /// The share of the calls that begin and never end by themselves.
    pub lost: f64,
}

impl Phase {
    /// A phase at full speed.
    pub const fn new(from: f64, servers: f64) -> Self {
        Phase { from, servers, work: 1.0, speed: 1.0, lost: 0.0 }
    }

    /// Returns it with a factor of the work.
    pub const fn work(self, work: f64) -> Self {
        Phase { work, ..self }
    }

    /// Returns it at another speed.
    pub const fn speed(self, speed: f64) -> Self {
        Phase { speed, ..self }
    }

    /// Returns it with a share of calls that never end by themselves.
    pub const fn lost(self, lost: f64) -> Self {
        Phase { lost, ..self }
    }
}

/// What a bulkhead protects.
#[derive(Clone, Debug)]
pub struct Backend {
    /// How it serves calls.
    pub kind: Kind,
    /// The mean work of a call, in seconds.
    pub service: f64,
    /// The distribution of the work around its mean.
    pub distribution: Distribution,
    /// The phases, in order; the first begins at zero.
    pub phases: Vec<Phase>,
}

impl Backend {
    /// Creates a backend of one phase.
    pub fn new(kind: Kind, servers: f64, service: f64, distribution: Distribution) -> Self {
        Backend { kind, service, distribution, phases: vec![Phase::new(0.0, servers)] }
    }

    /// Returns it with these phases.
    pub fn phases(self, phases: impl IntoIterator<Item = Phase>) -> Self {
        Backend { phases: phases.into_iter().collect(), ..self }
    }

    /// Returns it with further phases: pauses that begin at these times and end this much later.
    pub fn pauses(mut self, times: impl IntoIterator<Item = f64>, seconds: f64) -> Self {
        let phase = self.phases[0];
        for from in times {
            self.phases.push(Phase { from, speed: 0.0, ..phase });
            self.phases.push(Phase { from: from + seconds, ..phase });
        }
        self
    }

    /// Returns the phase at a time.
    pub fn at(&self, time: f64) -> Phase {
        let next = self.phases.partition_point(|phase| phase.from <= time);
        self.phases[next.saturating_sub(1)]
    }

    /// Draws the work of a call, as a multiple of the mean.
    pub fn draw(&self, random: &mut Random) -> f64 {
        self.distribution.draw(random)
    }

    /// Returns when work ends that begins at a time, through changes of speed.
    pub fn end(&self, start: f64, work: f64) -> f64 {
        let (mut time, mut left) = (start, work);
        let mut index = self.phases.partition_point(|phase| phase.from <= start).saturating_sub(1);
        loop {
            let speed = self.phases[index].speed;
            let Some(next) = self.phases.get(index + 1) else { return time + left / speed.max(1e-9) };
            if speed > 0.0 && time + left / speed <= next.from {
                return time + left / speed;
            }
            left -= (next.from - time) * speed;
            time = next.from;
            index += 1;
        }
    }

    /// Returns how fast each of `count` calls progresses that share the servers of a phase.
    pub fn progress(&self, count: usize, phase: &Phase) -> f64 {
        if count == 0 {
            return 0.0;
        }
        let count = count as f64;
        let law = |count: f64, contention: f64, crosstalk: f64| {
            1.0 / (1.0 + contention * (count - 1.0) + crosstalk * count * (count - 1.0))
        };
        phase.speed
            * match self.kind {
                Kind::Scaling { contention, crosstalk } => law((count / phase.servers).max(1.0), contention, crosstalk),
                Kind::Pool { contention, crosstalk } => law(count, contention, crosstalk),
                _ => (phase.servers / count).min(1.0),
            }
    }
}

/// Returns the value at `x` of the line through these points.
pub fn interpolate(points: &[(f64, f64)], x: f64) -> f64 {
    let (first, last) = (points[0], points[points.len() - 1]);
    if x <= first.0 {
        return first.1;
    }
    let piece = points.windows(2).find(|piece| x <= piece[1].0);
    piece.map_or(last.1, |piece| {
        let part = (x - piece[0].0) / (piece[1].0 - piece[0].0);
        piece[0].1 + part * (piece[1].1 - piece[0].1)
    })
}
