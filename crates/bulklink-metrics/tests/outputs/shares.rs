//! Shares of a fleet's limits.

use std::time::Duration;

use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Bulkhead, Partitions};
use bulklink_fleet::{Fleet, FleetShare, MemoryStore};
use bulklink_metrics::Exporter;

use crate::scene::SECOND;
use crate::series::{Series, outputs};

struct Scene {
    executor: Executor,
    store: MemoryStore,
}

impl Scene {
    fn new() -> Self {
        let executor = Executor::new(FakeClock::new());
        Scene { store: MemoryStore::new(executor.clock()), executor }
    }

    fn fleet(&self) -> Fleet<FakeRuntime> {
        Fleet::builder(self.store.clone(), self.executor.runtime()).namespace("test").build().unwrap()
    }

    fn bulkhead(&self, label: &str) -> Bulkhead<FakeRuntime> {
        Bulkhead::builder_on(self.executor.runtime(), label).parallelism(50).waiting_room(9).build().unwrap()
    }

    fn join(
        &mut self,
        fleet: &Fleet<FakeRuntime>,
        bulkhead: &Bulkhead<FakeRuntime>,
        limit: usize,
    ) -> FleetShare<FakeRuntime> {
        self.executor.block_on(fleet.share(bulkhead).limit(limit).connect()).unwrap()
    }
}

fn of(series: &Series, name: &str) -> Option<i64> {
    series.count(&format!("bulklink_share_{name}{{bulkhead=\"payments\",kind=\"share\"}}"))
}

/// Limit, units and processes; whether the store answers and refuses; and lost leases.
fn all(series: &Series) -> [Option<i64>; 6] {
    ["limit", "granted", "processes", "store_connected", "refused", "lost_total"].map(|name| of(series, name))
}

#[test]
fn each_output_has_the_limit_the_part_of_this_process_and_the_state_of_the_store() {
    let mut scene = Scene::new();
    let fleet = scene.fleet();
    let outputs = outputs(&Exporter::default().fleet(&fleet));
    let check = |expected: [i64; 6]| {
        for (name, output) in &outputs {
            assert_eq!(all(&output.read()), expected.map(Some), "{name}");
        }
    };
    for (name, output) in &outputs {
        assert_eq!(all(&output.read()), [None; 6], "{name}: no bulkhead has a share");
    }
    let payments = scene.bulkhead("payments");
    let share = scene.join(&fleet, &payments, 20);
    let slots: Vec<_> = (0..3).map(|_| scene.executor.block_on(payments.owned().slot()).unwrap()).collect();
    let granted = i64::try_from(share.status().granted).unwrap();
    assert!(granted >= 3);
    check([20, granted, 1, 1, 0, 0]);

    scene.store.stop();
    scene.executor.advance(2 * SECOND);
    check([20, granted, 1, 0, 0, 0]);
    scene.executor.advance(60 * SECOND);
    check([20, 0, 1, 0, 0, 1]);
    scene.store.start();
    // It connects again within a few seconds.
    let connected = |executor: &mut Executor| {
        executor.advance(SECOND / 10);
        share.status().quarantine
    };
    let quarantine = (0..100).find_map(|_| connected(&mut scene.executor)).unwrap();
    for (name, output) in &outputs {
        let left = output.read().0["bulklink_share_quarantine_seconds{bulkhead=\"payments\",kind=\"share\"}"];
        assert!((left - quarantine.as_secs_f64()).abs() < 1e-6, "{name}: {left}");
        assert_eq!(of(&output.read(), "store_connected"), Some(1), "{name}");
    }
    scene.executor.advance(60 * SECOND);
    assert!(outputs.iter().all(|(_, output)| of(&output.read(), "quarantine_seconds") == Some(0)));
    drop((slots, share));
}

#[test]
fn a_share_that_the_fleet_refuses_is_seen() {
    let mut scene = Scene::new();
    let [first, second] = [scene.fleet(), scene.fleet()];
    let [payments, theirs] = [scene.bulkhead("payments"), scene.bulkhead("payments")];
    let outputs = outputs(&Exporter::default().fleet(&first));
    scene.join(&first, &payments, 20);
    let _slot = scene.executor.block_on(payments.owned().slot()).unwrap();
    scene.store.forget();
    scene.join(&second, &theirs, 7);
    scene.executor.advance(Duration::from_millis(1_500));
    for (name, output) in outputs {
        assert_eq!(of(&output.read(), "refused"), Some(1), "{name}");
    }
}

/// No key is in a metric.
#[test]
fn a_share_of_a_key_is_not_exported_and_of_two_with_one_label_the_first_is() {
    let mut scene = Scene::new();
    let [fleet, other] = [scene.fleet(), scene.fleet()];
    let tenants = Partitions::<String, _>::builder_on(scene.executor.runtime(), "tenants").parallelism(5);
    let tenants = tenants.waiting_room(5).max_partitions(9).show_keys(String::clone).build().unwrap();
    fleet.share_partitions(&tenants, |_, share| share.limit(3)).unwrap();
    let _slot = scene.executor.block_on(tenants.key("ann").slot()).unwrap();
    assert!(fleet.share_of(&tenants, "ann").is_some());
    let [payments, theirs] = [scene.bulkhead("payments"), scene.bulkhead("payments")];
    scene.join(&fleet, &payments, 20);
    scene.join(&other, &theirs, 20);
    let exporter = Exporter::default().fleet(&fleet).fleet(&other);
    for (name, output) in outputs(&exporter) {
        let series = output.read();
        assert!(series.0.keys().all(|series| !series.contains("tenants")), "{name}: {series:?}");
        assert_eq!((of(&series, "limit"), series.count("bulklink_left_out")), (Some(20), Some(1)), "{name}");
    }
    assert!(!exporter.remove("payments") && format!("{exporter:?}").contains("payments"));
}

#[test]
fn a_new_share_under_an_old_label_begins_again_or_goes_on_as_the_output_needs() {
    let mut scene = Scene::new();
    let fleet = scene.fleet();
    let outputs = outputs(&Exporter::default().fleet(&fleet));
    for expected in [[1, 1, 1], [1, 2, 2]] {
        let payments = scene.bulkhead("payments");
        scene.join(&fleet, &payments, 20);
        let slot = scene.executor.block_on(payments.owned().slot()).unwrap();
        scene.store.stop();
        scene.executor.advance(60 * SECOND);
        for ((name, output), expected) in outputs.iter().zip(expected) {
            assert_eq!(of(&output.read(), "lost_total"), Some(expected), "{name}");
        }
        drop((slot, payments));
        scene.store.start();
        scene.executor.advance(60 * SECOND);
    }
}

/// The first fleet is closed, and another one of the process has the label then.
#[test]
fn a_share_of_another_fleet_under_an_old_label_goes_on_as_the_output_needs() {
    let mut scene = Scene::new();
    let fleets = [scene.fleet(), scene.fleet()];
    let outputs = outputs(&Exporter::default().fleet(&fleets[0]).fleet(&fleets[1]));
    for (fleet, expected) in fleets.iter().zip([[1, 1, 1], [1, 2, 2]]) {
        let payments = scene.bulkhead("payments");
        scene.join(fleet, &payments, 20);
        let slot = scene.executor.block_on(payments.owned().slot()).unwrap();
        scene.store.stop();
        scene.executor.advance(60 * SECOND);
        for ((name, output), expected) in outputs.iter().zip(expected) {
            assert_eq!(of(&output.read(), "lost_total"), Some(expected), "{name}");
        }
        drop((slot, payments));
        scene.store.start();
        scene.executor.advance(60 * SECOND);
    }
}
