//! Every way of a bulkhead, for a key that shares a capacity.

use std::thread;

use bulklink::partitions::Limits;
use bulklink::testing::{FakeClock, FakeRuntime};
use bulklink::{Bound, Partitions, Reason, Request, StdClock};

use super::{call, load, models, shared};
use crate::{executor, ms, slot};

#[test]
fn executes_and_submits() {
    let mut executor = executor();
    let builder = Partitions::builder_on(executor.runtime(), "models").shared_capacity(1).shared_waiting_room(5);
    let models: Partitions<String, FakeRuntime> = builder.max_partitions(5).build().expect("valid");
    let running = models.key("ann").try_slot().expect("free");
    let executed = executor.spawn(models.key("bob").execute(async { "a page" }));
    let submitted = models.key("cid").submit(async { 7 });
    executor.run_until_idle();
    assert!(!executed.is_finished());
    drop(running);
    executor.run_until_idle();
    assert_eq!(executed.output().expect("ended").expect("admitted"), "a page");
    assert_eq!(executor.block_on(submitted.expect("spawned")).expect("ended"), 7);
    assert_eq!(models.status().shared.map(|shared| (shared.in_use, shared.waiting)), Some((0, 0)));
}

#[test]
fn threads_block_for_a_unit_of_another_key() {
    let models: Partitions<String, StdClock> = Partitions::builder_on(StdClock, "models")
        .shared_capacity(1)
        .shared_waiting_room(1)
        .max_partitions(2)
        .build()
        .expect("valid");
    let ann = models.key("ann").try_slot().expect("free");
    thread::scope(|scope| {
        let bob = scope.spawn(|| models.key("bob").blocking_execute(|| "done"));
        while models.status().shared.expect("shared").waiting == 0 {
            thread::yield_now();
        }
        drop(ann);
        assert_eq!(bob.join().expect("no panic").expect("admitted"), "done");
    });
}

#[test]
fn a_deadline_leaves_the_reserve_to_the_call() {
    let mut executor = executor();
    let models = models(&executor, 1);
    let running = slot(&call(&mut executor, &models, "ann"));
    let request = Request::new().deadline_after(ms(100)).leaving(ms(40));
    let late = executor.spawn(models.key("bob").with(request).slot());
    executor.run_until_idle();
    executor.advance(ms(60));
    assert_eq!(late.output().expect("ended").expect_err("late").reason(), Reason::Expired);
    let in_time = executor.spawn(models.key("bob").with(request).slot());
    executor.run_until_idle();
    drop(running);
    executor.run_until_idle();
    drop(slot(&in_time));
    assert_eq!(load(&models), [(0, 0); 2]);
}

#[test]
fn slots_are_split_merged_and_written_off() {
    let executor = executor();
    let models = models(&executor, 4);
    let mut slot = models.key("ann").with(Request::new().cost(3)).try_slot().expect("free");
    let part = slot.split(1).expect("two are left");
    assert_eq!((slot.cost(), part.cost(), load(&models)), (2, 1, [(3, 0); 2]));
    slot.merge(part).expect("of the same bulkhead");
    assert_eq!((slot.cost(), load(&models)), (3, [(3, 0); 2]));
    slot.forget();
    assert_eq!(load(&models), [(3, 0); 2]);
    let bob = models.key("bob").try_slot().expect("one is left");
    assert!(models.key("cid").try_slot().is_err());
    drop(bob);
    // What was written off stays in use, also when the partition is gone.
    assert!(models.discard("ann"));
    assert_eq!((shared(&models).in_use, models.key("bob").try_slot().is_ok()), (3, true));
}

#[test]
fn wide_calls_get_their_units_together() {
    let mut executor = executor();
    let models = models(&executor, 3);
    let mut running: Vec<_> = (0..3).map(|_| slot(&call(&mut executor, &models, "ann"))).collect();
    let wide = executor.spawn(models.key("bob").with(Request::new().cost(2)).slot());
    executor.run_until_idle();
    running.pop();
    executor.run_until_idle();
    assert!(!wide.is_finished());
    assert!(models.key("ann").try_slot().is_err(), "the free unit is for the call whose turn it is");
    running.pop();
    executor.run_until_idle();
    assert_eq!(slot(&wide).cost(), 2);
}

#[test]
fn an_impossible_cost_names_the_shared_capacity() {
    let executor = executor();
    let models = models(&executor, 2);
    let rejection = models.key("ann").with(Request::new().cost(3)).try_slot().expect_err("impossible");
    assert_eq!((rejection.reason(), rejection.bound()), (Reason::InvalidCost, None));
    let models = super::builder(&executor).shared_capacity(2).parallelism(5).build().expect("valid");
    let rejection = models.key("ann").with(Request::new().cost(3)).try_slot().expect_err("impossible");
    assert_eq!(rejection.to_string(), "bulkhead models: cost must be from 1 to the capacity, 2, got 3");
}

