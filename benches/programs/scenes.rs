//! Times the scenes with criterion, ours beside the peers': `cargo bench`.
//!
//! Each goal with timed rows is a group, and so is each series. Criterion reports the distribution
//! of the times and changes since its last run. It does not judge the goals: `cargo xtask bench`
//! does.

// Its macros write undocumented items.
#![allow(missing_docs)]

use std::collections::HashSet;
use std::time::Duration;

use bulklink_benches::measure::time::elapsed;
use bulklink_benches::scene::{Pace, Scene};
use bulklink_benches::{goals, series};
use criterion::measurement::WallTime;
use criterion::{
    AxisScale, BenchmarkGroup, BenchmarkId, Criterion, PlotConfiguration, SamplingMode, Throughput, criterion_group,
    criterion_main,
};

fn goals(criterion: &mut Criterion) {
    for goal in goals::all() {
        let id = goal.id;
        let mut seen = HashSet::new();
        let mut scenes: Vec<_> = goal.timed().flat_map(|(ours, peer)| [ours, peer]).collect();
        scenes.retain(|scene| seen.insert(scene.name.clone()));
        if scenes.is_empty() {
            continue;
        }
        let mut group = criterion.benchmark_group(id);
        for scene in scenes {
            bench(&mut group, BenchmarkId::from_parameter(scene.contender()), &scene);
        }
        group.finish();
    }
}

fn all_series(criterion: &mut Criterion) {
    for series in series::ALL {
        let mut group = criterion.benchmark_group(series.name);
        // Setting up a million waiters takes half a second, so few samples.
        group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(1));
        group.plot_config(PlotConfiguration::default().summary_scale(AxisScale::Logarithmic));
        for x in series.xs {
            for (contender, scene) in series.scenes(*x) {
                bench(&mut group, BenchmarkId::new(contender, x), &scene);
            }
        }
        group.finish();
    }
}

fn bench(group: &mut BenchmarkGroup<'_, WallTime>, id: BenchmarkId, scene: &Scene) {
    if let Pace::Once(_) = scene.pace {
        // An iteration takes about a second.
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
    }
    group.throughput(Throughput::Elements(scene.operations(1) as u64));
    group.bench_function(id, |bencher| bencher.iter_custom(|iterations| time(scene, iterations)));
}

/// Returns the time of the iterations. An iteration is one operation, or all of a scene that has a
/// fixed number of them. Only the work is timed, by the scene's own clock.
fn time(scene: &Scene, iterations: u64) -> Duration {
    match scene.pace {
        Pace::Any | Pace::Long => elapsed(scene, usize::try_from(iterations).expect("iterations fit in memory")),
        Pace::Fixed(operations) | Pace::Once(operations) => (0..iterations).map(|_| elapsed(scene, operations)).sum(),
    }
}

criterion_group!(scenes, goals, all_series);
criterion_main!(scenes);
