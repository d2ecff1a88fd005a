//! Replays what the original controllers did: after each sample, a port has the same limit.

use std::path::Path;

use bulklink_overload::peers::{
    Controller, Outcome, Sample,
    envoy::Envoy,
    failsafe::FailsafeGo,
    netflix::{Aimd, Gradient2, Vegas, Windowed},
    opensearch::OpenSearch,
    tower_resilience::Tower,
    vector::Vector,
};

/// A line of a recording.
struct Line {
    number: usize,
    sample: Sample,
    limit: u32,
    /// Further columns, which depend on the original.
    more: Vec<Option<f64>>,
}

/// What an original did.
struct Recording {
    name: String,
    start: u32,
    /// The draw of a constructor.
    first: Option<f64>,
    lines: Vec<Line>,
}

impl Recording {
    fn read(name: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded").join(name);
        let text = std::fs::read_to_string(file).unwrap();
        let setting = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        let mut micros = 1_000_000;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        let lines = lines.map(|(index, line)| Line::read(index + 1, line, &mut micros)).collect();
        Self {
            name: name.to_owned(),
            start: setting("# start=").unwrap().parse().unwrap(),
            first: setting("# first=").map(|text| text.parse().unwrap()),
            lines,
        }
    }

    /// The values of a column, where it has one.
    fn column(&self, index: usize) -> impl Iterator<Item = f64> {
        self.lines.iter().filter_map(move |line| line.more.get(index).copied().flatten())
    }

    /// Gives the samples to a port and compares its limits, and its figures with the first of the
    /// further columns. Returns how often the limit moved.
    fn replay<Port, Figure>(&self, port: &mut Port, figure: Figure) -> usize
    where
        Port: Controller,
        Figure: Fn(&Port) -> Option<f64>,
    {
        assert_eq!(port.limit(), self.start, "{}: start", self.name);
        let mut limits = Vec::new();
        let mut expected = None;
        for line in &self.lines {
            port.sample(&line.sample);
            let place = format!("{}, line {}", self.name, line.number);
            assert_eq!(port.limit(), line.limit, "{place}");
            expected = line.more.first().copied().flatten().or(expected);
            if let (Some(figure), Some(expected)) = (figure(port), expected) {
                let off = (figure - expected).abs();
                assert!(off <= 1e-9 * expected.abs(), "{place}: {figure}, not {expected}");
            }
            limits.push(line.limit);
        }
        limits.dedup();
        limits.len() - 1
    }
}

impl Line {
    fn read(number: usize, line: &str, micros: &mut u32) -> Self {
        let mut fields = line.split(',');
        let mut next = || fields.next().unwrap();
        let mut integer = || next().parse::<u32>().unwrap();
        *micros += integer();
        let (hold, in_flight, in_flight_end) = (integer(), integer(), integer());
        let outcome = match next() {
            "S" => Outcome::Success,
            "O" => Outcome::Overload,
            "I" => Outcome::Ignore,
            other => panic!("line {number}: no outcome is {other}"),
        };
        let limit = next().parse().unwrap();
        let more = fields.map(|text| (!text.is_empty()).then(|| text.parse().unwrap())).collect();
        let sample = Sample {
            now: f64::from(*micros) / 1e6,
            hold: f64::from(hold) / 1e6,
            wait: 0.0,
            in_flight,
            in_flight_end,
            waiting: 0,
            pressed: false,
            outcome,
        };
        Self { number, sample, limit, more }
    }
}

#[test]
fn netflix_gradient2() {
    let recording = Recording::read("netflix-gradient2.csv");
    let mut port = Gradient2::new(20, 1..=400);
    let moves = recording.replay(&mut port, |port| Some(port.estimate()));
    assert!(moves > 50, "{moves}");
}

#[test]
fn netflix_gradient2_in_windows() {
    let recording = Recording::read("netflix-gradient2-windowed.csv");
    let mut port = Windowed::new(Gradient2::new(20, 1..=400));
    let moves = recording.replay(&mut port, |port| Some(port.inner().estimate()));
    assert!(moves > 50, "{moves}");
}

