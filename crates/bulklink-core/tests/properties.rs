//! Long random scripts for the gate, against its reference model, in larger worlds than a search
//! can afford: capacities up to dozens, thousands of steps.
//!
//! Runs as part of `cargo test`. `PROPTEST_CASES=N` tries N scripts of each kind instead of 64, and
//! `PROPTEST_RNG_SEED=N` makes every run try the same ones. A script that fails is shortened, and
//! printed as inputs to a world of the search.

use std::ops::RangeInclusive;

use std::time::Duration;

use bulklink_core::Reserve;
use bulklink_core::plumbing::Word;
use bulklink_model::gate::{
    Ask, Extra, FILTERS, FILTERS_WITH_A_WORD, Input, RawLimits, RawRequest, ScriptedWorld, Start, Step,
};
use bulklink_model::runner::play_all;
use bulklink_model::script::{Machine, Script};
use proptest::prelude::*;

#[test]
fn the_gate_does_what_the_model_does() {
    play_all::<ScriptedWorld>(scripts(starts(1..=48, 0..=48), steps(any_cost()), 0..=4000));
}

/// With costs of one unit, a word can nearly always decide. A crowd fills its counts.
#[test]
fn through_the_word_the_gate_does_what_the_model_does() {
    let starts = (starts(1..=4, 0..=4), 0..FILTERS_WITH_A_WORD).prop_map(|(start, filter)| Start {
        observed: FILTERS[filter],
        through_word: true,
        measures_holds: false,
        ..start
    });
    let steps = prop_oneof![30 => steps(Just(1)), 1 => any::<u8>().prop_map(Step::Crowd)];
    play_all::<ScriptedWorld>(scripts(starts, steps, 0..=400));
}

/// The capacities are around the largest that fits a word.
#[test]
fn a_gate_with_a_large_capacity_works_without_the_word() {
    let edge = Word::MAX_CAPACITY;
    play_all::<ScriptedWorld>(scripts(starts(edge - 1..=edge + 2, 0..=4), steps(any_cost()), 0..=100));
}

/// So the time of a rejection that is collected after that is the later one.
#[test]
fn a_ticket_that_is_cancelled_brings_the_time() {
    let start = Start {
        limits: (1, 3, None),
        waiting_room_units: None,
        measures_waits: true,
        observed: FILTERS[0],
        through_word: false,
        reserve: Reserve::Learnt,
        collect_limit: None,
        measures_holds: false,
        deadlines: true,
        extra: Extra::Nothing,
        prelude: vec![],
    };
    let mut world = ScriptedWorld::begin(&start);
    let mut give = |times, input| {
        (0..times).for_each(|_| world.give(input));
        world.check();
    };
    let until = |end| Input::Enter(Ask { deadline: Some(end), ..Ask::ONE });
    // An operation of 8 ns is the reserve, and another one has the slot.
    give(1, until(100));
    give(8, Input::Tick);
    give(1, Input::Release(0));
    give(1, Input::Enter(Ask::ONE));
    // The second call is rejected at 40 because of the reserve, and the third leaves at 41.
    give(1, until(48));
    give(1, Input::Enter(Ask::ONE));
    give(32, Input::Tick);
    give(1, Input::Advance);
    give(1, Input::Tick);
    give(1, Input::Cancel(3));
    give(1, Input::Collect(2));
    give(1, Input::Release(1));
    give(1, Input::Enter(Ask::ONE));
    // The next one is rejected at 296, one nanosecond before it would reduce the reserve.
    give(215, Input::Tick);
    give(1, until(304));
    give(40, Input::Tick);
    give(1, Input::Advance);
    give(1, Input::Collect(5));
}

fn scripts(
    starts: impl Strategy<Value = Start>,
    steps: impl Strategy<Value = Step>,
    length: RangeInclusive<usize>,
) -> impl Strategy<Value = Script<Start, Step>> {
    let stride = prop_oneof![1 => Just(1), 4 => 2_usize..100];
    let steps = prop::collection::vec(steps, length);
    (starts, steps, stride).prop_map(|(start, steps, stride)| Script { start, steps, stride })
}

