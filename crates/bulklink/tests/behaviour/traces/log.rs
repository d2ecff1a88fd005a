//! The events of rejections: exactly one for each, or one that counts it as left out.

use std::io;
use std::sync::{Arc, Mutex};
use std::thread;

use bulklink::plumbing;
use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, EventFilter, Limits, Partitions, Request};
use futures_util::FutureExt;
use tracing::Level;

use super::recorder::{Fields, Recorder};
use crate::{TestBulkhead, builder, bulkhead, call, executor, ms};

/// Returns how many rejections the events stand for: themselves, and those that they left out.
fn counted(events: &[Fields]) -> u64 {
    events.iter().map(|event| 1 + event["left_out"].parse::<u64>().expect("a number")).sum()
}

#[test]
fn an_event_has_the_state_and_the_oldest_wait() {
    let recorder = Recorder::new();
    recorder.run(|| {
        let mut executor = executor();
        let test = builder(&executor).capacity(2).waiting_room(1).build().expect("valid");
        let _running = test.with(Request::new().cost(2)).try_slot().expect("free");
        let _waiting = call(&mut executor, &test);
        executor.advance(ms(40));
        assert!(test.with(Request::new().cost(2)).try_slot().is_err());
        assert!(test.with(Request::new().cost(9)).try_slot().is_err());
        let ceiling = test.handle().ceiling("fleet");
        ceiling.set(1);
        assert!(test.with(Request::new().cost(2)).try_slot().is_err());
    });
    let event = |reason: &str, cost: &str, state: &str| {
        let fields = [
            ("message", "bulkhead rejected a call"),
            ("bulkhead", "test"),
            ("reason", reason),
            ("cost", cost),
            ("waited_ms", "0.0"),
            ("oldest_wait_ms", "40.0"),
            ("left_out", "0"),
            ("state", state),
        ];
        Fields::from(fields.map(|(name, value)| (name, value.to_string())))
    };
    let saturated = event("saturated", "2", "saturated (2 of 2 in use, 1 of 1 waiting)");
    let invalid = event("invalid_cost", "9", "cost must be from 1 to the capacity, 2, got 9");
    let restricted = event("saturated", "2", "saturated (2 of 2 in use, 1 allowed by fleet, 1 of 1 waiting)");
    assert_eq!(recorder.events(), [saturated, invalid, restricted]);
}

type Way = fn(&TestBulkhead);

/// A way to be rejected by a bulkhead without a free slot and without room to wait.
const WAYS: [(&str, Way); 8] = [
    ("try_slot", |test| assert!(test.try_slot().is_err())),
    ("try_slot of a request", |test| assert!(test.with(Request::new().cost(2)).try_slot().is_err())),
    ("slot", |test| assert!(test.slot().now_or_never().expect("no room").is_err())),
    ("slot of a request", |test| {
        let slot = test.with(Request::new().cost(2).within(ms(5))).slot();
        assert!(slot.now_or_never().expect("no room").is_err());
    }),
    ("decide", |test| {
        let mut slot = test.owned().slot();
        let answer = plumbing::decide(&mut slot).or_else(|| slot.now_or_never());
        assert!(answer.expect("no room").is_err());
    }),
    ("execute", |test| assert!(test.execute(async {}).now_or_never().expect("no room").is_err())),
    ("blocking_slot", |test| assert!(test.blocking_slot().is_err())),
    ("blocking_slot_unless", |test| {
        assert!(test.owned().blocking_slot_unless(std::future::pending::<()>()).is_err());
    }),
];

#[test]
fn a_rejection_is_logged_once_whichever_way_the_call_came() {
    for (name, way) in WAYS {
        for observed in [false, true] {
            let recorder = Recorder::new();
            let test = builder(&executor()).capacity(3).build().expect("valid");
            if observed {
                // Each rejection takes the lock then.
                test.handle().add_event_handler(EventFilter::ALL, |_| {});
            }
            let _running = [(); 3].map(|()| test.try_slot().expect("free"));
            recorder.run(|| way(&test));
            assert_eq!((test.status().totals.rejected(), recorder.events().len()), (1, 1), "{name}, {observed}");
        }
    }
}

