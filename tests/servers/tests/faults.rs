//! What servers and networks do wrong on demand. Only lower bounds of times are asserted.

#![cfg(unix)]

use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use bulklink_servers::{Connection, Proxy, Server, require};

const PATIENCE: Duration = Duration::from_secs(30);

const MOMENT: Duration = Duration::from_millis(200);

/// How long the work takes.
fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

#[test]
fn a_paused_server_answers_nothing_until_the_end_of_the_pause() {
    let server = require!(Server::start());
    server.pause(MOMENT);
    let paused = time(|| assert_eq!(server.call(&["SET", "key", "1"]).text(), "OK"));
    // The server counts whole milliseconds, from a clock that it reads once in a while.
    assert!(paused >= MOMENT / 2, "{paused:?}");
}

#[test]
fn a_stalled_server_is_busy_for_the_time() {
    let server = require!(Server::start());
    assert!(time(|| server.stall(MOMENT)) >= MOMENT);
}

#[test]
fn a_stopped_process_goes_on_where_it_was() {
    let mut server = require!(Server::start());
    let mut connection = server.connect().unwrap();
    assert_eq!(connection.call(&["SET", "key", "1"]).unwrap().text(), "OK");
    server.stop_process();
    let stopped = scope(|scope| {
        let answer = scope.spawn(move || time(|| assert_eq!(connection.call(&["GET", "key"]).unwrap().text(), "1")));
        sleep(MOMENT);
        assert!(!answer.is_finished());
        server.continue_process();
        answer.join().unwrap()
    });
    assert!(stopped >= MOMENT / 2, "{stopped:?}");
}

#[test]
fn a_proxy_delays_both_directions() {
    let server = require!(Server::start());
    let proxy = Proxy::start(&server);
    let mut connection = Connection::tcp(proxy.port(), PATIENCE).unwrap();
    assert_eq!(proxy.url(), format!("redis://127.0.0.1:{}", proxy.port()));
    assert_eq!(connection.call(&["PING"]).unwrap().text(), "PONG");
    proxy.delay(MOMENT / 4);
    let three = time(|| (0..3).for_each(|_| assert_eq!(connection.call(&["PING"]).unwrap().text(), "PONG")));
    assert!(three >= 3 * MOMENT / 2, "{three:?}");
}

#[test]
fn a_cut_ends_connections_and_not_the_server() {
    let server = require!(Server::start());
    let proxy = Proxy::start(&server);
    let mut connection = Connection::tcp(proxy.port(), PATIENCE).unwrap();
    assert_eq!(connection.call(&["PING"]).unwrap().text(), "PONG");
    proxy.cut();
    assert!(connection.call(&["PING"]).is_err());
    let mut connection = Connection::tcp(proxy.port(), PATIENCE).unwrap();
    assert_eq!(connection.call(&["PING"]).unwrap().text(), "PONG");
}

#[test]
fn a_command_is_executed_though_its_reply_is_dropped() {
    let server = require!(Server::start());
    let proxy = Proxy::start(&server);
    proxy.drop_replies(2);
    for _ in 0..2 {
        let mut connection = Connection::tcp(proxy.port(), PATIENCE).unwrap();
        assert!(connection.call(&["INCR", "count"]).is_err());
    }
    let mut connection = Connection::tcp(proxy.port(), PATIENCE).unwrap();
    assert_eq!(connection.call(&["INCR", "count"]).unwrap().text(), "3");
}

#[test]
fn a_black_hole_holds_everything_until_it_is_healed() {
    let server = require!(Server::start());
    let proxy = Proxy::start(&server);
    let mut connection = Connection::tcp(proxy.port(), MOMENT).unwrap();
    assert_eq!(connection.call(&["PING"]).unwrap().text(), "PONG");
    proxy.black_hole();
    // The read gives up; the command is on its way.
    assert!(connection.call(&["INCR", "count"]).is_err());
    assert!(Connection::tcp(proxy.port(), MOMENT).unwrap().call(&["INCR", "count"]).is_err());
    assert_eq!(server.call(&["EXISTS", "count"]).text(), "0");
    proxy.heal();
    let mut patient = Connection::tcp(proxy.port(), PATIENCE).unwrap();
    assert_eq!(patient.call(&["PING"]).unwrap().text(), "PONG");
    let arrived = (0..3000).any(|_| {
        sleep(Duration::from_millis(10));
        server.call(&["GET", "count"]).text() != ""
    });
    assert!(arrived);
}

#[test]
fn a_proxy_of_a_server_that_does_not_run_ends_connections() {
    let mut server = require!(Server::start());
    let proxy = Proxy::start(&server);
    server.kill();
    let refused = Connection::tcp(proxy.port(), PATIENCE).and_then(|mut connection| connection.call(&["PING"]));
    assert!(refused.is_err());
}
