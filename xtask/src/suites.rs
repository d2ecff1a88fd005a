//! Builds the tests of the workspace once, and runs their programs side by side: many of them wait.

use std::fs::{self, File};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run::{cargo, run, shown, succeeded};
use crate::workspace::{self, Package};

/// The same packages and features, whatever is run of them: so that one build serves all. The
/// benches would bring dozens of packages with them.
const WORKSPACE: [&str; 4] = ["test", "--workspace", "--exclude=bulklink-benches", workspace::FEATURES];

/// How many programs run at once, besides one on each processor.
const WAITING: usize = 1;

/// The package of the private servers. A test that starts one waits longest, so it begins first.
const SERVERS: &str = "bulklink-servers";

/// A program of tests, or a cargo that builds and runs some.
pub(crate) struct Suite {
    name: String,
    /// The command that a user runs it by.
    command: String,
    program: Command,
    has_servers: bool,
}

/// Runs all tests, and the examples of the docs.
pub(crate) fn run_all() -> Result<()> {
    let mut suites = build(&[])?;
    suites.sort_by_key(|suite| !suite.has_servers);
    let mut docs = cargo_of_all();
    docs.arg("--doc");
    side_by_side([Suite::of_cargo("docs", docs)].into_iter().chain(suites).collect())
}

/// Returns the integration tests of these names, in this order, with these variables.
pub(crate) fn only(tests: &[&str], variables: &[(&str, u32)]) -> Result<Vec<Suite>> {
    let mut suites = build(tests)?;
    suites.sort_by_key(|suite| suite.place(tests));
    for suite in &mut suites {
        suite.program.envs(variables.iter().map(|(name, value)| (name, value.to_string())));
    }
    Ok(suites)
}

/// Caches for the next compilation would take more disk than all else. A developer's own cargo has
/// them.
fn cargo_of_all() -> Command {
    let mut cargo = cargo(&WORKSPACE);
    cargo.env("CARGO_INCREMENTAL", "0");
    cargo
}

fn build(tests: &[&str]) -> Result<Vec<Suite>> {
    let messages = workspace::target_path("suites.json");
    fs::create_dir_all(workspace::target_path(""))?;
    let mut build = cargo_of_all();
    build.args(tests.iter().flat_map(|test| ["--test", test]));
    build.args(["--no-run", "--message-format=json-render-diagnostics"]).stdout(File::create(&messages)?);
    run(&mut build)?;
    suites(&fs::read_to_string(messages)?, &workspace::packages()?)
}

/// The programs of tests among what cargo has built.
fn suites(messages: &str, packages: &[Package]) -> Result<Vec<Suite>> {
    let built = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tests = built.filter(|built| built["profile"]["test"] == true && built["executable"].is_string());
    tests.map(|test| suite(&test, packages).with_context(|| format!("not a test: {test}"))).collect()
}

fn suite(test: &Value, packages: &[Package]) -> Option<Suite> {
    let manifest = Path::new(test["manifest_path"].as_str()?);
    let package = packages.iter().find(|package| package.manifest_path == manifest)?;
    let which = match (test["target"]["kind"][0].as_str()?, test["target"]["name"].as_str()?) {
        ("lib", _) => "--lib".to_owned(),
        (kind, name) => format!("--{kind} {name}"),
    };
    let mut program = Command::new(test["executable"].as_str()?);
    program.current_dir(manifest.parent()?).env("CARGO_MANIFEST_DIR", manifest.parent()?);
    let has_servers = package.dependencies.iter().any(|dependency| dependency.name == SERVERS);
    let command = format!("cargo test -p {} {which}", package.name);
    Some(Suite { name: command.replace(' ', "_"), command, program, has_servers })
}

/// Runs all, and prints the output of each when it has ended. The error is that of the first that
/// failed, and all are named.
pub(crate) fn side_by_side(suites: Vec<Suite>) -> Result<()> {
    let jobs = thread::available_parallelism().map_or(1, NonZero::get) + WAITING;
    let (count, queue, failed) = (suites.len(), Mutex::new(suites.into_iter()), Mutex::new(vec![]));
    let next = || queue.lock().expect("no thread panics").next();
    let work = || {
        while let Some(suite) = next() {
            suite.run().unwrap_or_else(|error| failed.lock().expect("no thread panics").push(error));
        }
    };
    thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    let mut failed = failed.into_inner()?;
    for error in &failed {
        eprintln!("{error:#}");
    }
    let text = format!("{} of {count} failed", failed.len());
    if failed.is_empty() { Ok(()) } else { Err(failed.remove(0).context(text)) }
}

