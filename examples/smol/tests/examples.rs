//! Tests that the example runs and prints the expected text.

#[path = "../../tests/program/mod.rs"]
mod program;

#[test]
fn quick_start_smol() {
    let expected = ["sent order 1", "sent order 2", "1 in flight", "2 finished, 0 in flight"];
    program::prints("quick_start_smol", &expected);
}
