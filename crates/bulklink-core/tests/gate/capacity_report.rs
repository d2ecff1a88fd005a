//! Every finding, just below, at and above its threshold, and with too small a sample.

use std::time::Duration;

use bulklink_core::{
    Answer, CapacityReport, Finding, FindingCode, Gate, Instant, Limits, Request, Restriction, Severity, Snapshot,
    Totals,
};

use FindingCode::{
    ActiveWorkAboveCapacity, AdaptiveLimitAtBound, AdaptiveLimitFailed, AdmissionPaused, AdmissionRestricted,
    ClosedWithActiveWork, ElevatedExpirationRate, ElevatedRejectionRate, ExecutionFull, FrequentQueueing,
    LargeWaitingRoom, UnboundedQueueWait, WaitTimeNearLimit, WaitingRoomFull, WaitingRoomNearCapacity,
};
use Severity::{Critical, Notice, Ok as Fine, Warning};

const LIMIT: Duration = Duration::from_secs(1);

/// Returns the snapshot of an idle gate without a history, with a wait limit of a second.
fn snapshot(capacity: usize, waiting_room: usize) -> Snapshot {
    let limits = Limits::new(capacity).with_waiting_room(waiting_room).with_wait_limit(Some(LIMIT));
    Gate::<()>::new(limits).expect("valid").snapshot(None)
}

/// Returns the snapshot of a gate with operations of one unit, running and waiting.
fn busy(capacity: usize, waiting_room: usize, in_flight: usize, waiting: usize) -> Snapshot {
    let mut snapshot = snapshot(capacity, waiting_room);
    (snapshot.in_flight, snapshot.in_use, snapshot.waiting) = (in_flight, in_flight, waiting);
    snapshot
}

/// Returns the snapshot of an idle gate with a history.
fn tried(history: impl FnOnce(&mut Totals)) -> Snapshot {
    let mut snapshot = snapshot(4, 10);
    history(&mut snapshot.totals);
    snapshot
}

fn codes(snapshot: &Snapshot) -> Vec<(FindingCode, Severity)> {
    snapshot.capacity_report().findings.iter().map(|finding| (finding.code, finding.severity)).collect()
}

fn severity_of(code: FindingCode, snapshot: &Snapshot) -> Option<Severity> {
    snapshot.capacity_report().finding(code).map(|finding| finding.severity)
}

fn message(code: FindingCode, snapshot: &Snapshot) -> String {
    snapshot.capacity_report().finding(code).expect("found").message.clone()
}

/// Checks that there is no ratio, or this one.
#[track_caller]
fn assert_ratio(ratio: Option<f64>, expected: Option<f64>) {
    match (ratio, expected) {
        (Some(ratio), Some(expected)) => assert!((ratio - expected).abs() < 1e-12, "{ratio}, not {expected}"),
        (ratio, expected) => assert_eq!(ratio, expected),
    }
}

#[test]
fn the_names_of_codes_and_severities_never_change() {
    let codes = [
        (ClosedWithActiveWork, "closed_with_active_work"),
        (AdaptiveLimitFailed, "adaptive_limit_failed"),
        (AdaptiveLimitAtBound, "adaptive_limit_at_bound"),
        (ActiveWorkAboveCapacity, "active_work_above_capacity"),
        (ExecutionFull, "execution_full"),
        (WaitingRoomNearCapacity, "waiting_room_near_capacity"),
        (WaitingRoomFull, "waiting_room_full"),
        (UnboundedQueueWait, "unbounded_queue_wait"),
        (LargeWaitingRoom, "large_waiting_room"),
        (FrequentQueueing, "frequent_queueing"),
        (ElevatedRejectionRate, "elevated_rejection_rate"),
        (ElevatedExpirationRate, "elevated_expiration_rate"),
        (WaitTimeNearLimit, "wait_time_near_limit"),
    ];
    for (code, name) in codes {
        assert_eq!((code.as_str(), code.to_string().as_str()), (name, name));
        assert!(!code.recommendation().is_empty());
    }
    let severities = [(Fine, "ok"), (Notice, "notice"), (Warning, "warning"), (Critical, "critical")];
    for (severity, name) in severities {
        assert_eq!((severity.as_str(), severity.to_string().as_str()), (name, name));
    }
    assert!(severities.is_sorted());
}

