//! Counts the instructions of every scene under callgrind, and those that lock the bus, through
//! gungraun.

// Its macros write undocumented items.
#![allow(missing_docs)]

use bulklink_benches::goals;
use bulklink_benches::measure::instructions::count;
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint};

/// The function that callgrind counts in.
const ENTRY: &str = "*instructions::callgrind*";

#[library_benchmark(
    config = LibraryBenchmarkConfig::default()
        .tool(Callgrind::with_args(["--cache-sim=no", "--collect-bus=yes"]).entry_point(EntryPoint::Custom(ENTRY.to_owned())))
)]
#[benches::scenes(iter = 0..goals::counted().len())]
fn scene(place: usize) {
    count(&goals::counted()[place]);
}

library_benchmark_group!(name = scenes, benchmarks = scene);

main!(library_benchmark_groups = scenes);
