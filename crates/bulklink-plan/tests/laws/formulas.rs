//! Closed forms of queueing theory, and a Markov chain. They know nothing of the gate.

use std::collections::HashMap;

/// The part that is lost with so many units and this load in units, without a room.
pub(crate) fn erlang_b(capacity: u32, load: f64) -> f64 {
    (1..=capacity).fold(1.0, |lost, units| load * lost / (f64::from(units) + load * lost))
}

/// The part that waits, with any number of waiting calls.
pub(crate) fn erlang_c(capacity: u32, load: f64) -> f64 {
    let lost = erlang_b(capacity, load);
    lost / (1.0 - load / f64::from(capacity) * (1.0 - lost))
}

/// The part of each class that is lost without a room; a class is its load and its cost.
pub(crate) fn kaufman_roberts(capacity: usize, classes: &[(f64, usize)]) -> Vec<f64> {
    let mut states = vec![1.0];
    for units in 1..=capacity {
        let fitting = classes.iter().filter(|class| class.1 <= units);
        let sum: f64 = fitting.map(|&(load, cost)| load * cost as f64 * states[units - cost]).sum();
        states.push(sum / units as f64);
    }
    let total: f64 = states.iter().sum();
    classes.iter().map(|class| states[capacity + 1 - class.1..].iter().sum::<f64>() / total).collect()
}

/// A birth-and-death process: the probabilities of 0, 1, … as far as they matter, by the rates from
/// each state to the next one and back.
fn stationary(most: u32, up: impl Fn(u32) -> f64, down: impl Fn(u32) -> f64) -> Vec<f64> {
    let mut states = vec![1.0_f64];
    for state in 1..=most {
        let next = states[state as usize - 1] * up(state - 1) / down(state);
        states.push(next);
    }
    let total: f64 = states.iter().sum();
    states.iter().map(|state| state / total).collect()
}

/// The mean number of calls beyond the capacity.
fn waiting(states: &[f64], capacity: u32) -> f64 {
    states.iter().enumerate().skip(capacity as usize).map(|(n, p)| (n as f64 - f64::from(capacity)) * p).sum()
}

/// M/M/c with a room: the part that is refused, and the mean wait of the others.
pub(crate) fn with_room(capacity: u32, room: u32, rate: f64, ends: f64) -> (f64, f64) {
    let states = stationary(capacity + room, |_| rate, |state| f64::from(state.min(capacity)) * ends);
    let refused = states[(capacity + room) as usize];
    (refused, waiting(&states, capacity) / (rate * (1.0 - refused)))
}

/// M/M/c with a constant wait limit: the part that expires.
pub(crate) fn with_limit(capacity: u32, rate: f64, ends: f64, limit: f64) -> f64 {
    let (load, most) = (rate / ends, f64::from(capacity) * ends);
    let (mut term, mut sum) = (1.0, 1.0);
    for units in 1..capacity {
        term *= load / f64::from(units);
        sum += term;
    }
    let spare = most - rate;
    let kept = (-spare * limit).exp();
    let full = if spare == 0.0 { limit + 1.0 / most } else { (1.0 - kept) / spare + kept / most };
    (1.0 - spare * full) / (sum / term + rate * full)
}

/// M/M/c whose calls give up after exponential times: the part that does, and the mean wait of all.
pub(crate) fn erlang_a(capacity: u32, rate: f64, ends: f64, gives_up: f64) -> (f64, f64) {
    let down =
        |state: u32| f64::from(state.min(capacity)) * ends + f64::from(state.saturating_sub(capacity)) * gives_up;
    let waiting = waiting(&stationary(400, |_| rate, down), capacity);
    (gives_up * waiting / rate, waiting / rate)
}

/// So many callers with exponential thinking: the calls per second.
pub(crate) fn closed(capacity: u32, callers: u32, think: f64, ends: f64) -> f64 {
    let down = |state: u32| f64::from(state.min(capacity)) * ends;
    let states = stationary(callers, |state| f64::from(callers - state) / think, down);
    states.iter().zip(0..).map(|(p, state)| p * down(state)).sum()
}

/// M/G/1 by Pollaczek and Khinchine: the mean number of waiting calls.
pub(crate) fn pollaczek(load: f64, variation: f64) -> f64 {
    load * load * (1.0 + variation) / (2.0 * (1.0 - load))
}

/// A class of the chain: calls per second, ends per second, cost.
pub(crate) type Class = (f64, f64, u32);

/// The state of the chain: how many of each class run, and the classes that wait.
type State = (Vec<u32>, Vec<usize>);

