//! The figures of adaptive limits, in each output.

use bulklink::limit::{Limit, Mode, Sample, State, Step};
use bulklink::testing::{Executor, FakeClock};
use bulklink::{Bulkhead, Partitions, Registry};
use bulklink_metrics::{Exporter, Format};
use futures_util::FutureExt;

use crate::scene::SECOND;
use crate::series::{OpenTelemetry, Output, outputs};

/// Goes up by one with each call, and is beyond its bounds after 5.
#[derive(Clone)]
struct Rising(usize);

impl Limit for Rising {
    fn sample(&mut self, _: &Sample) {
        self.0 += 1;
    }

    fn limit(&self) -> usize {
        self.0
    }

    fn bounds(&self) -> (usize, usize) {
        (2, 5)
    }

    fn state(&self) -> State {
        let mut state = State::of(self.0);
        (state.step, state.slope, state.inflation, state.useful) = (Step::MoreHelps, 0.75, 1.5, 2.5);
        (state.windows, state.changes, state.unpaid_falls, state.stalls) = (self.0 as u64, 6, 7, 8);
        state
    }
}

fn registry() -> (Registry, Bulkhead<bulklink::testing::FakeRuntime>) {
    let (executor, registry) = (Executor::new(FakeClock::new()), Registry::new());
    let search = Bulkhead::builder_on(executor.runtime(), "search").parallelism(8).adaptive(Rising(3));
    let search = registry.create(search).unwrap();
    registry.create(Bulkhead::builder_on(executor.runtime(), "plain").parallelism(8)).unwrap();
    (registry, search)
}

#[test]
fn each_output_has_the_limit_and_the_figures_that_explain_it() {
    let (registry, search) = registry();
    let outputs = outputs(&Exporter::new(&registry));
    drop(search.try_slot().unwrap());
    search.handle().set_limit_mode(Mode::Frozen);
    for (name, output) in &outputs {
        let series = output.read();
        let found = |metric: &str, label: &str| {
            let mut labels = vec!["bulkhead=\"search\"", "kind=\"bulkhead\""];
            labels.extend((!label.is_empty()).then_some(label));
            labels.sort_unstable();
            let series_name = format!("bulklink_limit{metric}{{{}}}", labels.join(","));
            series.0.get(&series_name).copied().map(f64::to_bits)
        };
        for (metric, label, value) in [
            ("", "", 4.0),
            ("_bound", "bound=\"least\"", 2.0),
            ("_bound", "bound=\"greatest\"", 5.0),
            ("_inflation_ratio", "", 1.5),
            ("_slope_ratio", "", 0.75),
            ("_useful", "", 3.0),
            ("_mode", "mode=\"active\"", 0.0),
            ("_mode", "mode=\"frozen\"", 1.0),
            ("_mode", "mode=\"monitor\"", 0.0),
            ("_step", "step=\"more_helps\"", 1.0),
            ("_failed", "", 0.0),
            ("_windows_total", "", 4.0),
            ("_moves_total", "direction=\"up\"", 1.0),
            ("_moves_total", "direction=\"down\"", 0.0),
            ("_corrections_total", "cause=\"changed\"", 6.0),
            ("_corrections_total", "cause=\"unpaid_fall\"", 7.0),
            ("_corrections_total", "cause=\"stall\"", 8.0),
        ] {
            assert_eq!(found(metric, label), Some(f64::to_bits(value)), "{name}: {metric} {label} in {series:?}");
        }
        assert_eq!(found("_step", "step=\"set\""), None, "{name}");
        assert!(!series.0.keys().any(|key| key.contains("_limit_") && key.contains("\"plain\"")), "{name}");
    }
}

#[test]
fn a_limit_that_has_failed_is_a_gauge_of_one() {
    let (registry, search) = registry();
    let exporter = Exporter::new(&registry);
    for failed in [0, 0, 1, 1] {
        drop(search.try_slot().unwrap());
        let series = format!("bulklink_limit_failed{{bulkhead=\"search\",kind=\"bulkhead\"}} {failed}\n");
        let text = exporter.render(Format::Prometheus);
        assert!(text.contains(&series), "{text}");
    }
}

#[test]
fn partitions_have_the_sum_of_their_limits_and_how_many_have_failed() {
    let (executor, registry) = (Executor::new(FakeClock::new()), Registry::new());
    let tenants = Partitions::builder_on(executor.runtime(), "tenants").parallelism(8).max_partitions(9);
    let tenants: Partitions<u32, _> = registry.create_partitions(tenants.adaptive(Rising(4))).unwrap();
    let hosts = Partitions::builder_on(executor.runtime(), "hosts").parallelism(8).max_partitions(9);
    let _hosts: Partitions<u32, _> = registry.create_partitions(hosts).unwrap();
    let outputs = outputs(&Exporter::new(&registry));
    for (key, calls) in [(1, 0), (2, 1), (3, 2)] {
        let running = tenants.key(&key).try_slot().unwrap();
        (0..calls).for_each(|_| drop(tenants.key(&key).try_slot().unwrap()));
        running.abandon();
    }
    for (name, output) in &outputs {
        let series = output.read();
        let of = |metric: &str| series.count(&format!("bulklink_{metric}{{bulkhead=\"tenants\",kind=\"partitions\"}}"));
        // One has moved to 5, and one would have gone to 6.
        assert_eq!((of("limit"), of("limit_failed"), of("limit_windows_total")), (Some(14), Some(1), None), "{name}");
        assert_eq!(series.count("bulklink_limit{bulkhead=\"hosts\",kind=\"partitions\"}"), None, "{name}");
    }
}

#[test]
fn counters_of_the_next_bulkhead_of_a_label_go_on_whether_it_has_an_adaptive_limit_or_not() {
    let (mut executor, registry) = (Executor::new(FakeClock::new()), Registry::new());
    let collected = OpenTelemetry::new(&Exporter::new(&registry));
    let read = || {
        let series = collected.read();
        let count = |metric: &str| {
            let count = series.count(&format!("bulklink_{metric}_total{{bulkhead=\"search\",kind=\"bulkhead\"}}"));
            count.and_then(|count| u64::try_from(count).ok())
        };
        (count("finished"), count("limit_windows"))
    };
    let (mut finished, mut windows) = (0, 0);
    for is_adaptive in [false, true, true, false, true] {
        let search = Bulkhead::builder_on(executor.runtime(), "search").parallelism(8);
        let search = if is_adaptive { search.adaptive(Rising(3)) } else { search };
        let search = registry.create(search).unwrap();
        // At the first reading, no time has passed. So no capacity is offered yet.
        assert_eq!(read(), (Some(finished), is_adaptive.then_some(windows)));
        for _ in 0..2 {
            drop(search.try_slot().unwrap());
            executor.advance(SECOND);
        }
        (finished, windows) = (finished + 2, windows + if is_adaptive { 5 } else { 0 });
        assert_eq!(read(), (Some(finished), is_adaptive.then_some(windows)));
        registry.remove("search").now_or_never().expect("it has drained").unwrap();
    }
}
