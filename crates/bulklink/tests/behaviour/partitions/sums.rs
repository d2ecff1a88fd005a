//! The figures of all partitions together, and the report.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use bulklink::partitions::{CapacityReport, Finding, FindingCode, Sums};
use bulklink::runtime::Clock;
use bulklink::testing::FakeClock;
use bulklink::{FindingCode as Code, Partitions, Request, Severity};

use super::{builder, call, tenants, touch, touch_each};
use crate::{executor, ms};

/// Returns what runs and waits: operations, units, waiters, their units, uncollected slots.
fn now(sums: &Sums) -> (usize, usize, usize, u64, usize) {
    (sums.in_flight, sums.in_use, sums.waiting, sums.waiting_units, sums.uncollected)
}

#[test]
fn the_figures_of_all_partitions_are_added_up() {
    let mut executor = executor();
    let builder = builder(&executor).capacity(3).waiting_room(1).max_partitions(2);
    let tenants = builder.build().expect("valid");
    assert_eq!(now(&tenants.handle().sums()), (0, 0, 0, 0, 0));
    let cost = |cost| Request::new().cost(cost);
    let ann = tenants.key("ann").with(cost(2)).try_slot().expect("free");
    let _bob = tenants.key("bob").with(cost(3)).try_slot().expect("free");
    let _waiting = [call(&mut executor, &tenants, "bob"), executor.spawn(tenants.key("ann").with(cost(2)).slot())];
    executor.run_until_idle();
    tenants.key("bob").try_slot().expect_err("full");
    tenants.key("cid").try_slot().expect_err("no partition");
    let sums = tenants.handle().sums();
    assert_eq!((&*sums.label, sums.partitions, now(&sums)), ("tenants", 2, (2, 5, 2, 3, 0)));
    assert_eq!((sums.totals.admitted, sums.totals.queued, sums.totals.saturated), (2, 2, 1));
    assert_eq!((sums.limit_rejected, sums.rejected()), (1, 2));
    drop(ann);
    assert_eq!(now(&tenants.handle().sums()), (2, 5, 1, 1, 1));
    executor.clock().advance(ms(5));
    assert_eq!(tenants.partition("ann").expect("kept").take_back_uncollected(ms(5)), 1);
    let sums = tenants.handle().sums();
    assert_eq!((sums.taken_back, sums.uncollected, sums.totals.abandoned), (1, 0, 1));
}

#[test]
fn partitions_that_are_gone_are_counted() {
    let mut executor = executor();
    let tenants = tenants(&executor, 2);
    let counted = |expected: u64| {
        let sums = tenants.handle().sums();
        assert_eq!((sums.totals.admitted, sums.totals.finished, sums.in_flight), (expected, expected, 0));
        sums.partitions
    };
    touch_each(&tenants, ["ann", "ann", "bob", "cid"]);
    assert_eq!((tenants.status().totals.evicted, counted(4)), (1, 2));
    let late = tenants.key("bob").with(Request::new().before(executor.clock().now())).try_slot();
    late.expect_err("the deadline is over");
    assert!(tenants.discard("bob"));
    assert_eq!(counted(4), 1);
    executor.clock().advance(ms(100));
    assert_eq!((tenants.handle().cleanup_idle(), counted(4)), (1, 0));
    touch(&tenants, "dan");
    let inside = tenants.clone();
    executor.block_on(async move { inside.close_and_wait().await });
    assert_eq!(counted(5), 0);
    assert_eq!(tenants.handle().sums().totals.expired_before_queue, 1);
}

/// Partitions are created and evicted all the time, while other threads add up.
#[test]
fn counters_never_run_back_and_count_each_call_once() {
    const CALLS: u64 = 3000;
    let builder = Partitions::builder_on(FakeClock::new(), "tenants").parallelism(1).max_partitions(3);
    let tenants: Partitions<u64, _> = builder.build().expect("valid");
    let is_over = AtomicBool::new(false);
    let admitted: u64 = thread::scope(|scope| {
        let read = || {
            let mut before = tenants.handle().sums();
            while !is_over.load(SeqCst) {
                let sums = tenants.handle().sums();
                let counters = |sums: &Sums| [sums.totals.admitted, sums.totals.finished, sums.rejected()];
                let pairs = counters(&sums).into_iter().zip(counters(&before));
                assert!(pairs.into_iter().all(|(now, before)| now >= before), "{sums:?} after {before:?}");
                before = sums;
            }
        };
        let readers = [scope.spawn(read), scope.spawn(read)];
        let call = |offset: u64| {
            let tenants = &tenants;
            move || (0..CALLS).filter(|number| tenants.key(&((number + offset) % 7)).try_slot().is_ok()).count() as u64
        };
        let callers = [scope.spawn(call(0)), scope.spawn(call(3))];
        let admitted = callers.into_iter().map(|caller| caller.join().expect("no panic")).sum();
        is_over.store(true, SeqCst);
        for reader in readers {
            reader.join().expect("a counter ran back");
        }
        admitted
    });
    let sums = tenants.handle().sums();
    assert_eq!((sums.totals.admitted, sums.totals.finished, sums.in_flight), (admitted, admitted, 0));
    assert_eq!(sums.rejected(), 2 * CALLS - admitted);
}

fn found(report: &CapacityReport) -> Vec<(&str, Severity, Option<usize>)> {
    let line = |finding: &'_ Finding| (finding.code.as_str(), finding.severity, finding.partitions);
    report.findings.iter().map(line).collect()
}

