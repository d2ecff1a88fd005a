//! A server ends with its value, with a panic and with its process.

#![cfg(unix)]

use std::env;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bulklink_servers::{Data, Server, require};

/// Where the child of [`a_killed_test_process_leaves_nothing`] writes which server it has started.
const REPORT: &str = "BULKLINK_SERVERS_TEST_REPORT";

fn runs(pid: u32) -> bool {
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -0 \"$1\"", "sh", &pid.to_string()]).stderr(Stdio::null());
    kill.status().unwrap().success()
}

fn within_seconds(seconds: u64, mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        if holds() {
            return true;
        }
        sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn a_dropped_server_leaves_nothing() {
    let server = require!(Server::start());
    let (pid, folder) = (server.pid(), server.folder().to_owned());
    assert!(runs(pid) && server.socket().exists());
    drop(server);
    assert!(!runs(pid) && !folder.exists());
}

#[test]
fn a_panic_leaves_nothing() {
    let server = require!(Server::start());
    let (pid, folder) = (server.pid(), server.folder().to_owned());
    let result = catch_unwind(move || {
        let _server = server;
        panic!("as a test does that fails");
    });
    assert!(result.is_err() && !runs(pid) && !folder.exists());
}

#[test]
fn a_killed_test_process_leaves_nothing() {
    let server = require!(Server::start());
    let report = server.folder().join("report");
    let mut test = Command::new(env::current_exe().unwrap());
    test.args(["--exact", "the_child_waits_to_be_killed"]).env(REPORT, &report);
    let mut child = test.stdout(Stdio::null()).spawn().unwrap();
    let read = || std::fs::read_to_string(&report).unwrap_or_default();
    assert!(within_seconds(30, || read().ends_with('\n')));
    let reported = read();
    let (pid, folder) = reported.trim_end().split_once(' ').unwrap();
    let (pid, folder) = (pid.parse().unwrap(), Path::new(folder));
    assert!(runs(pid) && folder.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(within_seconds(30, || !runs(pid) && !folder.exists()));
}

#[test]
fn the_child_waits_to_be_killed() {
    if let Some(report) = env::var_os(REPORT).map(PathBuf::from) {
        let mut server = require!(Server::start());
        // A stopped server must end too.
        server.stop_process();
        std::fs::write(report, format!("{} {}\n", server.pid(), server.folder().display())).unwrap();
        sleep(Duration::from_mins(1));
    }
}

#[test]
fn a_restarted_server_keeps_its_place_and_its_data_or_none() {
    let mut server = require!(Server::builder().tcp().start());
    let (pid, port, url) = (server.pid(), server.port(), server.url());
    server.call(&["SET", "key", "value"]);
    server.restart(Data::Keep);
    assert_eq!(server.call(&["GET", "key"]).text(), "value");
    assert!(!runs(pid) && server.pid() != pid);
    server.restart(Data::Empty);
    assert_eq!(server.call(&["DBSIZE"]).text(), "0");
    assert_eq!((server.port(), server.url()), (port, url));
}

#[test]
fn a_killed_server_keeps_what_it_wrote() {
    let mut server = require!(Server::builder().config("appendonly", "yes").start());
    server.call(&["SET", "key", "value"]);
    server.kill();
    assert!(server.connect().is_err());
    server.restart(Data::Keep);
    assert_eq!(server.call(&["GET", "key"]).text(), "value");
    server.restart(Data::Empty);
    assert_eq!(server.call(&["DBSIZE"]).text(), "0");
}

#[test]
fn servers_run_beside_each_other() {
    let servers = [Server::start(), Server::builder().tcp().start(), Server::start()];
    let [first, second, third] = servers;
    let servers = [require!(first), require!(second), require!(third)];
    for (server, value) in servers.iter().zip(["1", "2", "3"]) {
        server.call(&["SET", "key", value]);
    }
    assert_eq!(servers.each_ref().map(|server| server.call(&["GET", "key"]).text()), ["1", "2", "3"]);
}
