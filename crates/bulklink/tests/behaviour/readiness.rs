//! Whether a service is ready, by the bulkheads that are its own capacity, on the fake clock.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant};
use bulklink::testing::{Executor, FakeClock};
use bulklink::{Bulkhead, EventFilter, EventKind, OwnedSlot, OwnedSlotFuture, Partitions, Readiness};
use futures_util::FutureExt;

use crate::panicking_clock::PanickingClock;
use crate::{TestBulkhead, builder, bulkhead, call, executor, ms, slot};

/// The grace period: a percent is 10 milliseconds.
const GRACE: Duration = Duration::from_secs(1);

fn percent(percent: u64) -> Duration {
    ms(10 * percent)
}

fn watching(bulkheads: &[&TestBulkhead]) -> Readiness {
    let readiness = Readiness::new(GRACE).expect("valid");
    for bulkhead in bulkheads {
        readiness.watch(bulkhead);
    }
    readiness
}

type Waiting = Pin<Box<OwnedSlotFuture<FakeClock>>>;

/// Begins a call, which waits.
fn begin(bulkhead: &TestBulkhead) -> Waiting {
    let mut waiting = Box::pin(bulkhead.owned().slot());
    assert!((&mut waiting).now_or_never().is_none());
    waiting
}

/// A bulkhead that is full, and for which a call waits or not.
struct Full {
    bulkhead: TestBulkhead,
    _running: OwnedSlot,
    waiting: Option<Waiting>,
}

impl Full {
    fn new(executor: &mut Executor) -> Self {
        let bulkhead = bulkhead(executor, 1, 10);
        let running = slot(&call(executor, &bulkhead));
        Full { bulkhead, _running: running, waiting: None }
    }

    /// Lets a call wait for this time.
    fn wait(&mut self, executor: &mut Executor, time: Duration) {
        self.waiting = Some(begin(&self.bulkhead));
        executor.advance(time);
    }

    /// Cancels the call that waits, and lets this time pass.
    fn rest(&mut self, executor: &mut Executor, time: Duration) {
        self.waiting = None;
        assert_eq!(self.bulkhead.status().waiting, 0);
        executor.advance(time);
    }
}

#[test]
fn a_grace_period_of_zero_is_refused() {
    let error = Readiness::new(Duration::ZERO).unwrap_err();
    assert_eq!(
        (error.field(), error.to_string().as_str()),
        ("grace", "readiness: grace must be longer than zero, got 0 s")
    );
    assert_eq!(watching(&[]).grace(), GRACE);
    assert!(watching(&[]).is_ready() && watching(&[]).not_ready().is_empty());
}

#[test]
fn it_is_not_ready_once_calls_have_waited_for_95_percent_of_the_grace_period() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    let readiness = watching(&[&full.bulkhead]);
    executor.advance(10 * GRACE);
    assert!(readiness.is_ready(), "it is full, and no call waits");
    full.wait(&mut executor, percent(94));
    assert!(readiness.is_ready());
    executor.advance(percent(1));
    assert!(!readiness.is_ready());
    assert_eq!(readiness.not_ready(), ["test".into()]);
    let debug = format!("{readiness:?}");
    assert_eq!(debug, r#"Readiness { grace: 1s, is_draining: false, watched: ["test"], not_ready: ["test"] }"#);
}

#[test]
fn it_is_ready_again_once_that_is_less_than_80_percent() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    let readiness = watching(&[&full.bulkhead]);
    full.wait(&mut executor, GRACE);
    full.rest(&mut executor, percent(20));
    assert!(!readiness.is_ready(), "80 %");
    executor.advance(percent(1));
    assert!(readiness.is_ready(), "79 %, and nothing has happened");
    // From 79 % up to 94 %, as the time in which no call waited slides along, it stays ready.
    full.wait(&mut executor, percent(79));
    assert!(readiness.is_ready(), "79 %");
    executor.advance(percent(15));
    assert!(readiness.is_ready(), "94 %");
    executor.advance(percent(1));
    assert!(!readiness.is_ready(), "95 %");
}

#[test]
fn the_verdict_between_both_depends_on_the_one_before_also_if_it_is_not_asked() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    let readiness = watching(&[&full.bulkhead]);
    full.wait(&mut executor, GRACE);
    full.rest(&mut executor, percent(15));
    assert!(!readiness.is_ready(), "85 %, after 100 %, for which it was not asked");
    full.rest(&mut executor, percent(10));
    full.wait(&mut executor, percent(85));
    assert!(readiness.is_ready(), "85 %, after 75 %, for which it was not asked");
    full.rest(&mut executor, Duration::ZERO);
    assert!(readiness.is_ready());
}