#[test]
fn a_rejection_that_its_call_never_sees_is_logged_when_the_call_is_dropped() {
    let recorder = Recorder::new();
    recorder.run(|| {
        let executor = executor();
        let test = bulkhead(&executor, 1, 2);
        let _running = test.owned().try_slot().expect("free");
        let mut late = Box::pin(test.within(ms(5)).slot());
        let mut closed = Box::pin(test.owned().slot());
        assert!((&mut late).now_or_never().is_none() && (&mut closed).now_or_never().is_none());
        executor.clock().advance(ms(5));
        assert!(test.try_slot().is_err());
        test.close();
        drop((late, closed));
        assert_eq!(test.status().totals.rejected(), 3);
    });
    let reasons: Vec<_> = recorder.events().iter().map(|event| event["reason"].clone()).collect();
    assert_eq!(reasons, ["saturated", "expired", "closed"]);
    let outcomes: Vec<_> = recorder.spans().iter().map(|span| span.fields["outcome"].clone()).collect();
    assert_eq!(outcomes, ["expired", "closed"]);
}

#[test]
fn what_is_logged_and_what_is_left_out_are_all_rejections() {
    let recorder = Recorder::new();
    let test = bulkhead(&executor(), 1, 0);
    let _running = test.owned().try_slot().expect("free");
    let reject = |test: &TestBulkhead| recorder.run(|| assert!(test.try_slot().is_err()));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..250).for_each(|_| reject(&test)));
        }
    });
    assert!(recorder.events().len() >= 10);
    assert!(counted(&recorder.events()) < 1_000);
    // The account goes by real time, whatever the bulkhead's clock is.
    thread::sleep(ms(1_010));
    reject(&test);
    assert_eq!(counted(&recorder.events()), 1_001);
    assert_eq!(test.status().totals.rejected(), 1_001);
}

#[test]
fn partitions_share_one_account_and_show_no_key() {
    let recorder = Recorder::new();
    let executor = executor();
    let tenants: Partitions<String, _> = Partitions::builder_on(executor.runtime(), "tenants")
        .parallelism(1)
        .max_partitions(20)
        .limits_for(|key: &String, each| if key == "secret-zero" { Limits::new(0) } else { each })
        .build()
        .expect("valid");
    recorder.run(|| assert!(tenants.key("secret-zero").try_slot().is_err()));
    let keys: Vec<_> = (0..20).map(|number| format!("secret-{number}")).collect();
    let running: Vec<_> = keys.iter().map(|key| tenants.key(key).try_slot().expect("free")).collect();
    recorder.run(|| {
        assert!(tenants.key("secret-new").try_slot().is_err());
        assert!(tenants.key("secret-new").slot().now_or_never().expect("no partition").is_err());
        assert!(tenants.key("secret-new").submit(async {}).is_err());
        assert!(tenants.key("secret-new").blocking_slot().is_err());
        // A future that is never polled is not counted either.
        drop(tenants.key("secret-new").slot());
    });
    let reasons: Vec<_> = recorder.events().iter().map(|event| event["reason"].clone()).collect();
    assert_eq!(reasons[0], "invalid_limits");
    assert_eq!(reasons[1..], ["partition_limit"; 4]);
    recorder.run(|| keys.iter().for_each(|key| assert!(tenants.key(key).try_slot().is_err())));
    assert_eq!(recorder.events().len(), 10, "ten for all together");
    // After a reconfiguration, rejections have another identity, and the same account.
    tenants.reconfigure(Limits::new(2)).expect("valid");
    recorder.run(|| assert!(tenants.key("secret-new").try_slot().is_err()));
    assert_eq!(recorder.events().len(), 10);
    thread::sleep(ms(1_010));
    recorder.run(|| assert!(tenants.key("secret-new").try_slot().is_err()));
    let sums = tenants.handle().sums();
    // Invalid limits are not counted by the partitions.
    assert_eq!(counted(&recorder.events()), sums.rejected() + 1);
    let log = format!("{:?}", recorder.events());
    assert!(!log.contains("secret") && log.contains("tenants"), "{log}");
    drop(running);
}