impl Suite {
    pub(crate) fn of_cargo(name: &str, program: Command) -> Self {
        Suite { name: name.to_owned(), command: shown(&program), program, has_servers: false }
    }

    /// Its place among integration tests of these names.
    fn place(&self, tests: &[&str]) -> Option<usize> {
        tests.iter().position(|test| self.command.ends_with(&format!("--test {test}")))
    }

    /// The output is written to a file, because a process that outlives the program would keep a
    /// pipe open.
    fn run(mut self) -> Result<()> {
        let folder = workspace::target_path("suites");
        fs::create_dir_all(&folder)?;
        let path = folder.join(self.name).with_extension("txt");
        let file = File::create(&path)?;
        self.program.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let start = Instant::now();
        let status = self.program.status().with_context(|| format!("cannot start: {}", self.command))?;
        let took = start.elapsed().as_secs_f64();
        println!("\n$ {}\n{}\ntook {took:.1} s", self.command, String::from_utf8_lossy(&fs::read(path)?).trim());
        succeeded(self.command, status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{code, command};

    #[test]
    fn each_test_program_that_was_built_is_found_with_its_command() {
        let package = r#"[{ "name": "a", "manifest_path": "/a/Cargo.toml", "publish": null,
            "dependencies": [{ "name": "bulklink-servers", "kind": "dev" }] }]"#;
        let built = |kind, is_test, program| {
            format!(
                r#"{{ "manifest_path": "/a/Cargo.toml", "target": {{ "kind": ["{kind}"], "name": "b" }},
                "profile": {{ "test": {is_test} }}, "executable": {program} }}"#
            )
            .replace('\n', "")
        };
        let found = |line: &str| suites(line, &serde_json::from_str::<Vec<_>>(package).unwrap());
        for (line, command) in [
            (built("lib", true, r#""/p""#), Some("cargo test -p a --lib")),
            (built("test", true, r#""/p""#), Some("cargo test -p a --test b")),
            (built("example", true, r#""/p""#), Some("cargo test -p a --example b")),
            (built("bin", false, r#""/p""#), None),
            (built("lib", false, "null"), None),
            (r#"{ "reason": "build-finished" }"#.to_owned(), None),
        ] {
            let found = found(&line).unwrap();
            assert_eq!(
                found.iter().map(|suite| &*suite.command).collect::<Vec<_>>(),
                Vec::from_iter(command),
                "{line}"
            );
            assert!(
                found.iter().all(|suite| suite.has_servers && suite.program.get_current_dir() == Some("/a".as_ref()))
            );
        }
        assert!(found(&built("lib", true, r#""/p""#).replace("/a/", "/c/")).is_err());
    }

    #[test]
    fn suites_have_the_places_of_their_names() {
        let place = |name| {
            let command = command("cargo", &["test", "-p", "a", "--test", name]);
            Suite::of_cargo(name, command).place(&["searches", "exhaustive"])
        };
        assert_eq!(["searches", "exhaustive", "more_exhaustive"].map(place), [Some(0), Some(1), None]);
    }

    #[test]
    #[cfg(unix)]
    fn all_suites_run_and_the_first_that_fails_is_the_error() {
        let folder = workspace::target_path("suites");
        let suite = |name: &str, script| Suite {
            name: name.replace(' ', "_"),
            command: name.to_owned(),
            program: command("sh", &["-c", script]),
            has_servers: false,
        };
        // Longer than the queue is short: what fails first must not keep the others from running.
        let scripts = [("test first", "exit 3"), ("test second", "echo out; echo err >&2; sleep 0.1; exit 4")];
        let all = (0..20).map(|number| suite(&format!("test {number}"), "echo ran"));
        let error = side_by_side(scripts.map(|(name, script)| suite(name, script)).into_iter().chain(all).collect());
        let error = error.unwrap_err();
        assert_eq!((code(&error), error.to_string()), (Some(3), "2 of 22 failed".to_owned()));
        let output = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!((output("test_second.txt"), output("test_19.txt")), ("out\nerr\n".into(), "ran\n".into()));
        side_by_side(vec![suite("test third", "exit 0")]).unwrap();
    }
}