#[test]
fn a_request_that_may_not_wait_displaces_nothing() {
    let mut executor = executor();
    let models = super::builder(&executor).shared_capacity(1).shared_waiting_room(1).build().expect("valid");
    let _running = slot(&call(&mut executor, &models, "ann"));
    let waiting = call(&mut executor, &models, "ann");
    let now = models.key("bob").with(Request::new().now()).try_slot().expect_err("none is free");
    assert_eq!(now.bound(), Some(Bound::Shared));
    let zero = executor.spawn(models.key("bob").within(ms(0)).slot());
    executor.run_until_idle();
    assert_eq!(crate::reason(&zero), Reason::Expired);
    assert!(!waiting.is_finished());
}

#[test]
fn closing_turns_all_out() {
    let mut executor = executor();
    let models = models(&executor, 1);
    let running = slot(&call(&mut executor, &models, "ann"));
    let bob = call(&mut executor, &models, "bob");
    models.close();
    executor.run_until_idle();
    assert_eq!(crate::reason(&bob), Reason::Closed);
    drop(running);
    assert_eq!(load(&models), [(0, 0); 2]);
    executor.block_on({
        let models = models.clone();
        async move { models.close_and_wait().await }
    });
}

#[test]
fn calls_go_on_without_their_partitions() {
    let mut executor = executor();
    let models = models(&executor, 1);
    let running = slot(&call(&mut executor, &models, "ann"));
    let bob = call(&mut executor, &models, "bob");
    drop(models);
    drop(running);
    executor.run_until_idle();
    drop(slot(&bob));
}

#[test]
fn without_a_shared_capacity_nothing_is_shared() {
    let executor = executor();
    let tenants: Partitions<String, FakeClock> =
        super::builder(&executor).parallelism(1).max_partitions(2).build().expect("valid");
    let _ann = tenants.key("ann").try_slot().expect("free");
    let rejection = tenants.key("ann").try_slot().expect_err("one of one");
    assert_eq!((rejection.bound(), tenants.status().shared, tenants.share("ann")), (None, None, None));
    assert_eq!(tenants.status().limits, Limits::new(2));
}

#[test]
fn an_estimate_knows_that_others_have_the_units() {
    let mut executor = executor();
    let models = models(&executor, 1);
    let bob = slot(&call(&mut executor, &models, "bob"));
    let handle = models.partition("bob").expect("in use");
    let estimate = || handle.estimated_wait(1);
    assert_eq!(estimate(), None, "no rate is known yet");
    executor.advance(ms(400));
    drop(bob);
    assert_eq!(estimate(), Some(ms(0)));
    let _ann = slot(&call(&mut executor, &models, "ann"));
    assert_eq!(estimate(), Some(ms(400)), "as long as Bob's calls take, which get their turns");
}

#[test]
fn a_report_says_that_the_shared_capacity_is_full() {
    use bulklink::partitions::FindingCode;

    let mut executor = executor();
    let models = models(&executor, 2);
    let _running = ["ann", "bob"].map(|key| slot(&call(&mut executor, &models, key)));
    let report = || models.handle().capacity_report(None);
    assert!(report().finding(FindingCode::SharedCapacityFull).is_none(), "no call waits");
    let _waiting = call(&mut executor, &models, "cid");
    let (report, code) = (report(), FindingCode::SharedCapacityFull);
    assert_eq!(
        report.finding(code).map(ToString::to_string).as_deref(),
        Some("warning: shared_capacity_full: all 2 units that the keys share in use, 1 waiting")
    );
}

#[test]
fn a_report_says_that_a_key_is_full_only_if_it_is() {
    use bulklink::partitions::{Class, FindingCode};

    let mut executor = executor();
    let builder = super::builder(&executor).shared_capacity(3).shared_waiting_room(9).parallelism(2);
    let models = builder.class_headroom(Class::Background, 2).build().expect("valid");
    let full = || {
        let report = models.handle().capacity_report(None);
        report.finding(bulklink::FindingCode::ExecutionFull).map(|finding| finding.partitions)
    };
    let batch = models.class(Class::Background);
    let _one = slot(&call(&mut executor, &batch, "ann"));
    let _waiting = call(&mut executor, &batch, "ann");
    assert_eq!((full(), shared(&models).waiting), (None, 1), "one of its two is in use");
    let _two = [(); 2].map(|()| models.key("bob").try_slot().expect("free"));
    assert_eq!(full(), Some(Some(1)), "Bob has two of two");
    let code = FindingCode::SharedCapacityFull;
    assert!(models.handle().capacity_report(None).finding(code).is_some());
}
