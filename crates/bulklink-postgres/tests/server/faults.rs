//! What goes wrong with a server of PostgreSQL.

use std::time::{Duration, Instant};

use bulklink_postgres::{Link, Outcome, PostgresStore, RunId, StoreError};
use bulklink_servers::{Data, Postgres, Proxy, require};
use bulklink_stores::{PATIENCE, Process as Any, Site, Told, is_granted, name, pass};
use futures_util::future::{join_all, poll_immediate};

use crate::world::{Postgresql, Process, on_tokio, store};

fn refused<T>(code: &str) -> Result<T, StoreError> {
    Err(StoreError::Refused { code: code.into() })
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
        let epoch = process.open(&locked, 9).await.unwrap();
        let other = process.open(&free, 9).await.unwrap();
        let held = server.hold(LOCK);
        let start = Instant::now();
        assert_eq!(process.acquire(&locked, 1, epoch).await, refused("55P03"));
        assert!(start.elapsed() >= Duration::from_millis(100));
        assert!(is_granted(&process.acquire(&free, 1, other).await.unwrap()));
        // Reading waits for nothing.
        assert_eq!(process.leases(&locked).await, 0);
        drop(held);
        assert!(is_granted(&process.acquire(&locked, 1, epoch).await.unwrap()));
        assert_eq!(process.ears.told(), []);
    });
}

#[test]
fn commands_wait_for_a_row_that_is_held_for_a_moment() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let locked = name("locked");
        let epoch = process.open(&locked, 9).await.unwrap();
        let held = server.0.hold(LOCK);
        let calls = join_all((0..20).map(|seq| process.acquire(&locked, seq, epoch)));
        let release = async {
            pass(Duration::from_millis(100)).await;
            drop(held);
        };
        let (outcomes, ()) = futures_util::future::join(calls, release).await;
        let granted = outcomes.iter().filter(|outcome| is_granted(outcome.as_ref().unwrap())).count();
        assert_eq!((granted, process.leases(&locked).await), (9, 9));
    });
}

#[test]
fn a_statement_timeout_refuses_and_the_link_stays() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        server.0.sql("ALTER ROLE tests SET statement_timeout = '50ms'");
        let process = Process::on(&server.store(), 1).await;
        let locked = name("locked");
        let epoch = process.open(&locked, 1).await.unwrap();
        let held = server.0.hold(LOCK);
        assert_eq!(process.acquire(&locked, 1, epoch).await, refused("57014"));
        assert_eq!(process.beat(&locked, &[1], epoch).await, refused("57014"));
        drop(held);
        assert!(is_granted(&process.acquire(&locked, 1, epoch).await.unwrap()));
        assert_eq!(process.ears.told(), []);
    });
}

#[test]
fn a_session_that_is_terminated_while_it_waits_has_had_no_effect() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let locked = name("locked");
        let epoch = process.open(&locked, 1).await.unwrap();
        let _held = server.0.hold(LOCK);
        let mut call = Box::pin(process.acquire(&locked, 1, epoch));
        assert!(poll_immediate(&mut call).await.is_none());
        while server.0.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "1" {
            pass(Duration::from_millis(2)).await;
        }
        assert_eq!(server.0.terminate_sessions(), 1);
        assert_eq!(call.await, Err(StoreError::Unreachable));
        process.ears.wait(1);
        assert_eq!(process.ears.ends(), 1);
        assert_eq!(Process::on(&server.store(), 2).await.leases(&locked).await, 0);
    });
}

