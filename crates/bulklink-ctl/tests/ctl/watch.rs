//! Views that are drawn again and again, on a pipe and on a terminal.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bulklink_postgres::PostgresStore;
use bulklink_redis::{RedisLink, RedisStore};
use bulklink_servers::{Data, Postgres, Server, require};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;

use crate::world::{Process, command, name, pair, set_up};

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A run that lasts. It is killed when a test fails.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Watch {
    fn start(url: &str, words: &[&str]) -> Self {
        let mut watch = command(&[&["share", "watch", "--url", url, "--every", "50ms"], words].concat());
        Watch(watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn lines(&mut self) -> impl Iterator<Item = String> + use<> {
        BufReader::new(self.0.stdout.take().unwrap()).lines().map(Result::unwrap)
    }

    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
    }

    /// Its exit code and its errors.
    fn end(mut self) -> (Option<i32>, String) {
        let start = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "it goes on");
            sleep(Duration::from_millis(5));
        }
        let mut errors = String::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            stderr.read_to_string(&mut errors).unwrap();
        }
        (self.0.wait().unwrap().code(), errors)
    }
}

fn process(server: &Server) -> Process<RedisLink> {
    Process::on(&RedisStore::new(&server.url()).unwrap(), 1)
}

/// A line without the time in front.
fn after_time(line: &str) -> &str {
    let (time, rest) = line.split_at(21);
    assert!(time.ends_with("Z ") && time.starts_with("20") && time.contains('T'), "{line}");
    rest
}

#[test]
fn a_pipe_gets_a_line_for_each_interval_until_it_closes() {
    let server = require!(Server::start());
    let process = process(&server);
    process.state(&name("payments"), 3, 0, 1);
    process.state(&name("search"), 9, 0, 1);
    let mut watch = Watch::start(&server.url(), &[]);
    let mut lines = watch.lines();
    let before = "payments: 1 of 3 granted, 1 process; search: 1 of 9 granted, 1 process";
    assert_eq!(after_time(&lines.next().unwrap()), before);
    process.state(&name("payments"), 3, 1, 2);
    let changed = lines.find(|line| after_time(line) != before).unwrap();
    assert_eq!(after_time(&changed), before.replace("payments: 1", "payments: 2"));
    drop(lines);
    assert_eq!(watch.end(), (Some(0), String::new()));
}

#[test]
fn a_pipe_gets_an_object_for_each_interval_with_json() {
    let server = require!(Server::start());
    let _processes = pair(&RedisStore::new(&server.url()).unwrap());
    for (words, key) in [(&["payments", "--json"][..], "rows"), (&["--json", "--all-namespaces"], "shares")] {
        let mut watch = Watch::start(&server.url(), words);
        let objects: Vec<Value> = watch.lines().take(3).map(|line| serde_json::from_str(&line).unwrap()).collect();
        assert!(objects.iter().all(|object| object[key].as_array().unwrap().len() == 2), "{objects:?}");
        assert!(objects.is_sorted_by_key(|object| object["at_ms"].as_u64().unwrap()));
        assert_eq!(watch.end(), (Some(0), String::new()), "{words:?}");
    }
}

#[test]
fn ctrl_c_ends_it() {
    let server = require!(Server::start());
    process(&server).state(&name("payments"), 3, 0, 1);
    let mut watch = Watch::start(&server.url(), &["payments"]);
    let mut lines = watch.lines();
    assert_eq!(after_time(&lines.next().unwrap()), "payments: 1 of 3 granted, 1 process");
    watch.interrupt();
    assert_eq!(watch.end(), (Some(0), String::new()));
}

#[test]
fn postgresql_is_watched_over_a_loss_of_the_connection() {
    let server = require!(Postgres::start());
    set_up(&server);
    let _processes = pair(&PostgresStore::new(&server.url()).unwrap());
    let mut watch = Watch::start(&server.url(), &["payments"]);
    let mut lines = watch.lines();
    let seen = "payments: 10 of 10 granted, 2 processes, level 6";
    assert_eq!(after_time(&lines.next().unwrap()), seen);
    server.terminate_sessions();
    lines.find(|line| line.ends_with(": the store is unreachable")).unwrap();
    lines.find(|line| after_time(line) == seen).unwrap();
    drop(lines);
    assert_eq!(watch.end(), (Some(0), String::new()));
}

