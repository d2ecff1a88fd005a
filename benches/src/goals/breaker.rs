//! *breaker*: calls of a closed circuit, and rejections of an open one.
//!
//! All circuits open when half of the last 100 calls have failed. They have seen 100 successes
//! before the measurement, and each call succeeds. Each peer is called as its docs show.

use std::convert::Infallible;
use std::future::ready;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bulklink_breaker::{Breaker, Guard, Settings};
use bulklink_tokio::Tokio;
use failsafe::futures::CircuitBreaker as AsyncFailsafe;
use failsafe::{CircuitBreaker, StateMachine, backoff, failure_policy};
use recloser::{AsyncRecloser, Recloser};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use tower_resilience_circuitbreaker::CircuitBreakerLayer;

use super::uncontended::CAPACITY;
use crate::goal::{Goal, Limit, Row};
use crate::peers::{bulkhead, tokio_runtime};
use crate::scene::{Meter, Pace, Scene};
use crate::work::{now, on_threads, repeat};

pub(crate) fn goal() -> Goal {
    let (call, guarded) = ("an async call, closed", "Guard::execute, closed, instructions more");
    let (open, threads) = ("a call rejected, open", "a closure, closed, two threads");
    let peers = [
        ("failsafe", failsafe_async as fn() -> Scene),
        ("recloser", recloser_async),
        ("tower-resilience", tower_resilience),
    ];
    let ahead = peers.map(|(name, peer)| Row::instructions(call, name, ours_async(), peer()).at_most(1.0));
    let timed = peers.map(|(name, peer)| Row::time(call, name, ours_async(), peer()));
    let floor = "try_slot + a reading of std's clock";
    let refused_operation = "Guard::execute rejected, open";
    let rows = [
        Row::instructions(guarded, "Bulkhead::execute_fallible", guard(), unguarded()).limit(Limit::More(40.0)),
        // An open circuit must know whether its cool-down is over, so the floor reads the clock.
        Row::instructions(open, floor, refused(), rejected_and_timed()).at_most(2.0),
        Row::instructions(refused_operation, "Bulkhead::execute_fallible, full", guard_open(), bulkhead_full())
            .at_most(2.0),
        Row::time(threads, "failsafe", ours_on_threads(), failsafe_on_threads()).at_most(0.5),
        Row::time(threads, "recloser", ours_on_threads(), recloser_on_threads()).at_most(0.5),
        Row::time("the same, one call of 50 fails", "failsafe", ours_failing(), failsafe_failing()),
        Row::time("the same, one call of 50 fails", "recloser", ours_failing(), recloser_failing()).at_most(1.5),
        Row::time(open, floor, refused(), rejected_and_timed()),
    ];
    Goal::new("breaker", ahead.into_iter().chain(rows).chain(timed).collect::<Vec<_>>())
}

const WINDOW: u32 = 100;
const COOL_DOWN: Duration = Duration::from_secs(30);

type Failsafe = StateMachine<failure_policy::SuccessRateOverTimeWindow<std::iter::Repeat<Duration>>, ()>;

/// Returns a breaker with a closed circuit.
fn breaker() -> Breaker {
    let settings = Settings::of_last(WINDOW).failure_rate(50).cool_down(COOL_DOWN);
    let breaker = Breaker::builder_on(Tokio, "bench").settings(settings).build().expect("these are valid settings");
    for _ in 0..WINDOW {
        let _ = breaker.blocking_execute(succeed);
    }
    breaker
}

/// Returns a breaker with an open circuit.
fn open_breaker() -> Breaker {
    let breaker = breaker();
    for _ in 0..WINDOW {
        let _ = breaker.blocking_execute(|| Err::<(), _>(()));
    }
    breaker
}

fn failsafe_breaker() -> Failsafe {
    let backoff = backoff::constant(COOL_DOWN);
    let policy = failure_policy::success_rate_over_time_window(0.5, WINDOW, Duration::from_mins(1), backoff);
    let breaker = failsafe::Config::new().failure_policy(policy).build();
    for _ in 0..WINDOW {
        let _ = CircuitBreaker::call(&breaker, succeed);
    }
    breaker
}

fn recloser_breaker() -> Recloser {
    let breaker = Recloser::custom().error_rate(0.5).closed_len(WINDOW as usize).open_wait(COOL_DOWN).build();
    for _ in 0..WINDOW {
        let _ = breaker.call(succeed);
    }
    breaker
}

#[expect(clippy::unnecessary_wraps, reason = "an operation that could fail")]
fn succeed() -> Result<u32, ()> {
    Ok(black_box(7))
}

fn guard() -> Scene {
    Scene::new("breaker/Guard::execute", |operations, meter| {
        let guard = Guard::builder(&bulkhead(CAPACITY)).breaker(&breaker()).build().expect("these are valid settings");
        repeat(operations, meter, || now(|| guard.execute(ready(succeed()))).expect("admitted"));
    })
}

fn unguarded() -> Scene {
    Scene::new("breaker/Bulkhead::execute_fallible", |operations, meter| {
        let bulkhead = bulkhead(CAPACITY);
        repeat(operations, meter, || now(|| bulkhead.execute_fallible(ready(succeed()))).expect("admitted"));
    })
}

/// The operation here and of the next scene is a future of its own type, as in programs: it would
/// share the compiled code of the scenes above, which are inlined where they stand alone.
fn guard_open() -> Scene {
    Scene::new("breaker/Guard::execute, open", |operations, meter| {
        let guard =
            Guard::builder(&bulkhead(CAPACITY)).breaker(&open_breaker()).build().expect("these are valid settings");
        repeat(operations, meter, || now(|| guard.execute(async { succeed() })).expect_err("the circuit is open"));
    })
}

