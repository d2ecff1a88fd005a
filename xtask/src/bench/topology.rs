//! Which processors share a core. *contended* depends on it: siblings share the caches that two
//! cores must pass a cache line between.

use std::collections::BTreeSet;
use std::fs;
use std::thread::available_parallelism;

/// Describes the processors that this process may use, as the operating system reports them.
pub(super) fn processors() -> String {
    let number = available_parallelism().map_or(0, usize::from);
    let siblings = allowed().iter().map(|processor| siblings(*processor)).collect::<Option<Vec<_>>>();
    match siblings {
        Some(siblings) if !siblings.is_empty() => described(&siblings),
        _ => format!("{number} processors (topology unknown)"),
    }
}

/// Returns the numbers of the processors that this process may use; none where Linux does not say.
fn allowed() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(numbers).unwrap_or_default()
}

/// Returns the processors on the same core, as the kernel lists them.
fn siblings(processor: usize) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list");
    fs::read_to_string(path).ok().map(|list| list.trim().to_owned())
}

/// Parses the kernel's lists, such as `0-2,5`.
fn numbers(list: &str) -> Vec<usize> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        Some(from.parse().ok()?..=to.parse().ok()?)
    });
    ranges.flatten().collect()
}

/// Describes processors by their lists of siblings, which are equal on the same core.
fn described(siblings: &[String]) -> String {
    let (processors, cores) = (siblings.len(), siblings.iter().collect::<BTreeSet<_>>().len());
    match (processors, cores) {
        (1, _) => "1 processor".to_owned(),
        (_, 1) => format!("{processors} processors that are siblings of one core"),
        _ if processors == cores => format!("{processors} processors on {cores} cores (no siblings)"),
        _ => format!("{processors} processors on {cores} cores (some are siblings)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_the_kernel_is_parsed() {
        assert_eq!(numbers("\t0-2,5\n"), [0, 1, 2, 5]);
        assert!(numbers("").is_empty());
    }

    #[test]
    fn processors_with_equal_lists_are_siblings() {
        let described = |siblings: &[&str]| described(&siblings.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(described(&["0"]), "1 processor");
        assert_eq!(described(&["0", "1"]), "2 processors on 2 cores (no siblings)");
        assert_eq!(described(&["0-1", "0-1"]), "2 processors that are siblings of one core");
        assert_eq!(described(&["0,2", "1,3", "0,2", "1,3"]), "4 processors on 2 cores (some are siblings)");
    }
}
