//! A limit that finds itself: it moves a ceiling, by the calls that end.

mod reports;

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::limit::{Fixed, Knee, Limit, Mode, Outcome, Sample, State, Step};
use bulklink::runtime::Clock;
use bulklink::testing::Executor;
use bulklink::{Builder, Bulkhead, Partitions, Reason, Request};

use crate::{TestBulkhead, builder, executor, ms};

/// A limit that notes its samples, and is what a test makes it.
#[derive(Clone)]
struct Puppet(Arc<Mutex<Strings>>);

struct Strings {
    samples: Vec<Sample>,
    limit: usize,
    step: Step,
    /// What it does with a sample, besides.
    act: Box<dyn FnMut() + Send>,
}

impl Puppet {
    fn new(limit: usize) -> Self {
        Puppet(Arc::new(Mutex::new(Strings { samples: Vec::new(), limit, step: Step::Set, act: Box::new(|| ()) })))
    }

    fn set(&self, limit: usize) {
        self.0.lock().unwrap().limit = limit;
    }

    fn explain(&self, step: Step) {
        self.0.lock().unwrap().step = step;
    }

    fn act(&self, act: impl FnMut() + Send + 'static) {
        self.0.lock().unwrap().act = Box::new(act);
    }

    fn samples(&self) -> Vec<Sample> {
        std::mem::take(&mut self.0.lock().unwrap().samples)
    }

    fn outcomes(&self) -> Vec<Outcome> {
        self.samples().iter().map(|sample| sample.outcome).collect()
    }
}

impl Limit for Puppet {
    fn sample(&mut self, sample: &Sample) {
        let mut act = {
            let mut strings = self.0.lock().unwrap();
            strings.samples.push(*sample);
            std::mem::replace(&mut strings.act, Box::new(|| ()))
        };
        act();
        self.act(act);
    }

    fn limit(&self) -> usize {
        self.0.lock().unwrap().limit
    }

    fn bounds(&self) -> (usize, usize) {
        (1, 8)
    }

    fn state(&self) -> State {
        let mut state = State::of(self.limit());
        state.step = self.0.lock().unwrap().step;
        state
    }
}

fn puppet_in(
    executor: &Executor,
    change: impl FnOnce(Builder<bulklink::testing::FakeClock>) -> Builder<bulklink::testing::FakeClock>,
) -> (TestBulkhead, Puppet) {
    let puppet = Puppet::new(2);
    let builder = builder(executor).parallelism(10).waiting_room(5).adaptive(puppet.clone());
    (change(builder).build().expect("valid"), puppet)
}

fn bulkhead(executor: &Executor) -> (TestBulkhead, Puppet) {
    puppet_in(executor, |builder| builder)
}

fn limit(bulkhead: &TestBulkhead) -> usize {
    bulkhead.status().adaptive.expect("it has one").state.limit
}

fn ceiling(bulkhead: &TestBulkhead) -> Option<usize> {
    bulkhead.status().restriction.map(|restriction| restriction.units)
}

/// Has a call end.
fn call(bulkhead: &TestBulkhead) {
    drop(bulkhead.try_slot().expect("free"));
}

#[test]
fn it_moves_a_ceiling_and_leaves_the_capacity() {
    let executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    let [first, second] = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    let rejection = bulkhead.try_slot().unwrap_err();
    assert_eq!(rejection.reason(), Reason::Saturated);
    assert_eq!(rejection.restriction().map(|by| (by.by, by.units)), Some(("adaptive", 2)));

    puppet.set(4);
    drop(first);
    assert_eq!((ceiling(&bulkhead), limit(&bulkhead), bulkhead.limits().capacity), (Some(4), 4, 10));
    let _more: Vec<_> = (0..3).map(|_| bulkhead.try_slot().expect("free")).collect();
    bulkhead.try_slot().unwrap_err();
    puppet.set(3);
    drop(second);
    let adaptive = bulkhead.status().adaptive.expect("it has one");
    assert_eq!((adaptive.raised, adaptive.lowered, adaptive.bounds), (1, 1, (1, 8)));
    assert_eq!((adaptive.mode, adaptive.has_failed), (Mode::Active, false));
}

