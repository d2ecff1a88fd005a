//! What goes wrong with a server of PostgreSQL.

use std::time::{Duration, Instant};

use bulklink_fleet::share::Notice;
use bulklink_fleet::{Link, RunId};
use bulklink_postgres::{Part, PostgresStore, StoreError};
use bulklink_servers::{Data, Postgres, Proxy, require};
use bulklink_stores::{PATIENCE, Process as Any, Site, Told, name, pass};
use futures_util::future::{join_all, poll_immediate};

use crate::world::{Postgresql, Process, on_tokio, store};

fn refused<T>(code: &str) -> Result<T, StoreError> {
    Err(StoreError::refused(code))
}

/// A store that does not wait long for locks.
fn hasty(server: &Postgres) -> PostgresStore {
    PostgresStore::builder(&server.url()).lock_timeout(Duration::from_millis(100)).build().unwrap()
}

const LOCK: &str = "SELECT 1 FROM bulklink.fleet WHERE name = 'test:locked' FOR UPDATE";

#[test]
fn a_held_row_refuses_its_commands_and_leaves_other_names_alone() {
    on_tokio(async {
        let server = require!(Postgresql::start().await).0;
        let process = Process::on(&hasty(&server), 1).await;
        let (locked, free) = (name("locked"), name("free"));
        process.join(&locked, 2).await.unwrap();
        process.join(&free, 2).await.unwrap();
        let held = server.hold(LOCK);
        let start = Instant::now();
        assert_eq!(process.state(&locked, 2, 3).await, refused("55P03"));
        assert!(start.elapsed() >= Duration::from_millis(100));
        assert_eq!(process.state(&free, 2, 3).await, Ok(3));
        // Reading waits for nothing.
        assert_eq!(process.granted(&locked).await, 2);
        drop(held);
        assert_eq!(process.state(&locked, 2, 3).await, Ok(3));
        assert_eq!(process.ears.told(), []);
    });
}

#[test]
fn commands_wait_for_a_row_that_is_held_for_a_moment() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let locked = name("locked");
        process.join(&locked, 0).await.unwrap();
        let held = server.0.hold(LOCK);
        // They share a transaction.
        let calls = join_all((1..=9).map(|need| process.state(&locked, 9, need)));
        let release = async {
            pass(Duration::from_millis(100)).await;
            drop(held);
        };
        let (answers, ()) = futures_util::future::join(calls, release).await;
        assert_eq!(answers, (1..=9).map(Ok).collect::<Vec<_>>());
        assert_eq!(process.granted(&locked).await, 9);
    });
}

#[test]
fn a_statement_timeout_refuses_and_the_link_stays() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        server.0.sql("ALTER ROLE tests SET statement_timeout = '50ms'");
        let process = Process::on(&server.store(), 1).await;
        let locked = name("locked");
        process.join(&locked, 1).await.unwrap();
        let held = server.0.hold(LOCK);
        assert_eq!(process.state(&locked, 1, 2).await, refused("57014"));
        assert_eq!(process.link.resize(&locked, 3, 1.into()).await, refused("57014"));
        drop(held);
        assert_eq!(process.state(&locked, 1, 2).await, Ok(2));
        assert_eq!(process.ears.told(), []);
    });
}

#[test]
fn a_session_that_is_terminated_while_it_waits_has_had_no_effect() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let locked = name("locked");
        process.join(&locked, 1).await.unwrap();
        let _held = server.0.hold(LOCK);
        let mut call = Box::pin(process.state(&locked, 1, 5));
        assert!(poll_immediate(&mut call).await.is_none());
        while server.0.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "1" {
            pass(Duration::from_millis(2)).await;
        }
        assert_eq!(server.0.terminate_sessions(), 1);
        assert_eq!(call.await, Err(StoreError::UNREACHABLE));
        process.ears.wait(|told| *told == Told::Ended);
        assert_eq!(process.ears.ends(), 1);
        assert_eq!(Process::on(&server.store(), 2).await.granted(&locked).await, 1);
    });
}

