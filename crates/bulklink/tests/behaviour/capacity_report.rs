//! The capacity report, before, during and after pressure.

use bulklink::{FindingCode, Request, Severity};

use crate::{TestBulkhead, builder, call, executor, ms, slot};

fn found(bulkhead: &TestBulkhead) -> Vec<(FindingCode, Severity)> {
    let report = bulkhead.status().capacity_report();
    report.findings.iter().map(|finding| (finding.code, finding.severity)).collect()
}

#[test]
fn pressure_is_reported_as_it_builds_up_and_drains() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(2).waiting_room(5).wait_limit(ms(500)).build().expect("valid");
    assert_eq!(found(&bulkhead), []);
    let mut running = vec![slot(&call(&mut executor, &bulkhead)), slot(&call(&mut executor, &bulkhead))];
    assert_eq!(found(&bulkhead), [(FindingCode::ExecutionFull, Severity::Notice)]);
    let _waiting: Vec<_> = (0..4).map(|_| call(&mut executor, &bulkhead)).collect();
    let near = (FindingCode::WaitingRoomNearCapacity, Severity::Warning);
    assert_eq!(found(&bulkhead), [(FindingCode::ExecutionFull, Severity::Warning), near]);
    let _last = call(&mut executor, &bulkhead);
    assert_eq!(found(&bulkhead), [(FindingCode::WaitingRoomFull, Severity::Critical)]);
    bulkhead.close();
    assert_eq!(found(&bulkhead), [(FindingCode::ClosedWithActiveWork, Severity::Notice)]);
    running.clear();
    assert_eq!(found(&bulkhead), []);
    assert_eq!(bulkhead.status().capacity_report().to_string(), "bulkhead test: ok: closed and drained");
}

#[test]
fn past_rejections_are_reported_after_the_pressure_is_gone() {
    let executor = executor();
    let bulkhead = builder(&executor).parallelism(1).build().expect("valid");
    for _ in 0..19 {
        drop(bulkhead.try_slot().expect("free"));
    }
    let running = bulkhead.try_slot().expect("free");
    assert!(bulkhead.try_slot().is_err());
    drop(running);
    assert_eq!(found(&bulkhead), []);
    let _running = bulkhead.try_slot().expect("free");
    for _ in 0..10 {
        assert!(bulkhead.try_slot().is_err());
    }
    let report = bulkhead.status().capacity_report();
    let finding = report.finding(FindingCode::ElevatedRejectionRate).expect("11 of 32");
    assert_eq!(finding.severity, Severity::Critical);
    assert_eq!(finding.message, "11 of 32 requests (34 %) found no room or expired");
    assert_eq!(&*report.label, "test");
    assert!(report.requires_attention());
}

/// With weights, units can be free although the head of the queue needs more.
#[test]
fn a_head_that_does_not_fit_blocks_the_queue() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(10).waiting_room(1).wait_limit(ms(500)).build().expect("valid");
    let _running = bulkhead.with(Request::new().cost(8)).try_slot().expect("free");
    let _large = executor.spawn(bulkhead.with(Request::new().cost(3)).slot());
    executor.run_until_idle();
    assert_eq!(found(&bulkhead), [(FindingCode::WaitingRoomFull, Severity::Critical)]);
}

#[test]
fn waits_near_the_limit_are_reported() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(5).wait_limit(ms(100)).build().expect("valid");
    for _ in 0..5 {
        let running = slot(&call(&mut executor, &bulkhead));
        let waiting = call(&mut executor, &bulkhead);
        executor.advance(ms(75));
        drop(running);
        executor.run_until_idle();
        drop(slot(&waiting));
    }
    assert_eq!(found(&bulkhead), [(FindingCode::WaitTimeNearLimit, Severity::Warning)]);
}
