//! Plans, judged by long simulations of calls that the search has not seen.
//!
//! With `BULKLINK_DEPTH` of four or more, the searches have their usual budget, and ten seeds.

#![expect(clippy::cast_precision_loss, reason = "numbers of calls are exact")]

use std::env;
use std::ops::ControlFlow;
use std::sync::LazyLock;
use std::time::Duration;

use bulklink_core::{Limits, Reason, Reserve};
use bulklink_plan::{Arrivals, Ask, Burst, Distribution, Load, Plan, Progress, Sim, plan};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn is_deep() -> bool {
    env::var("BULKLINK_DEPTH").is_ok_and(|depth| depth.parse::<u32>().is_ok_and(|depth| depth >= 4))
}

/// 500 calls per second, most of which take 20 ms and some 200.
fn ask() -> Ask {
    let mut ask = Ask::new(500.0, Distribution::quantiles(MS(20), MS(200)).unwrap());
    ask.deadline = Some(MS(250));
    ask.budget = if is_deep() { 2_000_000 } else { 100_000 };
    ask
}

/// That of `ask()`.
static PLAN: LazyLock<Plan> = LazyLock::new(|| planned(&ask()));

fn planned(ask: &Ask) -> Plan {
    let plan = plan(ask, |_| ControlFlow::Continue(())).unwrap();
    assert!(plan.is_complete);
    plan
}

/// The part of all calls that is rejected, and the part that is in time, by other means than those
/// of the plan: plain counts.
fn judged(limits: Limits, arrivals: Arrivals, hold: Distribution, deadline: Duration) -> (f64, f64) {
    let mut sim = Sim::new(limits, Load::new(arrivals, hold), 987_654_321).unwrap();
    let (mut rejected, mut in_time) = (0_u64, 0_u64);
    let calls = 1_000_000;
    sim.run(calls, |decision| match decision.admitted {
        Ok(()) => in_time += u64::from(decision.waited() + decision.hold <= deadline),
        Err(_) => rejected += 1,
    });
    (rejected as f64 / calls as f64, in_time as f64 / calls as f64)
}

#[test]
fn a_plan_holds_for_other_calls_and_one_unit_less_does_not() {
    let (ask, plan) = (ask(), &*PLAN);
    let judged = |limits| judged(limits, Arrivals::poisson(500.0), ask.hold.clone(), MS(250));
    let (rejected, in_time) = judged(plan.limits);
    let figures = &plan.figures;
    assert!(figures.rejected.mean <= 0.01 && rejected < 0.0125, "{rejected}, planned {:?}", figures.rejected);
    assert!((rejected - figures.rejected.mean).abs() < 1.5 * figures.rejected.half, "{rejected}, {figures:?}");
    let planned_in_time = figures.in_time.unwrap();
    assert!((in_time - planned_in_time.mean).abs() < 1.5 * planned_in_time.half, "{in_time}, {planned_in_time:?}");
    // The log-normal distribution has 0.538 % beyond 250 ms.
    assert!((0.004..0.007).contains(&figures.too_long), "{}", figures.too_long);
    let (fewer, _) = judged(plan.limits.with_capacity(plan.limits.capacity - 1).with_waiting_room(Limits::MAX));
    assert!(fewer > 0.01, "{fewer}");
}

