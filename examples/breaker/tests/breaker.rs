//! The example runs and keeps its promise.

use std::process::Command;

use bulklink_servers::{Postgres, require};

/// The numbers of all workers in a line such as `while it fails: timed out by worker 0, 0, 0;
/// rejected 41, 43, 40`.
fn numbers(text: &str, line: &str) -> [Vec<u64>; 2] {
    let line = text.lines().find_map(|known| known.strip_prefix(line)).unwrap_or_else(|| panic!("{line}: {text}"));
    let (timed_out, rejected) = line.split_once("; rejected ").expect("both are shown");
    let timed_out = timed_out.strip_prefix(" timed out by worker ").expect("they are shown first");
    [timed_out, rejected].map(|numbers| numbers.split(", ").map(|number| number.parse().expect("a number")).collect())
}

#[test]
fn all_workers_notice_that_it_fails_and_that_it_is_slow_and_only_probes_reach_it_then() {
    drop(require!(Postgres::start()));
    let output = Command::new(env!("CARGO_BIN_EXE_breaker")).arg("5").output().expect("the example starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("the circuit is ") && text.ends_with("; recovered\n"), "{text}");
    let [_, rejected] = numbers(&text, "while it fails:");
    assert!(rejected.len() == 3 && !rejected.contains(&0), "{text}");
    let [timed_out, rejected] = numbers(&text, "while it is slow:");
    assert!(timed_out.len() == 3 && !timed_out.contains(&0) && !rejected.contains(&0), "{text}");
}