#[test]
fn an_idle_gate_has_nothing_to_report() {
    let report = snapshot(4, 10).capacity_report();
    assert_eq!((report.findings.len(), report.severity(), report.requires_attention()), (0, Fine, false));
    assert_eq!(report.to_string(), "ok: 0 of 4 in use, 0 of 10 waiting");
    assert_ratio(report.utilization(), Some(0.0));
    assert_ratio(report.queue_utilization(), Some(0.0));
    for ratio in [report.queueing_rate(), report.rejection_rate(), report.expiration_rate()] {
        assert_eq!(ratio, None);
    }
    assert_eq!((report.average_wait_ratio(), report.longest_wait_ratio()), (None, None));
}

#[test]
fn closed_with_active_work_is_found_until_the_drain() {
    let closed = |in_flight| {
        let mut snapshot = busy(4, 10, in_flight, 0);
        snapshot.is_closed = true;
        snapshot
    };
    assert_eq!(codes(&closed(0)), []);
    assert_eq!(closed(0).capacity_report().to_string(), "ok: closed and drained");
    assert_eq!(codes(&closed(1)), [(ClosedWithActiveWork, Notice)]);
    assert_eq!(codes(&busy(4, 10, 1, 0)), []);
    assert_eq!(message(ClosedWithActiveWork, &closed(3)), "closed with 3 in flight");
    assert_eq!(closed(3).capacity_report().to_string(), "notice: closed with 3 in flight");
    let mut full = closed(6);
    for waiting in [8, 10] {
        full.waiting = waiting;
        assert_eq!(codes(&full), [(ClosedWithActiveWork, Notice)], "no pressure on a closed gate");
    }
}

#[test]
fn execution_full_is_found_when_all_units_are_used() {
    assert_eq!(codes(&busy(4, 10, 3, 0)), []);
    assert_eq!(codes(&busy(4, 10, 4, 0)), [(ExecutionFull, Notice)]);
    assert_eq!(codes(&busy(4, 10, 4, 1)), [(ExecutionFull, Warning)]);
    assert_eq!(codes(&busy(4, 0, 3, 0)), []);
    assert_eq!(codes(&busy(4, 0, 4, 0)), [(ExecutionFull, Warning)], "no call may wait");
    assert_eq!(message(ExecutionFull, &busy(4, 10, 4, 1)), "4 of 4 in use");
}

#[test]
fn active_work_above_capacity_is_found_after_shrinking() {
    assert_eq!(severity_of(ActiveWorkAboveCapacity, &busy(4, 10, 4, 1)), None);
    assert_eq!(codes(&busy(4, 10, 5, 0)), [(ActiveWorkAboveCapacity, Notice)]);
    assert_eq!(codes(&busy(4, 10, 5, 1)), [(ActiveWorkAboveCapacity, Warning)]);
    assert_eq!(message(ActiveWorkAboveCapacity, &busy(4, 10, 6, 1)), "2 in use beyond the capacity of 4");
}

#[test]
fn waiting_room_near_capacity_is_found_from_80_percent() {
    assert_eq!(codes(&busy(4, 10, 4, 7)), [(ExecutionFull, Warning)]);
    assert_eq!(codes(&busy(4, 10, 4, 8)), [(ExecutionFull, Warning), (WaitingRoomNearCapacity, Warning)]);
    assert_eq!(codes(&busy(4, 10, 4, 9)), [(ExecutionFull, Warning), (WaitingRoomNearCapacity, Warning)]);
    assert_eq!(codes(&busy(4, 10, 5, 8)), [(ActiveWorkAboveCapacity, Warning), (WaitingRoomNearCapacity, Warning)]);
    assert_eq!(severity_of(WaitingRoomNearCapacity, &busy(4, 50, 4, 39)), None, "78 %");
    assert_eq!(severity_of(WaitingRoomNearCapacity, &busy(4, 1000, 4, 799)), None, "79.9 %");
    let full = busy(4, 10, 4, 8);
    assert_eq!(message(WaitingRoomNearCapacity, &full), "8 of 10 places in the waiting room taken (80 %)");
    assert_ratio(full.capacity_report().queue_utilization(), Some(0.8));
}

