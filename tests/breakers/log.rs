//! Transitions as events, as subscribers of `tracing` see them.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};

use bulklink::testing::{FakeClock, FakeRuntime};
use bulklink::{Bulkhead, Partitions};
use bulklink_breaker::{Breaker, BreakerConfig, BreakerRegistry, Guard, Guards, Settings, State, Transition};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber, subscriber};

use super::{executor, ms};

/// Keeps the events of breakers as lines. Clones share them.
#[derive(Clone)]
struct Recorder(Arc<Inner>);

struct Inner {
    most: Level,
    lines: Mutex<Vec<String>>,
    /// Called at each event.
    called: Box<dyn Fn() + Send + Sync>,
}

impl Recorder {
    fn new() -> Self {
        Recorder::with(Level::TRACE, || {})
    }

    /// Keeps events of this level or above, and calls `called` at each.
    fn with(most: Level, called: impl Fn() + Send + Sync + 'static) -> Self {
        Recorder(Arc::new(Inner { most, lines: Mutex::default(), called: Box::new(called) }))
    }

    /// Returns what is logged meanwhile.
    fn run(&self, work: impl FnOnce()) -> Vec<String> {
        subscriber::with_default(self.clone(), work);
        std::mem::take(&mut *self.0.lines.lock().expect("no panic"))
    }
}

