//! Which processors share a core. *contended* depends on it: siblings share the caches that two
//! cores must pass a cache line between.

use std::collections::BTreeSet;
use std::fs;

/// Describes the processors that this process may use, as the operating system reports them.
pub(super) fn processors() -> String {
    let processors = core_affinity::get_core_ids().unwrap_or_default();
    let cores: Option<BTreeSet<_>> = processors.iter().map(|processor| siblings(processor.id)).collect();
    let cores = cores.map_or("an unknown number of".to_owned(), |cores| cores.len().to_string());
    format!("{} processors on {cores} cores", processors.len())
}

/// Returns the list of the processors on the same core, which is equal for all of them.
fn siblings(processor: usize) -> Option<String> {
    fs::read_to_string(format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")).ok()
}