#[test]
fn a_raise_admits_those_that_wait() {
    let mut executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    let running: Vec<_> = (0..2).map(|_| bulkhead.try_slot().expect("free")).collect();
    let waiting: Vec<_> = (0..3).map(|_| executor.spawn(bulkhead.owned().slot())).collect();
    executor.run_until_idle();
    puppet.set(4);
    drop(running);
    executor.run_until_idle();
    assert!(waiting.iter().all(bulklink::testing::Task::is_finished));
}

#[test]
fn a_sample_has_the_time_the_load_and_the_outcome() {
    let mut executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    let first = bulkhead.try_slot().expect("free");
    executor.advance(ms(10));
    let second = bulkhead.with(Request::new().cost(1)).try_slot().expect("free");
    executor.advance(ms(20));
    drop(first);
    second.set_outcome(Outcome::Overload);
    drop(second);
    let samples = puppet.samples();
    let seen: Vec<_> = samples.iter().map(|s| (s.hold, s.in_flight, s.units, s.pressed, s.outcome)).collect();
    let expected = [(ms(30), 2, 1, false, Outcome::Success), (ms(20), 1, 1, false, Outcome::Overload)];
    assert_eq!(seen, expected);
    assert_eq!(samples[0].now, samples[1].now);
}

#[test]
fn calls_press_while_one_waits_has_waited_or_was_turned_away() {
    let mut executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    let pressed = |puppet: &Puppet| puppet.samples().iter().map(|sample| sample.pressed).collect::<Vec<_>>();
    call(&bulkhead);
    assert_eq!(pressed(&puppet), [false]);

    let running: Vec<_> = (0..2).map(|_| bulkhead.try_slot().expect("free")).collect();
    bulkhead.try_slot().unwrap_err();
    drop(running);
    call(&bulkhead);
    assert_eq!(pressed(&puppet), [true, false, false], "one was turned away before the first ended");

    let running: Vec<_> = (0..2).map(|_| bulkhead.try_slot().expect("free")).collect();
    let waiting: Vec<_> = (0..2).map(|_| executor.spawn(bulkhead.owned().slot())).collect();
    executor.advance(ms(1));
    drop(running);
    executor.run_until_idle();
    drop(waiting);
    call(&bulkhead);
    assert_eq!(pressed(&puppet), [true, true, true, true, false], "two waited while two ended, and then these");
}

#[test]
fn a_wide_call_is_a_sample_of_its_units_and_may_run_alone() {
    let executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    let wide = bulkhead.with(Request::new().cost(5)).try_slot().expect("alone");
    bulkhead.try_slot().unwrap_err();
    drop(wide);
    let [sample] = puppet.samples()[..] else { panic!("one call") };
    assert_eq!((sample.units, sample.in_flight), (5, 5));
}

#[test]
fn a_call_that_is_cancelled_abandoned_or_panics_is_no_sample() {
    let mut executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    let cancelled = executor.spawn(bulkhead.owned().execute(pending::<()>()));
    executor.run_until_idle();
    cancelled.cancel();
    executor.run_until_idle();
    let submitted = bulkhead.status().in_flight;
    assert_eq!(submitted, 0);

    bulkhead.try_slot().expect("free").abandon();
    let ignored = bulkhead.try_slot().expect("free");
    ignored.set_outcome(Outcome::Ignore);
    drop(ignored);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _slot = bulkhead.try_slot().expect("free");
        panic!("as it must");
    }));
    assert!(panicked.is_err());
    assert_eq!(puppet.samples(), []);

    let completed = executor.spawn(bulkhead.owned().execute(async {}));
    executor.run_until_idle();
    assert!(completed.is_finished());
    assert_eq!(puppet.samples().len(), 1);
    assert_eq!(bulkhead.status().totals.admitted, 5);
}