#[test]
fn waiting_room_full_is_found_without_a_free_place() {
    assert_eq!(severity_of(WaitingRoomFull, &busy(4, 10, 4, 9)), None);
    assert_eq!(codes(&busy(4, 10, 4, 10)), [(WaitingRoomFull, Critical)]);
    assert_eq!(codes(&busy(4, 10, 4, 11)), [(WaitingRoomFull, Critical)]);
    assert_eq!(codes(&busy(4, 10, 5, 10)), [(ActiveWorkAboveCapacity, Warning), (WaitingRoomFull, Critical)]);
    assert_eq!(severity_of(WaitingRoomFull, &busy(4, 0, 4, 0)), None, "there is no waiting room");
    assert_eq!(message(WaitingRoomFull, &busy(4, 10, 4, 10)), "4 of 4 in use, and all 10 places to wait taken");
}

#[test]
fn waiting_room_full_is_found_where_the_units_to_wait_are_taken() {
    let waiting = |units| {
        let mut snapshot = busy(4, 10, 4, 2);
        (snapshot.limits.waiting_room_units, snapshot.waiting_units) = (Some(20), units);
        snapshot
    };
    assert_eq!(severity_of(WaitingRoomFull, &waiting(19)), None);
    assert_eq!([20, 21].map(|units| severity_of(WaitingRoomFull, &waiting(units))), [Some(Critical); 2]);
    assert_eq!(message(WaitingRoomFull, &waiting(20)), "4 of 4 in use, and all 20 units to wait taken");
}

/// Of 4 units, all in use, with a bound of 10 on 7 places.
#[test]
fn the_waiting_room_is_judged_by_places_and_units() {
    let mut snapshot = busy(4, 7, 4, 0);
    snapshot.limits.waiting_room_units = Some(10);
    let mut found = |waiting, units| {
        (snapshot.waiting, snapshot.waiting_units) = (waiting, units);
        let report = snapshot.capacity_report();
        let message = |code| Some(report.finding(code)?.message.clone());
        [WaitingRoomNearCapacity, WaitingRoomFull].map(message)
    };
    let near = |message: &str| [Some(format!("{message} in the waiting room taken")), None];
    let full = |taken: &str| [None, Some(format!("4 of 4 in use, and all {taken} to wait taken"))];
    assert_eq!(found(5, 7), [None, None]);
    assert_eq!(found(5, 8), near("8 of 10 units").map(|text| text.map(|text| text + " (80 %)")));
    assert_eq!(found(6, 9), near("6 of 7 places").map(|text| text.map(|text| text + " (85 %)")));
    assert_eq!(found(6, 10), full("10 units"));
    assert_eq!(found(7, 10), full("7 places"), "both");
    assert_eq!(found(7, 9), full("7 places"));
}

#[test]
fn a_full_room_of_a_paused_gate_says_that_it_is_paused() {
    let mut snapshot = busy(4, 2, 1, 2);
    snapshot.is_paused = true;
    assert_eq!(message(WaitingRoomFull, &snapshot), "paused with 1 of 4 in use, and all 2 places to wait taken");
}

#[test]
fn more_in_use_than_a_restriction_allows_is_compared_with_the_capacity() {
    let mut snapshot = busy(4, 2, 4, 2);
    snapshot.restriction = Some(Restriction::new(3, "fleet"));
    assert_eq!(message(WaitingRoomFull, &snapshot), "4 of 4 in use, and all 2 places to wait taken");
    (snapshot.in_use, snapshot.in_flight) = (3, 3);
    assert_eq!(message(WaitingRoomFull, &snapshot), "3 of 3 in use, and all 2 places to wait taken");
}

#[test]
fn unbounded_queue_wait_is_found_without_a_wait_limit() {
    let unlimited = |waiting_room| {
        let mut snapshot = snapshot(4, waiting_room);
        snapshot.limits.wait_limit = None;
        snapshot
    };
    assert_eq!(codes(&unlimited(0)), []);
    assert_eq!(codes(&unlimited(1)), [(UnboundedQueueWait, Notice)]);
    assert_eq!(codes(&snapshot(4, 1)), []);
    assert_eq!(message(UnboundedQueueWait, &unlimited(7)), "up to 7 may wait, for any length of time");
}

