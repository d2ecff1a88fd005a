//! Every script of inputs up to a depth, in many small worlds, against the circuit's reference
//! model.
//!
//! Runs as part of `cargo test`. `BULKLINK_DEPTH` makes its scripts longer by as much as those of
//! the gate's search.

use bulklink_breaker::Mark;
use bulklink_model::circuit::{Limit, Setup, Span, Start, Step, Time, World};
use bulklink_model::search::{Extent, search};

const EXTENTS: [Extent; 2] = [
    Extent { depth: 4, scripts: 496_220, inputs: 579_999 },
    Extent { depth: 5, scripts: 3_218_739, inputs: 3_745_221 },
];

/// A tenth of the shortest window of time.
const PART: Time = 1_000_000;

const FAILED: Option<Mark> = Some(Mark { failed: true, slow: false });

fn main() {
    search::<World>("circuit", &worlds(), &EXTENTS);
}

fn worlds() -> Vec<Start> {
    let mut worlds = vec![];
    for setup in by_calls() {
        worlds.extend(preludes(&plain(setup)));
    }
    for setup in by_time() {
        worlds.extend(preludes(&Start { waits: vec![PART, 9 * PART], ..plain(setup) }));
    }
    for setup in by_probes() {
        let half_open = [vec![Step::ForceClosed], failed(&setup), vec![Step::WaitForEnd(true), Step::Admit]].concat();
        worlds.push(Start { prelude: half_open, ..plain(setup) });
    }
    worlds.extend(with_clocks_set_back());
    worlds.extend(with_everything());
    worlds.extend(with_other_settings());
    worlds
}

/// Returns windows of calls, with numbers and rates of failed and slow calls.
fn by_calls() -> Vec<Setup> {
    let calls = |number| Some(Limit::Calls(number));
    let percent = |number| Some(Limit::Percent(number));
    let of_last =
        |number, failures, slow, min_calls| Setup { span: Span::Calls(number), failures, slow, min_calls, ..SETUP };
    vec![
        of_last(1, calls(1), None, None),
        of_last(2, calls(2), None, None),
        of_last(3, calls(2), None, None),
        of_last(3, calls(3), calls(2), None),
        of_last(3, calls(2), None, Some(3)),
        of_last(2, None, calls(2), Some(1)),
        of_last(2, percent(50), None, None),
        of_last(3, percent(34), percent(67), None),
        of_last(3, percent(50), calls(3), Some(2)),
        of_last(4, None, percent(100), Some(1)),
        of_last(3, percent(1), calls(2), None),
    ]
}

/// Returns windows of time.
fn by_time() -> Vec<Setup> {
    let within = |failures, slow, min_calls| Setup {
        span: Span::Time(10 * PART),
        failures: Some(failures),
        slow,
        min_calls,
        cool_down: PART,
        lease: PART,
        ..SETUP
    };
    vec![
        within(Limit::Calls(2), None, None),
        within(Limit::Calls(3), Some(Limit::Calls(1)), None),
        within(Limit::Percent(60), None, Some(3)),
        within(Limit::Percent(60), Some(Limit::Calls(2)), Some(1)),
        Setup { span: Span::Time(11 * PART + 7), ..within(Limit::Calls(2), None, Some(2)) },
    ]
}

/// Returns numbers of probes, and of those that close or open the circuit.
fn by_probes() -> Vec<Setup> {
    let mut setups = vec![];
    for probes in 1..=3 {
        for (close_after, reopen_after) in [(1, 1), (2, 1), (1, 2), (2, 2), (3, 3)] {
            let lease = if reopen_after == 1 { 1 } else { 2 };
            let longest = [None, Some(2), Some(5)][probes - 1];
            setups.push(Setup { probes, close_after, reopen_after, lease, longest, ..SETUP });
        }
    }
    setups
}

/// Returns worlds with a clock that can be set back.
fn with_clocks_set_back() -> Vec<Start> {
    let time = by_time().remove(0);
    let by_time = Start { waits: vec![PART, 10 * PART], goes_back: true, ..plain(time) };
    let probes = Setup { probes: 2, close_after: 2, lease: 2, ..SETUP };
    let by_probes = Start { goes_back: true, ..plain(probes) };
    [by_time, by_probes].iter().flat_map(preludes).collect()
}

/// Returns worlds in which reports and changes by hand are tried everywhere.
fn with_everything() -> Vec<Start> {
    let calls = Setup { span: Span::Calls(3), probes: 2, longest: Some(3), ..SETUP };
    let time = by_time().remove(2);
    let worlds = [plain(calls), Start { waits: vec![PART, 9 * PART], ..plain(time) }];
    worlds.iter().map(|start| Start { is_full: true, ..start.clone() }).flat_map(|start| preludes(&start)).collect()
}

/// Returns worlds with settings that change: the window becomes longer, shorter, of the other kind,
/// or stays; more or fewer probes may run, and fewer of them decide.
fn with_other_settings() -> Vec<Start> {
    let calls = Setup { span: Span::Calls(2), probes: 2, close_after: 2, reopen_after: 2, ..SETUP };
    let longer = Setup { span: Span::Calls(4), failures: Some(Limit::Calls(3)), ..SETUP };
    let time = by_time().remove(0);
    let same = Setup { failures: Some(Limit::Calls(1)), probes: 2, reopen_after: 2, ..time };
    let slower = Setup { span: Span::Time(11 * PART), ..same };
    let by_calls = Start { others: vec![longer, calls], ..plain(calls) };
    let by_time = Start { waits: vec![PART, 9 * PART], others: vec![same, slower, longer], ..plain(time) };
    [by_calls, by_time].iter().flat_map(preludes).collect()
}

/// Returns the world as it begins, as it has opened, and half-open with a probe.
fn preludes(start: &Start) -> [Start; 3] {
    let open = failed(&start.setup);
    let half_open = [open.clone(), vec![Step::WaitForEnd(true), Step::Admit]].concat();
    [vec![], open, half_open].map(|prelude| Start { prelude, ..start.clone() })
}

/// Returns slow failures until the circuit opens.
fn failed(setup: &Setup) -> Vec<Step> {
    let calls = match setup.span {
        Span::Calls(calls) => calls,
        Span::Time(_) => 3,
    };
    let outcome = FAILED.map(|mark| Mark { slow: true, ..mark });
    vec![Step::Settle(0, outcome); calls]
}

const SETUP: Setup = Setup {
    span: Span::Calls(2),
    failures: Some(Limit::Calls(2)),
    slow: None,
    min_calls: None,
    cool_down: 2,
    longest: None,
    probes: 1,
    close_after: 1,
    reopen_after: 1,
    lease: 2,
};

fn plain(setup: Setup) -> Start {
    Start { setup, waits: vec![1], goes_back: false, is_full: false, others: vec![], prelude: vec![] }
}
