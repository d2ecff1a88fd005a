//! Long random scripts for the circuit, against its reference model: windows up to dozens of calls
//! or any time, dozens of probes, hundreds of steps.
//!
//! Runs as part of `cargo test`. The environment variables and the output are those of the gate's
//! properties.

use bulklink_breaker::Mark;
use bulklink_model::circuit::{Limit, Setup, Span, Start, Step, Time, World};
use bulklink_model::runner::play_all;
use bulklink_model::script::Script;
use proptest::prelude::*;

/// The shortest window of time.
const SHORTEST: Time = 10_000_000;

#[test]
fn a_circuit_with_a_window_of_calls_does_what_the_model_does() {
    let span = prop_oneof![(1_usize..=8), (1_usize..=60)].prop_map(Span::Calls);
    play_all::<World>(scripts(span, true));
}

#[test]
fn a_circuit_with_a_window_of_time_does_what_the_model_does() {
    play_all::<World>(scripts((SHORTEST..=3 * SHORTEST).prop_map(Span::Time), true));
}

/// The clock is never set back, so that successes are added late while a circuit is calm.
#[test]
fn with_a_clock_that_is_not_set_back_successes_may_be_added_late() {
    let calls = (1_usize..=12).prop_map(Span::Calls);
    let time = (SHORTEST..=3 * SHORTEST).prop_map(Span::Time);
    play_all::<World>(scripts(prop_oneof![calls, time], false));
}

/// The settings change to others, with windows that are longer or shorter, of the other kind, or
/// the same: a length that differs by a few nanoseconds has the same parts.
#[test]
fn a_circuit_whose_settings_change_does_what_the_model_does() {
    let calls = || prop_oneof![(1_usize..=8), (1_usize..=60)].prop_map(Span::Calls);
    let time = || (SHORTEST..=3 * SHORTEST).prop_map(Span::Time);
    let alike = |span| match span {
        Span::Calls(_) => Just(span).boxed(),
        Span::Time(time) => (time / 10 * 10..time / 10 * 10 + 20).prop_map(Span::Time).boxed(),
    };
    let starts = || {
        prop_oneof![calls(), time()].prop_flat_map(move |span| {
            let other = prop_oneof![4 => alike(span), 2 => calls(), 2 => time()];
            let others = other.prop_flat_map(move |other| setups(other, unit(span)));
            (start(span), prop::collection::vec(others, 1..=5)).prop_map(|(start, others)| Start { others, ..start })
        })
    };
    for goes_back in [true, false] {
        play_all::<World>(scripts_of(starts(), goes_back));
    }
}

fn scripts(span: impl Strategy<Value = Span>, goes_back: bool) -> impl Strategy<Value = Script<Start, Step>> {
    scripts_of(span.prop_flat_map(start), goes_back)
}

fn scripts_of(starts: impl Strategy<Value = Start>, goes_back: bool) -> impl Strategy<Value = Script<Start, Step>> {
    let steps = prop::collection::vec(steps(goes_back), 0..=400);
    let stride = prop_oneof![1 => Just(1), 4 => 2_usize..40];
    (starts, steps, stride).prop_map(|(start, steps, stride)| Script { start, steps, stride })
}

fn start(span: Span) -> impl Strategy<Value = Start> {
    let unit = unit(span);
    setups(span, unit).prop_map(move |setup| Start {
        setup,
        waits: vec![unit],
        goes_back: false,
        is_full: true,
        others: vec![],
        prelude: vec![],
    })
}

/// The shortest wait.
fn unit(span: Span) -> Time {
    match span {
        Span::Calls(_) => 1,
        Span::Time(time) => time / 13,
    }
}

fn setups(span: Span, unit: Time) -> impl Strategy<Value = Setup> {
    let most = match span {
        Span::Calls(calls) => u32::try_from(calls).expect("a small number"),
        Span::Time(_) => 40,
    };
    let limit = move || prop_oneof![(1..=most).prop_map(Limit::Calls), (1_u32..=100).prop_map(Limit::Percent)];
    let limits = prop_oneof![
        2 => (limit().prop_map(Some), Just(None)),
        1 => (Just(None), limit().prop_map(Some)),
        2 => (limit().prop_map(Some), limit().prop_map(Some)),
    ];
    let cool_down = (1_u64..=20, prop::option::of(0_u64..=100));
    let probes = (1_usize..=6, 1_usize..=6, 1_usize..=6, 1_u64..=20);
    let all = (limits, prop::option::of(1..=most), cool_down, probes);
    all.prop_map(move |((failures, slow), min_calls, (cool_down, more), (probes, close_after, reopen_after, lease))| {
        Setup {
            span,
            failures,
            slow,
            min_calls,
            cool_down: cool_down * unit,
            longest: more.map(|more| (cool_down + more) * unit),
            probes,
            close_after,
            reopen_after,
            lease: lease * unit,
        }
    })
}

fn steps(goes_back: bool) -> impl Strategy<Value = Step> {
    let back = if goes_back { 10 } else { 0 };
    let by_hand = prop_oneof![
        1 => Just(Step::ForceOpen),
        2 => Just(Step::ForceClosed),
        3 => any::<u8>().prop_map(Step::Change),
    ];
    prop_oneof![
        200 => Just(Step::Admit),
        20 => any::<u8>().prop_map(Step::AdmitAgain),
        500 => (any::<u8>(), outcomes()).prop_map(|(index, outcome)| Step::Settle(index, outcome)),
        40 => (any::<u8>(), outcomes()).prop_map(|(index, outcome)| Step::SettleAny(index, outcome)),
        30 => (prop::bool::weighted(0.2), any::<u8>()).prop_map(|(is_late, index)| Step::Report(is_late, index)),
        100 => (0_u8..10).prop_map(Step::Wait),
        60 => prop::bool::weighted(0.8).prop_map(Step::WaitForEnd),
        back => (0_u8..20).prop_map(Step::Back),
        30 => by_hand,
    ]
}

/// Returns outcomes of which most are good, as those of real calls.
fn outcomes() -> impl Strategy<Value = Option<Mark>> {
    let mark = (prop::bool::weighted(0.35), prop::bool::weighted(0.2));
    prop::option::weighted(0.9, mark.prop_map(|(failed, slow)| Mark { failed, slow }))
}