#[test]
fn ctrl_c_ends_it_while_the_server_does_not_answer() {
    let mut server = require!(Server::start());
    let mut watch = Watch::start(&server.url(), &["--timeout", "20s"]);
    let mut lines = watch.lines();
    lines.next().unwrap();
    server.stop_process();
    sleep(Duration::from_millis(200));
    let start = Instant::now();
    watch.interrupt();
    assert_eq!(watch.end(), (Some(0), String::new()));
    assert!(start.elapsed() < Duration::from_secs(10));
    server.continue_process();
}

#[test]
fn it_goes_on_when_the_server_comes_back() {
    let mut server = require!(Server::start());
    process(&server).state(&name("payments"), 3, 0, 1);
    let mut watch = Watch::start(&server.url(), &["payments", "--json"]);
    let mut lines = watch.lines().map(|line| serde_json::from_str::<Value>(&line).unwrap());
    assert_eq!(lines.next().unwrap()["limit"], 3);
    server.kill();
    let socket = server.socket();
    let gap = lines.find(|object| object.get("limit").is_none()).unwrap();
    assert_eq!(gap["error"], format!("{}: the store is unreachable", socket.display()));
    assert!(gap["at_ms"].is_u64());
    server.restart(Data::Empty);
    let missing = "no share \"payments\" in the namespace test";
    lines.find(|object| object["error"] == missing).unwrap();
    process(&server).state(&name("payments"), 5, 0, 1);
    lines.find(|object| object["limit"] == 5).unwrap();
    drop(lines);
    assert_eq!(watch.end(), (Some(0), String::new()));
}

/// A terminal of a few rows, and the text that was written to it.
struct Terminal {
    screen: File,
    text: String,
}

impl Terminal {
    fn start(url: &str, words: &[&str], variables: &[(&str, &str)]) -> (Self, Watch) {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        tcsetwinsize(&screen, Winsize { ws_row: 12, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let path = ptsname(&screen, vec![]).unwrap().into_string().unwrap();
        let end = || OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut run = command(&[&["share"], words, &["--url", url]].concat());
        let child = run.stdin(end()).stdout(end()).stderr(end()).envs(variables.iter().copied()).spawn().unwrap();
        (Terminal { screen: screen.into(), text: String::new() }, Watch(child))
    }

    /// Reads until this has been written.
    fn wait(&mut self, wanted: &str) {
        let mut bytes = [0; 4096];
        while !self.text.contains(wanted) {
            match self.screen.read(&mut bytes) {
                Ok(count) if count > 0 => self.text += std::str::from_utf8(&bytes[..count]).unwrap(),
                end => panic!("{end:?} after {:?}", self.text),
            }
        }
    }
}

#[test]
fn a_terminal_is_drawn_in_place_with_colours_and_fits() {
    let server = require!(Server::start());
    let [process, _waiting] = pair(&RedisStore::new(&server.url()).unwrap());
    for number in 0..20 {
        process.state(&name(&format!("x{number:02}")), 2, 0, 1);
    }
    let words = ["watch", "--every", "50ms"];
    let (mut terminal, watch) = Terminal::start(&server.url(), &words, &[("NO_COLOR", "")]);
    terminal.wait("\x1b[J\x1b[?7h");
    let first = std::mem::take(&mut terminal.text);
    assert!(first.starts_with("\x1b[2J\x1b[H\x1b[?7l20"), "{first:?}");
    assert!(first.contains("payments     10       \x1b[33m10\x1b[0m          2      6\x1b[K\r\n"), "{first:?}");
    // Title, space and headings, seven shares, and the rest; the cursor is on the last row.
    assert!(first.contains("x04") && !first.contains("x05"), "{first:?}");
    assert!(first.contains("15 more lines\x1b[K\r\n\x1b[J"), "{first:?}");
    terminal.wait("\x1b[J\x1b[?7h");
    assert!(!terminal.text.contains("\x1b[2J"), "{:?}", terminal.text);
    watch.interrupt();
    assert_eq!(watch.end().0, Some(0));
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let server = require!(Server::start());
    let _processes = pair(&RedisStore::new(&server.url()).unwrap());
    for (variables, has_colours) in [(&[][..], true), (&[("NO_COLOR", "1")], false), (&[("TERM", "dumb")], false)] {
        for words in [&["list"][..], &["show", "payments"]] {
            let (mut terminal, watch) = Terminal::start(&server.url(), words, variables);
            terminal.wait(if words.len() == 1 { "search" } else { "PROCESS" });
            assert_eq!(terminal.text.contains('\x1b'), has_colours, "{:?}", terminal.text);
            assert_eq!(watch.end().0, Some(0));
        }
        let mut json = command(&["share", "list", "--json", "--url", &server.url()]);
        assert!(!json.envs(variables.iter().copied()).output().unwrap().stdout.contains(&0x1b));
    }
}
