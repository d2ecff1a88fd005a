//! Each rejection is counted exactly once, with its reason, in every output.

use std::collections::BTreeMap;

use bulklink::{OwnedSlot, Reason, Rejection, Request};
use bulklink_metrics::Exporter;

use crate::scene::{SECOND, Scene};
use crate::series::{Series, outputs};

/// The answers to the calls themselves.
type Told = BTreeMap<(&'static str, &'static str), i64>;

/// Another number of calls for each reason, so that none can be taken for another.
fn reject_for_each_reason(scene: &mut Scene) -> Told {
    let mut told = Told::new();
    let mut tell = |kind, reason, rejection: Result<OwnedSlot, Rejection>, expected| {
        assert_eq!(rejection.map(drop).unwrap_err().reason(), expected, "{kind} {reason}");
        *told.entry((kind, reason)).or_default() += 1;
    };
    let running = (scene.payments.owned().try_slot().unwrap(), scene.tenants.key("ann").try_slot().unwrap());
    for _ in 0..2 {
        tell("bulkhead", "saturated", scene.payments.owned().try_slot(), Reason::Saturated);
        tell("partitions", "saturated", scene.tenants.key("ann").try_slot(), Reason::Saturated);
    }
    for _ in 0..3 {
        let (payments, tenants) = (scene.payments.clone(), scene.tenants.clone());
        let one = scene.executor.spawn(async move { payments.owned().slot().await });
        let other = scene.executor.spawn(async move { tenants.key("ann").slot().await });
        scene.executor.advance(6 * SECOND);
        tell("bulkhead", "expired", one.output().unwrap(), Reason::Expired);
        tell("partitions", "expired", other.output().unwrap(), Reason::Expired);
    }
    for _ in 0..4 {
        let late = Request::new().within(std::time::Duration::ZERO);
        let (payments, tenants) = (scene.payments.clone(), scene.tenants.clone());
        let one = scene.executor.block_on(async move { payments.with(late).slot().await });
        let other = scene.executor.block_on(async move { tenants.key("ann").with(late).slot().await });
        tell("bulkhead", "expired_before_queue", one, Reason::Expired);
        tell("partitions", "expired_before_queue", other, Reason::Expired);
    }
    let bob = scene.tenants.key("bob").try_slot().unwrap();
    for _ in 0..5 {
        tell("partitions", "partition_limit", scene.tenants.key("cid").try_slot(), Reason::PartitionLimit);
    }
    let (payments, tenants) = (scene.payments.clone(), scene.tenants.clone());
    let waiting = scene.executor.spawn(async move { payments.owned().slot().await });
    let other_waiting = scene.executor.spawn(async move { tenants.key("ann").slot().await });
    scene.executor.run_until_idle();
    scene.registry.close_all();
    scene.executor.run_until_idle();
    tell("bulkhead", "closed_while_waiting", waiting.output().unwrap(), Reason::Closed);
    tell("partitions", "closed_while_waiting", other_waiting.output().unwrap(), Reason::Closed);
    for _ in 0..6 {
        tell("bulkhead", "closed_before_queue", scene.payments.owned().try_slot(), Reason::Closed);
        tell("partitions", "closed", scene.tenants.key("ann").try_slot(), Reason::Closed);
    }
    drop((running, bob));
    told
}

fn rejected(series: &Series) -> Told {
    let names = [("payments", "bulkhead"), ("tenants", "partitions")];
    let reasons = [
        "saturated",
        "expired",
        "expired_before_queue",
        "closed_before_queue",
        "closed_while_waiting",
        "partition_limit",
        "closed",
    ];
    let mut found = Told::new();
    for (label, kind) in names {
        for reason in reasons {
            let name = format!("bulklink_rejected_total{{bulkhead=\"{label}\",kind=\"{kind}\",reason=\"{reason}\"}}");
            if let Some(count) = series.count(&name).filter(|count| *count > 0) {
                found.insert((kind, reason), count);
            }
        }
    }
    let all: f64 = series.0.iter().filter(|(name, _)| name.contains("rejected")).map(|(_, value)| value).sum();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let known = found.values().sum::<i64>() as f64;
    assert!((all - known).abs() < 0.1, "there is another reason: {series:?}");
    found
}

#[test]
fn a_rejected_call_is_counted_exactly_once_in_every_output() {
    let mut scene = Scene::new();
    let exporter = Exporter::new(&scene.registry);
    let outputs = outputs(&exporter);
    // Also before the calls, so that a figure that is read twice would show.
    for (_, output) in &outputs {
        output.read();
    }
    let told = reject_for_each_reason(&mut scene);
    assert_eq!(told.len(), 5 + 6);
    for (name, output) in outputs {
        assert_eq!(rejected(&output.read()), told, "{name}");
        assert_eq!(rejected(&output.read()), told, "{name}, the second time");
    }
    let (status, sums) = (scene.payments.status(), scene.tenants.handle().sums());
    let of = |kind| told.iter().filter(|((found, _), _)| *found == kind).map(|(_, count)| *count).sum::<i64>();
    assert_eq!(i64::try_from(status.totals.rejected()).unwrap(), of("bulkhead"));
    assert_eq!(i64::try_from(sums.rejected()).unwrap(), of("partitions"));
}

#[test]
fn a_slot_that_is_taken_back_is_abandoned_and_not_rejected_in_every_output() {
    let mut scene = Scene::new();
    let exporter = Exporter::new(&scene.registry);
    let running = scene.payments.owned().try_slot().unwrap();
    let mut forgotten = Box::pin(scene.payments.owned().slot());
    assert!(futures_util::FutureExt::now_or_never(&mut forgotten).is_none());
    drop(running);
    scene.executor.advance(SECOND);
    let labels = "{bulkhead=\"payments\",kind=\"bulkhead\"}";
    let count = |series: &Series, name: &str| series.count(&format!("bulklink_{name}{labels}")).unwrap();
    for (name, output) in outputs(&exporter) {
        let series = output.read();
        assert_eq!((count(&series, "uncollected"), count(&series, "uncollected_age_seconds")), (1, 1), "{name}");
    }
    assert_eq!(scene.payments.handle().take_back_uncollected(SECOND), 1);
    for (name, output) in outputs(&exporter) {
        let series = output.read();
        let counts = ["uncollected", "uncollected_age_seconds", "abandoned_total", "taken_back_total", "in_use"];
        assert_eq!(counts.map(|name| count(&series, name)), [0, 0, 1, 1, 0], "{name}");
        assert!(rejected(&series).is_empty(), "{name}");
    }
}