/// The level, the message and the fields of an event.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        _ = match field.name() {
            "message" => write!(self.0, ": {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        _ = write!(self.0, " {}={value}", field.name());
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.0.most
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        if (metadata.target(), metadata.name()) != ("bulklink", "breaker.transition") {
            return;
        }
        let mut line = Line(metadata.level().to_string());
        event.record(&mut line);
        self.0.lines.lock().expect("no panic").push(line.0);
        (self.0.called)();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn breaker(clock: &FakeClock, settings: Settings) -> Breaker {
    let settings = settings.cool_down(ms(10));
    Breaker::builder_on(clock.clone(), "payments").settings(settings).build().expect("valid settings")
}

fn fail(breaker: &Breaker) {
    breaker.admit().expect("the circuit lets it through").fail();
}

#[test]
fn each_transition_is_an_event_with_its_cause() {
    let clock = FakeClock::new();
    let breaker = breaker(&clock, Settings::consecutive(2));
    let lines = Recorder::new().run(|| {
        fail(&breaker);
        fail(&breaker);
        clock.advance(ms(10));
        fail(&breaker);
        clock.advance(ms(10));
        breaker.admit().expect("a probe").succeed();
        fail(&breaker);
        breaker.force_open();
        breaker.force_closed();
    });
    let event = |level: &str, text: &str, fields: &str| {
        format!("{level}: circuit is {text} breaker=payments {fields} left_out=0")
    };
    let expected = [
        event("WARN", "open", "from=closed to=open cause=failures calls=2 failures=2 slow=0"),
        event("INFO", "half-open", "from=open to=half_open cause=cool_down"),
        event("WARN", "open", "from=half_open to=open cause=probes"),
        event("INFO", "half-open", "from=open to=half_open cause=cool_down"),
        event("INFO", "closed", "from=half_open to=closed cause=probes"),
        event("WARN", "open", "from=closed to=open cause=by_hand calls=1 failures=1 slow=0"),
        event("INFO", "closed", "from=open to=closed cause=by_hand"),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_cause_of_an_opening_is_the_setting_that_was_reached() {
    let clock = FakeClock::new();
    let of_four = Settings::of_last(4);
    let rates = of_four.failure_rate(75).slow_rate(ms(5), 50);
    let settings = [
        (of_four.failures(2), [true, true], 0, "failures"),
        (rates, [true, true], 0, ""),
        (of_four.failure_rate(50), [true, true], 0, "failure_rate"),
        (of_four.failures(3).slow_calls(ms(5), 2), [false, true], 5, "slow_calls"),
        (rates, [false, true], 5, "slow_rate"),
        (of_four.failures(2).slow_calls(ms(5), 2), [true, true], 5, "failures"),
    ];
    for (settings, failed, millis, cause) in settings {
        let breaker = breaker(&clock, settings);
        let lines = Recorder::new().run(|| {
            // A rate needs the whole window.
            breaker.admit().expect("closed").succeed();
            breaker.admit().expect("closed").succeed();
            for failed in failed {
                let call = breaker.admit().expect("closed");
                clock.advance(ms(millis));
                if failed { call.fail() } else { call.succeed() }
            }
        });
        let causes: Vec<_> = lines.iter().filter_map(|line| Some(line.split_once("cause=")?.1)).collect();
        let found = causes.first().and_then(|cause| cause.split(' ').next()).unwrap_or_default();
        assert_eq!((causes.len(), found), (usize::from(!cause.is_empty()), cause), "{lines:?}");
    }
}

/// Alone, in a guard, by a configuration, in a guard around that, and for keys.
#[test]
fn a_breaker_is_logged_whichever_way_it_was_built() {
    let executor = executor();
    let runtime = executor.runtime();
    let bulkhead =
        |label: &str| Bulkhead::builder_on(runtime.clone(), label).parallelism(1).build().expect("valid limits");
    let partitions = |label: &str| -> Partitions<u32, FakeRuntime> {
        let builder = Partitions::builder_on(runtime.clone(), label).parallelism(1);
        builder.max_partitions(10).build().expect("valid limits")
    };
    let config = BreakerConfig::default();
    let sections: BTreeMap<_, _> = ["single", "around", "each"].map(|label| (label.to_owned(), config)).into();
    let circuits = BreakerRegistry::new();
    circuits.apply(&sections, &executor.clock()).expect("valid");
    let around = Guard::builder(&bulkhead("around")).build_in(&circuits).expect("its section is there");
    let each = Guards::builder(&partitions("each")).build_in(&circuits).expect("its section is there");
    let keys = Guards::builder(&partitions("keys")).show_keys(u32::to_string).build().expect("valid settings");
    let of_key = |guards: &Guards<u32, FakeRuntime>| {
        drop(guards.key(&7));
        guards.breaker(&7).expect("it was asked for")
    };
    let breakers = [
        Breaker::builder_on(executor.clock(), "alone").build().expect("valid settings"),
        Guard::builder(&bulkhead("guard")).build().expect("valid settings").breaker().clone(),
        circuits.breaker("single").expect("its section is there"),
        around.breaker().clone(),
        of_key(&each),
        of_key(&keys),
    ];
    let lines = Recorder::new().run(|| breakers.iter().for_each(|breaker| (0..5).for_each(|_| fail(breaker))));
    let names = lines.iter().map(|line| line.split(' ').find_map(|word| word.strip_prefix("breaker=")));
    let names: Vec<_> = names.map(|name| name.expect("a field")).collect();
    assert_eq!(names, ["alone", "guard", "single", "around", "each", "keys/7"]);
}

#[test]
fn the_circuits_of_all_keys_share_a_limit_and_no_key_is_logged_unless_it_is_shown() {
    let executor = executor();
    let partitions: Partitions<u32, FakeRuntime> =
        Partitions::builder_on(executor.runtime(), "hosts").parallelism(1).max_partitions(100).build().expect("valid");
    let guards = Guards::builder(&partitions).build().expect("valid settings");
    let lines = Recorder::new().run(|| {
        for key in 0..50 {
            drop(guards.key(&key));
            guards.breaker(&key).expect("it was asked for").force_open();
        }
    });
    assert_eq!(lines.len(), 10);
    let line = "WARN: circuit is open breaker=hosts from=closed to=open cause=by_hand left_out=0";
    assert!(lines.iter().all(|found| found == line), "{lines:?}");
}

#[test]
fn a_long_label_is_cut() {
    let long = "x".repeat(10_000);
    let breaker = Breaker::builder_on(FakeClock::new(), &long).build().expect("valid settings");
    let lines = Recorder::new().run(|| breaker.force_open());
    assert!(lines[0].len() < 250, "{lines:?}");
}

#[test]
fn a_filter_leaves_the_recoveries_out() {
    let breaker = breaker(&FakeClock::new(), Settings::default());
    let lines = Recorder::with(Level::WARN, || {}).run(|| {
        for _ in 0..5 {
            breaker.force_open();
            breaker.force_closed();
        }
    });
    assert_eq!(lines.len(), 5);
    assert!(lines.iter().all(|line| line.contains(" to=open ") && line.ends_with(" left_out=0")), "{lines:?}");
    assert_eq!(Recorder::with(Level::ERROR, || {}).run(|| breaker.force_open()).len(), 0);
}

/// It uses the breaker, and changes the circuit: under no lock, and without recursion.
#[test]
fn a_subscriber_may_use_the_breaker() {
    let breaker = breaker(&FakeClock::new(), Settings::default());
    let (own, depth) = (breaker.clone(), AtomicUsize::new(0));
    let recorder = Recorder::with(Level::INFO, move || {
        assert_eq!(depth.fetch_add(1, SeqCst), 0, "it is called inside of itself");
        own.remove_transition_handler(own.add_transition_handler(|_| {}));
        match own.status().circuit {
            circuit if circuit.state == State::Closed => own.admit().expect("closed").succeed(),
            circuit if circuit.generation < 3 => own.force_closed(),
            _ => {}
        }
        depth.fetch_sub(1, SeqCst);
    });
    let lines = recorder.run(|| breaker.force_open());
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn a_subscriber_that_panics_changes_nothing() {
    let breaker = breaker(&FakeClock::new(), Settings::consecutive(1));
    let calls = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&calls);
    breaker.add_transition_handler(move |_| _ = called.fetch_add(1, SeqCst));
    Recorder::with(Level::INFO, || panic!("a subscriber that panics, on purpose")).run(|| fail(&breaker));
    assert_eq!((breaker.status().circuit.state, calls.load(SeqCst)), (State::Open, 1));
    let lines = Recorder::new().run(|| breaker.force_closed());
    assert!(lines[0].ends_with(" left_out=1"), "{lines:?}");
}

/// A transition waits for the log, while a handler is added.
#[test]
fn a_handler_gets_no_transition_from_before_it_was_added() {
    let breaker = breaker(&FakeClock::new(), Settings::default());
    let log: Arc<Mutex<Vec<Transition>>> = Arc::default();
    let (own, heard, once) = (breaker.clone(), Arc::clone(&log), OnceLock::new());
    let recorder = Recorder::with(Level::INFO, move || {
        if once.set(()).is_ok() {
            own.force_closed();
            let heard = Arc::clone(&heard);
            own.add_transition_handler(move |transition| heard.lock().expect("no panic").push(transition.clone()));
        }
    });
    assert_eq!(recorder.run(|| breaker.force_open()).len(), 2);
    assert_eq!(*log.lock().expect("no panic"), []);
    breaker.force_open();
    assert_eq!(log.lock().expect("no panic").len(), 1);
}

#[test]
fn a_transition_is_logged_before_its_handlers_are_called() {
    let breaker = breaker(&FakeClock::new(), Settings::default());
    let order: Arc<Mutex<Vec<&str>>> = Arc::default();
    let (logged, called) = (Arc::clone(&order), Arc::clone(&order));
    breaker.add_transition_handler(move |_| called.lock().expect("no panic").push("handler"));
    let recorder = Recorder::with(Level::INFO, move || logged.lock().expect("no panic").push("log"));
    recorder.run(|| breaker.force_open());
    assert_eq!(*order.lock().expect("no panic"), ["log", "handler"]);
}