#[test]
fn what_ifs_are_what_the_limits_do_then_and_name_the_capacity_that_would_do() {
    let (ask, plan) = (ask(), &*PLAN);
    let what_if = |what: &str| plan.what_ifs.iter().find(|what_if| what_if.what == what).unwrap();
    for (what, times) in [("rate +10 %", 1.1), ("rate +50 %", 1.5)] {
        let what_if = what_if(what);
        let judged = |limits| judged(limits, Arrivals::poisson(500.0 * times), ask.hold.clone(), MS(250)).0;
        let (rejected, claimed) = (judged(plan.limits), what_if.figures.rejected);
        assert!((rejected - claimed.mean).abs() < 1.5 * claimed.half, "{what}: {rejected}, {claimed:?}");
        let needs = what_if.needs.unwrap();
        let enough = judged(plan.limits.with_capacity(needs + 1).with_waiting_room(Limits::MAX));
        let too_few = judged(plan.limits.with_capacity(needs - 2).with_waiting_room(Limits::MAX));
        assert!(enough <= 0.01 && too_few > 0.01, "{what}: {enough}, {too_few}");
    }
    let mut rejected = ["rate +10 %", "rate +20 %", "rate +50 %"].map(|what| what_if(what).figures.rejected.mean);
    assert!(rejected.is_sorted(), "{rejected:?}");
    rejected = ["holds +10 %", "holds +20 %", "holds +50 %"].map(|what| what_if(what).figures.rejected.mean);
    assert!(rejected.is_sorted(), "{rejected:?}");
    assert!(what_if("calls in fours").needs > what_if("rate +10 %").needs);
    // As many are rejected, but longer holds are also later.
    let in_time = ["holds +50 %", "rate +50 %"].map(|what| what_if(what).figures.in_time.unwrap().mean);
    assert!(in_time.is_sorted() && in_time[0] < in_time[1] - 0.005, "{in_time:?}");
}

#[test]
fn calls_that_bring_a_deadline_wait_no_longer_than_their_operations_allow() {
    let mut ask = ask();
    (ask.wait_limit, ask.rejected) = (Some(MS(225)), 0.05);
    let plan = planned(&ask);
    let brought = plan.what_ifs.last().unwrap();
    assert_eq!(brought.what, "calls bring the deadline");
    // The room decides, and with the deadlines their reserve, too.
    let (own, learnt) = (plan.figures.too_late, brought.figures.too_late);
    assert!(own < 0.001 && learnt > 0.004, "{own}, {learnt}");
}

#[test]
fn bursts_need_more() {
    let mut ask = ask();
    let calm = PLAN.limits.capacity;
    ask.burst = Burst::Batches(4.0);
    let plan = planned(&ask);
    assert!(plan.limits.capacity > calm, "{:?}", plan.limits);
    let (rejected, _) = judged(plan.limits, Arrivals::batches(500.0, 4.0), ask.hold.clone(), MS(250));
    assert!(rejected < 0.0125, "{rejected}");
    ask.burst = Burst::Phases(3.0, MS(200));
    let plan = planned(&ask);
    assert!(plan.limits.capacity > calm, "{:?}", plan.limits);
    let (rejected, _) = judged(plan.limits, Arrivals::phases(500.0, 3.0, MS(200)), ask.hold.clone(), MS(250));
    assert!(rejected < 0.0125, "{rejected}");
}

#[test]
fn the_capacity_is_that_of_erlangs_formula_where_hardly_any_call_may_wait() {
    let mut ask = Ask::new(800.0, Distribution::exponential(MS(10)));
    ask.wait_limit = Some(Duration::from_micros(1));
    (ask.rejected, ask.budget) = (0.1, 100_000);
    // With 10 units it is 12.2 %, and with 11 8.1 %.
    let plan = planned(&ask);
    assert_eq!(plan.limits.capacity, 11);
    assert_eq!((plan.limits.waiting_room, plan.limits.wait_limit), (0, None), "no room, and so no limit");
}

#[test]
fn the_same_seed_gives_the_same_plan_and_seeds_differ_by_little() {
    let mut ask = ask();
    assert_eq!(format!("{:?}", planned(&ask)), format!("{:?}", *PLAN));
    for seed in 2..=if is_deep() { 10 } else { 3 } {
        ask.seed = seed;
        let capacity = planned(&ask).limits.capacity;
        assert!((16..=18).contains(&capacity), "seed {seed}: {capacity}");
    }
}

