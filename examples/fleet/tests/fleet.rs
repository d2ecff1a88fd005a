//! The example runs and keeps its promise.

use std::process::Command;

use bulklink_servers::{Server, require};

#[test]
fn the_limit_holds_and_nothing_is_left() {
    drop(require!(Server::start()));
    let output = Command::new(env!("CARGO_BIN_EXE_fleet")).arg("3").output().expect("the example starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("left on the server: 0 units, 0 processes"), "{text}");
}
