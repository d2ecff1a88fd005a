//! PostgreSQL servers: their lifetime, their kinds, and what goes wrong with them on demand.

#![cfg(unix)]

use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use bulklink_servers::{Data, Postgres, Proxy, User, require};

/// Where the child of [`a_killed_test_process_leaves_nothing`] writes which server it has started.
const REPORT: &str = "BULKLINK_SERVERS_TEST_POSTGRES_REPORT";

const MOMENT: Duration = Duration::from_millis(200);

fn shell(script: &str, argument: &str) -> (bool, String) {
    let output = Command::new("sh").args(["-c", script, "sh", argument]).stderr(Stdio::null()).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A process that has ended may be a zombie until its new parent takes note.
fn runs(pid: u32) -> bool {
    let (is_there, state) = shell("ps -o stat= -p \"$1\"", &pid.to_string());
    is_there && !state.starts_with('Z')
}

/// The processes that serve, which are children of the first.
fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
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

fn with_a_table(server: &Postgres) {
    server.sql("CREATE TABLE t (id int PRIMARY KEY, value text); INSERT INTO t VALUES (1, 'a')");
}

#[test]
fn a_dropped_server_leaves_nothing() {
    let server = require!(Postgres::start());
    let (pid, folder) = (server.pid(), server.folder().to_owned());
    assert!(runs(pid) && server.socket().exists());
    assert_eq!(server.value("SELECT current_user"), "postgres");
    // Another version of the program may need others, but never root.
    assert_ne!(shell("ps -o uid= -p \"$1\" || echo 1", &pid.to_string()).1.trim(), "0");
    let children = children(pid);
    drop(server);
    assert!(!folder.exists() && !runs(pid));
    assert!(children.into_iter().all(|child| !runs(child)));
}

#[test]
fn a_killed_test_process_leaves_nothing() {
    let server = require!(Postgres::start());
    let report = env::temp_dir().join(format!("bulklink-report-{}", std::process::id()));
    let mut test = Command::new(env::current_exe().unwrap());
    test.args(["--exact", "the_child_waits_to_be_killed"]).env(REPORT, &report);
    let mut child = test.stdout(Stdio::null()).spawn().unwrap();
    let read = || std::fs::read_to_string(&report).unwrap_or_default();
    assert!(within_seconds(60, || read().ends_with('\n')));
    let reported = read();
    std::fs::remove_file(&report).unwrap();
    let (pid, folder) = reported.trim_end().split_once(' ').unwrap();
    let (pid, folder) = (pid.parse().unwrap(), Path::new(folder));
    let children = children(pid);
    assert!(runs(pid) && folder.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(within_seconds(60, || !runs(pid) && !folder.exists()));
    // The folder of the data that servers are made from goes too, removed by a guard of its own.
    let prefix = folder.file_name().unwrap().to_str().unwrap().rsplit_once('-').unwrap().0.to_owned() + "-";
    let is_of_the_child = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(&prefix);
    let folders = || std::fs::read_dir(env::temp_dir()).unwrap().flatten();
    assert!(within_seconds(60, || !folders().any(is_of_the_child)));
    assert!(children.into_iter().all(|child| !runs(child)));
    assert_eq!(server.value("SELECT 1"), "1");
}

#[test]
fn the_child_waits_to_be_killed() {
    if let Some(report) = env::var_os(REPORT).map(PathBuf::from) {
        let mut server = require!(Postgres::start());
        // A stopped server must end too.
        server.stop_process();
        std::fs::write(report, format!("{} {}\n", server.pid(), server.folder().display())).unwrap();
        sleep(Duration::from_mins(1));
    }
}

#[test]
fn a_restarted_server_keeps_its_place_and_its_data_or_none() {
    let user = User { name: "more".into(), password: "secret".into(), rules: "CONNECTION LIMIT 3".into() };
    let mut server = require!(Postgres::builder().tcp().user(user).start());
    let (pid, port, url) = (server.pid(), server.port(), server.url());
    with_a_table(&server);
    let users = "SELECT count(*) FROM pg_roles WHERE rolname IN ('tests', 'more')";
    let started = server.value("SELECT pg_postmaster_start_time()");
    // An open session does not keep the server.
    let session = server.hold("SELECT 1");
    server.restart(Data::Keep);
    assert_eq!((server.value("SELECT value FROM t"), server.value(users)), ("a".into(), "2".into()));
    assert!(!runs(pid) && server.pid() != pid && server.value("SELECT pg_postmaster_start_time()") != started);
    drop(session);
    server.restart(Data::Empty);
    assert_eq!(server.value("SELECT to_regclass('t')"), "");
    assert_eq!((server.port(), server.url(), server.value(users)), (port, url, "2".into()));
}

#[test]
fn a_server_ends_in_good_order_or_is_killed() {
    let mut server = require!(Postgres::start());
    with_a_table(&server);
    let mut session = server.connect().unwrap();
    server.shut_down();
    assert_eq!(session.run("SELECT 1").unwrap_err().code(), Some("57P01"));
    assert!(server.connect().is_err());
    server.restart(Data::Keep);
    let mut session = server.connect().unwrap();
    server.kill();
    assert_eq!(session.run("SELECT 1").unwrap_err().code(), None);
    server.restart(Data::Keep);
    assert_eq!(server.value("SELECT value FROM t"), "a");
}

#[test]
fn a_crash_ends_all_sessions_and_the_server_recovers_by_itself() {
    let server = require!(Postgres::start());
    with_a_table(&server);
    let started = server.value("SELECT pg_postmaster_start_time()");
    let mut session = server.connect().unwrap();
    server.crash();
    assert!(session.run("SELECT 1").is_err());
    assert_eq!(server.value("SELECT value FROM t"), "a");
    assert_eq!(server.value("SELECT pg_postmaster_start_time()"), started);
}

#[test]
fn sessions_are_terminated_and_rows_locked() {
    let server = require!(Postgres::start());
    with_a_table(&server);
    assert_eq!(server.terminate_sessions(), 0);
    let held = server.hold("SELECT 1 FROM t FOR UPDATE");
    let mut other = server.connect().unwrap();
    other.run("SET lock_timeout = '20ms'").unwrap();
    assert_eq!(other.run("UPDATE t SET value = 'b'").unwrap_err().code(), Some("55P03"));
    drop(held);
    other.run("SET lock_timeout = 0; UPDATE t SET value = 'b'").unwrap();
    other.run("SET statement_timeout = '20ms'").unwrap();
    assert_eq!(other.run("SELECT pg_sleep(60)").unwrap_err().code(), Some("57014"));
    assert_eq!(other.run("SELECT NULL, value, '' FROM t").unwrap(), [["", "b", ""]]);
}

#[test]
fn a_stopped_server_goes_on_where_it_was() {
    let mut server = require!(Postgres::start());
    let mut session = server.connect().unwrap();
    server.stop_process();
    scope(|scope| {
        let answer = scope.spawn(move || session.run("SELECT 1").unwrap());
        sleep(MOMENT);
        assert!(!answer.is_finished());
        server.continue_process();
        assert_eq!(answer.join().unwrap(), [["1"]]);
    });
}

#[test]
fn a_standby_has_the_data_of_its_primary_and_can_take_its_place() {
    let mut primary = require!(Postgres::start());
    let mut standby = require!(Postgres::builder().tcp().standby_of(&primary).start());
    with_a_table(&primary);
    standby.catch_up(&primary);
    assert_eq!(standby.value("SELECT value FROM t"), "a");
    let mut session = standby.connect().unwrap();
    assert_eq!(session.run("UPDATE t SET value = 'b'").unwrap_err().code(), Some("25006"));
    primary.kill();
    standby.promote();
    session.run("UPDATE t SET value = 'b'").unwrap();
    standby.restart(Data::Keep);
    assert_eq!(standby.value("SELECT value FROM t"), "b");
}

#[test]
fn ports_want_a_password_and_tls_is_signed_by_the_authority() {
    let server = require!(Postgres::builder().tls().start());
    let place = format!("127.0.0.1:{}", server.port());
    let verifies = |authority: &Path| {
        let script = "openssl s_client -starttls postgres -verify_return_error -verify_ip 127.0.0.1 -connect \"$1\" \
            -CAfile \"$2\" </dev/null";
        let mut client = Command::new("sh");
        client.args(["-c", script, "sh", &place]).arg(authority).stdout(Stdio::null()).stderr(Stdio::null());
        client.status().unwrap().success()
    };
    let other = require!(Postgres::builder().tls().start());
    assert!(verifies(&server.authority()) && !verifies(&other.authority()));
    assert!(server.url().ends_with("/postgres?sslmode=require"), "{}", server.url());
    // Without TLS the server sends an error, which is its whole answer.
    let mut stream = TcpStream::connect(&place).unwrap();
    stream.write_all(b"\0\0\0\x14\0\x03\0\0user\0tests\0\0").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with('E') && answer.contains("C28000"), "{answer}");
}

#[test]
fn a_proxy_leads_to_the_server() {
    let server = require!(Postgres::start());
    let proxy = Proxy::to(server.socket());
    assert_eq!(
        server.url_through(&proxy),
        format!("postgresql://tests:a-password-of-tests@127.0.0.1:{}/postgres?sslmode=disable", proxy.port())
    );
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    stream.write_all(b"\0\0\0\x14\0\x03\0\0user\0tests\0\0").unwrap();
    let mut kind = [0];
    stream.read_exact(&mut kind).unwrap();
    // It asks for the password.
    assert_eq!(kind, *b"R");
    proxy.cut();
    assert!(within_seconds(30, || matches!(stream.read(&mut [0; 1024]), Ok(0) | Err(_))));
}

#[test]
fn servers_run_beside_each_other() {
    let servers = [Postgres::start(), Postgres::builder().tcp().durable().start(), Postgres::start()];
    let [first, second, third] = servers;
    let servers = [require!(first), require!(second), require!(third)];
    for (server, value) in servers.iter().zip(["1", "2", "3"]) {
        server.sql(&format!("CREATE TABLE t AS SELECT {value} AS value"));
    }
    assert_eq!(servers.each_ref().map(|server| server.value("SELECT value FROM t")), ["1", "2", "3"]);
    assert_eq!(servers.each_ref().map(|server| server.value("SHOW fsync")), ["off", "on", "off"]);
}