#[test]
fn a_search_that_is_stopped_has_what_is_known_so_far() {
    let (ask, whole) = (ask(), &*PLAN);
    for part in [0.0, 0.2, 0.5, 0.9] {
        let most = whole.progress.arrivals as f64 * part;
        let stop = |progress: &Progress| {
            if progress.arrivals as f64 > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let plan = plan(&ask, stop).unwrap();
        let (limits, known) = (plan.limits, whole.limits);
        assert!(!plan.is_complete, "{part}");
        assert!(limits.capacity.abs_diff(known.capacity) <= 3, "{part}: {limits:?}, in the end {known:?}");
        assert!(plan.figures.arrivals > 0 && plan.what_ifs.len() <= whole.what_ifs.len());
        // The room that leaves the decision to the wait limit, until the search has one.
        assert!(limits.waiting_room >= 1 && limits.wait_limit.is_some(), "{part}: {limits:?}");
    }
}

#[test]
fn fields_out_of_range_are_named() {
    let text = |change: fn(&mut Ask)| {
        let mut ask = ask();
        change(&mut ask);
        plan(&ask, |_| panic!("nothing is simulated")).unwrap_err().to_string()
    };
    for (change, found) in [
        (|ask| ask.rate = 0.0, "rate must be from 0.01/s to 1000000/s, got 0/s"),
        (|ask| ask.rate = f64::NAN, "rate must be from 0.01/s to 1000000/s, got NaN/s"),
        (|ask| ask.rejected = 0.9, "rejected must be from 0.0001 to 0.5, got 0.9"),
        (|ask| ask.burst = Burst::Batches(0.5), "batch must be from 1 to 1000, got 0.5"),
        (|ask| ask.burst = Burst::Phases(0.5, MS(9)), "ratio of the phases must be from 1 to 100, got 0.5"),
        (|ask| ask.burst = Burst::Phases(2.0, MS(0)), "phase must be from 0.001s to 3600s, got 0s"),
        (
            |ask| ask.burst = Burst::Phases(2.0, MS(1_000_000)),
            "calls in 400 phases must be from 0 to 20000000, got 200000000",
        ),
        (|ask| ask.wait_limit = Some(MS(0)), "wait_limit must be from 0.000001s to 86400s, got 0s"),
        (
            |ask| ask.deadline = Some(Duration::MAX),
            "deadline must be from 0.000001s to 86400s, got 18446744073709552000s",
        ),
        (|ask| ask.hold = Distribution::constant(MS(0)), "mean hold must be from 0.000001s to 86400s, got 0s"),
        (|ask| ask.rate = 1e6, "rate times hold must use at most 2000 units on average, got 32641"),
        (|ask| ask.budget = 1, "budget must be from 10000 to 20000000, got 1"),
        (|ask| (ask.deadline, ask.brings_deadline) = (None, true), "deadline must be set if calls bring it, got none"),
    ] as [(fn(&mut Ask), &str); 13]
    {
        assert_eq!(text(change), found);
    }
}

#[test]
fn calls_with_a_deadline_leave_the_reserve_to_their_operations() {
    let late = |reserve| {
        let mut load = Load::new(Arrivals::poisson(150.0), Distribution::exponential(MS(100)));
        load.deadline = Some((MS(400), reserve));
        let mut sim = Sim::new(Limits::new(10).with_waiting_room(1_000), load, 1).unwrap();
        let (mut admitted, mut late, mut expired) = (0, 0, 0);
        sim.run(100_000, |decision| match decision.admitted {
            Ok(()) => {
                admitted += 1;
                late += u64::from(decision.waited() + decision.hold >= MS(400));
            }
            Err(Reason::Expired) => expired += 1,
            Err(reason) => panic!("{reason:?}"),
        });
        // The bulkhead counts the same, but for those that still run.
        let ended_late = sim.snapshot().ended_late;
        assert!((late - 10..=late).contains(&ended_late), "{ended_late} of {late}");
        (late as f64 / f64::from(admitted), expired)
    };
    let ((learnt, expired), (none, _)) = (late(Reserve::Learnt), late(Reserve::None));
    assert!(learnt < 0.05 && none > 0.2 && expired > 10_000, "{learnt}, {none}, {expired}");
}
