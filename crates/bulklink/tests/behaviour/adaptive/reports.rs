//! The findings of reports about adaptive limits.

use bulklink::limit::{Mode, Step};
use bulklink::{FindingCode, Partitions, Severity};

use super::{Puppet, bulkhead, call, puppet_in};
use crate::{TestBulkhead, executor};

#[test]
fn a_report_warns_of_a_limit_that_has_failed() {
    let executor = executor();
    let (bulkhead, puppet) = bulkhead(&executor);
    assert_eq!(bulkhead.status().capacity_report().finding(FindingCode::AdaptiveLimitFailed), None);
    puppet.set(9);
    call(&bulkhead);
    let report = bulkhead.status().capacity_report();
    let text = "the adaptive limit panicked or left its bounds, and stays at 2";
    assert_eq!(report.finding(FindingCode::AdaptiveLimitFailed).unwrap().message, text);
    assert_eq!(report.to_string(), format!("bulkhead test: warning: {text}; 1 more finding"));
    assert_eq!(report.findings.last().unwrap().code, FindingCode::UnboundedQueueWait, "in the order of codes");
}

/// Makes a bulkhead that has turned many calls away, and has moved its limit.
fn rejecting(limit: usize, step: Step) -> TestBulkhead {
    let executor = executor();
    let (bulkhead, puppet) = puppet_in(&executor, |builder| builder.waiting_room(0));
    let running = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    (0..50).for_each(|_| drop(bulkhead.try_slot().unwrap_err()));
    puppet.set(limit);
    puppet.explain(step);
    drop(running);
    bulkhead
}

#[test]
fn a_report_says_that_the_bounds_bind_where_the_limit_would_rise_and_calls_are_rejected() {
    let found = |bulkhead: &TestBulkhead| {
        let report = bulkhead.status().capacity_report();
        report.finding(FindingCode::AdaptiveLimitAtBound).map(|finding| finding.message.clone())
    };
    let message = |limit| Some(format!("the adaptive limit of {limit} would go beyond its bounds, 1 to 8"));
    // It looks around its place, by an eighth at most.
    for (limit, step, expected) in [
        (8, Step::MoreHelps, message(8)),
        (7, Step::MoreHelps, message(7)),
        (6, Step::MoreHelps, None),
        (8, Step::Set, message(8)),
        (7, Step::EnoughIsBusy, None),
        (8, Step::EnoughIsBusy, None),
        (8, Step::WasTold, None),
    ] {
        assert_eq!(found(&rejecting(limit, step)), expected, "{limit}, {step:?}");
    }
    let bulkhead = rejecting(8, Step::MoreHelps);
    let now = bulkhead.status();
    let since = now.capacity_report_since(&now).unwrap();
    assert_eq!(since.finding(FindingCode::AdaptiveLimitAtBound), None, "nothing was rejected since");
    let other = bulkhead.handle().ceiling("fleet");
    other.set(3);
    assert_eq!(found(&bulkhead), None, "another controller binds");
    drop(other);
    bulkhead.handle().set_limit_mode(Mode::Frozen);
    assert_eq!(found(&bulkhead), None);
}

#[test]
fn partitions_have_the_limits_together_and_a_warning_of_those_that_have_failed() {
    let executor = executor();
    let puppet = Puppet::new(2);
    let builder = Partitions::builder_on(executor.clock(), "tenants").parallelism(10).max_partitions(4);
    let tenants = builder.adaptive(puppet.clone()).build().expect("valid");
    assert_eq!(tenants.handle().sums().adaptive_limit, None, "there is none yet");
    let _running = ["a", "b"].map(|key| tenants.key(&key).try_slot().expect("free"));
    puppet.set(9);
    drop(tenants.key(&"a").try_slot().expect("free"));
    let sums = tenants.handle().sums();
    assert_eq!((sums.adaptive_limit, sums.failed_limits), (Some(4), 1));
    let report = tenants.handle().capacity_report(Some(&sums));
    let finding = report.finding(FindingCode::AdaptiveLimitFailed).expect("it has failed");
    let found = (finding.severity, finding.partitions, &*finding.message);
    assert_eq!(found, (Severity::Warning, Some(1), "adaptive limit failed in 1 of 2 partitions"));
}