fn starts(capacity: RangeInclusive<usize>, waiting_room: RangeInclusive<usize>) -> impl Strategy<Value = Start> {
    let limits = (capacity, waiting_room, prop::option::of(1_u64..=40));
    let units = prop::option::weighted(0.3, 1_usize..=96);
    let fixed = (0_u64..60).prop_map(|fixed| Reserve::Fixed(Duration::from_nanos(fixed)));
    let reserve = prop_oneof![4 => Just(Reserve::Learnt), 1 => fixed, 1 => Just(Reserve::None)];
    let takes_back = prop::option::weighted(0.3, 0_u64..60);
    // Only without an account of calls are quick paths tried.
    let calls = (reserve, takes_back, prop::bool::weighted(0.2), prop::bool::weighted(0.6));
    let all = (limits, units, any::<(bool, bool)>(), 0..FILTERS.len(), calls);
    all.prop_map(|(limits, waiting_room_units, (measures_waits, through_word), filter, calls)| Start {
        limits,
        waiting_room_units,
        measures_waits: measures_waits || calls.1.is_some() || calls.2,
        observed: FILTERS[filter],
        through_word: through_word && !calls.2,
        reserve: calls.0,
        collect_limit: calls.1,
        measures_holds: calls.2,
        deadlines: calls.3,
        extra: Extra::Nothing,
        prelude: vec![],
    })
}

/// Returns the rarer steps for a grant.
fn for_grants() -> impl Strategy<Value = Step> {
    prop_oneof![
        40 => any::<u8>().prop_map(Step::Abandon),
        40 => (any::<u8>(), 0..8_u8).prop_map(|(index, units)| Step::Split(index, units)),
        40 => any::<(u8, u8)>().prop_map(|(index, other)| Step::Merge(index, other)),
        1 => any::<u8>().prop_map(Step::WriteOff),
    ]
}

/// Returns steps with about as many releases as entries, and few closes.
fn steps(cost: impl Strategy<Value = u8>) -> impl Strategy<Value = Step> {
    prop_oneof![
        1600 => raw_requests(cost).prop_map(Step::Enter),
        800 => prop_oneof![any::<u8>().prop_map(Step::Release), any::<u8>().prop_map(Step::Finish)],
        240 => for_grants(),
        480 => any::<u8>().prop_map(Step::Collect),
        240 => any::<u8>().prop_map(Step::Cancel),
        480 => (0_u8..8).prop_map(Step::Tick),
        40 => (0_u8..20).prop_map(Step::TickBack),
        240 => Just(Step::Advance),
        20 => (0_u8..60).prop_map(Step::TakeBack),
        241 => controls(),
    ]
}

fn controls() -> impl Strategy<Value = Step> {
    prop_oneof![
        40 => (0_u8..=64).prop_map(Step::Resize),
        40 => raw_limits().prop_map(Step::Reconfigure),
        20 => Just(Step::Pause),
        60 => Just(Step::Resume),
        40 => (0_u8..=64, 0_u8..=64, fetches()).prop_map(|(units, alone, fetch)| Step::Restrict(units, alone, fetch)),
        40 => Just(Step::Unrestrict),
        1 => Just(Step::Close),
    ]
}

fn raw_limits() -> impl Strategy<Value = RawLimits> {
    let number = || prop::option::weighted(0.4, 0_u8..=64);
    let optional = || prop::option::weighted(0.4, prop::option::of(0_u8..=64));
    (number(), number(), optional(), optional()).prop_map(|(capacity, waiting_room, waiting_room_units, wait_limit)| {
        RawLimits { capacity, waiting_room, waiting_room_units, wait_limit }
    })
}

/// How long calls wait for a higher restriction, and up to how many units.
fn fetches() -> impl Strategy<Value = Option<(u8, u8)>> {
    prop::option::of((1_u8..50, 0_u8..=64))
}

fn any_cost() -> impl Strategy<Value = u8> {
    prop_oneof![6 => Just(1), 3 => 1_u8..8, 1 => any::<u8>()]
}

fn raw_requests(cost: impl Strategy<Value = u8>) -> impl Strategy<Value = RawRequest> {
    let may_queue = prop::bool::weighted(0.9);
    let (within, before) = (prop::option::weighted(0.3, 0_u8..50), prop::option::weighted(0.2, 0_u8..80));
    let whole = (any::<bool>(), prop::option::weighted(0.3, 0_u8..90));
    let ways = (may_queue, any::<bool>());
    (cost, ways, within, before, whole).prop_map(|(cost, ways, within, before, (is_whole, leaving))| {
        let (may_queue, fetches) = ways;
        RawRequest { cost, may_queue, fetches, within, before, is_whole, leaving }
    })
}
