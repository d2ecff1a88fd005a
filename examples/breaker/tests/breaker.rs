//! The example runs and holds what it shows.

use std::process::Command;

use bulklink_servers::{Postgres, require};

#[test]
fn only_probes_reach_a_dependency_that_fails_and_it_is_used_again() {
    drop(require!(Postgres::start()));
    let output = Command::new(env!("CARGO_BIN_EXE_breaker")).arg("5").output().expect("the example starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("the circuit is ") && text.ends_with("; recovered\n"), "{text}");
}
