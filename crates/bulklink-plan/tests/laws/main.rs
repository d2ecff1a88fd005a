//! The simulation has the figures of queueing theory, and its accounts are exact.
//!
//! Each law is a bulkhead, a load, and figures that are known. A figure holds if the interval of
//! 99.9 % over all batches has it. The seeds are fixed, so it always holds, or never. With
//! `BULKLINK_DEPTH` of four or more, there are ten times as many calls.

#![expect(clippy::cast_precision_loss, reason = "numbers of calls and units are exact")]

mod formulas;

use std::env;
use std::sync::Arc;
use std::time::Duration;

use bulklink_core::{Instant, Limits};
use bulklink_plan::{Arrivals, Decision, Distribution, Kind, Load, ScriptedCall, Sim};
use formulas as known;

const SEEDS: u64 = 8;
const BATCHES: usize = 10;

/// A figure of a batch by its name, and its known value.
type Known = (&'static str, fn(&Batch) -> f64, f64);

/// A bulkhead under a load, and the figures that are known of it.
struct Law {
    name: String,
    limits: Limits,
    load: Load,
    known: Vec<Known>,
}

/// What is counted in a part of a run.
#[derive(Default)]
struct Batch {
    /// Of the first two kinds.
    calls: [f64; 2],
    rejected: [f64; 2],
    queued: f64,
    admitted: f64,
    /// All times are in seconds.
    waits_of_admitted: f64,
    waits: f64,
    holds_of_admitted: f64,
    took: f64,
}

impl Batch {
    fn note(&mut self, decision: &Decision) {
        let (kind, wait) = (decision.kind, decision.waited().as_secs_f64());
        self.calls[kind] += 1.0;
        self.waits += wait;
        self.queued += f64::from(u8::from(wait > 0.0));
        if decision.admitted.is_ok() {
            self.admitted += 1.0;
            self.waits_of_admitted += wait;
            self.holds_of_admitted += decision.hold.as_secs_f64();
        } else {
            self.rejected[kind] += 1.0;
        }
    }

    fn rejected(&self) -> f64 {
        self.rejected.iter().sum::<f64>() / self.calls.iter().sum::<f64>()
    }

    fn narrow_rejected(&self) -> f64 {
        self.rejected[0] / self.calls[0]
    }

    fn wide_rejected(&self) -> f64 {
        self.rejected[1] / self.calls[1]
    }

    fn queued(&self) -> f64 {
        self.queued / self.calls.iter().sum::<f64>()
    }

    fn wait_of_admitted(&self) -> f64 {
        self.waits_of_admitted / self.admitted
    }

    fn wait(&self) -> f64 {
        self.waits / self.calls.iter().sum::<f64>()
    }

    /// By Little's law.
    fn waiting(&self) -> f64 {
        self.waits / self.took
    }

    fn rate(&self) -> f64 {
        self.admitted / self.took
    }

    fn response(&self) -> f64 {
        (self.waits_of_admitted + self.holds_of_admitted) / self.admitted
    }
}

/// What is counted over a whole run, against the accounts of gate and simulation.
#[derive(Default)]
struct Account {
    admitted: u64,
    rejected: u64,
    /// The ends of all holds, and the units.
    ends: Vec<(u64, u128)>,
    unit_nanos: u128,
}

impl Account {
    fn note(&mut self, decision: &Decision) {
        if decision.admitted.is_err() {
            self.rejected += 1;
            return;
        }
        self.admitted += 1;
        self.unit_nanos += decision.cost as u128 * decision.hold.as_nanos();
        self.ends.push(((decision.at + decision.hold).as_nanos(), decision.cost as u128));
    }

    /// All that is in use is a hold, and all calls are admitted, rejected or waiting.
    fn check(&self, sim: &mut Sim, arrivals: u64, name: &str) {
        let now = sim.now().as_nanos();
        let running = self.ends.iter().filter(|(end, _)| *end > now);
        let left: u128 = running.map(|(end, cost)| u128::from(end - now) * cost).sum();
        assert_eq!(sim.unit_nanos(), self.unit_nanos - left, "{name}: the units in use over time");
        let snapshot = sim.snapshot();
        assert_eq!((snapshot.totals.admitted, snapshot.totals.rejected()), (self.admitted, self.rejected), "{name}");
        assert_eq!(self.admitted + self.rejected + snapshot.waiting as u64, arrivals, "{name}: all calls");
        assert_eq!(snapshot.totals.finished + snapshot.in_flight as u64, self.admitted, "{name}: all ends");
    }
}

impl Law {
    fn new(name: impl Into<String>, limits: Limits, load: Load) -> Self {
        Law { name: name.into(), limits, load, known: vec![] }
    }

    fn has(mut self, what: &'static str, of: fn(&Batch) -> f64, figure: f64) -> Self {
        self.known.push((what, of, figure));
        self
    }

    /// Returns the rows that do not hold.
    fn check(&self, number: u64, calls: u64) -> Vec<String> {
        let batches: Vec<_> = (0..SEEDS).flat_map(|seed| self.run(number * 1_000 + seed, calls)).collect();
        let row = |&(what, of, figure): &Known| {
            let (mean, half) = interval(&batches.iter().map(of).collect::<Vec<_>>());
            let text = format!("{}: {what} {figure:.6}, and not {mean:.6} ± {half:.6}", self.name);
            println!("{text}");
            // Where nothing is random, the edges of the first batch remain.
            ((mean - figure).abs() > half.max(2e-5 * figure)).then_some(text)
        };
        self.known.iter().filter_map(row).collect()
    }

    fn run(&self, seed: u64, calls: u64) -> Vec<Batch> {
        let mut sim = Sim::new(self.limits, self.load.clone(), seed).unwrap();
        let mut account = Account::default();
        let (warm_up, size) = (calls / 20, calls / BATCHES as u64);
        sim.run(warm_up, |decision| account.note(decision));
        let batches = (0..BATCHES).map(|_| {
            let (mut batch, begin) = (Batch::default(), sim.now());
            sim.run(size, |decision| {
                batch.note(decision);
                account.note(decision);
            });
            batch.took = sim.now().saturating_since(begin).as_secs_f64();
            batch
        });
        let batches = batches.collect();
        account.check(&mut sim, warm_up + BATCHES as u64 * size, &self.name);
        batches
    }
}

/// The mean, and the half of its interval of 99.9 %: the quantile is that of 79 degrees of freedom.
fn interval(figures: &[f64]) -> (f64, f64) {
    const STUDENT: f64 = 3.418;
    assert_eq!(figures.len(), 80);
    let mean = figures.iter().sum::<f64>() / 80.0;
    let variance = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / 79.0;
    (mean, STUDENT * (variance / 80.0).sqrt())
}

const HOLD: Duration = Duration::from_millis(10);

/// Ends per second.
const ENDS: f64 = 100.0;

fn exponential() -> Distribution {
    Distribution::exponential(HOLD)
}

fn constant() -> Distribution {
    Distribution::constant(HOLD)
}

/// With a mean of 10 ms and a variation of 4.
fn log_normal() -> Distribution {
    let p50 = HOLD.div_f64(5.0_f64.sqrt());
    let p99 = p50.mul_f64((2.326_347_874_040_841 * 5.0_f64.ln().sqrt()).exp());
    Distribution::quantiles(p50, p99).unwrap()
}

/// With a mean of 10 ms, of which one in ten is 20 times as long as the others.
fn two_kinds() -> Distribution {
    let short = HOLD.div_f64(2.9);
    let times: Vec<_> = (0..10).map(|one| if one == 0 { short * 20 } else { short }).collect();
    Distribution::sampled(&times).unwrap()
}

fn holds() -> [(&'static str, Distribution); 4] {
    let (constant, exponential) = (("constant", constant()), ("exponential", exponential()));
    [exponential, constant, ("log-normal", log_normal()), ("of two kinds", two_kinds())]
}

fn poisson(rate: f64, hold: Distribution) -> Load {
    Load::new(Arrivals::poisson(rate), hold)
}

fn with_kinds<const N: usize>(kinds: [(f64, usize, Distribution); N]) -> Load {
    let rate = kinds.iter().map(|kind| kind.0).sum();
    let mut load = poisson(rate, exponential());
    load.kinds = kinds.map(|(weight, cost, hold)| Kind { weight, cost, hold }).into();
    load
}

/// So many units, and any number of waiting calls.
fn wide(capacity: usize) -> Limits {
    Limits::new(capacity).with_waiting_room(Limits::MAX)
}

/// Without a waiting room, the distribution of holds makes no difference.
fn losses() -> Vec<Law> {
    let mut laws = vec![];
    for (name, hold) in holds() {
        let law = Law::new(format!("Erlang B (10, 8), {name}"), Limits::new(10), poisson(800.0, hold));
        laws.push(law.has("rejected", Batch::rejected, known::erlang_b(10, 8.0)));
    }
    let law = Law::new("Erlang B (30, 25)", Limits::new(30), poisson(2_500.0, log_normal()));
    laws.push(law.has("rejected", Batch::rejected, known::erlang_b(30, 25.0)));
    let law = Law::new("Erlang B (100, 100)", Limits::new(100), poisson(10_000.0, constant()));
    laws.push(law.has("rejected", Batch::rejected, known::erlang_b(100, 100.0)));
    for (capacity, classes, hold) in [
        (10, [(4.0, 1), (1.0, 3)], exponential()),
        (10, [(4.0, 1), (1.0, 3)], two_kinds()),
        (20, [(8.0, 1), (2.0, 4)], exponential()),
        (20, [(8.0, 1), (2.0, 4)], log_normal()),
    ] {
        let lost = known::kaufman_roberts(capacity, &classes);
        let load = with_kinds(classes.map(|(load, cost)| (load * ENDS, cost, hold.clone())));
        let law = Law::new(format!("Kaufman and Roberts ({capacity})"), Limits::new(capacity), load);
        let law = law.has("narrow rejected", Batch::narrow_rejected, lost[0]);
        laws.push(law.has("wide rejected", Batch::wide_rejected, lost[1]));
    }
    laws
}

fn waits() -> Vec<Law> {
    let mut laws = vec![];
    for (capacity, load) in [(10, 8.0), (2, 1.0), (100, 90.0)] {
        let queued = known::erlang_c(capacity, load);
        let law = Law::new(
            format!("Erlang C ({capacity}, {load})"),
            wide(capacity as usize),
            poisson(load * ENDS, exponential()),
        );
        let law = law.has("queued", Batch::queued, queued);
        laws.push(law.has("wait", Batch::wait_of_admitted, queued / (ENDS * (f64::from(capacity) - load))));
    }
    for rate in [900.0, 1_200.0] {
        let (rejected, wait) = known::with_room(10, 20, rate, ENDS);
        let limits = Limits::new(10).with_waiting_room(20);
        let law = Law::new(format!("M/M/10/30, {rate}/s"), limits, poisson(rate, exponential()));
        let law = law.has("rejected", Batch::rejected, rejected);
        laws.push(law.has("wait", Batch::wait_of_admitted, wait));
    }
    for load in [0.5, 0.8, 0.9] {
        let law = Law::new(format!("M/D/1, {load}"), wide(1), poisson(load * ENDS, constant()));
        laws.push(law.has("waiting", Batch::waiting, known::pollaczek(load, 0.0)));
    }
    let law = Law::new("M/G/1, 0.5", wide(1), poisson(50.0, log_normal()));
    laws.push(law.has("waiting", Batch::waiting, known::pollaczek(0.5, 4.0)));
    let think = Duration::from_millis(100);
    for callers in [40, 200] {
        let rate = known::closed(10, callers, think.as_secs_f64(), ENDS);
        let arrivals = Arrivals::callers(callers, Distribution::exponential(think));
        let law = Law::new(format!("{callers} callers"), wide(10), Load::new(arrivals, exponential()));
        let law = law.has("per second", Batch::rate, rate);
        laws.push(law.has("response", Batch::response, f64::from(callers) / rate - think.as_secs_f64()));
    }
    laws
}

fn limits_on_waits() -> Vec<Law> {
    let mut laws = vec![];
    for (rate, limit) in [(900.0, 20), (1_000.0, 20), (1_200.0, 20), (1_000.0, 50)] {
        let limit = Duration::from_millis(limit);
        let limits = wide(10).with_wait_limit(Some(limit));
        let law = Law::new(format!("M/M/10+D {limit:?}, {rate}/s"), limits, poisson(rate, exponential()));
        laws.push(law.has("expired", Batch::rejected, known::with_limit(10, rate, ENDS, limit.as_secs_f64())));
    }
    let (expired, wait) = known::erlang_a(10, 1_200.0, ENDS, 20.0);
    let mut load = poisson(1_200.0, exponential());
    load.within = Some(Distribution::exponential(Duration::from_millis(50)));
    let law = Law::new("Erlang A", wide(10), load);
    laws.push(law.has("expired", Batch::rejected, expired).has("wait", Batch::wait, wait));
    laws
}

/// No closed form has an order with weights and a room.
fn chains() -> Vec<Law> {
    let classes = [(4, 3, [(220.0, 100.0, 1), (60.0, 100.0, 3)]), (6, 5, [(300.0, 100.0, 1), (90.0, 50.0, 4)])];
    let laws = classes.map(|(capacity, room, classes)| {
        let (rejected, waiting) = known::fifo_with_weights(capacity, room, &classes);
        let kind = |(rate, ends, cost)| {
            let hold = Distribution::exponential(Duration::from_secs_f64(1.0 / ends));
            (rate, cost as usize, hold)
        };
        let limits = Limits::new(capacity as usize).with_waiting_room(room);
        let law = Law::new(format!("chain of {capacity} units"), limits, with_kinds(classes.map(kind)));
        let law = law.has("narrow rejected", Batch::narrow_rejected, rejected[0]);
        law.has("wide rejected", Batch::wide_rejected, rejected[1]).has("waiting", Batch::waiting, waiting)
    });
    laws.into()
}

fn check(laws: Vec<Law>, first: u64) {
    let depth = env::var("BULKLINK_DEPTH").ok().and_then(|depth| depth.parse::<u32>().ok());
    let calls = if depth.is_some_and(|depth| depth >= 4) { 500_000 } else { 50_000 };
    let wrong: Vec<_> = laws.iter().zip(first..).flat_map(|(law, number)| law.check(number, calls)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn losses_are_those_of_erlang_and_of_kaufman_and_roberts_whatever_the_holds_are() {
    check(losses(), 100);
}

#[test]
fn waits_are_those_of_erlang_and_of_pollaczek_and_khinchine() {
    check(waits(), 200);
}

#[test]
fn limits_on_waits_reject_as_theory_has_it() {
    check(limits_on_waits(), 300);
}

#[test]
fn weights_in_fifo_order_reject_and_wait_as_their_chain_does() {
    check(chains(), 400);
}

#[test]
fn a_slot_that_is_free_at_the_end_of_the_wait_comes_too_late() {
    // Three calls at once have one slot for 10 ms, and may wait for as long.
    let call = |number: u32| ScriptedCall {
        at: Instant::EPOCH + Duration::from_millis(40) * (number / 3),
        hold: HOLD,
        cost: 1,
        within: None,
    };
    let arrivals = Arrivals::Script((0..3_000).map(call).collect::<Arc<[_]>>());
    let limits = Limits::new(1).with_waiting_room(5).with_wait_limit(Some(HOLD));
    let mut sim = Sim::new(limits, Load::new(arrivals, constant()), 1).unwrap();
    let mut admitted = vec![];
    sim.run(u64::MAX, |decision| {
        if decision.admitted.is_ok() {
            admitted.push(decision.call);
        }
    });
    assert_eq!(admitted, (0..1_000_u64).map(|batch| 3 * batch).collect::<Vec<_>>());
}
