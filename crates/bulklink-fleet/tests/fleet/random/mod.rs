//! Random calls, drops, faults and pauses: the limit holds, every future ends, and nothing is left.
//!
//! `PROPTEST_CASES` is the number of the scripts.

mod counted;
mod world;

use proptest::prelude::*;
use proptest::test_runner::Config;
use world::{Input, Kind, Options, World};

/// How many scripts run unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 300;

fn inputs() -> impl Strategy<Value = Input> {
    let at = 0..64_usize;
    let kind = prop_oneof![
        4 => Just(Kind::Wait),
        2 => Just(Kind::Try),
        1 => (0..400_u64).prop_map(Kind::Within),
    ];
    prop_oneof![
        20 => (at.clone(), prop_oneof![3 => Just(1_u64), 1 => Just(2)], kind).prop_map(|(at, cost, kind)| Input::Call(at, cost, kind)),
        12 => at.clone().prop_map(Input::Poll),
        2 => at.clone().prop_map(Input::PollElsewhere),
        8 => Just(Input::PollAll),
        6 => at.clone().prop_map(Input::DropCall),
        8 => at.clone().prop_map(Input::DropPermit),
        4 => at.clone().prop_map(Input::Release),
        2 => at.clone().prop_map(Input::Watch),
        1 => at.clone().prop_map(Input::DropWatch),
        16 => at.clone().prop_map(Input::Run),
        10 => prop_oneof![0..60_u64, Just(100), Just(150), 100..1_200_u64, 1_000..1_400_u64].prop_map(Input::Pass),
        4 => at.clone().prop_map(Input::Freeze),
        2 => at.clone().prop_map(Input::Thaw),
        1 => (at.clone(), 1..5_u64).prop_map(|(at, limit)| Input::SetLimit(at, limit)),
        1 => at.clone().prop_map(Input::Reap),
        1 => at.clone().prop_map(Input::Status),
        1 => at.prop_map(Input::Close),
        1 => Just(Input::Stop),
        2 => Just(Input::Start),
        1 => any::<bool>().prop_map(|empty| Input::Restart { empty }),
        2 => Just(Input::Cut),
        6 => any::<bool>().prop_map(Input::Stall),
        2 => any::<bool>().prop_map(Input::DropAnswers),
        2 => any::<bool>().prop_map(Input::DropNotices),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let room = prop_oneof![Just(0_usize), Just(2), Just(50)];
    let reuse = prop_oneof![Just(0_u64), Just(1), Just(4)];
    let idle = prop_oneof![Just(0_u64), Just(20), Just(100)];
    let remote = prop_oneof![Just(1_usize), Just(3), Just(256)];
    (1..4_u64, room, remote, reuse, idle, any::<bool>()).prop_map(|(limit, room, remote, reuse, idle, has_faults)| {
        Options { limit, room, remote, reuse, idle, has_faults }
    })
}

#[test]
fn random_scripts_keep_the_limit_and_leave_nothing() {
    let cases = std::env::var("PROPTEST_CASES").map_or(CASES, |text| text.parse().expect("a number of cases"));
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let script = prop::collection::vec(inputs(), 1..100);
    proptest!(config, |(processes in 1..4_usize, options in options(), script in script)| {
        let mut world = World::new(processes, options);
        for input in script {
            world.apply(input);
        }
        world.settle();
    });
}
