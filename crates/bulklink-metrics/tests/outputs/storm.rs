//! Readings while threads call, resize, close and replace bulkheads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bulklink::{Builder, Bulkhead, Registry, Request, StdClock};
use bulklink_metrics::Exporter;
use futures_util::FutureExt;

use crate::series::{Series, outputs};

fn builder(label: &str) -> Builder<StdClock> {
    Bulkhead::builder_on(StdClock, label).parallelism(2).waiting_room(2).measure_holds(true)
}

/// The invariants of every reading of a bulkhead with calls for one unit.
fn check(series: &Series, label: &str, output: &str) {
    let labels = format!("bulkhead=\"{label}\",kind=\"bulkhead\"");
    let of = |name: &str, more: &str| series.count(&format!("bulklink_{name}{{{labels}{more}}}"));
    // It may be gone.
    let Some(in_flight) = of("in_flight", "") else { return };
    let count = |name: &str, more: &str| of(name, more).unwrap_or_else(|| panic!("{output}: {name}{more}"));
    let (direct, queued) = (count("admitted_total", ",path=\"direct\""), count("admitted_total", ",path=\"queued\""));
    let ended = count("finished_total", "") + count("abandoned_total", "");
    assert_eq!(direct + queued, ended + in_flight, "{output}: {series:?}");
    assert_eq!(count("in_use", ""), in_flight, "{output}");
    assert_eq!(count("owed_units", ""), (in_flight - count("capacity", "")).max(0), "{output}");
    assert_eq!(count("wait_seconds_count", ""), queued, "{output}");
    assert_eq!(count("wait_seconds_bucket", ",le=\"+Inf\""), queued, "{output}");
    assert!(count("wait_seconds_bucket", ",le=\"0.001\"") <= count("wait_seconds_bucket", ",le=\"0.1\""), "{output}");
}

#[test]
fn readings_in_a_storm_of_resizes_and_closes_keep_every_identity() {
    let registry = Registry::new();
    let outputs = outputs(&Exporter::new(&registry));
    let steady = registry.create(builder("steady")).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..3 {
            let (steady, registry, is_over) = (&steady, &registry, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let request = Request::new().within(Duration::from_micros(200));
                    drop(steady.with(request).blocking_slot());
                    if let Ok(replaced) = registry.bulkhead::<StdClock>("replaced") {
                        drop(replaced.with(request).blocking_slot());
                    }
                    let _ = steady.resize(1 + number);
                }
            });
        }
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                drop(registry.create(builder("replaced")));
                thread::yield_now();
                // Closes it. If calls are in it, it is removed when they have left.
                let _ = registry.remove("replaced").now_or_never();
            }
        });
        // Also if an assertion fails, the threads must end.
        let ender = Ender(&is_over);
        let mut earlier: Vec<Series> = outputs.iter().map(|_| Series::default()).collect();
        for _ in 0..100 {
            for ((name, output), earlier) in outputs.iter().zip(&mut earlier) {
                let series = output.read();
                check(&series, "steady", name);
                // Others include the counters of the one before, in which calls were in flight.
                if *name == "text" {
                    check(&series, "replaced", name);
                }
                let is_counter = |series: &&String| series.contains("_total{") && series.contains("\"steady\"");
                for counter in series.0.keys().filter(is_counter) {
                    assert!(series.0[counter] >= earlier.0.get(counter).copied().unwrap_or(0.0), "{name}: {counter}");
                }
                *earlier = series;
            }
        }
        drop(ender);
    });
    assert!(steady.status().totals.admitted > 100, "{:?}", steady.status());
}

struct Ender<'a>(&'a AtomicBool);

impl Drop for Ender<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