#[test]
fn a_commit_whose_answer_is_lost_has_taken_effect_once() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let proxy = Proxy::to(server.socket());
        let process = Process::on(&server.through(&proxy), 1).await;
        let name = name("lost");
        let epoch = process.open(&name, 5).await.unwrap();
        // Each commit takes a while.
        server.0.sql(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$; \
             CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON bulklink.fleet DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW EXECUTE FUNCTION slow()",
        );
        let mut call = Box::pin(process.acquire(&name, 1, epoch));
        assert!(poll_immediate(&mut call).await.is_none());
        while server.0.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != "1" {
            pass(Duration::from_millis(2)).await;
        }
        proxy.black_hole();
        while server.0.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != "0" {
            pass(Duration::from_millis(2)).await;
        }
        proxy.cut();
        assert_eq!(call.await, Err(StoreError::Unreachable));
        proxy.heal();
        server.0.sql("DROP TRIGGER slow ON bulklink.fleet");
        let next = Process::on(&server.store(), 1).await;
        assert_eq!(next.leases(&name).await, 1);
        // The same id is the same lease.
        assert!(is_granted(&next.acquire(&name, 1, epoch).await.unwrap()));
        assert_eq!(next.leases(&name).await, 1);
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
        let epoch = stopped.open(&locked, 1).await.unwrap();
        let other = Process::on(&server.store(), 2).await;
        other.open(&locked, 1).await.unwrap();
        let held = server.0.hold(LOCK);
        let mut call = Box::pin(stopped.acquire(&locked, 1, epoch));
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
        assert!(is_granted(&other.acquire(&locked, 1, epoch).await.unwrap()));
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        proxy.heal();
        assert_eq!(call.await, Err(StoreError::Unreachable));
        stopped.ears.wait(1);
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
        let epoch = first.open(&name, 3).await.unwrap();
        first.acquire(&name, 1, epoch).await.unwrap();
        let mut runs = vec![run(&server).await];
        assert_eq!(run(&server).await, runs[0]);
        server.0.crash();
        first.ears.wait(1);
        runs.push(run(&server).await);
        server.restart(Data::Keep);
        runs.push(run(&server).await);
        server.0.shut_down();
        server.restart(Data::Keep);
        runs.push(run(&server).await);
        let next = Process::on(&server.store(), 1).await;
        let known = next.link.listen(&name).await.unwrap();
        assert!(known.age.unwrap() < PATIENCE, "{known:?}");
        // What was committed is there.
        assert_eq!((next.open(&name, 3).await, next.leases(&name).await), (Ok(epoch), 1));
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
        let epoch = process.open(&name, 1).await.unwrap();
        process.acquire(&name, 1, epoch).await.unwrap();
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
        assert_eq!(Process::on(&primary_of_both, 2).await.open(&name, 1).await, Ok(epoch));
        drop((process, primary));
        standby.0.promote();
        let next = Process::on(&standby.store(), 2).await;
        assert_ne!(run(&standby).await, before);
        assert_eq!((next.open(&name, 1).await, next.leases(&name).await), (Ok(epoch), 1));
    });
}

#[test]
fn a_read_only_server_refuses_and_the_link_stays() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let name = name("readonly");
        let epoch = process.open(&name, 1).await.unwrap();
        server.0.sql("ALTER ROLE tests SET default_transaction_read_only = on");
        let other = Process::on(&server.store(), 2).await;
        assert_eq!(other.acquire(&name, 1, epoch).await, refused("25006"));
        assert_eq!(other.leases(&name).await, 0);
        assert!(is_granted(&process.acquire(&name, 1, epoch).await.unwrap()));
        assert_eq!(other.ears.told(), []);
    });
}

#[test]
fn malformed_rows_are_refused_and_leave_other_names_alone() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let (name, other) = (name("malformed"), name("other"));
        let epoch = process.open(&name, 1).await.unwrap();
        let others = process.open(&other, 9).await.unwrap();
        for (number, text) in
            ["''", "'nonsense'", "'2'", "replace(data, E'\\nm ', E'\\nm x')", "data || 'l 1'"].into_iter().enumerate()
        {
            let row = "WHERE name = 'test:malformed'";
            let good = server.0.value(&format!("SELECT data FROM bulklink.fleet {row}"));
            server.0.sql(&format!("UPDATE bulklink.fleet SET data = {text} {row}"));
            assert_eq!(process.acquire(&name, 1, epoch).await, refused("MALFORMED"), "{text}");
            assert_eq!(process.beat(&name, &[1], epoch).await, refused("MALFORMED"));
            assert_eq!(process.open(&name, 1).await, refused("MALFORMED"));
            let seq = u64::try_from(number).unwrap();
            assert!(is_granted(&process.acquire(&other, seq, others).await.unwrap()));
            server.0.sql(&format!("UPDATE bulklink.fleet SET data = '{good}' {row}"));
        }
        assert!(is_granted(&process.acquire(&name, 1, epoch).await.unwrap()));
        // A row that is removed is data that was lost.
        server.0.sql("DELETE FROM bulklink.fleet");
        assert_eq!(process.acquire(&name, 1, epoch).await, Ok(Outcome::Stale));
        assert!(process.open(&name, 1).await.unwrap() > epoch);
        assert_eq!(process.ears.told(), []);
    });
}

