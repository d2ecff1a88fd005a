//! Scripts that were found by a search, and the faults that the tests find.

use std::time::Duration;

use bulklink_fleet::share::Demand;

use crate::faults::Fault;
use crate::random::{beating, long};
use crate::world::{Budget, Input, Message, World};

use Input::{Arrive, Promote, Replicate, Send, Tick, Upgrade};

fn play(world: &mut World, inputs: &[Input]) -> Result<(), String> {
    inputs.iter().try_for_each(|input| world.apply(*input))
}

/// Delivers the first message that is wanted.
fn deliver(world: &mut World, is_wanted: impl Fn(&Message) -> bool) -> Result<(), String> {
    let place = world.down.iter().position(is_wanted).expect("the message is on its way");
    world.apply(Input::Deliver(place, false))
}

fn large_bag(losses: u8) -> Budget {
    Budget { bag: 16, losses, ..Budget::SMALL }
}

/// A statement arrives again when its row has expired, and the unit of the first grant is with
/// another process.
fn doubled_statement(fault: Fault) -> Result<(), String> {
    let mut world = World::new(2, 2, false, large_bag(0)).with_fault(fault);
    play(&mut world, &[Send(0, 1), Arrive(0, false)])?;
    let ids = [world.members[0].id, world.members[1].id];
    let of = |message: &Message, place: usize| message.process() == ids[place];
    deliver(&mut world, |message| of(message, 0))?;
    // The second process waits, and is granted a unit when the first one leaves.
    play(&mut world, &[Send(1, 3), Arrive(0, true)])?;
    deliver(&mut world, |message| of(message, 1))?;
    play(&mut world, &[Send(0, 2), Arrive(1, false), Tick(2), Send(0, 4), Arrive(1, false)])?;
    let first = world.members[0].id;
    deliver(
        &mut world,
        |message| matches!(message, Message::Reply(reply) if reply.grant.process == first && reply.grant.units > 0),
    )?;
    // The statement of the second process arrives again.
    play(&mut world, &[Arrive(0, false)])?;
    while world.down.iter().any(|message| of(message, 1)) {
        let last = world.down.iter().rposition(|message| of(message, 1)).expect("a message");
        world.apply(Input::Deliver(last, false))?;
    }
    Ok(())
}

#[test]
fn a_doubled_statement_has_one_grant() {
    doubled_statement(Fault::None).unwrap();
    doubled_statement(Fault::NoSerial).unwrap_err();
}

/// A statement that was sent before a lapse arrives in a quarantine that begins after it, when
/// another process has the units.
fn lapse(fault: Fault) -> Result<(), String> {
    let mut world = World::new(2, 2, false, large_bag(2)).with_fault(fault);
    play(&mut world, &[Send(0, 1), Arrive(0, false)])?;
    deliver_all(&mut world)?;
    // It keeps two units, but the statement takes longer than the lease.
    play(&mut world, &[Tick(4), Send(0, 0), Tick(2), Send(1, 1), Arrive(1, false)])?;
    deliver_all(&mut world)?;
    // Another run of the server has all data, and does not know that it is the same.
    let late = world.up.clone();
    play(&mut world, &[Replicate, Promote])?;
    world.up = late;
    play(&mut world, &[Send(1, 0), Arrive(1, false)])?;
    deliver_all(&mut world)?;
    play(&mut world, &[Arrive(0, false)])?;
    deliver_all(&mut world)
}

fn deliver_all(world: &mut World) -> Result<(), String> {
    while !world.down.is_empty() {
        world.apply(Input::Deliver(0, false))?;
    }
    Ok(())
}

#[test]
fn a_lapse_voids_what_was_stated() {
    lapse(Fault::None).unwrap();
    lapse(Fault::LapseKeepsStatement).unwrap_err();
}

/// The data of before a grant returns, and the first process that comes declares a shorter lease.
#[test]
fn a_quarantine_lasts_for_the_lease_of_before() {
    let mut world = World::new(2, 2, false, large_bag(2));
    let wanted = Demand { need: 2, ..Demand::default() };
    world.exchange(0, Demand::default()).unwrap();
    play(&mut world, &[Tick(1), Replicate]).unwrap();
    world.exchange(0, wanted).unwrap();
    play(&mut world, &[Promote, Upgrade(1)]).unwrap();
    world.exchange(1, wanted).unwrap();
    let status = world.status().unwrap();
    assert_eq!(status.declaration.terms.lease, Duration::from_millis(3));
    assert_eq!(status.quarantine, Duration::from_millis(6));
    for _ in 0..8 {
        world.apply(Tick(1)).unwrap();
        world.exchange(1, wanted).unwrap();
    }
    assert_eq!((world.usable(0), world.usable(1)), (0, 2));
}

/// The data is lost while a process has a longer lease than the one that comes first, which knows.
fn quarantine_after_a_shorter_lease(fault: Fault) -> Duration {
    let mut world = World::new(2, 2, false, large_bag(2)).with_fault(fault);
    let wanted = Demand { need: 2, ..Demand::default() };
    world.exchange(0, wanted).unwrap();
    play(&mut world, &[Upgrade(1)]).unwrap();
    world.exchange(1, wanted).unwrap();
    play(&mut world, &[Input::Restart]).unwrap();
    world.exchange(1, wanted).unwrap();
    world.status().unwrap().quarantine
}

#[test]
fn a_process_states_the_longest_lease_that_it_knows() {
    assert_eq!(quarantine_after_a_shorter_lease(Fault::None), Duration::from_millis(6));
    assert_eq!(quarantine_after_a_shorter_lease(Fault::ForgetsLongest), Duration::from_millis(3));
}

/// A lease that becomes shorter does not end units earlier than their process knows.
#[test]
fn a_shorter_lease_ends_no_row_early() {
    let mut world = World::new(2, 2, false, large_bag(2));
    let wanted = Demand { need: 2, ..Demand::default() };
    world.exchange(0, wanted).unwrap();
    play(&mut world, &[Upgrade(1)]).unwrap();
    world.exchange(1, wanted).unwrap();
    // The statement of the first process renews its row, and its reply is lost.
    play(&mut world, &[Tick(1), Send(0, 1), Arrive(0, false), Input::Cut(0), Tick(4)]).unwrap();
    world.exchange(1, wanted).unwrap();
    assert_eq!((world.usable(0), world.usable(1)), (2, 0));
}

/// The fault must be found by one of these seeds.
const SEEDS: u64 = 3_000;

#[test]
fn each_fault_is_found() {
    let finds = |fault| {
        let found = (0..SEEDS).find_map(|seed| beating(seed, fault).and_then(|()| long(seed, fault)).err());
        println!("{fault:?}: {found:?}");
        found
    };
    let missed: Vec<_> = Fault::ALL.into_iter().filter(|fault| finds(*fault).is_none()).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
