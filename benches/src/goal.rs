//! What a goal is made of: rows, each with two figures and a limit.

use crate::scene::Scene;

/// A promise of how fast or how small, by its id.
#[derive(Debug)]
pub struct Goal {
    /// As in the table of goals.
    pub id: &'static str,
    /// All that must hold, and what is told for information.
    pub rows: Vec<Row>,
}

/// One comparison.
#[derive(Debug)]
pub struct Row {
    /// In words.
    pub what: String,
    /// Whom ours is compared with.
    pub peer: &'static str,
    /// What is measured.
    pub figure: Figure,
    /// What must hold; a row without is for information.
    pub limit: Option<Limit>,
    /// Where the limit is missed, what at least must hold: the gate lets it get no worse.
    pub at_least: Option<Limit>,
}

/// What is measured, and where.
#[derive(Debug)]
pub enum Figure {
    /// Time of one operation, ours and the peer's, in rounds that alternate.
    Time(Scene, Scene),
    /// Instructions of one operation, ours and the peer's.
    Instructions(Scene, Scene),
    /// Instructions of our own operation under several conditions: the most and the least.
    Spread(Vec<Scene>),
    /// Instructions of our own operation, in the usual build and in one without statistics.
    Builds(Scene),
    /// Instructions of our own operation that are spent in functions whose names hold one of these words.
    Within(Scene, &'static [&'static str]),
    /// Bytes or allocations: two readings of the memory program, by name, and their unit.
    Memory(String, String, &'static str),
    /// Time of our operation in a row that is timed anyway, and a reading of the Python script.
    Python(&'static str, &'static str),
    /// A reading of the embedded build, and its unit.
    Embedded(&'static str, &'static str),
}

/// What must hold of the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Ours ÷ the peer's is at most this.
    Ratio(f64),
    /// Ours is at most this.
    Ours(f64),
    /// Ours − the peer's is at most this.
    More(f64),
}

impl Row {
    /// A row for information; [`at_most`](Row::at_most) and its like make it a goal.
    pub fn new(what: impl Into<String>, peer: &'static str, figure: Figure) -> Self {
        Row { what: what.into(), peer, figure, limit: None, at_least: None }
    }

    /// Time against a peer.
    pub fn time(what: impl Into<String>, peer: &'static str, ours: Scene, theirs: Scene) -> Self {
        Row::new(what, peer, Figure::Time(ours, theirs))
    }

    /// Instructions against a peer.
    pub fn instructions(what: impl Into<String>, peer: &'static str, ours: Scene, theirs: Scene) -> Self {
        Row::new(what, peer, Figure::Instructions(ours, theirs))
    }

    /// With a limit on ours ÷ the peer's.
    #[must_use]
    pub fn at_most(self, ratio: f64) -> Self {
        self.limit(Limit::Ratio(ratio))
    }

    /// For a limit that is missed: the ratio which the gate fails beyond. The row still says that it is missed.
    #[must_use]
    pub fn missed_at(mut self, ratio: f64) -> Self {
        self.at_least = Some(Limit::Ratio(ratio));
        self
    }

    /// As [`missed_at`](Row::missed_at), for a limit on ours alone.
    #[must_use]
    pub fn missed_at_ours(mut self, ours: f64) -> Self {
        self.at_least = Some(Limit::Ours(ours));
        self
    }

    /// With a limit.
    #[must_use]
    pub fn limit(mut self, limit: Limit) -> Self {
        self.limit = Some(limit);
        self
    }
}

impl Limit {
    /// The bare number.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Limit::Ratio(limit) | Limit::Ours(limit) | Limit::More(limit) => limit,
        }
    }
}

impl Figure {
    /// Whether the same comes out every time, so that it may fail a build.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !matches!(self, Figure::Time(..) | Figure::Python(..))
    }
}