#[test]
fn messages_of_others_are_ignored() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let name = name("foreign");
        let epoch = process.open(&name, 1).await.unwrap();
        let data = server.0.value("SELECT data FROM bulklink.fleet");
        let channel = data.lines().find_map(|line| line.strip_prefix("c ")?.split(' ').nth(2)).unwrap();
        for message in ["", "1", "nonsense", "1 test:foreign", "1 test:foreign g a b c", "1 test:other x 1:1:1"] {
            server.0.sql(&format!("SELECT pg_notify('{channel}', '{message}')"));
        }
        // Neither what was told already, nor about a name that is not listened to.
        let id = process.id(1);
        let last = u64::MAX >> 12;
        for message in [format!("{last} test:other g {id} 1 1"), format!("{last} test:foreign g {id} 7 7")] {
            server.0.sql(&format!("SELECT pg_notify('{channel}', '{message}')"));
            server.0.sql(&format!("SELECT pg_notify('{channel}', '{message}')"));
        }
        assert!(matches!(&process.ears.wait(1)[..], [Told::Notice(about, _)] if *about == name));
        assert!(is_granted(&process.acquire(&name, 2, epoch).await.unwrap()));
        assert_eq!(process.ears.told().len(), 1);
    });
}

#[test]
fn a_notice_is_told_by_the_row_if_its_message_is_late() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        let process = Process::on(&server.store(), 1).await;
        let name = name("late");
        let epoch = process.open(&name, 1).await.unwrap();
        let data = server.0.value("SELECT data FROM bulklink.fleet");
        let line: Vec<_> = data.lines().find_map(|line| line.strip_prefix("c ")).unwrap().split(' ').collect();
        // As another process would have left it.
        let (number, notice) = (u64::MAX >> 12, format!("g {} 7 7", process.id(1)));
        server.0.sql(&format!("UPDATE bulklink.fleet SET data = data || E'i {number} {} {notice}\\n'", line[1]));
        assert!(is_granted(&process.acquire(&name, 2, epoch).await.unwrap()));
        assert_eq!(process.ears.granted(), [1]);
        // It is gone from the row, and the message comes at last.
        assert!(!server.0.value("SELECT data FROM bulklink.fleet").contains("\ni "));
        server.0.sql(&format!("SELECT pg_notify('{}', '{number} test:late {notice}')", line[2]));
        process.beat(&name, &[2], epoch).await.unwrap();
        assert_eq!(process.ears.granted(), [1]);
    });
}

#[test]
fn a_server_with_too_many_sessions_refuses_new_ones() {
    on_tokio(async {
        let server = require!(Postgresql::start().await);
        server.0.sql("ALTER ROLE tests CONNECTION LIMIT 1");
        let process = Process::on(&server.store(), 1).await;
        assert_eq!(Any::connect(&server.store(), 2).await.err(), refused::<()>("53300").err());
        process.open(&name("a"), 1).await.unwrap();
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
        assert_eq!(Any::connect(&store, 1).await.err(), Some(StoreError::TimedOut));
        assert_eq!(store.set_up().await, Err(StoreError::TimedOut));
        assert!((time..time * 50).contains(&start.elapsed()));
    });
}