#[test]
fn a_long_silence_keeps_what_lasts() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    let readiness = watching(&[&full.bulkhead]);
    full.wait(&mut executor, 1000 * GRACE);
    assert!(!readiness.is_ready());
    full.rest(&mut executor, 1000 * GRACE);
    assert!(readiness.is_ready());
    full.wait(&mut executor, percent(94));
    assert!(readiness.is_ready());
    executor.advance(percent(1));
    assert!(!readiness.is_ready());
}

#[test]
fn many_short_waits_add_up() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    let readiness = watching(&[&full.bulkhead]);
    for _ in 0..1000 {
        full.wait(&mut executor, Duration::from_micros(940));
        full.rest(&mut executor, Duration::from_micros(60));
        assert!(readiness.is_ready(), "94 % at most");
    }
    for _ in 0..1000 {
        full.wait(&mut executor, Duration::from_micros(960));
        full.rest(&mut executor, Duration::from_micros(40));
    }
    assert!(!readiness.is_ready(), "96 %");
    for _ in 0..1000 {
        full.wait(&mut executor, Duration::from_micros(810));
        full.rest(&mut executor, Duration::from_micros(190));
        assert!(!readiness.is_ready(), "81 % at least");
    }
    for _ in 0..1000 {
        full.wait(&mut executor, Duration::from_micros(790));
        full.rest(&mut executor, Duration::from_micros(210));
    }
    assert!(readiness.is_ready(), "79 %");
}

/// The share at each moment, computed from all transitions, against the verdict.
#[test]
fn the_share_is_exact_to_half_a_percent_of_the_grace_period() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    let readiness = watching(&[&full.bulkhead]);
    let mut waited: Vec<bool> = vec![false; 1000];
    let mut seed = 1_u64;
    let mut was_ready = true;
    for round in 0..400 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let is_waiting = round % 2 == 0;
        let most = if round % 100 < 50 { [400, 30] } else { [30, 20] }[usize::from(!is_waiting)];
        if is_waiting {
            full.wait(&mut executor, ms(0));
        } else {
            full.rest(&mut executor, ms(0));
        }
        for _ in 0..(seed >> 33) % most {
            executor.advance(ms(1));
            waited.push(is_waiting);
            let share = waited[waited.len() - 1000..].iter().filter(|waited| **waited).count();
            let is_ready = readiness.is_ready();
            match share {
                956.. => assert!(!is_ready, "{share}"),
                ..=794 => assert!(is_ready, "{share}"),
                806..=944 => assert_eq!(is_ready, was_ready, "{share}"),
                _ => {}
            }
            was_ready = is_ready;
        }
    }
}

#[test]
fn a_call_that_waits_already_waits_from_now_on() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    full.wait(&mut executor, 10 * GRACE);
    let readiness = watching(&[&full.bulkhead]);
    assert!(readiness.is_ready());
    executor.advance(percent(94));
    assert!(readiness.is_ready());
    executor.advance(percent(1));
    assert!(!readiness.is_ready());
    full.rest(&mut executor, percent(21));
    assert!(readiness.is_ready());
}

#[test]
fn any_end_of_the_last_wait_ends_it() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(3).wait_limit(2 * GRACE).build().expect("valid");
    let readiness = watching(&[&bulkhead]);
    let ends_after_a_grace_period = |executor: &mut Executor, end: &mut dyn FnMut(&mut Executor)| {
        executor.advance(GRACE);
        assert!(!readiness.is_ready());
        end(executor);
        executor.run_until_idle();
        executor.advance(percent(21));
        assert!(readiness.is_ready());
        executor.advance(GRACE);
    };
    let mut running = Some(slot(&call(&mut executor, &bulkhead)));
    let waiting = call(&mut executor, &bulkhead);
    ends_after_a_grace_period(&mut executor, &mut |_| drop(running.take()));
    let _running = slot(&waiting);
    let expired = call(&mut executor, &bulkhead);
    ends_after_a_grace_period(&mut executor, &mut |executor| executor.advance(GRACE));
    assert!(expired.output().expect("it has ended").is_err());
    let _admitted = call(&mut executor, &bulkhead);
    ends_after_a_grace_period(&mut executor, &mut |_| _ = bulkhead.resize(2).expect("open"));
}