#[test]
fn a_closure_that_panics_in_the_background_is_no_sample() {
    let (mut executor, puppet) = (executor(), Puppet::new(2));
    let builder = Bulkhead::builder_on(executor.runtime(), "test").parallelism(10).adaptive(puppet.clone());
    let bulkhead = builder.build().expect("valid");
    let panics = bulkhead.submit_blocking(|| panic!("a closure that panics, on purpose")).expect("free");
    let returns = bulkhead.submit_blocking(|| 7).expect("free");
    assert!(executor.block_on(panics).is_err());
    assert_eq!(executor.block_on(returns).expect("it returns"), 7);
    assert_eq!(puppet.outcomes(), [Outcome::Success]);
}

#[test]
fn a_call_that_is_cancelled_at_its_deadline_is_an_overload() {
    for (time, outcome) in [(94, None), (95, Some(Outcome::Overload)), (200, Some(Outcome::Overload))] {
        let mut executor = executor();
        let (bulkhead, puppet) = bulkhead(&executor);
        let request = Request::new().deadline(executor.clock().now() + ms(100));
        let cancelled = executor.spawn(bulkhead.with(request).execute(pending::<()>()));
        executor.run_until_idle();
        executor.advance(ms(time));
        cancelled.cancel();
        executor.run_until_idle();
        assert_eq!(puppet.samples().first().map(|sample| sample.outcome), outcome, "after {time} ms");
    }
}

#[test]
fn an_operation_that_fails_is_no_sample() {
    let mut executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    executor.block_on(bulkhead.owned().execute_fallible(async { Err::<(), _>("refused") })).unwrap_err();
    assert_eq!(puppet.outcomes(), []);
    executor.block_on(bulkhead.owned().execute_fallible(async { Ok::<_, &str>(()) })).expect("it succeeds");
    let output = executor.block_on(bulkhead.owned().execute(async { Err::<(), _>("a value") }));
    output.expect("it is admitted").unwrap_err();
    assert_eq!(puppet.outcomes(), [Outcome::Success; 2]);
}

#[test]
fn a_part_of_a_slot_has_the_outcome_of_its_slot() {
    let executor = executor();
    let (bulkhead, puppet) = puppet_in(&executor, |builder| builder);
    let mut slot = bulkhead.with(Request::new().cost(2)).try_slot().expect("free");
    slot.set_outcome(Outcome::Overload);
    drop(slot.split(1).expect("it has two"));
    drop(slot);
    assert_eq!(puppet.outcomes(), [Outcome::Overload; 2]);
}

