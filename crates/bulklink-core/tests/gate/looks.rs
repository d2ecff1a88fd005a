//! A controller looks at the load of a gate, and is woken when it should look again.

use bulklink_core::{Answer, EventFilter, EventKind, Gate, Grant, Instant, Limits, Load, Request, Restriction};

type TestGate = Gate<&'static str>;

const NOW: Option<Instant> = Some(Instant::from_nanos(5));

const LACKS: EventFilter = EventFilter::of(EventKind::Queued).or(EventFilter::of(EventKind::Saturated));

fn gate(waiting_room: usize) -> TestGate {
    Gate::new(Limits::new(10).with_waiting_room(waiting_room)).expect("valid")
}

fn enter(gate: &mut TestGate, cost: u32) -> Answer {
    gate.enter(&Request::new().cost(cost as usize), NOW).expect("valid")
}

fn granted(gate: &mut TestGate, cost: u32) -> Grant {
    let Answer::Granted(grant) = enter(gate, cost) else { panic!("enough is free") };
    grant
}

fn release(gate: &mut TestGate, grants: impl IntoIterator<Item = Grant>) {
    for grant in grants {
        gate.release(grant);
    }
}

fn rejected(gate: &mut TestGate, cost: u32) {
    assert!(matches!(enter(gate, cost), Answer::Rejected(_)));
}

/// Returns refused units, and the peaks in use and waiting.
fn counted(load: Load) -> (u64, usize, u64) {
    (load.refused, load.peak_in_use, load.peak_waiting)
}

#[test]
fn a_look_has_the_load_of_now() {
    let now = NOW.expect("a time");
    let mut gate = gate(1);
    let seen = |gate: &mut TestGate| {
        let load = gate.look();
        (load.capacity, load.in_use, load.waiting, load.first, load.is_closed)
    };
    assert_eq!(seen(&mut gate), (10, 0, 0, 0, false));
    let grant = granted(&mut gate, 8);
    let Answer::Queued(ticket) = enter(&mut gate, 3) else { panic!("two are free") };
    assert_eq!(seen(&mut gate), (10, 8, 3, 3, false));
    gate.release(grant);
    gate.resize(5, now).expect("valid");
    assert_eq!(seen(&mut gate), (5, 3, 0, 0, false));
    gate.close(now);
    assert_eq!(seen(&mut gate), (5, 3, 0, 0, true));
    drop(gate.collect(ticket));
}

#[test]
fn it_counts_since_the_look_before_and_the_snapshot_always() {
    let mut gate = gate(1);
    gate.look();
    let grants = [granted(&mut gate, 6), granted(&mut gate, 1)];
    let Answer::Queued(ticket) = enter(&mut gate, 5) else { panic!("three are free") };
    rejected(&mut gate, 4);
    rejected(&mut gate, 2);
    gate.cancel(ticket, NOW).expect("the time is given");
    release(&mut gate, grants);
    assert_eq!(counted(gate.look()), (6, 7, 5));
    assert_eq!(counted(gate.look()), (0, 0, 0));
    let grant = granted(&mut gate, 2);
    assert_eq!(counted(gate.look()), (0, 2, 0));
    let seen = gate.snapshot(NOW);
    assert_eq!((seen.peak_in_flight, seen.peak_in_use), (2, 7));
    assert_eq!((seen.peak_waiting, seen.peak_waiting_units), (1, 5));
    gate.release(grant);
    let grants = [(); 3].map(|()| granted(&mut gate, 3));
    let seen = gate.snapshot(NOW);
    assert_eq!((seen.peak_in_flight, seen.peak_in_use, seen.peak_waiting), (3, 9, 1));
    release(&mut gate, grants);
}

#[test]
fn the_longest_wait_stays() {
    let mut gate = gate(1);
    let grant = granted(&mut gate, 10);
    let Answer::Queued(ticket) = enter(&mut gate, 1) else { panic!("none is free") };
    gate.release(grant);
    gate.advance(Some(Instant::from_nanos(25)));
    gate.look();
    assert_eq!(gate.snapshot(None).longest_wait().as_nanos(), 20);
    gate.look();
    assert_eq!(gate.snapshot(None).longest_wait().as_nanos(), 20);
    drop(gate.collect(ticket));
}

#[test]
fn what_a_word_decides_is_counted() {
    let mut gate = gate(0);
    gate.restrict(Some(Restriction::new(2, "test")), Instant::EPOCH);
    let grants = [granted(&mut gate, 1), granted(&mut gate, 1)];
    release(&mut gate, grants);
    gate.look();
    assert!(gate.publish().acquire().is_none(), "a new peak is for the gate to note");
    let grants = [granted(&mut gate, 1), granted(&mut gate, 1)];
    let word = gate.publish();
    let (word, _) = word.reject_now_restricted().expect("nothing is left");
    gate.fold(word);
    assert_eq!(counted(gate.look()), (1, 2, 0));
    release(&mut gate, grants);
}

#[test]
fn loads_of_several_looks_are_one() {
    let mut gate = gate(1);
    gate.look();
    let load = |gate: &mut TestGate, cost, waits| {
        let grant = granted(gate, cost);
        let Answer::Queued(ticket) = enter(gate, waits) else { panic!("too few are free") };
        rejected(gate, waits);
        gate.cancel(ticket, NOW).expect("the time is given");
        gate.release(grant);
        gate.look()
    };
    let [first, second] = [load(&mut gate, 9, 5), load(&mut gate, 8, 3)];
    assert_eq!([first, second].map(counted), [(5, 9, 5), (3, 8, 3)]);
    assert_eq!([first.then(second), second.then(first)].map(counted), [(8, 9, 5); 2]);
    gate.resize(4, NOW.expect("a time")).expect("valid");
    let _grant = granted(&mut gate, 4);
    let both = first.then(gate.look());
    assert_eq!((both.capacity, both.in_use, both.waiting, both.is_closed), (4, 4, 0, false));
}

