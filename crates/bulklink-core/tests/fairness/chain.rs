//! A pool so small that its chain of states can be solved: one slot, two keys, a room of two.

use crate::plant::Source;
use crate::{HOLD, estimate, limits, run_plain, usual_or_long};

/// Arrivals of each key, per mean time of an operation.
const RATES: [f64; 2] = [0.5, 2.0];
const ROOM: usize = 2;
/// A turn of virtual time, in which all times here are whole numbers.
const TURN: i64 = 2;
const SEEDS: u64 = 20;
/// Student's quantile for these.
const QUANTILE: f64 = 3.883;

/// All times are relative to virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State {
    is_busy: bool,
    waiting: [usize; 2],
    /// The ends of the last turns; those a turn ago or longer are all the same.
    ends: [i64; 2],
    /// The tags of the turns of those that wait.
    tags: [i64; 2],
    /// The key whose turn is the first of two with equal tags.
    first: usize,
}

impl State {
    const START: State = State { is_busy: false, waiting: [0; 2], ends: [-TURN; 2], tags: [0; 2], first: 0 };

    /// A call comes. Returns the key that loses a call, if one does.
    fn arrive(mut self, key: usize) -> (State, Option<usize>) {
        let other = 1 - key;
        if !self.is_busy {
            return (State { is_busy: true, ..self }, None);
        }
        let mut lost = None;
        if self.waiting[0] + self.waiting[1] >= ROOM {
            if self.waiting[other] < 2 || self.waiting[other] <= self.waiting[key] + 1 {
                return (self, Some(key));
            }
            self.waiting[other] -= 1;
            lost = Some(other);
        }
        self.waiting[key] += 1;
        if self.waiting[key] == 1 {
            self.begin_turn(key);
        }
        (self.normal(), lost)
    }

    fn begin_turn(&mut self, key: usize) {
        self.tags[key] = self.ends[key].max(-TURN);
        self.first = 1 - key;
    }

    /// The operation ends.
    fn end(mut self) -> State {
        let waits = [0, 1].map(|key| self.waiting[key] > 0);
        let key = match waits {
            [false, false] => return State::START.after(&self),
            [true, false] => 0,
            [false, true] => 1,
            _ if self.tags[0] == self.tags[1] => self.first,
            _ => usize::from(self.tags[1] < self.tags[0]),
        };
        let lines = if waits == [true, true] { 2 } else { 1 };
        self.ends[key] = self.tags[key].max(0) + TURN;
        let passed = self.tags[key].max(TURN / lines);
        self.ends = self.ends.map(|end| (end - passed).max(-TURN));
        self.tags = self.tags.map(|tag| tag - passed);
        self.waiting[key] -= 1;
        if self.waiting[key] > 0 {
            self.begin_turn(key);
        }
        self.normal()
    }

    fn after(self, before: &State) -> State {
        State { ends: before.ends, ..self }
    }

    /// Leaves out what makes no difference.
    fn normal(mut self) -> State {
        for key in 0..2 {
            if self.waiting[key] == 0 {
                self.tags[key] = 0;
            }
        }
        if self.waiting.contains(&0) {
            self.first = 0;
        }
        self
    }
}

/// The states after an arrival of each key, with the key that loses a call, and after an end.
type Steps = ([(usize, Option<usize>); 2], usize);

fn chain() -> Vec<Steps> {
    let (mut states, mut steps) = (vec![State::START], vec![]);
    let place = |states: &mut Vec<State>, state: State| {
        states.iter().position(|known| *known == state).unwrap_or_else(|| {
            states.push(state);
            states.len() - 1
        })
    };
    while steps.len() < states.len() {
        let state = states[steps.len()];
        let arrivals = [0, 1].map(|key| {
            let (next, lost) = state.arrive(key);
            (place(&mut states, next), lost)
        });
        let end = place(&mut states, if state.is_busy { state.end() } else { state });
        steps.push((arrivals, end));
        assert!(steps.len() < 1_000, "the chain does not end");
    }
    steps
}

/// Returns the success of both keys.
fn exact() -> [f64; 2] {
    let chain = chain();
    let all = RATES[0] + RATES[1] + 1.0;
    let mut parts = vec![0.0; chain.len()];
    parts[0] = 1.0;
    for _ in 0..6_000 {
        let mut next = vec![0.0; chain.len()];
        for (part, (arrivals, end)) in parts.iter().zip(&chain) {
            for (rate, (arrival, _)) in RATES.iter().zip(arrivals) {
                next[*arrival] += part * rate / all;
            }
            next[*end] += part / all;
        }
        parts = next;
    }
    let mut lost = [0.0; 2];
    for (part, (arrivals, _)) in parts.iter().zip(&chain) {
        for (rate, (_, loser)) in RATES.iter().zip(arrivals) {
            if let Some(loser) = *loser {
                lost[loser] += part * rate;
            }
        }
    }
    println!("{} states, lost {lost:.6?}", chain.len());
    assert_eq!(chain.len(), 58);
    [0, 1].map(|key| 1.0 - lost[key] / RATES[key])
}

#[test]
fn a_small_pool_serves_both_keys_as_its_chain_of_states_does() {
    let exact = exact();
    assert!((exact[0] - 0.621_534).abs() < 1e-6 && (exact[1] - 0.324_912).abs() < 1e-6, "{exact:?}");
    // Whatever the order, as many are served as by any queue with two places: M/M/1/3.
    let served = RATES[0] * exact[0] + RATES[1] * exact[1];
    assert!((served - 0.960_591).abs() < 1e-6, "{served}");

    let sources = RATES.map(|rate| Source::open(rate / HOLD));
    let runs: Vec<_> =
        (1..=SEEDS).map(|seed| run_plain(&limits(1, 2), &sources, usual_or_long(100.0, 1_000.0), None, seed)).collect();
    for (key, exact) in exact.into_iter().enumerate() {
        let samples: Vec<f64> = runs.iter().map(|figures| figures.tallies[key].success()).collect();
        let (mean, half) = estimate(&samples, QUANTILE);
        println!("success of key {key}: {mean:.5} ± {half:.5}, and {exact:.6} by the chain");
        assert!((mean - exact).abs() <= half, "{mean} ± {half}, and not {exact}");
        assert!(half < 0.02, "the interval is too wide to show anything");
    }
}