#[test]
fn large_waiting_room_depends_on_places_and_capacity() {
    let found = |capacity, room| severity_of(LargeWaitingRoom, &snapshot(capacity, room));
    assert_eq!([99, 100, 101].map(|room| found(1, room)), [None, Some(Notice), Some(Notice)]);
    assert_eq!([199, 200, 201].map(|room| found(10, room)), [None, Some(Notice), Some(Notice)]);
    assert_eq!([(5, 100), (6, 100)].map(|(capacity, room)| found(capacity, room)), [Some(Notice), None]);
    assert_eq!(found(Limits::MAX, Limits::MAX), None, "no overflow");
    assert_eq!(message(LargeWaitingRoom, &snapshot(5, 100)), "up to 100 may wait for a capacity of 5");
}

#[test]
fn frequent_queueing_is_found_from_50_percent() {
    let queued = |direct, queued, saturated| {
        tried(|totals| {
            (totals.admitted, totals.admitted_from_queue) = (direct + queued, queued);
            (totals.queued, totals.saturated) = (queued, saturated);
        })
    };
    let found = |snapshot| severity_of(FrequentQueueing, &snapshot);
    assert_eq!([9, 10, 11].map(|many| found(queued(20 - many, many, 0))), [None, Some(Notice), Some(Notice)]);
    assert_eq!(found(queued(501, 499, 0)), None, "49.9 %");
    assert_eq!(found(queued(0, 19, 0)), None, "too small a sample");
    assert_eq!(
        [found(queued(0, 10, 10)), found(queued(0, 9, 11))],
        [Some(Notice), None],
        "rejected requests count as requests"
    );
    assert_eq!(message(FrequentQueueing, &queued(9, 11, 2)), "11 of 22 requests (50 %) had to queue");
    assert_ratio(queued(15, 5, 0).capacity_report().queueing_rate(), Some(0.25));
    assert_ratio(queued(14, 5, 0).capacity_report().queueing_rate(), None);
}

#[test]
fn elevated_rejection_rate_is_found_from_5_percent() {
    let rejected = |admitted, saturated, expired| {
        tried(|totals| {
            (totals.admitted, totals.saturated, totals.expired, totals.queued) = (admitted, saturated, expired, 1000);
        })
    };
    let found =
        |admitted, saturated, expired| severity_of(ElevatedRejectionRate, &rejected(admitted, saturated, expired));
    assert_eq!([found(96, 2, 2), found(95, 2, 3), found(94, 3, 3)], [None, Some(Warning), Some(Warning)]);
    assert_eq!(
        [found(81, 10, 9), found(80, 10, 10), found(79, 21, 0)],
        [Some(Warning), Some(Critical), Some(Critical)]
    );
    assert_eq!([found(0, 19, 0), found(0, 20, 0)], [None, Some(Critical)], "too small a sample");
    let text = "8 of 100 requests (8 %) found no room or expired";
    assert_eq!(message(ElevatedRejectionRate, &rejected(92, 5, 3)), text);
    assert_ratio(rejected(15, 3, 2).capacity_report().rejection_rate(), Some(0.25));
    assert_ratio(rejected(14, 3, 2).capacity_report().rejection_rate(), None);
}

#[test]
fn a_past_deadline_does_not_count_in_the_rejection_rate() {
    let late =
        tried(|totals| (totals.closed_before_queue, totals.expired_before_queue, totals.cancelled) = (99, 99, 99));
    assert_eq!(codes(&late), []);
}

#[test]
fn elevated_expiration_rate_is_found_from_10_percent() {
    let expired = |queued, expired| tried(|totals| (totals.queued, totals.expired) = (queued, expired));
    let found = |queued, many| severity_of(ElevatedExpirationRate, &expired(queued, many));
    assert_eq!([9, 10, 11].map(|many| found(100, many)), [None, Some(Warning), Some(Warning)]);
    assert_eq!([29, 30, 31].map(|many| found(100, many)), [Some(Warning), Some(Critical), Some(Critical)]);
    assert_eq!([(9, 9), (10, 1), (11, 1)].map(|(queued, many)| found(queued, many)), [None, Some(Warning), None]);
    let text = "3 of 12 requests in the queue (25 %) expired there";
    assert_eq!(message(ElevatedExpirationRate, &expired(12, 3)), text);
    assert_ratio(expired(10, 1).capacity_report().expiration_rate(), Some(0.1));
    assert_ratio(expired(9, 1).capacity_report().expiration_rate(), None);
}

