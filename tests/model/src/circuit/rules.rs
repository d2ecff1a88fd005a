//! What holds in every state of a circuit: it equals its model, and changes only when it may.

use bulklink_breaker::{Circuit, Counts, Instant, Mark, Outcomes, Pass, ProbeId, State, View};

use super::model::Time;
use super::world::{BAD, BOTH, GOOD, Input, SLOW, World};

const OUTCOMES: [Option<Mark>; 5] = [None, Some(GOOD), Some(BAD), Some(SLOW), Some(BOTH)];

/// Checks all rules of a state.
pub(super) fn check(world: &World) {
    for now in times(world) {
        is_as_the_model_says(world, now);
    }
    let view = world.circuit.view(world.instant());
    at_the_end_of_the_cool_down(world);
    successes_that_are_added_late(world, &view);
    outcomes_that_do_not_count(world);
    ignored_outcomes(world);
    admissions_that_change_nothing(world);
    closing_by_hand(world);
}

/// Checks what one input has changed: the generation grows by one at each transition, and only
/// then. A circuit that closes is as a new one.
pub(super) fn check_change(before: &Circuit, world: &World, input: Input) {
    let after = &world.circuit;
    let is_by_hand = matches!(input, Input::ForceOpen | Input::ForceClosed);
    let is_transition = is_by_hand || phase(before) != phase(after);
    assert_eq!(after.generation(), before.generation() + u64::from(is_transition), "the number of transitions");
    let (had, has) = [before, after].map(|circuit| circuit.view(world.instant()).probes).into();
    assert!(has <= had.max(world.model.setup().probes), "more live probes than may run");
    if is_transition && phase(after) == State::Closed {
        assert_eq!(*after, new_in(after), "a circuit that has closed is as a new one");
    }
}

/// Returns the state after the last transition, whatever the time: no cool-down ends at the epoch.
fn phase(circuit: &Circuit) -> State {
    circuit.view(Instant::EPOCH).state
}

/// Returns a new circuit of the same generation.
fn new_in(circuit: &Circuit) -> Circuit {
    let mut new = Circuit::new(*circuit.settings()).expect("they were checked");
    while new.generation() < circuit.generation() {
        new.force_closed();
    }
    new
}

/// Returns the times that matter: now, each end of a cool-down or lease, those a nanosecond before,
/// and some far away.
fn times(world: &World) -> Vec<Time> {
    let ends = world.model.running().into_iter().map(|probe| probe.1).chain(world.model.open_until());
    let around = ends.flat_map(|end| [end.saturating_sub(1), end]);
    around.chain([0, world.now, world.now.saturating_add(world.start.waits[0]), Time::MAX]).collect()
}

fn is_as_the_model_says(world: &World, now: Time) {
    let (view, model) = (world.circuit.view(Instant::from_nanos(now)), &world.model);
    let state = model.state(now);
    assert_eq!((view.state, view.generation), (state, model.generation()));
    assert_eq!(world.circuit.generation(), model.generation());
    let retry_at = model.open_until().filter(|_| state == State::Open);
    assert_eq!(view.retry_at.map(Instant::as_nanos), retry_at);
    assert_eq!(view.is_forced, model.is_forced());
    assert_eq!(view.counts, counts(&model.window(now)));
    let (good, bad) = model.probe_outcomes();
    assert_eq!((view.probe_successes as usize, view.probe_failures as usize), (good, bad));
    let live = model.running().iter().filter(|probe| probe.1 > now).count();
    assert_eq!(view.probes, live);
}

fn counts(marks: &[Mark]) -> Counts {
    let count = |which: fn(&Mark) -> bool| marks.iter().filter(|mark| which(mark)).count() as u64;
    Counts { calls: marks.len() as u64, failures: count(|mark| mark.failed), slow: count(|mark| mark.slow) }
}

