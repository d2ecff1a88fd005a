//! What goes wrong with servers and connections while calls run.

use std::time::Duration;

use bulklink::Request;
use bulklink_redis::{ConnectError, Reason};
use bulklink_servers::{Server, User, require};
use futures_util::future::join;

use crate::world::{LEASE, Platform, on_both, pair, pass, payments, process, within};

on_both! {
    killed_clients_and_flushed_scripts_change_nothing
    a_server_that_sleeps_or_pauses_admits_no_call_too_many
    full_memory_rejects_calls_and_takes_permits_back
    a_wrong_password_and_a_wrong_type_are_errors
}

const TIME: Duration = Duration::from_millis(1_500);

async fn killed_clients_and_flushed_scripts_change_nothing<R: Platform>(runtime: R) {
    let server = require!(Server::start());
    let pair = pair(&runtime, &server, 4).await;
    let faults = async {
        for count in 0..30 {
            pass(TIME / 40).await;
            let command: &[&str] =
                if count % 3 == 0 { &["CLIENT", "KILL", "TYPE", "pubsub"] } else { &["SCRIPT", "FLUSH"] };
            server.call(command);
        }
    };
    join(pair.load(30, TIME), faults).await.0.kept_to(4);
    pair.drains(4).await;
}

async fn a_server_that_sleeps_or_pauses_admits_no_call_too_many<R: Platform>(runtime: R) {
    let server = require!(Server::start());
    let pair = pair(&runtime, &server, 4).await;
    let faults = async {
        for count in 0..4 {
            pass(TIME / 8).await;
            // Longer than a claim, and than a lease.
            let time = LEASE * (1 + count % 2) * 2 / 3;
            let pause = smol::unblock({
                let mut connection = server.connect().expect("the server runs");
                let seconds = time.as_secs_f64().to_string();
                let millis = time.as_millis().to_string();
                move || match count {
                    0 | 1 => connection.call(&["DEBUG", "SLEEP", &seconds]),
                    _ => connection.call(&["CLIENT", "PAUSE", &millis, "ALL"]),
                }
            });
            drop(pause.await);
        }
    };
    join(pair.load(30, TIME), faults).await.0.kept_to(4);
    pair.drains(4).await;
}

async fn full_memory_rejects_calls_and_takes_permits_back<R: Platform>(runtime: R) {
    let server = require!(Server::start());
    let pair = pair(&runtime, &server, 2).await;
    let [one, two] = &pair.bulkheads;
    let held = one.acquire().await.unwrap();
    server.call(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(two.acquire().await.unwrap_err().reason(), Reason::Unavailable);
    pass(LEASE * 2).await;
    assert!(held.is_valid(), "beats go on");
    assert!(held.release().await, "and so do releases");
    server.call(&["CONFIG", "SET", "maxmemory", "0"]);
    pair.drains(2).await;
}

async fn a_wrong_password_and_a_wrong_type_are_errors<R: Platform>(runtime: R) {
    let user = User { name: "service".into(), password: "right".into(), rules: "on >right ~* &* +@all".into() };
    let server = require!(Server::builder().acl(user.clone()).start());
    let wrong = User { password: "secret".into(), ..user.clone() };
    let fleet = process(runtime.clone(), &server.url_of(&wrong));
    let error = payments(&fleet, 1).connect().await.unwrap_err();
    assert_eq!(error, ConnectError::Unavailable);
    assert!(!format!("{error} {error:?} {fleet:?}").contains("secret"));

    let fleet = process(runtime, &server.url_of(&user));
    let bulkhead = payments(&fleet, 1).connect().await.unwrap();
    drop(bulkhead.acquire().await.unwrap());
    server.call(&["SET", "bl:{test:payments}:Q", "text"]);
    let rejection = bulkhead.acquire_with(Request::new().within(LEASE * 8)).await.unwrap_err();
    assert_eq!(rejection.reason(), Reason::Unavailable);
    server.call(&["DEL", "bl:{test:payments}:Q"]);
    let again = async {
        loop {
            if bulkhead.try_acquire().await.is_ok() {
                break;
            }
            pass(Duration::from_millis(20)).await;
        }
    };
    within(LEASE * 5, again).await;
}
