//! Which processors share a core. *contended* depends on it: siblings share the caches that two
//! cores must pass a cache line between.

use std::collections::BTreeSet;
use std::fs;

/// Describes the processors that this process may use, as the operating system reports them.
pub(super) fn processors() -> String {
    let processors = core_affinity::get_core_ids().unwrap_or_default();
    let siblings: Option<BTreeSet<_>> = processors.iter().map(|processor| siblings(processor.id)).collect();
    described(processors.len(), siblings.map(|lists| lists.len()))
}

/// Returns the list of the processors on the same core, which is equal for all of them.
fn siblings(processor: usize) -> Option<String> {
    fs::read_to_string(format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")).ok()
}

fn described(processors: usize, cores: Option<usize>) -> String {
    match (processors, cores) {
        (1, _) => "1 processor".to_owned(),
        (_, None) => format!("{processors} processors (topology unknown)"),
        (_, Some(1)) => format!("{processors} processors that are siblings of one core"),
        (_, Some(cores)) if processors == cores => format!("{processors} processors on {cores} cores (no siblings)"),
        (_, Some(cores)) => format!("{processors} processors on {cores} cores (some are siblings)"),
    }
}