#[test]
fn the_report_counts_the_partitions_with_each_finding() {
    let mut executor = executor();
    let tenants = tenants(&executor, 4);
    touch(&tenants, "idle");
    let _running = ["ann", "bob", "cid"].map(|key| tenants.key(key).try_slot().expect("free"));
    let _waiting = ["bob", "cid", "cid"].map(|key| call(&mut executor, &tenants, key));
    let report = tenants.handle().capacity_report(None);
    let expected = [
        ("execution_full", Severity::Warning, Some(2)),
        ("waiting_room_full", Severity::Critical, Some(1)),
        ("unbounded_queue_wait", Severity::Notice, Some(4)),
    ];
    assert_eq!(found(&report), expected);
    assert_eq!((report.severity(), report.requires_attention()), (Severity::Critical, true));
    assert_eq!(
        report.to_string(),
        "bulkhead tenants: critical: waiting room full in 1 of 4 partitions; 2 more findings"
    );
    let full = report.finding(Code::ExecutionFull).expect("two are full");
    assert_eq!(full.to_string(), "warning: execution_full: execution full in 2 of 4 partitions");
    assert_eq!(full.recommendation(), Code::ExecutionFull.recommendation());
    assert!(!format!("{report:?}").contains("ann"), "no key is shown");
}

#[test]
fn the_report_says_whether_there_are_enough_partitions() {
    let executor = executor();
    let tenants = builder(&executor).parallelism(20).max_partitions(1).build().expect("valid");
    assert_eq!(tenants.handle().capacity_report(None).to_string(), "bulkhead tenants: ok: 0 of 1 partitions, 0 in use");
    let running: Vec<_> = (0..19).map(|_| tenants.key("ann").try_slot().expect("free")).collect();
    tenants.key("bob").try_slot().expect_err("no partition");
    let report = tenants.handle().capacity_report(None);
    let expected = [
        ("partition_limit_reached", Severity::Warning, None),
        ("elevated_limit_rejection_rate", Severity::Warning, None),
    ];
    assert_eq!(found(&report), expected);
    assert_eq!(report.findings[1].message, "1 of 20 calls got no partition (5 %)");
    assert_eq!(report.to_string(), "bulkhead tenants: warning: all 1 partitions in use; 1 more finding");
    for _ in 0..4 {
        tenants.key("bob").try_slot().expect_err("no partition");
    }
    let rate = |report: &CapacityReport| report.finding(FindingCode::ElevatedLimitRejectionRate).cloned();
    let critical = rate(&tenants.handle().capacity_report(None)).expect("found");
    assert_eq!(
        (critical.severity, critical.message.as_str()),
        (Severity::Critical, "5 of 24 calls got no partition (20 %)")
    );
    drop(running);
    tenants.close();
    let report = tenants.handle().capacity_report(None);
    assert_eq!(found(&report), [("elevated_limit_rejection_rate", Severity::Critical, None)]);
    assert!(report.to_string().starts_with("bulkhead tenants: critical: closed; 5 of 24 calls"), "{report}");
}

#[test]
fn a_report_since_earlier_sums_counts_the_calls_of_all_partitions_from_then_on() {
    let executor = executor();
    let tenants = builder(&executor).parallelism(1).max_partitions(2).build().expect("valid");
    let _running = ["ann", "bob"].map(|key| tenants.key(key).try_slot().expect("free"));
    let reject = |calls: usize, keys: &[&str]| {
        keys.iter().cycle().take(calls).for_each(|&key| _ = tenants.key(key).try_slot().expect_err("full"));
    };
    reject(60, &["ann", "cid"]);
    let present =
        [("partition_limit_reached", Severity::Warning, None), ("execution_full", Severity::Warning, Some(2))];
    let earlier = tenants.handle().sums();
    let report = tenants.handle().capacity_report(Some(&earlier));
    assert_eq!(found(&report), present, "nothing since then");
    reject(20, &["ann", "bob"]);
    let report = tenants.handle().capacity_report(Some(&earlier));
    let rejected = ("elevated_rejection_rate", Severity::Critical, None);
    assert_eq!(found(&report), [present[0], present[1], rejected]);
    assert_eq!(report.findings[2].message, "20 of 20 requests (100 %) found no room or expired");
    assert_eq!(found(&tenants.handle().capacity_report(None)).len(), 4, "each for itself, and too few partitions");
}

#[test]
fn too_few_calls_say_nothing_about_the_number_of_partitions() {
    let executor = executor();
    let tenants = builder(&executor).parallelism(20).max_partitions(1).build().expect("valid");
    let running: Vec<_> = (0..18).map(|_| tenants.key("ann").try_slot().expect("free")).collect();
    tenants.key("bob").try_slot().expect_err("no partition");
    assert!(
        tenants.handle().capacity_report(None).finding(FindingCode::ElevatedLimitRejectionRate).is_none(),
        "19 calls"
    );
    drop(running);
    assert!(tenants.handle().capacity_report(None).findings.is_empty());
    tenants.close();
    assert_eq!(tenants.handle().capacity_report(None).to_string(), "bulkhead tenants: ok: closed and drained");
}

#[test]
fn a_call_that_closed_partitions_reject_is_counted() {
    let executor = executor();
    let tenants = tenants(&executor, 2);
    drop(tenants.key("ann").try_slot().expect("free"));
    tenants.close();
    assert!(["ann", "bob"].iter().all(|&key| tenants.key(key).try_slot().is_err()));
    let sums = tenants.handle().sums();
    assert_eq!((sums.closed_rejected, sums.rejected()), (2, 2));
}