#[test]
fn a_commit_whose_answer_is_lost_has_taken_effect_once() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let proxy = Proxy::to(server.socket());
        let process = Process::on(&server.through(&proxy), 1).await;
        let name = name("lost");
        process.join(&name, 1).await.unwrap();
        // Each commit takes a while.
        server.0.sql(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$; \
             CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON bulklink.fleet DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW EXECUTE FUNCTION slow()",
        );
        let mut call = Box::pin(process.state(&name, 1, 5));
        assert!(poll_immediate(&mut call).await.is_none());
        while server.0.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != "1" {
            pass(Duration::from_millis(2)).await;
        }
        proxy.black_hole();
        while server.0.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != "0" {
            pass(Duration::from_millis(2)).await;
        }
        proxy.cut();
        assert_eq!(call.await, Err(StoreError::UNREACHABLE));
        proxy.heal();
        server.0.sql("DROP TRIGGER slow ON bulklink.fleet");
        let next = Process::on(&server.store(), 1).await;
        assert_eq!(next.granted(&name).await, 5);
        assert_eq!(next.state(&name, 1, 5).await, Ok(5), "four of them were not known, and come again");
        assert_eq!(next.granted(&name).await, 5);
    });
}

#[test]
fn a_process_that_stops_with_the_row_loses_it_soon() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let proxy = Proxy::to(server.socket());
        let url = server.0.url_through(&proxy);
        let short = PostgresStore::builder(&url).lock_timeout(Duration::from_millis(400)).build().unwrap();
        let stopped = Process::on(&short, 1).await;
        let locked = name("locked");
        stopped.join(&locked, 1).await.unwrap();
        let other = Process::on(&server.store(), 2).await;
        other.join(&locked, 1).await.unwrap();
        let held = server.0.hold(LOCK);
        let mut call = Box::pin(stopped.state(&locked, 1, 2));
        assert!(poll_immediate(&mut call).await.is_none());
        while server.0.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "1" {
            pass(Duration::from_millis(2)).await;
        }
        // It gets the row, and is never heard of again.
        proxy.black_hole();
        drop(held);
        while server.0.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "0" {
            pass(Duration::from_millis(2)).await;
        }
        let start = Instant::now();
        assert_eq!(other.state(&locked, 1, 2).await, Ok(2));
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        proxy.heal();
        assert_eq!(call.await, Err(StoreError::UNREACHABLE));
        stopped.ears.wait(|told| *told == Told::Ended);
    });
}

/// The run of the server that a new process sees.
async fn run(server: &Postgresql) -> RunId {
    let process = Process::on(&server.store(), 9).await;
    process.link.listen(&name("any")).await.unwrap().run.unwrap()
}

#[test]
fn each_crash_and_each_start_is_another_run() {
    on_tokio(async {
        let mut server = require!(Postgresql::start().await);
        let name = name("crash");
        let first = Process::on(&server.store(), 1).await;
        first.join(&name, 3).await.unwrap();
        let mut runs = vec![run(&server).await];
        assert_eq!(run(&server).await, runs[0]);
        server.0.crash();
        first.ears.wait(|told| *told == Told::Ended);
        runs.push(run(&server).await);
        server.restart(Data::Keep);
        runs.push(run(&server).await);
        server.0.shut_down();
        server.restart(Data::Keep);
        runs.push(run(&server).await);
        let next = Process::on(&server.store(), 1).await;
        let known = next.link.listen(&name).await.unwrap();
        assert!(known.age.unwrap() < PATIENCE, "{known:?}");
        // The committed rows are there.
        assert_eq!((next.granted(&name).await, next.state(&name, 0, 1).await), (3, Ok(1)));
        runs.dedup();
        assert_eq!(runs.len(), 4, "{runs:?}");
    });
}

#[test]
fn a_standby_refuses_and_is_another_run_when_it_is_promoted() {
    on_tokio(async {
        let primary = require!(Postgresql::start().await);
        let standby = require!(Postgres::builder().tcp().standby_of(&primary.0).start());
        let mut standby = Postgresql(standby);
        let process = Process::on(&primary.store(), 1).await;
        let name = name("standby");
        process.join(&name, 6).await.unwrap();
        let before = run(&primary).await;
        standby.0.catch_up(&primary.0);
        assert_eq!(Any::connect(&standby.store(), 2).await.err(), refused::<()>("25006").err());
        // The primary is found among them.
        let both = format!(
            "host=127.0.0.1,{} port={},5432 user=tests password=a-password-of-tests dbname=postgres",
            primary.0.folder().display(),
            standby.0.port()
        );
        assert!(Any::connect(&store(&both), 2).await.is_err());
        let primary_of_both = store(&format!("{both} target_session_attrs=read-write"));
        assert_eq!(Process::on(&primary_of_both, 2).await.granted(&name).await, 6);
        drop((process, primary));
        standby.0.promote();
        let next = Process::on(&standby.store(), 2).await;
        assert_ne!(run(&standby).await, before);
        assert_eq!((next.granted(&name).await, next.state(&name, 0, 9).await), (6, Ok(4)));
    });
}