/// A watch alone changes no event of others.
#[test]
fn a_change_that_is_watched_leaves_events_as_they_are() {
    for (change, kind) in [("resize", EventKind::Resized), ("resume", EventKind::Resumed)] {
        for watched in [EventFilter::NONE, EventFilter::of(kind)] {
            let now = NOW.expect("a time");
            let mut gate = gate(2);
            gate.observe(EventFilter::WAITS);
            let grant = granted(&mut gate, 10);
            let tickets = [(); 2].map(|()| {
                let Answer::Queued(ticket) = enter(&mut gate, 1) else { panic!("none is free") };
                ticket
            });
            gate.pause();
            if change == "resume" {
                gate.release(grant);
            } else {
                gate.resume(now);
            }
            while gate.poll_event().is_some() {}
            gate.watch_events(1, watched, "watcher");
            if change == "resume" {
                gate.resume(now);
            } else {
                gate.resize(12, now).expect("valid");
            }
            let events = std::iter::from_fn(|| gate.poll_event()).map(|event| (event.kind, event.affected_waiters()));
            assert_eq!(events.collect::<Vec<_>>(), [(EventKind::Admitted, 0); 2], "{change}, {watched:?}");
            drop(tickets.map(|ticket| gate.collect(ticket)));
        }
    }
}

fn wakes(gate: &mut TestGate) -> Vec<&'static str> {
    std::iter::from_fn(|| gate.poll_wake()).collect()
}

#[test]
fn the_next_event_of_its_kinds_wakes_a_watcher_once() {
    let mut gate = gate(0);
    let grant = granted(&mut gate, 9);
    assert_eq!(gate.watch_events(1, LACKS, "one"), None);
    assert_eq!(gate.watch_events(2, EventFilter::of(EventKind::Released), "two"), None);
    assert_eq!(gate.watch_events(3, LACKS.or(EventFilter::CHANGES), "three"), None);
    let other = granted(&mut gate, 1);
    assert!(wakes(&mut gate).is_empty() && gate.publish().reject_now().is_none());
    rejected(&mut gate, 1);
    assert_eq!(wakes(&mut gate), ["one", "three"]);
    rejected(&mut gate, 1);
    assert!(wakes(&mut gate).is_empty());
    gate.release(grant);
    assert_eq!(wakes(&mut gate), ["two"]);
    gate.release(other);
    assert!(wakes(&mut gate).is_empty());
    assert!(!gate.has_output(), "nothing is recorded");
    let kept = gate.watch_events(7, LACKS, "kept");
    gate.close(Instant::EPOCH);
    assert_eq!((kept, gate.unwatch_events(7), gate.unwatch_events(7)), (None, Some("kept"), None));
}

#[test]
fn a_watcher_costs_the_word_only_until_it_is_woken_or_replaced() {
    let mut gate = gate(0);
    let grant = granted(&mut gate, 1);
    gate.release(grant);
    let offers = |gate: &mut TestGate| gate.publish().acquire().is_some();
    assert!(offers(&mut gate));
    gate.watch_events(1, EventFilter::of(EventKind::Released), "first");
    assert!(!offers(&mut gate), "an end would pass unseen");
    assert_eq!(gate.watch_events(1, LACKS, "second"), Some("first"));
    assert!(offers(&mut gate));
    gate.watch_events(1, EventFilter::of(EventKind::Admitted), "third");
    assert!(!offers(&mut gate));
    assert_eq!(gate.unwatch_events(1), Some("third"));
    assert!(offers(&mut gate));
    gate.watch_events(1, EventFilter::of(EventKind::Admitted), "fourth");
    let grant = granted(&mut gate, 1);
    gate.release(grant);
    assert_eq!((wakes(&mut gate), offers(&mut gate)), (vec!["fourth"], true));
}

#[test]
fn recorded_are_the_events_that_are_observed() {
    let mut gate = gate(1);
    gate.observe(EventFilter::of(EventKind::Saturated));
    gate.watch_events(1, LACKS, "one");
    assert_eq!(gate.observed(), LACKS);
    gate.observe(EventFilter::of(EventKind::Released));
    assert_eq!(gate.observed(), LACKS.or(EventFilter::of(EventKind::Released)));
    let events =
        |gate: &mut TestGate| -> Vec<_> { std::iter::from_fn(|| gate.poll_event().map(|event| event.kind)).collect() };
    let grant = granted(&mut gate, 10);
    let Answer::Queued(ticket) = enter(&mut gate, 1) else { panic!("none is free") };
    assert_eq!((wakes(&mut gate), events(&mut gate)), (vec!["one"], vec![]));
    assert_eq!(gate.observed(), EventFilter::of(EventKind::Released));
    gate.watch_events(1, EventFilter::of(EventKind::Released), "both");
    gate.release(grant);
    assert_eq!((wakes(&mut gate), events(&mut gate)), (vec!["both"], vec![EventKind::Released]));
    // A request from the queue is another kind of admission.
    gate.watch_events(1, EventFilter::WAITS, "queue");
    gate.advance(NOW);
    assert_eq!((wakes(&mut gate), events(&mut gate)), (vec!["queue"], vec![]));
    drop(gate.collect(ticket));
}