/// The recorded jitters of an original, from [0.5, 1), as draws.
fn jitters(recording: &Recording) -> impl Iterator<Item = f64> {
    let jitters = recording.first.into_iter().chain(recording.column(1));
    jitters.map(|jitter| (jitter - 0.5) * 2.0)
}

#[test]
fn netflix_vegas() {
    let recording = Recording::read("netflix-vegas.csv");
    assert!(recording.column(1).count() >= 5, "probes");
    let mut port = Vegas::new(20, 400, jitters(&recording));
    let moves = recording.replay(&mut port, |port| Some(port.estimate()));
    assert!(moves > 50, "{moves}");
}

#[test]
fn netflix_vegas_in_windows() {
    let recording = Recording::read("netflix-vegas-windowed.csv");
    let mut port = Windowed::new(Vegas::new(20, 400, jitters(&recording)));
    let moves = recording.replay(&mut port, |port| Some(port.inner().estimate()));
    assert!(moves > 50, "{moves}");
}

#[test]
fn netflix_aimd() {
    let recording = Recording::read("netflix-aimd.csv");
    let moves = recording.replay(&mut Aimd::new(20, 1..=400, 0.1), |_| None);
    assert!(moves > 50, "{moves}");
}

#[test]
fn failsafe_go() {
    let recording = Recording::read("failsafe-go.csv");
    let mut port = FailsafeGo::new(20, 1..=400);
    let moves = recording.replay(&mut port, |port| Some(port.recent()));
    assert!(moves > 40, "{moves}");
}

/// More than 800 samples in a window: the digest merges twice.
#[test]
fn failsafe_go_with_many_samples() {
    let recording = Recording::read("failsafe-go-dense.csv");
    let mut port = FailsafeGo::new(20, 1..=400);
    let moves = recording.replay(&mut port, |port| Some(port.recent()));
    assert!(moves > 1, "{moves}");
}

/// At least 5 samples in a window, for many windows.
#[test]
fn failsafe_go_with_few_samples() {
    let recording = Recording::read("failsafe-go-sparse.csv");
    let mut port = FailsafeGo::new(20, 1..=400).least_count(5);
    let moves = recording.replay(&mut port, |port| Some(port.recent()));
    assert!(moves > 100, "{moves}");
}

#[test]
fn tower_resilience_aimd() {
    let recording = Recording::read("tower-resilience-aimd.csv");
    let moves = recording.replay(&mut Tower::aimd(20, 1..=400, 0.1), |_| None);
    assert!(moves > 50, "{moves}");
}

#[test]
fn tower_resilience_vegas() {
    let recording = Recording::read("tower-resilience-vegas.csv");
    let moves = recording.replay(&mut Tower::vegas(20, 1..=400), |_| None);
    assert!(moves > 50, "{moves}");
}

#[test]
fn tower_resilience_gradient2() {
    let recording = Recording::read("tower-resilience-gradient2.csv");
    let moves = recording.replay(&mut Tower::gradient2(20, 1..=400), |_| None);
    assert!(moves > 50, "{moves}");
}

#[test]
fn envoy_gradient() {
    let recording = Recording::read("envoy-gradient.csv");
    // Whole milliseconds below 9,000, as draws.
    let draws = recording.column(1).map(|jitter| (jitter + 0.5) / 9_000.0);
    assert!(recording.column(1).count() >= 5, "measurements");
    let mut port = Envoy::new(400, draws);
    let moves = recording.replay(&mut port, |port| Some(port.median()));
    assert!(moves > 50, "{moves}");
}

#[test]
fn vector_arc() {
    let recording = Recording::read("vector-arc.csv");
    let moves = recording.replay(&mut Vector::new(20, 400), Vector::past);
    assert!(moves > 50, "{moves}");
}

#[test]
fn opensearch_vegas() {
    let recording = Recording::read("opensearch-vegas.csv");
    assert!(recording.column(1).count() >= 5, "probes");
    let mut port = OpenSearch::new(20, 400, jitters(&recording));
    let moves = recording.replay(&mut port, |port| Some(port.estimate()));
    assert!(moves > 50, "{moves}");
}
