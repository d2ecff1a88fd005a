//! Long random scripts for pools, against their reference model: many keys, three classes,
//! deadlines, and changes of shares and limits. The lines are lists, or gates with their
//! words.
//!
//! The environment variables and the output are those of the gate's properties.

use bulklink_core::pool::{Class, Limits, Pool, Share};
use bulklink_model::pool::{Cost, Gates, Lists, Start, Step, World};
use bulklink_model::runner::play_all;
use bulklink_model::script::Script;
use proptest::prelude::*;

const CLASSES: [usize; 3] = [Class::Critical as usize, Class::Normal as usize, Class::Sheddable as usize];
const USUAL: [usize; 1] = [Class::Normal as usize];

#[test]
fn a_pool_does_what_its_model_does() {
    play_all::<World<Lists>>(scripts(starts(1..=8, 1..=12, &CLASSES), steps(any_cost()), 1_000));
}

/// So nearly all calls take offers.
#[test]
fn a_pool_does_the_same_through_lent_words() {
    play_all::<World<Lists>>(scripts(starts(1..=5, 1..=8, &USUAL), steps(Just(1)), 1_000));
}

#[test]
fn a_pool_of_gates_does_what_its_model_does() {
    let classes = prop_oneof![Just(&USUAL[..]), Just(&CLASSES[..])];
    let starts = classes.prop_flat_map(|classes| starts(1..=6, 1..=10, classes));
    let cost = prop_oneof![4 => Just(1), 1 => 1_u32..=3];
    play_all::<World<Gates>>(scripts(starts, steps(cost), 1_000));
}

/// More lines have units that they do not use than words may be live.
#[test]
fn of_many_lines_with_lent_units_the_oldest_give_them_back() {
    let keys = Pool::LIVE as usize + 8;
    let starts = (66_u32..=90).prop_map(move |capacity| Start {
        limits: vec![limits(capacity, 20)],
        shares: vec![Share::PLAIN; keys],
        other_shares: vec![],
        costs: vec![1],
        classes: USUAL.into(),
        changes: false,
        deadlines: false,
        prelude: vec![],
    });
    let enter = |key| Step::Enter { key, class: 0, cost: 1, may_queue: true, within: None };
    let step = prop_oneof![
        1 => (0..keys).prop_map(enter),
        1 => (0_usize..100).prop_map(Step::Release),
    ];
    // Each key first has a call of its own, and then most end theirs.
    let begin = (0..keys).map(enter).chain((0..keys - 4).map(Step::Release)).collect::<Vec<_>>();
    let scripts = scripts(starts, step, 60).prop_map(move |mut script| {
        script.steps.splice(0..0, begin.clone());
        script
    });
    play_all::<World<Lists>>(scripts);
}

fn scripts(
    starts: impl Strategy<Value = Start>,
    step: impl Strategy<Value = Step>,
    most: usize,
) -> impl Strategy<Value = Script<Start, Step>> {
    let stride = prop_oneof![1 => Just(1), 4 => 2_usize..50];
    (starts, prop::collection::vec(step, 0..=most), stride).prop_map(|(start, steps, stride)| Script {
        start,
        steps,
        stride,
    })
}

fn starts(
    keys: std::ops::RangeInclusive<usize>,
    capacity: std::ops::RangeInclusive<u32>,
    classes: &[usize],
) -> impl Strategy<Value = Start> + use<> {
    let classes = classes.to_vec();
    let limits = prop::collection::vec(any_limits(capacity), 1..=3);
    let shares = prop::collection::vec(any_share(), keys);
    (limits, shares, prop::collection::vec(any_share(), 1..=4)).prop_map(move |(limits, mut shares, other_shares)| {
        make_valid(&mut shares, limits[0].capacity);
        let (costs, classes) = (vec![1, 2], classes.clone());
        Start { limits, shares, other_shares, costs, classes, changes: false, deadlines: false, prelude: vec![] }
    })
}

fn any_limits(capacity: std::ops::RangeInclusive<u32>) -> impl Strategy<Value = Limits> {
    let headroom =
        prop_oneof![2 => Just([0; 4]), 1 => (0_u32..2, 0_u32..3).prop_map(|(normal, worse)| [0, normal, worse, 0])];
    let room = prop_oneof![0_u32..6, 0_u32..30];
    (capacity, room, headroom, 0_u32..4).prop_map(|(capacity, room, headroom, relief)| {
        let mut limits = limits(capacity, room);
        limits.headroom = headroom.map(|units| units.min(capacity - 1));
        limits.relief = relief;
        limits
    })
}

fn limits(capacity: u32, room: u32) -> Limits {
    let mut limits = Limits::new(capacity);
    limits.waiting_room = room;
    limits
}

fn any_share() -> impl Strategy<Value = Share> {
    let floor = prop_oneof![2 => Just(0), 1 => 1_u32..4];
    let ceiling = prop_oneof![2 => Just(u32::MAX), 1 => 1_u32..5];
    let waiting_room = prop_oneof![3 => Just(u32::MAX), 1 => 0_u32..4];
    (1_u32..5, floor, any::<bool>(), ceiling, waiting_room).prop_map(
        |(weight, floor, is_kept, ceiling, waiting_room)| {
            let mut share = Share::PLAIN;
            (share.weight, share.floor, share.is_kept) = (weight, floor, is_kept);
            (share.ceiling, share.waiting_room) = (ceiling, waiting_room);
            share
        },
    )
}

/// Lowers floors to the ceilings and the capacity, and lends those that do not fit it together.
fn make_valid(shares: &mut [Share], capacity: Cost) {
    let mut left = capacity;
    for share in shares {
        share.floor = share.floor.min(share.ceiling).min(capacity);
        share.is_kept &= share.floor <= left;
        if share.is_kept {
            left -= share.floor;
        }
    }
}

fn any_cost() -> impl Strategy<Value = Cost> {
    prop_oneof![4 => Just(1_u32), 1 => 2_u32..4]
}

fn steps(cost: impl Strategy<Value = Cost>) -> impl Strategy<Value = Step> {
    let key = prop_oneof![1 => Just(0_usize), 1 => 0_usize..8];
    let within = prop_oneof![3 => Just(None), 1 => (1_u64..12).prop_map(Some)];
    let may_queue = prop::bool::weighted(0.85);
    let enter = (key, 0_usize..3, cost, may_queue, within)
        .prop_map(|(key, class, cost, may_queue, within)| Step::Enter { key, class, cost, may_queue, within });
    let with_a_share =
        (0_usize..3, 0_usize..8, 0_usize..4).prop_map(|(limits, key, share)| Step::Change(limits, key, share));
    let change = prop_oneof![1 => (0_usize..3).prop_map(Step::Limits), 2 => with_a_share];
    prop_oneof![
        450 => enter,
        320 => (0_usize..100).prop_map(Step::Release),
        60 => (0_usize..100).prop_map(Step::Cancel),
        60 => (1_usize..4).prop_map(Step::Tick),
        10 => (0_usize..8, 0_usize..4).prop_map(|(key, share)| Step::Share(key, share)),
        12 => (0_usize..8).prop_map(Step::Pause),
        10 => (0_usize..8, 0_usize..3).prop_map(|(key, class)| Step::HoldUp(key, class)),
        18 => change,
        // The macro has room for ten.
        20 => prop_oneof![
            (0_usize..8).prop_map(Step::Remove),
            (0_usize..8, 0_usize..4).prop_map(|(key, class)| Step::Vacate(key, class)),
        ],
        20 => (0_usize..8).prop_map(Step::Add),
    ]
}