#[test]
fn one_bulkhead_that_is_not_ready_is_enough() {
    let mut executor = executor();
    let (mut one, mut other) = (Full::new(&mut executor), Full::new(&mut executor));
    let third = Bulkhead::builder_on(executor.clock(), "third").parallelism(1).build().expect("valid");
    let readiness = watching(&[&one.bulkhead, &third, &other.bulkhead]);
    one.wait(&mut executor, percent(50));
    other.wait(&mut executor, percent(45));
    assert!(!readiness.is_ready());
    one.rest(&mut executor, percent(50));
    assert!(!readiness.is_ready(), "the other one");
    assert_eq!(readiness.not_ready().len(), 1);
    other.rest(&mut executor, percent(21));
    assert!(readiness.is_ready());
    third.close();
    assert_eq!((readiness.is_ready(), readiness.not_ready()), (false, vec!["third".into()]));
}

#[test]
fn a_paused_bulkhead_counts_as_any_other() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let readiness = watching(&[&bulkhead]);
    bulkhead.pause();
    executor.advance(2 * GRACE);
    assert!(readiness.is_ready(), "no call waits");
    let _waiting = call(&mut executor, &bulkhead);
    executor.advance(GRACE);
    assert!(!readiness.is_ready());
    bulkhead.resume();
    executor.advance(percent(21));
    assert!(readiness.is_ready());
}

#[test]
fn a_closed_bulkhead_is_not_ready_until_it_is_dropped_or_unwatched() {
    let executor = executor();
    let bulkheads = [bulkhead(&executor, 1, 1), bulkhead(&executor, 1, 1)];
    bulkheads[0].close();
    let readiness = watching(&[&bulkheads[0], &bulkheads[1]]);
    assert_eq!(readiness.not_ready().len(), 1, "it was closed before");
    bulkheads[1].close();
    assert_eq!(readiness.not_ready().len(), 2);
    assert!(readiness.unwatch(&bulkheads[1]));
    assert!(!readiness.unwatch(&bulkheads[1]), "it is not watched any more");
    assert_eq!(readiness.not_ready().len(), 1);
    drop(bulkheads);
    assert!(readiness.is_ready());
}

#[test]
fn closing_while_calls_wait_is_final() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    let readiness = watching(&[&full.bulkhead]);
    full.wait(&mut executor, percent(10));
    full.bulkhead.close();
    full.rest(&mut executor, 10 * GRACE);
    assert!(!readiness.is_ready());
}

#[test]
fn handlers_are_removed_with_the_last_clone_and_keep_no_bulkhead() {
    let mut executor = executor();
    let token = Arc::new(());
    let watched = |executor: &Executor| {
        let (bulkhead, token) = (bulkhead(executor, 1, 1), Arc::clone(&token));
        bulkhead.handle().add_event_handler(EventFilter::CHANGES, move |_| _ = &token);
        bulkhead
    };
    let (one, other) = (watched(&executor), watched(&executor));
    let readiness = watching(&[&one, &other]);
    let clone = readiness.clone();
    drop(one);
    assert_eq!(Arc::strong_count(&token), 2, "the bulkhead is gone");
    drop(readiness);
    let (running, waiting) = (slot(&call(&mut executor, &other)), call(&mut executor, &other));
    executor.advance(GRACE);
    assert!(!clone.is_ready(), "the clone still watches");
    drop(clone);
    assert_eq!(Arc::strong_count(&token), 2);
    drop((running, waiting));
    drop(executor);
    drop(other);
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn watching_again_changes_nothing() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    let readiness = watching(&[&full.bulkhead]);
    full.wait(&mut executor, GRACE);
    readiness.clone().watch(&full.bulkhead.clone());
    assert_eq!(readiness.not_ready().len(), 1);
    readiness.unwatch(&full.bulkhead);
    readiness.watch(&full.bulkhead);
    assert!(readiness.is_ready(), "its time counts from now");
    executor.advance(GRACE);
    assert_eq!(readiness.not_ready().len(), 1);
}

#[test]
fn a_partition_can_be_watched() {
    let executor = executor();
    let builder = Partitions::builder_on(executor.clock(), "tenants").parallelism(1).max_partitions(2);
    let tenants: Partitions<String, _> = builder.build().expect("valid");
    drop(tenants.key("ann").try_slot());
    let readiness = Readiness::new(GRACE).expect("valid");
    readiness.watch(&tenants.partition("ann").expect("it was used"));
    tenants.partition("ann").expect("it was used").close();
    assert!(!readiness.is_ready());
    assert!(tenants.discard("ann"));
    assert!(readiness.is_ready(), "it was dropped");
}