/// FIFO with weights and a room, for exponential holds: the part of each class that is refused, and
/// the mean number of waiting calls. Written from the contract's words.
pub(crate) fn fifo_with_weights(capacity: u32, room: usize, classes: &[Class]) -> (Vec<f64>, f64) {
    let chain = Chain::new(capacity, room, classes);
    let states = chain.stationary();
    let full = |class: usize| {
        let of = chain.states.iter().zip(&states);
        of.filter(|(state, _)| chain.arrival(state, class).is_none()).map(|(_, p)| p).sum()
    };
    let waiting = chain.states.iter().zip(&states).map(|(state, p)| state.1.len() as f64 * p).sum();
    ((0..classes.len()).map(full).collect(), waiting)
}

struct Chain<'a> {
    capacity: u32,
    room: usize,
    classes: &'a [Class],
    states: Vec<State>,
    /// From, to, rate.
    edges: Vec<(usize, usize, f64)>,
}

impl<'a> Chain<'a> {
    /// Finds all states from the empty one.
    fn new(capacity: u32, room: usize, classes: &'a [Class]) -> Self {
        let empty = (vec![0; classes.len()], vec![]);
        let mut chain = Chain { capacity, room, classes, states: vec![empty.clone()], edges: vec![] };
        let mut numbers = HashMap::from([(empty, 0)]);
        let mut from = 0;
        while from < chain.states.len() {
            let state = chain.states[from].clone();
            for (class, &(rate, ends, _)) in classes.iter().enumerate() {
                let arrival = chain.arrival(&state, class).map(|to| (to, rate));
                let end = chain.end(&state, class).map(|to| (to, f64::from(state.0[class]) * ends));
                for (to, rate) in arrival.into_iter().chain(end) {
                    let to = *numbers.entry(to.clone()).or_insert_with(|| {
                        chain.states.push(to);
                        chain.states.len() - 1
                    });
                    chain.edges.push((from, to, rate));
                }
            }
            from += 1;
        }
        chain
    }

    fn fits(&self, running: &[u32], class: usize) -> bool {
        let in_use: u32 = running.iter().zip(self.classes).map(|(number, class)| number * class.2).sum();
        in_use + self.classes[class].2 <= self.capacity
    }

    fn arrival(&self, (running, line): &State, class: usize) -> Option<State> {
        let (mut running, mut line) = (running.clone(), line.clone());
        if line.is_empty() && self.fits(&running, class) {
            running[class] += 1;
        } else if line.len() < self.room {
            line.push(class);
        } else {
            return None;
        }
        Some((running, line))
    }

    fn end(&self, (running, line): &State, class: usize) -> Option<State> {
        let (mut running, mut line) = (running.clone(), line.clone());
        running[class] = running[class].checked_sub(1)?;
        while let Some(&first) = line.first().filter(|first| self.fits(&running, **first)) {
            running[first] += 1;
            line.remove(0);
        }
        Some((running, line))
    }

    /// The probabilities of the states, by iteration.
    fn stationary(&self) -> Vec<f64> {
        let mut out = vec![0.0_f64; self.states.len()];
        self.edges.iter().for_each(|&(from, _, rate)| out[from] += rate);
        let fastest = 1.05 * out.iter().copied().fold(0.0, f64::max);
        let mut states = vec![1.0 / out.len() as f64; out.len()];
        loop {
            let mut next: Vec<_> = states.iter().zip(&out).map(|(p, out)| p * (1.0 - out / fastest)).collect();
            self.edges.iter().for_each(|&(from, to, rate)| next[to] += states[from] * rate / fastest);
            let change: f64 = next.iter().zip(&states).map(|(a, b)| (a - b).abs()).sum();
            states = next;
            if change < 1e-12 {
                return states;
            }
        }
    }
}

#[test]
fn the_formulas_have_the_figures_of_the_literature() {
    let near = |found: f64, known: f64| assert!((found - known).abs() < 1e-6 * known.max(1.0), "{found}, {known}");
    near(erlang_b(10, 8.0), 0.121_661);
    near(erlang_b(100, 100.0), 0.075_700);
    near(erlang_c(2, 1.0), 1.0 / 3.0);
    near(erlang_c(100, 90.0), 0.216_940);
    near(with_room(10, 0, 800.0, 100.0).0, erlang_b(10, 8.0));
    near(with_limit(10, 800.0, 100.0, 0.0), erlang_b(10, 8.0));
    near(pollaczek(0.8, 0.0), 1.6);
    near(closed(10, 40, 0.1, 100.0), 363.626_2);
    let classes = [(400.0, 100.0, 1), (100.0, 100.0, 3)];
    let (lost, _) = fifo_with_weights(10, 0, &classes);
    near(lost[0], kaufman_roberts(10, &[(4.0, 1), (1.0, 3)])[0]);
    near(lost[1], 0.286_599);
    let (refused, waiting) = fifo_with_weights(3, 4, &[(350.0, 100.0, 1)]);
    let (known, wait) = with_room(3, 4, 350.0, 100.0);
    near(refused[0], known);
    near(waiting, wait * 350.0 * (1.0 - known));
}
