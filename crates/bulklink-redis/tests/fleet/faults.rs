//! What goes wrong with servers and connections while calls run.

use std::time::Duration;

use bulklink_redis::{JoinError, StoreError};
use bulklink_servers::{Server, User, require};
use bulklink_stores::causes::texts;
use futures_util::future::FutureExt;

use crate::world::{
    LEASE, Load, Platform, bulkhead, member, on_both, pair, pair_lasting, pass, payments, process, within,
};

on_both! {
    killed_clients_and_flushed_scripts_change_nothing
    a_server_that_sleeps_or_pauses_admits_no_call_too_many
    full_memory_changes_nothing
    a_wrong_password_and_a_missing_right_are_errors_at_once
    a_wrong_type_is_an_error_and_units_go_on
}

const TIME: Duration = Duration::from_millis(1_500);

async fn killed_clients_and_flushed_scripts_change_nothing<R: Platform>(runtime: R) {
    let server = require!(Server::start());
    let pair = pair_lasting(&runtime, &server, 4, LEASE * 2).await;
    let faults = async |load: &Load| {
        for count in 0..30 {
            load.goes_on(TIME / 40).await;
            let command: &[&str] =
                if count % 3 == 0 { &["CLIENT", "KILL", "TYPE", "pubsub"] } else { &["SCRIPT", "FLUSH"] };
            server.call(command);
            pair.reach_the_store().await;
        }
    };
    pair.keeps_to(4, faults).await;
    pair.drains(4).await;
}

async fn a_server_that_sleeps_or_pauses_admits_no_call_too_many<R: Platform>(runtime: R) {
    let server = require!(Server::start());
    let pair = pair(&runtime, &server, 4).await;
    let faults = async |load: &Load| {
        for count in 0..4 {
            load.goes_on(TIME / 8).await;
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
        load.goes_on(TIME / 8).await;
    };
    pair.load(30, faults).await.kept_to(4);
    pair.drains(4).await;
}

async fn full_memory_changes_nothing<R: Platform>(runtime: R) {
    let server = require!(Server::start());
    let pair = pair(&runtime, &server, 2).await;
    let [one, two] = &pair.0;
    let held = one.bulkhead.slot().await.unwrap();
    let lost = one.share.lost();
    server.call(&["CONFIG", "SET", "maxmemory", "1"]);
    drop(two.bulkhead.slot().await.unwrap());
    pass(LEASE * 2).await;
    assert!(lost.now_or_never().is_none(), "beats go on");
    drop(held);
    pair.drains(2).await;
}

async fn a_wrong_password_and_a_missing_right_are_errors_at_once<R: Platform>(runtime: R) {
    let rules = "on >right ~* &* +@all".to_owned();
    let user = User { name: "service".into(), password: "right".into(), rules };
    let silent =
        User { name: "silent".into(), password: "right".into(), rules: "on >right ~* &* +@all -spublish".into() };
    for (allowed, used, code) in
        [(&user, User { password: "secret".into(), ..user.clone() }, "WRONGPASS"), (&silent, silent.clone(), "NOPERM")]
    {
        let server = require!(Server::builder().acl(allowed.clone()).start());
        let (fleet, bulkhead) = (process(runtime.clone(), &server.url_of(&used)), bulkhead(runtime.clone()));
        let joining = payments(&fleet, &bulkhead, 1, LEASE).connect_within(Duration::from_millis(500));
        let error = joining.connect().await.unwrap_err();
        assert_eq!(error, JoinError::Store(StoreError::refused(code)));
        assert!(!format!("{} {error:?} {fleet:?}", texts(&error).concat()).contains("secret"));
        assert_eq!(bulkhead.handle().ceilings().len(), 0);
    }
}

async fn a_wrong_type_is_an_error_and_units_go_on<R: Platform>(runtime: R) {
    let server = require!(Server::start());
    let one = member(&runtime, &server, 1).await;
    let held = one.bulkhead.slot().await.unwrap();
    server.call(&["RENAME", "bl:{test:payments}:S", "kept"]);
    server.call(&["SET", "bl:{test:payments}:S", "text"]);
    pass(LEASE / 4).await;
    let refused = StoreError::refused("WRONGTYPE");
    assert_eq!(one.share.status().error, Some(refused.clone()));
    assert_eq!(one.share.look().await, Err(refused));
    drop(held);
    server.call(&["RENAME", "kept", "bl:{test:payments}:S"]);
    let again = one.bulkhead.within(LEASE * 5).slot();
    drop(within(LEASE * 5, again).await.unwrap());
}