#[test]
fn a_read_only_server_refuses_and_the_link_stays() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let name = name("readonly");
        process.join(&name, 1).await.unwrap();
        server.0.sql("ALTER ROLE tests SET default_transaction_read_only = on");
        let other = Process::on(&server.store(), 2).await;
        assert_eq!(other.state(&name, 0, 1).await, refused("25006"));
        assert_eq!(other.granted(&name).await, 1);
        assert_eq!(process.state(&name, 1, 2).await, Ok(2));
        assert_eq!(other.ears.told(), []);
    });
}

#[test]
fn malformed_rows_are_refused_and_leave_other_names_alone() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let (name, other) = (name("malformed"), name("other"));
        process.join(&name, 1).await.unwrap();
        process.join(&other, 1).await.unwrap();
        for text in ["''", "'nonsense'", "'1'", "replace(data, E'\\ns ', E'\\nx ')", "data || 'r 1'"] {
            let row = "WHERE name = 'test:malformed'";
            let good = server.0.value(&format!("SELECT data FROM bulklink.fleet {row}"));
            server.0.sql(&format!("UPDATE bulklink.fleet SET data = {text} {row}"));
            assert_eq!(process.state(&name, 1, 2).await, refused("MALFORMED"), "{text}");
            assert_eq!(process.link.look(&name).await, refused("MALFORMED"));
            assert_eq!(process.link.resize(&name, 3, 1.into()).await, refused("MALFORMED"));
            assert_eq!(process.state(&other, 1, 1).await, Ok(1));
            server.0.sql(&format!("UPDATE bulklink.fleet SET data = '{good}' {row}"));
        }
        assert_eq!(process.state(&name, 1, 2).await, Ok(2));
        // A row that is removed is data that was lost.
        server.0.sql("DELETE FROM bulklink.fleet");
        assert_eq!(process.state(&name, 2, 2).await, Ok(2));
        assert_eq!(process.ears.told(), []);
    });
}

#[test]
fn messages_of_others_are_ignored() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let name = name("foreign");
        process.join(&name, 1).await.unwrap();
        let data = server.0.value("SELECT data FROM bulklink.fleet");
        let channel = data.lines().find_map(|line| line.strip_prefix("c ")?.split(' ').nth(2)).unwrap();
        // Nor about a name that is not listened to.
        for message in
            ["", "1", "nonsense", "test:foreign", "test:foreign s a b c", "test:other t 3", "test:foreign t x"]
        {
            server.0.sql(&format!("SELECT pg_notify('{channel}', '{message}')"));
        }
        server.0.sql(&format!("SELECT pg_notify('{channel}', 'test:foreign t 3')"));
        process.ears.wait(|told| matches!(told, Told::Notice(about, Notice::Tight(_)) if *about == name));
        assert_eq!(process.state(&name, 1, 2).await, Ok(2));
        assert_eq!(process.ears.told().len(), 1);
    });
}

#[test]
fn a_server_with_too_many_sessions_refuses_new_ones() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        // After the first: the session of the set-up may end at the server later than here.
        server.0.sql("ALTER ROLE tests CONNECTION LIMIT 1");
        assert_eq!(Any::connect(&server.store(), 2).await.err(), refused::<()>("53300").err());
        process.join(&name("a"), 1).await.unwrap();
    });
}

#[test]
fn connecting_into_a_black_hole_takes_as_long_as_it_may() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let proxy = Proxy::to(server.socket());
        proxy.black_hole();
        let time = Duration::from_millis(100);
        let store = PostgresStore::builder(&server.0.url_through(&proxy)).connect_timeout(time).build().unwrap();
        let start = Instant::now();
        assert_eq!(Any::connect(&store, 1).await.err(), Some(StoreError::TIMED_OUT));
        assert_eq!(store.set_up(&[Part::Fleet], &[]).await, Err(StoreError::TIMED_OUT));
        assert!((time..time * 50).contains(&start.elapsed()));
    });
}

#[test]
fn a_look_locks_nothing_and_writes_nothing() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let name = name("payments");
        let first = Process::on(&server.store(), 1).await;
        first.join(&name, 1).await.unwrap();
        drop(first);
        // Its new link is in the row only once it has made a statement.
        let second = Process::on(&server.store(), 1).await;
        second.link.listen(&name).await.unwrap();
        let version = "SELECT xmin FROM bulklink.fleet";
        let before = server.0.value(version);
        let held = server.0.hold("SELECT FROM bulklink.fleet FOR UPDATE");
        assert_eq!(second.granted(&name).await, 1);
        drop(held);
        assert_eq!(server.0.value(version), before);
    });
}