/// Returns the snapshot of a gate with admissions from the queue, their total and their longest
/// wait in nanoseconds.
fn waited(waits: u64, in_all: u64, at_most: u64) -> Snapshot {
    let counted = tried(|totals| (totals.admitted, totals.queued, totals.admitted_from_queue) = (1000, waits, waits));
    counted.with_waits(Duration::from_nanos(in_all), Duration::from_nanos(at_most))
}

#[test]
fn wait_time_near_limit_depends_on_average_and_longest_wait() {
    let found = |waits, in_all, at_most| severity_of(WaitTimeNearLimit, &waited(waits, in_all, at_most));
    let mean = 3_750_000_000;
    assert_eq!([mean - 1, mean, mean + 1].map(|in_all| found(5, in_all, 0)), [None, Some(Warning), Some(Warning)]);
    let most = 950_000_000;
    assert_eq!([most - 1, most, most + 1].map(|at_most| found(5, 0, at_most)), [None, Some(Warning), Some(Warning)]);
    assert_eq!([found(4, mean, most), found(5, mean, most)], [None, Some(Warning)], "too small a sample");
    let text = "waits of 800 ms on average and 990 ms at most, with a limit of 1 s";
    assert_eq!(message(WaitTimeNearLimit, &waited(5, 4_000_000_000, 990_000_000)), text);
    let report = waited(5, 2_500_000_000, 750_000_000).capacity_report();
    assert_ratio(report.average_wait_ratio(), Some(0.5));
    assert_ratio(report.longest_wait_ratio(), Some(0.75));
    let report = waited(4, 2_500_000_000, 750_000_000).capacity_report();
    assert_eq!((report.average_wait_ratio(), report.longest_wait_ratio()), (None, None));
}

/// What happened before the earlier snapshot is not counted; the present always is.
#[test]
fn a_report_since_a_snapshot_counts_from_then_on() {
    let since = |snapshot: &Snapshot, earlier: &Snapshot| {
        let report = snapshot.capacity_report_since(earlier).expect("of one gate, in order");
        report.findings.iter().map(|finding| (finding.code, finding.severity)).collect::<Vec<_>>()
    };
    let mut earlier = waited(20, 0, 1_000_000_000);
    (earlier.totals.admitted, earlier.totals.queued, earlier.totals.expired) = (20, 40, 20);
    let full = [(FrequentQueueing, Notice), (ElevatedRejectionRate, Critical), (ElevatedExpirationRate, Critical)];
    assert_eq!(codes(&earlier), [&full[..], &[(WaitTimeNearLimit, Warning)]].concat());
    assert!(full.iter().all(|(code, _)| code.is_counted()) && WaitTimeNearLimit.is_counted());
    let mut later = earlier;
    later.totals.admitted += 100;
    (later.in_flight, later.in_use) = (4, 4);
    assert_eq!(since(&later, &earlier), [(ExecutionFull, Notice)]);
    assert_eq!(since(&later, &later), [(ExecutionFull, Notice)]);
    assert!(!ExecutionFull.is_counted());
    later.totals.saturated += 25;
    assert_eq!(since(&later, &earlier), [(ExecutionFull, Notice), (ElevatedRejectionRate, Critical)]);
    let other = Gate::<()>::with_instance(Limits::new(1), 7).expect("valid").snapshot(None);
    assert!(other.capacity_report_since(&earlier).is_err());
}

#[test]
fn the_longest_wait_is_known_since_a_snapshot_if_it_is_the_longest_of_all() {
    let earlier = waited(5, 1_000_000, 950_000_000);
    let report = |later: &Snapshot| later.capacity_report_since(&earlier).expect("in order");
    let short = waited(10, 2_000_000, 950_000_000);
    assert_eq!(codes(&short), [(WaitTimeNearLimit, Warning)]);
    assert_eq!(report(&short).findings, []);
    let longer = report(&waited(10, 1_001_000_000, 960_000_000));
    let text = "waits of 200 ms on average and 960 ms at most, with a limit of 1 s";
    assert_eq!(longer.finding(WaitTimeNearLimit).expect("found").message, text);
    let steady = report(&waited(10, 4_001_000_000, 950_000_000));
    let text = "waits of 800 ms on average, with a limit of 1 s";
    assert_eq!(steady.finding(WaitTimeNearLimit).expect("found").message, text);
}

