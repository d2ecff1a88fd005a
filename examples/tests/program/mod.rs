//! Runs an example as a user does, and checks its output.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Runs the example of this name in this package, and checks that it prints these lines.
#[track_caller]
pub fn prints(name: &str, expected: &[&str]) {
    let output = Command::new(program(name)).output().expect("the example is built");
    let [printed, complaint] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert_eq!((printed.lines().collect::<Vec<_>>().as_slice(), &*complaint), (expected, ""), "{name}");
    assert!(output.status.success(), "{name}: {}", output.status);
}

/// Runs an example whose output differs from run to run, and checks that it succeeds.
#[allow(dead_code, reason = "not every package has such an example")]
#[track_caller]
pub fn succeeds(name: &str, arguments: &[&str]) {
    let output = Command::new(program(name)).args(arguments).output().expect("the example is built");
    assert!(output.status.success(), "{name}: {output:?}");
}

/// Returns the path of an example: cargo puts it in a folder beside that of the running test. It
/// builds examples together with the tests of their package, unless only some targets are selected.
#[track_caller]
fn program(name: &str) -> PathBuf {
    let this = env::current_exe().expect("a running program has a path");
    let folder = this.ancestors().nth(2).expect("tests are two folders deep").join("examples");
    let program = folder.join(name).with_extension(env::consts::EXE_EXTENSION);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(name).with_extension("rs");
    let is_built = changed(&program).is_some_and(|built| changed(&source).is_some_and(|written| written <= built));
    assert!(is_built, "{name} is not built, or not since it was changed: `cargo test -p {}`", env!("CARGO_PKG_NAME"));
    program
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}
