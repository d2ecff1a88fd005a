//! The events of adaptive limits: a move with its reason, and a failure.

use std::sync::{Arc, Mutex};
use std::thread;

use bulklink::Partitions;
use bulklink::limit::{Limit, Mode, Sample, State, Step};
use tracing::Level;

use super::recorder::{Fields, Recorder};
use crate::{TestBulkhead, builder, executor, ms};

/// A limit that a test sets.
#[derive(Clone)]
struct Puppet(Arc<Mutex<usize>>);

impl Puppet {
    fn new() -> Self {
        Puppet(Arc::new(Mutex::new(2)))
    }

    fn bulkhead(&self) -> TestBulkhead {
        builder(&executor()).parallelism(8).adaptive(self.clone()).build().expect("valid")
    }

    /// Has a call end, with this limit.
    fn move_to(&self, limit: usize, bulkhead: &TestBulkhead) {
        *self.0.lock().unwrap() = limit;
        drop(bulkhead.try_slot().expect("free"));
    }
}

impl Limit for Puppet {
    fn sample(&mut self, _: &Sample) {}

    fn limit(&self) -> usize {
        *self.0.lock().unwrap()
    }

    fn bounds(&self) -> (usize, usize) {
        (1, 8)
    }

    fn state(&self) -> State {
        let mut state = State::of(self.limit());
        (state.step, state.slope, state.inflation) = (Step::MoreHelps, 0.5, 1.25);
        state
    }
}

fn fields<const N: usize>(fields: [(&'static str, &str); N]) -> Fields {
    Fields::from(fields.map(|(name, value)| (name, value.to_string())))
}

/// Returns how many moves or failures the events stand for: themselves, and those left out.
fn counted(events: &[Fields]) -> u64 {
    events.iter().map(|event| 1 + event["left_out"].parse::<u64>().expect("a number")).sum()
}

#[test]
fn a_move_is_an_event_with_its_reason() {
    let (recorder, puppet) = (Recorder::new(), Puppet::new());
    let test = puppet.bulkhead();
    recorder.run(|| {
        puppet.move_to(2, &test);
        puppet.move_to(5, &test);
        test.handle().set_limit_mode(Mode::Monitor);
        puppet.move_to(3, &test);
    });
    let event = |before, limit, mode| {
        fields([
            ("message", "the adaptive limit moved"),
            ("bulkhead", "test"),
            ("before", before),
            ("limit", limit),
            ("step", "more_helps"),
            ("mode", mode),
            ("slope", "0.5"),
            ("inflation", "1.25"),
            ("left_out", "0"),
        ])
    };
    assert_eq!(recorder.events(), [event("2", "5", "active"), event("5", "3", "monitor")]);
}

#[test]
fn a_failure_is_one_event_at_any_level_and_moves_are_of_level_debug() {
    for (most, moves) in [(Level::DEBUG, 1), (Level::INFO, 0), (Level::ERROR, 0)] {
        let (recorder, puppet) = (Recorder::with(most, || {}), Puppet::new());
        let test = puppet.bulkhead();
        recorder.run(|| {
            puppet.move_to(3, &test);
            (0..3).for_each(|_| puppet.move_to(9, &test));
        });
        let failed = fields([
            ("message", "the adaptive limit panicked or left its bounds, and stays where it is"),
            ("bulkhead", "test"),
            ("limit", "3"),
            ("left_out", "0"),
        ]);
        let mut events = recorder.events();
        assert_eq!((events.pop(), events.len()), (Some(failed), moves), "{most}");
    }
}

#[test]
fn moves_that_are_logged_and_that_are_left_out_are_all_moves() {
    let (recorder, puppet) = (Recorder::new(), Puppet::new());
    let test = puppet.bulkhead();
    let run = |moves: usize| recorder.run(|| (0..moves).for_each(|number| puppet.move_to(3 + number % 2, &test)));
    run(99);
    let logged = recorder.events().len();
    assert!((10..99).contains(&logged), "{logged}");
    // The account goes by real time.
    thread::sleep(ms(1_010));
    recorder.run(|| puppet.move_to(8, &test));
    assert_eq!(counted(&recorder.events()), 100);
    run(50);
    let adaptive = test.status().adaptive.unwrap();
    assert_eq!(adaptive.raised + adaptive.lowered, 150);
    // A failure is not among them, and has its own account.
    recorder.run(|| puppet.move_to(9, &test));
    let last = recorder.events().pop().unwrap();
    assert_eq!((&*last["left_out"], last.contains_key("before")), ("0", false));
}

#[test]
fn partitions_share_one_account_and_show_a_key_only_if_operators_may_see_it() {
    for shows in [false, true] {
        let (recorder, puppet) = (Recorder::new(), Puppet::new());
        let tenants = Partitions::builder_on(executor().clock(), "tenants").parallelism(8).max_partitions(50);
        let tenants = tenants.adaptive(puppet.clone());
        let tenants = if shows { tenants.show_keys(|key: &u32| format!("key {key}")) } else { tenants };
        let tenants = tenants.build().expect("valid");
        *puppet.0.lock().unwrap() = 2;
        let running: Vec<_> = (0..50).map(|key| tenants.key(&key).try_slot().expect("free")).collect();
        *puppet.0.lock().unwrap() = 9;
        recorder.run(|| drop(running));
        let events = recorder.events();
        assert!((10..50).contains(&events.len()), "{}", events.len());
        assert_eq!(tenants.handle().sums().failed_limits, 50);
        let key = events[0].get("key").map(String::as_str);
        assert_eq!((key, &*events[0]["bulkhead"]), (shows.then_some("key 0"), "tenants"));
    }
}

#[test]
fn bulkheads_of_one_builder_have_an_account_each() {
    let (recorder, puppet) = (Recorder::new(), Puppet::new());
    let builder = builder(&executor()).parallelism(8).adaptive(puppet.clone());
    let bulkheads: Vec<_> = (0..20).map(|_| builder.clone().build().expect("valid")).collect();
    recorder.run(|| bulkheads.iter().for_each(|test| puppet.move_to(9, test)));
    assert_eq!(recorder.events().len(), 20);
}
