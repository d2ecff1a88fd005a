//! A goal: rows, each with two figures and a limit.

use crate::scene::Scene;

/// The peer of a row that compares with nothing.
pub const NO_PEER: &str = "-";

/// A promise about speed or size.
#[derive(Debug)]
pub struct Goal {
    /// The name in the table's first column.
    pub id: &'static str,
    /// The rows with a limit, and the rows for information.
    pub rows: Vec<Row>,
    /// How many runs the timed rows are judged over, by the median. Each run is a process.
    pub runs: usize,
}

/// One comparison.
#[derive(Debug)]
pub struct Row {
    /// The measured quantity, in words.
    pub what: String,
    /// The name of what ours is compared with, or [`NO_PEER`].
    pub peer: &'static str,
    /// The measured quantity, and how.
    pub figure: Figure,
    /// The limit, or none for a row for information.
    pub limit: Option<Limit>,
    /// The limit that the gate applies instead when `limit` is missed, so that the figure gets no
    /// worse.
    pub at_least: Option<Limit>,
    /// The text of the row in the summary, if it is shown there.
    pub headline: Option<&'static str>,
}

/// The measured quantity, and how.
#[derive(Debug)]
pub enum Figure {
    /// Time of one operation, ours and the peer's, in alternating rounds.
    Time(Scene, Scene),
    /// Instructions of one operation, ours and the peer's.
    Instructions(Scene, Scene),
    /// Instructions of one operation that lock the bus, ours and the peer's.
    Locked(Scene, Scene),
    /// Instructions of our operation under several conditions: the largest and the smallest count.
    Spread(Vec<Scene>),
    /// Instructions of our operation, in the usual build and in a build without statistics.
    Builds(Scene),
    /// Instructions of our operation in functions with one of these words in their names.
    Within(Scene, &'static [&'static str]),
    /// Two readings of the memory program, by name, and their unit: ours, and the peer's if any.
    Memory(String, Option<String>, &'static str),
    /// Time of our operation in a row that is timed anyway, and a reading of the Python script.
    Python(&'static str, &'static str),
    /// A reading of the embedded build, and its unit.
    Embedded(&'static str, &'static str),
}

/// A condition on the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Ours ÷ the peer's is at most this.
    Ratio(f64),
    /// Ours is at most this.
    Ours(f64),
    /// Ours − the peer's is at most this.
    More(f64),
    /// Ours ÷ the peer's is at least this.
    AtLeast(f64),
}

impl Goal {
    /// Makes a goal that is judged by one run.
    pub fn new(id: &'static str, rows: impl Into<Vec<Row>>) -> Self {
        Goal { id, rows: rows.into(), runs: 1 }
    }

    /// Sets how many runs the timed rows are judged over.
    #[must_use]
    pub fn over_runs(mut self, runs: usize) -> Self {
        self.runs = runs;
        self
    }

    /// Returns the pairs of scenes that are timed.
    pub fn timed(self) -> impl Iterator<Item = (Scene, Scene)> {
        self.rows.into_iter().filter_map(|row| match row.figure {
            Figure::Time(ours, peer) => Some((ours, peer)),
            _ => None,
        })
    }
}

impl Row {
    /// Makes a row for information. [`at_most`](Row::at_most) or [`limit`](Row::limit) adds a
    /// limit.
    pub fn new(what: impl Into<String>, peer: &'static str, figure: Figure) -> Self {
        Row { what: what.into(), peer, figure, limit: None, at_least: None, headline: None }
    }

    /// Makes a row of times.
    pub fn time(what: impl Into<String>, peer: &'static str, ours: Scene, theirs: Scene) -> Self {
        Row::new(what, peer, Figure::Time(ours, theirs))
    }

    /// Makes a row of instruction counts.
    pub fn instructions(what: impl Into<String>, peer: &'static str, ours: Scene, theirs: Scene) -> Self {
        Row::new(what, peer, Figure::Instructions(ours, theirs))
    }

    /// Limits ours ÷ the peer's.
    #[must_use]
    pub fn at_most(self, ratio: f64) -> Self {
        self.limit(Limit::Ratio(ratio))
    }

    /// Sets the ratio that the gate applies while the limit is missed. The row stays MISSED.
    #[must_use]
    pub fn missed_at(mut self, ratio: f64) -> Self {
        self.at_least = Some(Limit::Ratio(ratio));
        self
    }

    /// Does the same as [`missed_at`](Row::missed_at), for a limit on ours alone.
    #[must_use]
    pub fn missed_at_ours(mut self, ours: f64) -> Self {
        self.at_least = Some(Limit::Ours(ours));
        self
    }

    /// Sets the limit.
    #[must_use]
    pub fn limit(mut self, limit: Limit) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Shows the row in the summary, under this text.
    #[must_use]
    pub fn headline(mut self, text: &'static str) -> Self {
        self.headline = Some(text);
        self
    }
}

impl Limit {
    /// Returns the bare number.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Limit::Ratio(limit) | Limit::Ours(limit) | Limit::More(limit) | Limit::AtLeast(limit) => limit,
        }
    }
}

impl Figure {
    /// Returns whether every run gives the same figure, so that it may fail a build.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !matches!(self, Figure::Time(..) | Figure::Python(..))
    }
}