#[test]
fn waits_without_a_limit_are_not_near_a_limit() {
    let mut unlimited = waited(1000, u64::MAX, u64::MAX);
    unlimited.limits.wait_limit = None;
    assert_eq!(severity_of(WaitTimeNearLimit, &unlimited), None);
    assert_eq!(unlimited.capacity_report().longest_wait_ratio(), None);
}

#[test]
fn huge_counters_neither_overflow_nor_mislead() {
    let mut long = waited(u64::MAX, u64::MAX, 1);
    long.limits.wait_limit = Some(Duration::MAX);
    assert_eq!(severity_of(WaitTimeNearLimit, &long), None);
    let large =
        tried(|totals| (totals.admitted, totals.saturated, totals.expired, totals.queued) = (u64::MAX, 0, 1, u64::MAX));
    assert_eq!(codes(&large), [(FrequentQueueing, Notice)]);
    let large = tried(|totals| (totals.admitted, totals.queued, totals.saturated) = (u64::MAX, 20, 1));
    assert_eq!(codes(&large), [], "20 of more calls than 64 bits can count");
    let mut impossible = busy(4, 10, 4, 4);
    (impossible.limits.capacity, impossible.limits.wait_limit) = (0, Some(Duration::ZERO));
    impossible.totals.admitted_from_queue = 99;
    assert_eq!(impossible.capacity_report().utilization(), None);
    assert_eq!(codes(&impossible), [(ActiveWorkAboveCapacity, Warning)]);
    let mut vast = snapshot(1, Limits::MAX);
    vast.limits.capacity = 1 << (usize::BITS - 2);
    assert_eq!(codes(&vast), []);
}

#[test]
fn the_worst_finding_gives_the_severity_and_heads_the_summary() {
    let mut snapshot = busy(4, 100, 4, 100);
    (snapshot.totals.queued, snapshot.totals.expired, snapshot.totals.admitted) = (100, 10, 400);
    let report = snapshot.capacity_report();
    let found = [(WaitingRoomFull, Critical), (LargeWaitingRoom, Notice), (ElevatedExpirationRate, Warning)];
    assert_eq!(codes(&snapshot), found);
    assert_eq!((report.severity(), report.requires_attention()), (Critical, true));
    assert_eq!(report.to_string(), "critical: 4 of 4 in use, and all 100 places to wait taken; 2 more findings");
    let worst = report.finding(WaitingRoomFull).expect("found");
    assert_eq!(worst.to_string(), "critical: waiting_room_full: 4 of 4 in use, and all 100 places to wait taken");
    assert_eq!(worst.recommendation(), WaitingRoomFull.recommendation());
    (snapshot.is_closed, snapshot.waiting) = (true, 0);
    let text = "warning: closed; 10 of 100 requests in the queue (10 %) expired there; 2 more findings";
    assert_eq!(snapshot.capacity_report().to_string(), text);
    assert_eq!(busy(4, 10, 4, 8).capacity_report().to_string(), "warning: 4 of 4 in use; 1 more finding");
    assert!(!busy(4, 10, 4, 0).capacity_report().requires_attention(), "a notice");
    assert!(busy(4, 10, 4, 1).capacity_report().requires_attention(), "a warning");
}

/// Returns the snapshot of a real gate with operations of these costs, running and waiting.
fn weighted(capacity: usize, waiting_room: usize, running: &[usize], waiting: &[usize]) -> Snapshot {
    let limits = Limits::new(capacity).with_waiting_room(waiting_room).with_wait_limit(Some(LIMIT));
    let mut gate: Gate<()> = Gate::new(limits).expect("valid");
    let mut enter =
        |cost: usize| gate.enter(&Request::new().cost(cost), Some(Instant::EPOCH)).expect("a cost that fits");
    assert!(running.iter().all(|&cost| matches!(enter(cost), Answer::Granted(_))));
    assert!(waiting.iter().all(|&cost| matches!(enter(cost), Answer::Queued(_))));
    gate.snapshot(None)
}