/// It is one of another handler's filter, which had not been delivered when the bulkhead was first
/// watched.
#[test]
fn an_older_event_that_is_delivered_later_is_ignored() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let readiness = Arc::new(Mutex::new(None::<Readiness>));
    let (inside, clone) = (Arc::clone(&readiness), bulkhead.clone());
    let filter = EventFilter::of(EventKind::Queued).or(EventFilter::of(EventKind::Paused));
    bulkhead.handle().add_event_handler(filter, move |event| {
        if event.kind == EventKind::Paused {
            drop(begin(&clone));
            *inside.lock().expect("no panic") = Some(watching(&[&clone]));
        }
    });
    bulkhead.pause();
    assert_eq!((bulkhead.status().waiting, bulkhead.status().totals.queued), (0, 1));
    executor.clock().advance(10 * GRACE);
    assert!(readiness.lock().expect("no panic").take().expect("it was called").is_ready());
}

#[test]
fn a_clock_that_stands_still_or_goes_back_keeps_the_verdict() {
    let mut executor = executor();
    let clock = executor.clock();
    let mut full = Full::new(&mut executor);
    let readiness = watching(&[&full.bulkhead]);
    for _ in 0..1000 {
        full.wait(&mut executor, Duration::ZERO);
        full.rest(&mut executor, Duration::ZERO);
    }
    assert!(readiness.is_ready());
    full.wait(&mut executor, GRACE);
    assert!(!readiness.is_ready());
    full.rest(&mut executor, Duration::ZERO);
    let later = clock.now();
    clock.set(Instant::EPOCH);
    full.wait(&mut executor, Duration::ZERO);
    full.rest(&mut executor, Duration::ZERO);
    assert!(!readiness.is_ready(), "the time of the last transition holds");
    clock.set(later + percent(21));
    assert!(readiness.is_ready());
    clock.set(Instant::FAR_FUTURE);
    full.wait(&mut executor, Duration::ZERO);
    full.rest(&mut executor, Duration::ZERO);
    assert!(readiness.is_ready());
}

#[test]
fn a_clock_that_panics_loses_no_transition() {
    let clock = PanickingClock::default();
    let builder = Bulkhead::builder_on(clock.clone(), "test").parallelism(1).waiting_room(1);
    let bulkhead = builder.measure_waits(false).build().expect("valid");
    clock.panic(true);
    let readiness = Readiness::new(GRACE).expect("valid");
    readiness.watch(&bulkhead);
    assert!(readiness.is_ready());
    clock.panic(false);
    let _running = bulkhead.try_slot().expect("free");
    let mut waiting = Box::pin(bulkhead.slot());
    assert!((&mut waiting).now_or_never().is_none());
    clock.panic(true);
    assert!(readiness.is_ready());
    drop(waiting);
    clock.panic(false);
    clock.advance(2 * GRACE);
    assert!(readiness.is_ready(), "the call waits no longer");
    assert_eq!(bulkhead.status().handler_panics, 0);
}

#[test]
fn the_shortest_and_the_longest_grace_period_hold() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    let (short, long) = (Readiness::new(Duration::from_nanos(1)).expect("valid"), Readiness::new(Duration::MAX));
    let long = long.expect("valid");
    short.watch(&full.bulkhead);
    long.watch(&full.bulkhead);
    full.wait(&mut executor, Duration::from_nanos(1));
    assert!(!short.is_ready() && long.is_ready());
    for _ in 0..100 {
        full.rest(&mut executor, Duration::from_nanos(1));
        assert!(short.is_ready() && long.is_ready());
        full.wait(&mut executor, ms(3));
        assert!(!short.is_ready() && long.is_ready());
    }
}

#[test]
fn a_long_list_of_watched_bulkheads_is_dropped_one_by_one() {
    let executor = executor();
    let readiness = Readiness::new(GRACE).expect("valid");
    let bulkhead = bulkhead(&executor, 1, 0);
    for _ in 0..300 {
        readiness.watch(&bulkhead);
        assert!(readiness.unwatch(&bulkhead));
    }
    assert!(readiness.is_ready());
}

#[test]
fn a_service_that_is_draining_is_never_ready_again_and_still_admits() {
    let mut executor = executor();
    let mut full = Full::new(&mut executor);
    let readiness = Readiness::new(GRACE).expect("valid");
    readiness.watch(&full.bulkhead);
    assert!(readiness.is_ready() && !readiness.is_draining());
    let clone = readiness.clone();
    clone.set_draining();
    clone.set_draining();
    for _ in 0..3 {
        assert!(readiness.is_draining() && !readiness.is_ready());
        assert!(readiness.not_ready().is_empty(), "no bulkhead is the reason");
        full.wait(&mut executor, GRACE);
        assert_eq!(readiness.not_ready().len(), 1);
        full.rest(&mut executor, 2 * GRACE);
    }
    readiness.unwatch(&full.bulkhead);
    assert!(!readiness.is_ready());
    assert!(format!("{readiness:?}").contains("is_draining: true"), "{readiness:?}");
}
