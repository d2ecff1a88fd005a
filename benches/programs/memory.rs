//! Reads bytes and allocations with a counting allocator, and writes them as JSON to the given
//! file.

use std::alloc::System;
use std::fs::File;

use anyhow::{Context, Result};
use bulklink_benches::goals::memory;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).context("which file? `bench-memory FILE`")?;
    let readings = memory::read(HEAP);
    Ok(serde_json::to_writer_pretty(File::create(path)?, &readings)?)
}