#[test]
fn capacity_is_in_units_and_the_waiting_room_in_operations() {
    assert_eq!(codes(&weighted(10, 5, &[4, 5], &[])), []);
    assert_eq!(codes(&weighted(10, 5, &[4, 6], &[])), [(ExecutionFull, Notice)]);
    let report = weighted(10, 5, &[4, 5], &[]).capacity_report();
    assert_ratio(report.utilization(), Some(0.9));
    let near = weighted(10, 5, &[4, 6], &[9, 9, 9, 9]);
    assert_eq!(codes(&near), [(ExecutionFull, Warning), (WaitingRoomNearCapacity, Warning)]);
    assert_ratio(near.capacity_report().queue_utilization(), Some(0.8));
}

/// Units are free, but the head of the queue needs more.
#[test]
fn a_head_that_does_not_fit_makes_the_gate_full() {
    let blocked = weighted(10, 2, &[8], &[3]);
    assert!(!blocked.is_saturated());
    assert_eq!(codes(&blocked), [(ExecutionFull, Warning)]);
    let text = "8 of 10 in use, too few left (2) for the first waiter";
    assert_eq!(message(ExecutionFull, &blocked), text);
    assert_eq!(codes(&weighted(10, 2, &[8], &[3, 1])), [(WaitingRoomFull, Critical)]);
    let near = [(ExecutionFull, Warning), (WaitingRoomNearCapacity, Warning)];
    assert_eq!(codes(&weighted(10, 5, &[8], &[3, 1, 1, 1])), near);
}

#[test]
fn rates_count_operations_whatever_their_cost() {
    let mut snapshot = weighted(1000, 5, &[900], &[]);
    (snapshot.totals.admitted, snapshot.totals.saturated) = (19, 1);
    assert_eq!(severity_of(ElevatedRejectionRate, &snapshot), Some(Warning));
    assert_eq!(snapshot.capacity_report(), snapshot.capacity_report(), "a pure function");
    assert_eq!(CapacityReport::MIN_DECISIONS, 20);
}

/// A gate that is full anyway is not full because of a restriction, nor is one that is paused.
#[test]
fn a_restriction_is_named_while_it_is_the_reason() {
    let restricted = |in_flight, waiting, waiting_room| {
        let mut snapshot = busy(4, waiting_room, in_flight, waiting);
        snapshot.restriction = Some(Restriction::new(2, "fleet"));
        snapshot
    };
    assert_eq!(codes(&restricted(1, 0, 10)), [], "a unit is free");
    assert_eq!(codes(&restricted(2, 0, 10)), [(AdmissionRestricted, Notice)]);
    assert_eq!(codes(&restricted(2, 1, 10)), [(AdmissionRestricted, Warning)]);
    assert_eq!(codes(&restricted(3, 0, 0)), [(AdmissionRestricted, Warning)], "no call can wait");
    assert_eq!(codes(&restricted(4, 1, 10)), [(ExecutionFull, Warning)]);
    let mut paused = restricted(2, 1, 10);
    paused.is_paused = true;
    assert_eq!(codes(&paused), [(AdmissionPaused, Warning)]);
    let report = restricted(2, 1, 10).capacity_report();
    let expected = "fleet allows 2 of 4 units, 2 in use, 1 waiting";
    assert_eq!(message(AdmissionRestricted, &restricted(2, 1, 10)), expected);
    assert!(report.to_string().contains(expected), "{report}");
    assert_eq!(AdmissionRestricted.as_str(), "admission_restricted");
    let fine = restricted(1, 0, 10).capacity_report().to_string();
    assert!(fine.ends_with("1 of 4 in use, 0 of 10 waiting, 2 allowed by fleet"), "{fine}");
}

#[test]
fn a_finding_is_added_at_the_place_of_its_code() {
    let mut report = busy(2, 10, 2, 9).capacity_report();
    let added = Finding::new(AdaptiveLimitFailed, Critical, "stays at 2".to_owned());
    report.add(added.clone());
    report.add(Finding::new(ClosedWithActiveWork, Notice, "first".to_owned()));
    let codes: Vec<_> = report.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [ClosedWithActiveWork, AdaptiveLimitFailed, ExecutionFull, WaitingRoomNearCapacity]);
    assert_eq!((report.severity(), report.finding(AdaptiveLimitFailed)), (Critical, Some(&added)));
    assert_eq!(report.to_string(), "critical: stays at 2; 3 more findings");
}