#[test]
fn a_rejection_by_a_partition_whose_keys_are_shown_has_the_key() {
    let recorder = Recorder::new();
    let mut executor = executor();
    let tenants = Partitions::builder_on(executor.clock(), "tenants").parallelism(1).max_partitions(1);
    let tenants = tenants.show_keys(|key: &String| key.repeat(100)).build().expect("valid");
    let running = tenants.key("é\n").try_slot().expect("free");
    recorder.run(|| {
        assert!(tenants.key("é\n").try_slot().is_err());
        let waiting = executor.spawn(tenants.key("é\n").slot());
        executor.run_until_idle();
        assert!(waiting.output().expect("no room to wait").is_err());
        assert!(tenants.key("bob").try_slot().is_err());
    });
    drop(running);
    let keys: Vec<_> = recorder.events().iter().map(|event| event.get("key").cloned()).collect();
    let shown = Some(format!("{}…", "é\n".repeat(40)));
    assert_eq!(keys, [shown.clone(), shown, None], "bob has no partition");
}

/// A place for the text of a log.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl io::Write for Text {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged_as(label: &str) -> String {
    let (place, clock) = (Text::default(), FakeClock::new());
    let inside = place.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::DEBUG)
        .with_ansi(false)
        .without_time()
        .with_writer(move || inside.clone())
        .finish();
    let test = Bulkhead::builder_on(clock, label).parallelism(1).build().expect("a valid label");
    let _running = test.try_slot().expect("free");
    tracing::subscriber::with_default(subscriber, || assert!(test.try_slot().is_err()));
    let written = place.0.lock().expect("no panic").clone();
    String::from_utf8(written).expect("UTF-8")
}

#[test]
fn a_hostile_label_is_one_short_line_of_the_log() {
    // A label with a newline is refused when the bulkhead is built.
    assert!(Bulkhead::builder_on(FakeClock::new(), "a\nb").parallelism(1).build().is_err());
    let state = "state=saturated (1 of 1 in use, 0 of 0 waiting)";
    assert_eq!(
        logged_as(r#"a" level="b\"#).trim_end(),
        format!(
            r#" WARN bulklink: bulkhead rejected a call bulkhead="a\" level=\"b\\" reason="saturated" cost=1 waited_ms=0.0 left_out=0 {state}"#
        )
    );
    for long in ["x".repeat(1_000_000), "é".repeat(500_000), "𝄞".repeat(250_000)] {
        let line = logged_as(&long);
        assert!(line.len() < 400 && line.lines().count() == 1 && line.contains("…\""), "{line}");
    }
}

#[test]
fn a_rejection_inside_of_a_subscriber_counts_as_left_out() {
    let inside: Arc<Mutex<Option<TestBulkhead>>> = Arc::default();
    let place = Arc::clone(&inside);
    let recorder = Recorder::with(Level::TRACE, move || {
        // Only once.
        let test = place.lock().expect("no panic").take();
        assert!(test.is_none_or(|test| test.try_slot().is_err()));
    });
    let test = bulkhead(&executor(), 1, 0);
    let _running = test.try_slot().expect("free");
    *inside.lock().expect("no panic") = Some(test.clone());
    recorder.run(|| {
        assert!(test.try_slot().is_err());
        assert!(test.try_slot().is_err());
    });
    assert_eq!(test.status().totals.saturated, 3);
    assert_eq!(counted(&recorder.events()), 3);
}