fn bulkhead_full() -> Scene {
    Scene::new("breaker/Bulkhead::execute_fallible, full", |operations, meter| {
        let builder = bulklink_tokio::Bulkhead::builder("bench").parallelism(1).waiting_room(0);
        let bulkhead = builder.build().expect("these are valid limits");
        let _held = bulkhead.try_slot().expect("there is room for one");
        repeat(operations, meter, || {
            now(|| bulkhead.execute_fallible(async { succeed() })).expect_err("there is no room")
        });
    })
}

fn refused() -> Scene {
    Scene::new("breaker/admit, open", |operations, meter| {
        let breaker = open_breaker();
        repeat(operations, meter, || breaker.admit().map(drop).expect_err("the circuit is open"));
    })
}

fn rejected_and_timed() -> Scene {
    Scene::new("breaker/try_slot + std clock", |operations, meter| {
        let (bulkhead, begin) = (bulkhead(1), Instant::now());
        let _held = bulkhead.try_slot().expect("there is room for one");
        repeat(operations, meter, || {
            black_box(begin.elapsed());
            bulkhead.try_slot().expect_err("there is no room")
        });
    })
}

fn ours_async() -> Scene {
    Scene::new("breaker/Breaker::execute", |operations, meter| {
        let breaker = breaker();
        repeat(operations, meter, || now(|| breaker.execute(ready(succeed()))).expect("admitted"));
    })
}

fn failsafe_async() -> Scene {
    Scene::new("breaker/failsafe, async", |operations, meter| {
        let breaker = failsafe_breaker();
        repeat(operations, meter, || {
            now(|| AsyncFailsafe::call(&breaker, ready(succeed()))).map_err(drop).expect("admitted")
        });
    })
}

fn recloser_async() -> Scene {
    Scene::new("breaker/recloser, async", |operations, meter| {
        let breaker = AsyncRecloser::from(recloser_breaker());
        repeat(operations, meter, || now(|| breaker.call(ready(succeed()))).map_err(drop).expect("admitted"));
    })
}

/// Must run inside a runtime.
fn tower_resilience() -> Scene {
    Scene::new("breaker/tower-resilience", |operations, meter| {
        let runtime = tokio_runtime();
        let _entered = runtime.enter();
        let layer = CircuitBreakerLayer::builder()
            .sliding_window_size(WINDOW as usize)
            .minimum_number_of_calls(WINDOW as usize)
            .failure_rate_threshold(0.5)
            .wait_duration_in_open(COOL_DOWN)
            .build()
            .expect("these are valid settings");
        let mut service = ServiceBuilder::new().layer(layer).service(service_fn(answer));
        call(&mut service, WINDOW as usize, &mut |work| work());
        call(&mut service, operations, meter);
    })
}

fn answer(_: u32) -> std::future::Ready<Result<u32, Infallible>> {
    ready(Ok(black_box(7)))
}

/// Waits for readiness and then calls, as tower requires.
fn call<S: Service<u32>>(service: &mut S, operations: usize, meter: Meter<'_>) {
    meter(&mut || {
        for _ in 0..operations {
            let service = &mut *service;
            let _ = black_box(now(move || async move { service.ready().await?.call(7).await }));
        }
    });
}

fn threads<B: Sync + 'static>(name: &str, make: fn() -> B, call: fn(&B, u32) -> bool) -> Scene {
    Scene::new(format!("breaker/{name}"), move |operations, meter| {
        let breaker = make();
        on_threads(2, operations, meter, || call(&breaker, 1));
    })
    .pace(Pace::Long)
}

/// One call of 50 fails, by the number of the call on its thread.
fn threads_failing<B: Sync + 'static>(name: &str, make: fn() -> B, call: fn(&B, u32) -> bool) -> Scene {
    Scene::new(format!("breaker/{name}, failing"), move |operations, meter| {
        let breaker = make();
        let count = || COUNT.with(|count| count.replace(count.get().wrapping_add(1)));
        on_threads(2, operations, meter, || call(&breaker, count() % 50));
    })
    .pace(Pace::Long)
}

thread_local! {
    static COUNT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

fn fail_at_zero(number: u32) -> Result<u32, ()> {
    if number == 0 { Err(()) } else { Ok(black_box(number)) }
}

fn call_ours(breaker: &Breaker, number: u32) -> bool {
    breaker.blocking_execute(|| fail_at_zero(number)).is_ok()
}

fn call_failsafe(breaker: &Failsafe, number: u32) -> bool {
    CircuitBreaker::call(breaker, || fail_at_zero(number)).is_ok()
}

fn call_recloser(breaker: &Recloser, number: u32) -> bool {
    breaker.call(|| fail_at_zero(number)).is_ok()
}

fn ours_on_threads() -> Scene {
    threads("Breaker::blocking_execute", breaker, call_ours)
}

fn failsafe_on_threads() -> Scene {
    threads("failsafe", failsafe_breaker, call_failsafe)
}

fn recloser_on_threads() -> Scene {
    threads("recloser", recloser_breaker, call_recloser)
}

fn ours_failing() -> Scene {
    threads_failing("Breaker::blocking_execute", breaker, call_ours)
}

fn failsafe_failing() -> Scene {
    threads_failing("failsafe", failsafe_breaker, call_failsafe)
}

fn recloser_failing() -> Scene {
    threads_failing("recloser", recloser_breaker, call_recloser)
}
