//! Long scripts of random inputs, and the fair phase after them.

use bulklink_fleet::share::Demand;
use bulklink_model::merged::World as _;
use fastrand::Rng;

use crate::faults::Fault;
use crate::world::{Budget, Input, World};

/// How many random scripts run unless `PROPTEST_CASES` is set.
const CASES: u64 = 200;

/// The inputs of a script.
const LENGTH: usize = 250;

fn cases() -> u64 {
    std::env::var("PROPTEST_CASES").map_or(CASES, |text| text.parse().expect("a number of cases"))
}

fn world(random: &mut Rng, bag: usize, fault: Fault) -> World {
    let budget = Budget { bag, upgrades: u8::from(random.bool()) * 2, ..Budget::SMALL };
    World::new(random.usize(2..=4), random.u32(1..=4), random.bool(), budget).with_fault(fault)
}

/// Returns one of `n` times true.
fn one_in(random: &mut Rng, n: u32) -> bool {
    random.u32(..n) == 0
}

/// Plays a script of arbitrary inputs, and then a fair phase.
pub(crate) fn long(seed: u64, fault: Fault) -> Result<(), String> {
    let mut random = Rng::with_seed(seed);
    let mut world = world(&mut random, 4, fault);
    for step in 0..LENGTH {
        refill(&mut random, &mut world.budget);
        let options = world.options();
        let input = loop {
            let input = options[random.usize(..options.len())];
            if one_in(&mut random, rarity(input)) {
                break input;
            }
        };
        world.apply(input).map_err(|broken| format!("seed {seed}, input {step}, {input:?}: {broken}"))?;
    }
    fair(&mut random, world).map_err(|broken| format!("seed {seed}, fair phase: {broken}"))
}

fn refill(random: &mut Rng, budget: &mut Budget) {
    for (kind, amount) in [(&mut budget.losses, 2), (&mut budget.crashes, 1), (&mut budget.limits, 2)] {
        if one_in(random, 40) {
            *kind = amount;
        }
    }
    if one_in(random, 8) {
        budget.doubles = 2;
    }
    if one_in(random, 60) {
        budget.steps_back = 1;
    }
}

/// Messages and statements are more frequent than faults.
fn rarity(input: Input) -> u32 {
    match input {
        Input::Start(_) | Input::Arrive(..) | Input::Deliver(..) => 1,
        Input::Tick(4) => 4,
        Input::Send(..) | Input::Tick(_) => 2,
        Input::End(_) => 8,
        _ => 12,
    }
}

/// From now on, all declare the same, all messages arrive, and each process always wants two units:
/// each is served. The server's clock goes back once.
fn fair(random: &mut Rng, mut world: World) -> Result<(), String> {
    world.up.clear();
    world.down.clear();
    world.agree();
    world.budget = Budget { bag: 64, ..Budget::SMALL };
    if random.bool() {
        world.apply(Input::StepBack(30_000))?;
    }
    let mut served = vec![0; world.members.len()];
    for _ in 0..400 {
        for (place, served) in served.iter_mut().enumerate() {
            let (usable, firm) = (world.usable(place), world.members[place].share.firm());
            *served += u32::from(usable > 0);
            world.members[place].running = 0;
            // Units above the level go back when they have been used for a tick.
            world.exchange(place, Demand { keep: usable.min(firm.unwrap_or(usable)), need: 2, ..Demand::default() })?;
        }
        world.apply(Input::Tick(1))?;
    }
    let least = served.iter().min().copied().unwrap_or(0);
    if least < 40 { Err(format!("served {served:?} times of 400")) } else { Ok(()) }
}

/// Plays processes that beat, with operations that run for long.
pub(crate) fn beating(seed: u64, fault: Fault) -> Result<(), String> {
    let mut random = Rng::with_seed(!seed);
    let mut world = world(&mut random, 12, fault);
    let loss = random.u32(..4);
    for tick in 0..LENGTH {
        world.budget = Budget { bag: 12, doubles: u8::MAX, upgrades: world.budget.upgrades, ..Budget::SMALL };
        for input in turn(&mut random, &world, loss) {
            let Some(input) = possible(&mut random, &world, input) else { continue };
            world.apply(input).map_err(|broken| format!("seed {seed}, tick {tick}, {input:?}: {broken}"))?;
        }
    }
    Ok(())
}

/// Returns the inputs of about a millisecond.
fn turn(random: &mut Rng, world: &World, loss: u32) -> Vec<Input> {
    let mut inputs = vec![];
    let members = world.members.len();
    for place in 0..members {
        if random.u32(..8) >= loss {
            inputs.push(Input::Send(place, [0, 1, 1, 3, 2][random.usize(..5)]));
        }
        inputs.extend(one_in(random, 3).then_some(Input::Start(place)));
        inputs.extend(one_in(random, 12).then_some(Input::End(place)));
    }
    let place = random.usize(..members);
    let rare = [
        (60, Input::Restart),
        (60, Input::Promote),
        (30, Input::Replicate),
        (60, Input::Crash(place)),
        (60, Input::Upgrade(place)),
        (60, Input::Change(place, random.bool())),
        (60, Input::SetLimit(random.u32(1..=4))),
        (90, Input::StepBack(3)),
        (30, Input::Cut(place)),
    ];
    inputs.extend(rare.into_iter().filter(|(n, _)| one_in(random, *n)).map(|(_, input)| input));
    for _ in 0..3 * members {
        inputs.extend((random.u32(..8) >= loss).then_some(Input::Arrive(0, false)));
        inputs.extend((random.u32(..8) >= loss).then_some(Input::Deliver(0, false)));
    }
    inputs.extend((random.u32(..3) > 0).then_some(Input::Tick(1)));
    inputs
}

/// Returns the input as it is possible in this state.
fn possible(random: &mut Rng, world: &World, input: Input) -> Option<Input> {
    let again = one_in(random, 16);
    match input {
        Input::Arrive(..) => (!world.up.is_empty()).then(|| Input::Arrive(random.usize(..world.up.len()), again)),
        Input::Deliver(..) => (!world.down.is_empty()).then(|| Input::Deliver(random.usize(..world.down.len()), again)),
        Input::Start(place) => (world.members[place].running < world.usable(place)).then_some(input),
        Input::End(place) => (world.members[place].running > 0).then_some(input),
        Input::Upgrade(_) | Input::Change(..) => (world.budget.upgrades > 0).then_some(input),
        Input::Promote => world.has_replica().then_some(input),
        input => Some(input),
    }
}

#[test]
fn long_scripts() {
    (0..cases()).for_each(|seed| long(seed, Fault::None).unwrap());
}

/// Without quarantine, tokens grow all the same, also over a loss of data.
#[test]
fn tokens_grow() {
    for seed in 0..cases() {
        let mut random = Rng::with_seed(seed);
        let budget = Budget { steps_back: 0, ..Budget::SMALL };
        let mut world = World::new(3, 2, false, budget).without_recovery();
        for _ in 0..LENGTH {
            world.budget.losses = 2;
            let options = world.options();
            let input = options[random.usize(..options.len())];
            world.apply(input).unwrap_or_else(|broken| panic!("seed {seed}, {input:?}: {broken}"));
        }
    }
}

#[test]
fn beating_processes() {
    (0..cases()).for_each(|seed| beating(seed, Fault::None).unwrap());
}