#[test]
fn a_limit_that_judges_for_long_admits_no_call_that_is_late_by_then() {
    let mut executor = executor();
    let (bulkhead, puppet) = puppet_in(&executor, |builder| builder.wait_limit(ms(50)));
    let (first, _second) = (bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free"));
    let [next, late] = [(); 2].map(|()| crate::call(&mut executor, &bulkhead));
    let (clock, raised) = (executor.clock(), puppet.clone());
    puppet.act(move || {
        clock.advance(ms(60));
        raised.set(3);
    });
    drop(first);
    executor.run_until_idle();
    assert_eq!(crate::slot(&next).waited(), ms(0), "by the slot that was given back");
    assert_eq!((crate::reason(&late), ceiling(&bulkhead)), (Reason::Expired, Some(3)));
}

#[test]
fn nothing_moves_once_it_is_frozen() {
    let executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    let (own, raised) = (bulkhead.clone(), puppet.clone());
    // The mode changes while a call judges.
    puppet.act(move || {
        raised.set(7);
        own.handle().set_limit_mode(Mode::Frozen);
    });
    call(&bulkhead);
    let adaptive = bulkhead.status().adaptive.expect("it has one");
    assert_eq!((ceiling(&bulkhead), adaptive.raised, adaptive.state.limit), (Some(2), 0, 2));
}

#[test]
fn while_it_is_frozen_nothing_moves_and_nothing_is_learnt() {
    let executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    assert_eq!(bulkhead.handle().set_limit_mode(Mode::Frozen), Some(Mode::Active));
    puppet.set(5);
    call(&bulkhead);
    assert_eq!((ceiling(&bulkhead), puppet.samples().len()), (Some(2), 0));
    assert_eq!(bulkhead.handle().set_limit_mode(Mode::Active), Some(Mode::Frozen));
    call(&bulkhead);
    assert_eq!((ceiling(&bulkhead), puppet.samples().len()), (Some(5), 1));
}

#[test]
fn while_it_monitors_it_only_shows_its_wish() {
    let executor = executor();
    let (bulkhead, puppet) = puppet_in(&executor, |builder| builder.limit_mode(Mode::Monitor));
    assert_eq!(ceiling(&bulkhead), None);
    let earlier = builder(&executor).parallelism(10).limit_mode(Mode::Monitor);
    let earlier = earlier.adaptive(Fixed::new(3)).build().expect("valid");
    assert_eq!(ceiling(&earlier), None, "set before the limit");
    puppet.set(5);
    call(&bulkhead);
    assert_eq!((ceiling(&bulkhead), limit(&bulkhead)), (None, 5));
    assert_eq!(bulkhead.status().adaptive.map(|adaptive| adaptive.raised), Some(0), "it has no ceiling");
    bulkhead.handle().set_limit_mode(Mode::Active);
    assert_eq!(ceiling(&bulkhead), Some(5));
    bulkhead.handle().set_limit_mode(Mode::Monitor);
    assert_eq!(ceiling(&bulkhead), None);
}

#[test]
fn a_limit_that_panics_stays_where_it_was() {
    let executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    puppet.set(3);
    call(&bulkhead);
    puppet.act(|| panic!("as it must"));
    call(&bulkhead);
    let adaptive = bulkhead.status().adaptive.expect("it has one");
    assert!(adaptive.has_failed);
    assert_eq!((ceiling(&bulkhead), adaptive.state.limit), (Some(3), 3));
    puppet.samples();
    call(&bulkhead);
    assert_eq!(puppet.samples(), [], "it is not asked again");
}

#[test]
fn a_limit_beyond_its_bounds_stays_where_it_was() {
    for nonsense in [0, 9, usize::MAX] {
        let executor = executor();
        let (bulkhead, puppet) = bulkhead(&executor);
        puppet.set(nonsense);
        call(&bulkhead);
        let adaptive = bulkhead.status().adaptive.expect("it has one");
        assert!(adaptive.has_failed, "{nonsense}");
        assert_eq!((ceiling(&bulkhead), adaptive.state.limit), (Some(2), 2));
    }
}

/// It runs outside all locks, and the calls that it ends are part of the next sample.
#[test]
fn a_limit_may_use_its_own_bulkhead() {
    let executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    let inner = bulkhead.clone();
    puppet.act(move || {
        call(&inner);
        assert!(inner.status().adaptive.is_some());
        inner.handle().set_limit_mode(Mode::Frozen);
        inner.handle().set_limit_mode(Mode::Active);
    });
    call(&bulkhead);
    puppet.act(|| ());
    call(&bulkhead);
    let units: Vec<_> = puppet.samples().iter().map(|sample| sample.units).collect();
    assert_eq!(units, [1, 2]);
}

#[test]
fn one_in_so_many_calls_stands_for_the_others() {
    let executor = executor();
    let (bulkhead, puppet) = puppet_in(&executor, |builder| builder.sample_one_in(4));
    // Their outcomes have a rhythm.
    for number in 0..4_000 {
        let slot = bulkhead.try_slot().expect("free");
        if number % 4 != 0 {
            slot.set_outcome(Outcome::Overload);
        }
    }
    let samples = puppet.samples();
    let overloads = samples.iter().filter(|sample| sample.outcome == Outcome::Overload);
    let overloads: usize = overloads.map(|sample| sample.units).sum();
    assert!((850..1_150).contains(&samples.len()) && (2_900..=3_000).contains(&overloads), "{overloads}");
}

#[test]
fn each_partition_has_its_own() {
    let executor = executor();
    let builder = Partitions::builder_on(executor.clock(), "tenants").parallelism(10).max_partitions(4);
    let tenants = builder.adaptive(Knee::between(2, 10).starting_at(3)).build().expect("valid");
    let slots: Vec<_> = (0..3).map(|_| tenants.key(&"a").try_slot().expect("free")).collect();
    assert_eq!(tenants.key(&"a").try_slot().unwrap_err().restriction().map(|by| by.units), Some(3));
    let other = tenants.key(&"b").try_slot().expect("free");
    drop((slots, other));
}

#[test]
fn bad_bounds_are_refused_with_both() {
    let executor = executor();
    let error = |least, most| {
        let builder = builder(&executor).parallelism(10);
        builder.adaptive(Knee::between(least, most)).build().expect_err("they are bad").to_string()
    };
    assert_eq!(error(4, 11), "bulkhead test: adaptive must not go beyond the parallelism of 10, got 4 to 11");
    assert_eq!(error(0, 5), "bulkhead test: adaptive must begin at 1 or more, got 0 to 5");
    let empty = "must not have a least limit above the greatest";
    assert_eq!(error(6, 5), format!("bulkhead test: adaptive {empty}, got 6 to 5"));
    let text = builder(&executor).parallelism(10).adaptive(Puppet::new(99)).build().unwrap_err().to_string();
    let outside = "must have its first limit between them, which is 99";
    assert_eq!(text, format!("bulkhead test: adaptive {outside}, got 1 to 8"));
    let built = builder(&executor).parallelism(10).adaptive(Fixed::new(3));
    let text = built.clone().sample_one_in(0).build().unwrap_err().to_string();
    assert_eq!(text, "bulkhead test: sample_one_in must be at least 1, got 0");
    let text = built.measure_holds(false).build().unwrap_err().to_string();
    assert_eq!(text, "bulkhead test: measure_holds must be true for adaptive, got false");
}

#[test]
fn a_bulkhead_without_one_has_no_mode() {
    let executor = executor();
    let bulkhead = builder(&executor).parallelism(10).build().expect("valid");
    assert_eq!(bulkhead.handle().set_limit_mode(Mode::Frozen), None);
    assert_eq!(bulkhead.status().adaptive, None);
    bulkhead.try_slot().expect("free").set_outcome(Outcome::Overload);
}

/// A dependency with ten workers, and more calls than it can do.
#[test]
fn a_knee_finds_the_workers_behind_a_bulkhead() {
    let mut executor = executor();
    let builder = builder(&executor).parallelism(400).waiting_room(400);
    let bulkhead = builder.adaptive(Knee::between(1, 400)).build().expect("valid");
    let workers = crate::builder(&executor).parallelism(10).waiting_room(1_000).build().expect("valid");
    for _ in 0..250 {
        let (workers, clock) = (workers.clone(), executor.clock());
        let bulkhead = bulkhead.clone();
        executor.spawn(async move {
            loop {
                let work = async {
                    let _worker = workers.slot().await.expect("there is room");
                    clock.sleep(ms(20)).await;
                };
                bulkhead.execute(work).await.expect("there is room");
            }
        });
    }
    executor.advance(Duration::from_secs(20));
    let State { limit, step, .. } = bulkhead.status().adaptive.expect("it has one").state;
    assert!((8..=25).contains(&limit), "{limit}, {step:?}");
    assert_ne!(step, Step::Set);
}