/// An open circuit refuses calls until the nanosecond in which its cool-down ends, and then lets
/// the first through as a probe. Without an end it refuses them for ever.
fn at_the_end_of_the_cool_down(world: &World) {
    let admitted = |at: Time| world.circuit.clone().admit(Instant::from_nanos(at), ProbeId(u64::MAX)).is_ok();
    if phase(&world.circuit) != State::Open {
        return;
    }
    match world.model.open_until() {
        Some(until) => {
            let just_before = Instant::from_nanos(until - 1);
            assert!(!admitted(until - 1) && admitted(until), "the cool-down ends at {until}");
            assert_eq!(world.circuit.view(just_before).state, State::Open);
            assert_eq!(world.circuit.view(Instant::from_nanos(until)).state, State::HalfOpen);
        }
        None => assert!(!admitted(Time::MAX), "open until it is closed by hand"),
    }
}

/// A circuit to which the successes that came while it was calm are added late is the same then,
/// and as calm as before; but for the time at which a window of time has counted them.
fn successes_that_are_added_late(world: &World, view: &View) {
    let mut late = world.lazy.clone();
    late.add_successes(world.instant(), world.pending);
    assert!(world.pending == 0 || late.is_calm(), "a success is no reason not to be calm");
    if world.model.setup().settings().window_calls().is_some() {
        assert_eq!(late, world.circuit, "it matters when a success is added while the circuit is calm");
    }
    let mut late = late.view(world.instant());
    late.counts.calls = view.counts.calls;
    assert_eq!(late, *view, "a success has changed something while the circuit was calm");
}

/// The outcome of another generation, or of a probe that has ended or was replaced, changes
/// nothing. So each probe counts once at most.
fn outcomes_that_do_not_count(world: &World) {
    let counting = world.counting();
    let generation = world.circuit.generation();
    let probe = Some(world.new_id());
    // Some that no call ever had.
    let strange = [generation + 1, generation].map(|generation| Pass::new(generation, probe));
    let unlike = Pass::new(generation, if counting.iter().any(|pass| pass.probe.is_none()) { probe } else { None });
    let passes = world.passes.iter().rev().take(8).copied().chain(strange).chain([unlike]);
    let mut circuit = world.circuit.clone();
    for pass in passes.filter(|pass| !counting.contains(pass)) {
        for outcome in OUTCOMES {
            assert!(!circuit.settle(world.instant(), pass, outcome), "{pass:?} has counted");
        }
    }
    let mut outcomes = Outcomes::default();
    outcomes.push(circuit.settings(), BAD);
    for old in [generation + 1, generation.wrapping_sub(1)] {
        assert!(!circuit.report(world.instant(), old, &outcomes), "the outcome of another generation has counted");
    }
    if phase(&circuit) != State::Closed {
        assert!(!circuit.report(world.instant(), generation, &outcomes), "only a closed circuit takes reports");
    }
    assert_eq!(circuit, world.circuit);
}

/// An outcome that counts for neither side changes no numbers, and frees the place of a probe.
fn ignored_outcomes(world: &World) {
    for pass in world.counting() {
        let mut circuit = world.circuit.clone();
        assert!(circuit.settle(world.instant(), pass, None));
        let mut expected = world.circuit.view(Instant::EPOCH);
        expected.probes -= usize::from(pass.probe.is_some());
        assert_eq!(circuit.view(Instant::EPOCH), expected);
        if pass.probe.is_none() {
            assert_eq!(circuit, world.circuit);
        } else if world.model.running().len() <= world.model.setup().probes {
            assert!(circuit.admit(world.instant(), world.new_id()).is_ok(), "its place is free");
        }
    }
}

/// A call that is refused changes nothing; nor does one that is let through while the circuit is
/// closed, or a probe that asks again.
fn admissions_that_change_nothing(world: &World) {
    let mut circuit = world.circuit.clone();
    let admitted = circuit.admit(world.instant(), world.new_id());
    assert_eq!(world.circuit.check(world.instant()), admitted.map(|_| ()), "what `check` says, `admit` does");
    if admitted.is_err() || phase(&world.circuit) == State::Closed {
        assert_eq!(circuit, world.circuit);
    }
    for (id, _) in world.model.running() {
        let mut circuit = world.circuit.clone();
        let pass = Pass::new(circuit.generation(), Some(id));
        assert_eq!(circuit.admit(world.instant(), id), Ok(pass));
        assert_eq!(circuit, world.circuit);
    }
}

fn closing_by_hand(world: &World) {
    let mut circuit = world.circuit.clone();
    circuit.force_closed();
    assert_eq!(circuit, new_in(&circuit), "a circuit that was closed by hand is as a new one");
}
