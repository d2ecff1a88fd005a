//! The figures of partitions that share a capacity, in each output.

use bulklink::partitions::Class;
use bulklink::testing::{Executor, FakeClock, FakeRuntime};
use bulklink::{Partitions, Reason, Registry};
use bulklink_metrics::Exporter;

use crate::series::outputs;

#[test]
fn a_displaced_call_is_counted_once_and_the_capacity_is_that_of_all() {
    let (mut executor, registry) = (Executor::new(FakeClock::new()), Registry::new());
    let builder = Partitions::builder_on(executor.runtime(), "models").shared_capacity(3).shared_waiting_room(2);
    let models: Partitions<String, FakeRuntime> = registry.create_partitions(builder.max_partitions(9)).unwrap();
    let running = [(); 3].map(|()| models.key("loud").try_slot().unwrap());
    let mut waiting: Vec<_> = (0..2).map(|_| executor.spawn(models.key("loud").slot())).collect();
    executor.run_until_idle();
    let quiet = executor.spawn(models.key("quiet").slot());
    executor.run_until_idle();
    let displaced = waiting.pop().unwrap().output().unwrap().unwrap_err();
    assert_eq!(displaced.reason(), Reason::Displaced);
    for (name, output) in &outputs(&Exporter::new(&registry)) {
        let series = output.read();
        let of = |metric: &str, reason: &str| {
            series.count(&format!("bulklink_{metric}{{bulkhead=\"models\",kind=\"partitions\"{reason}}}"))
        };
        let found = ["capacity", "waiting_room", "in_use", "waiting"].map(|metric| of(metric, ""));
        assert_eq!(found, [3, 2, 3, 2].map(Some), "{name}");
        let rejected = ["displaced", "saturated"].map(|reason| of("rejected_total", &format!(",reason=\"{reason}\"")));
        assert_eq!(rejected.map(Option::unwrap_or_default), [1, 0], "{name}");
    }
    drop((running, waiting, quiet));
}

#[test]
fn classes_are_counted_where_a_capacity_is_shared() {
    let (executor, registry) = (Executor::new(FakeClock::new()), Registry::new());
    let builder = |label| Partitions::builder_on(executor.runtime(), label).max_partitions(9);
    let shared = builder("models").shared_capacity(2).class_headroom(Class::Background, 1);
    let models: Partitions<String, FakeRuntime> = registry.create_partitions(shared).unwrap();
    let tenants: Partitions<String, FakeRuntime> =
        registry.create_partitions(builder("tenants").parallelism(1)).unwrap();
    let batch = models.class(Class::Background);
    let running = (tenants.key("ann").try_slot().unwrap(), batch.key("ann").try_slot().unwrap());
    assert!(batch.key("ann").try_slot().is_err());
    for (name, output) in &outputs(&Exporter::new(&registry)) {
        let series = output.read();
        let of = |label: &str, metric: &str, class: Class| {
            let labels = format!("bulkhead=\"{label}\",class=\"{class}\",kind=\"partitions\"");
            series.count(&format!("bulklink_class_{metric}{{{labels}}}"))
        };
        let metrics = ["in_use", "waiting", "admitted_total", "rejected_total"];
        let found = metrics.map(|metric| of("models", metric, Class::Background));
        assert_eq!(found, [1, 0, 1, 1].map(Some), "{name}");
        let normal = metrics.map(|metric| of("models", metric, Class::Normal).unwrap_or_default());
        assert_eq!(normal, [0; 4], "{name}");
        assert_eq!(metrics.map(|metric| of("tenants", metric, Class::Normal)), [None; 4], "{name}");
    }
    drop(running);
}
