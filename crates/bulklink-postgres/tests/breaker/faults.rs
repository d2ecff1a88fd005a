//! Faults of a server, and of the connection to it.

use std::time::{Duration, Instant};

use bulklink_breaker::Settings;
use bulklink_circuits::{namespace, outcomes};
use bulklink_fleet::StoreError;
use bulklink_fleet::circuits::{Changes, CircuitStore, Force, Report, Reported};
use bulklink_postgres::breaker::PostgresCircuits;
use bulklink_servers::{Data, Postgres, Proxy, require};
use tokio::task::JoinHandle;

use crate::world::{circuits, load, name, runtime, start};

fn refused<T>(code: &str) -> Result<T, StoreError> {
    Err(StoreError::refused(code))
}

/// A store that does not wait long.
fn hasty(url: &str) -> PostgresCircuits {
    circuits(url).answer_timeout(Duration::from_millis(300))
}

#[test]
fn a_connection_that_ends_costs_one_operation() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let store = circuits(&server.url());
        let generation = load(&store).await.unwrap().generation;
        let mut changes = store.changes(&namespace()).await.unwrap();
        assert_eq!(server.terminate_sessions(), 2);
        assert_eq!(changes.next().await, Err(StoreError::UNREACHABLE));
        assert_eq!(changes.next().await, Err(StoreError::UNREACHABLE));
        // The end may not have been read yet.
        let first = load(&store).await;
        assert!(first.is_ok() || first == Err(StoreError::UNREACHABLE), "{first:?}");
        assert_eq!(load(&store).await.unwrap().generation, generation);
        let mut changes = store.changes(&namespace()).await.unwrap();
        store.force(&name("payments"), None, Force::Open).await.unwrap();
        assert_eq!(changes.next().await.unwrap().row.generation, generation + 1);
    });
}

/// Waits until a session waits for a lock.
fn until_it_waits(server: &Postgres, told: &JoinHandle<Result<Reported, StoreError>>) {
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while server.value(waits) != "1" {
        assert!(!told.is_finished(), "the transaction waits");
    }
}

fn spawn(store: &PostgresCircuits, settings: Settings, report: Report) -> JoinHandle<Result<Reported, StoreError>> {
    let store = store.clone();
    tokio::spawn(async move { store.report(&name("payments"), &settings, &report).await })
}

#[test]
fn a_reply_that_is_lost_may_have_counted() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let proxy = Proxy::to(server.socket());
        let store = circuits(&server.url_through(&proxy));
        let generation = load(&store).await.unwrap().generation;
        let settings = Settings::consecutive(3);
        let report = Report::Closed { generation, outcomes: outcomes(&settings, "f") };
        // The reply to the first statement: nothing is written.
        proxy.drop_replies(1);
        assert_eq!(store.report(&name("payments"), &settings, &report).await, Err(StoreError::UNREACHABLE));
        assert_eq!(load(&store).await.unwrap().counts.failures, 0);
        // The reply to the last one.
        server.sql(
            "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END'; \
             CREATE TRIGGER wait BEFORE UPDATE ON bulklink.circuit EXECUTE FUNCTION public.wait()",
        );
        let held = server.hold("SELECT pg_advisory_xact_lock(7)");
        let told = spawn(&store, settings, report);
        until_it_waits(&server, &told);
        proxy.drop_replies(1);
        drop(held);
        assert_eq!(told.await.unwrap(), Err(StoreError::UNREACHABLE));
        assert_eq!(load(&store).await.unwrap().counts.failures, 1);
        proxy.cut();
        let _ = load(&store).await;
        assert_eq!(load(&store).await.unwrap().counts.failures, 1);
    });
}

#[test]
fn a_connection_that_is_cut_in_a_transaction_leaves_the_row_whole() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let proxy = Proxy::to(server.socket());
        let store = circuits(&server.url_through(&proxy));
        let generation = load(&store).await.unwrap().generation;
        let settings = Settings::consecutive(30);
        let report = Report::Closed { generation, outcomes: outcomes(&settings, "f") };
        let held = server.hold("SELECT FROM bulklink.circuit FOR UPDATE");
        let told = spawn(&store, settings, report.clone());
        until_it_waits(&server, &told);
        proxy.cut();
        assert_eq!(told.await.unwrap(), Err(StoreError::UNREACHABLE));
        drop(held);
        // The server may have carried it out all the same, and then as a whole.
        while server.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "0" {}
        let before = load(&store).await.unwrap().counts.failures;
        assert!(before <= 1, "{before}");
        store.report(&name("payments"), &settings, &report).await.unwrap();
        assert_eq!(load(&store).await.unwrap().counts.failures, before + 1);
    });
}

#[test]
fn operations_that_begin_together_make_one_session() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let proxy = Proxy::to(server.socket());
        proxy.delay(Duration::from_millis(50));
        let store = circuits(&server.url_through(&proxy));
        let loads: Vec<_> = (0..16)
            .map(|number| {
                let (store, name) = (store.clone(), name(&format!("circuit-{number}")));
                tokio::spawn(async move { store.load(&name, &Settings::consecutive(3)).await.unwrap() })
            })
            .collect();
        let mut most = 0;
        while !loads.iter().all(tokio::task::JoinHandle::is_finished) {
            let sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'bulklink%'";
            most = most.max(server.value(sessions).parse::<u32>().unwrap());
        }
        assert_eq!(most, 1);
        for load in loads {
            load.await.unwrap();
        }
    });
}

#[test]
fn a_black_hole_is_left_when_the_time_is_over() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let proxy = Proxy::to(server.socket());
        let store = hasty(&server.url_through(&proxy));
        while load(&store).await.is_err() {}
        proxy.black_hole();
        let start = Instant::now();
        assert_eq!(load(&store).await, Err(StoreError::TIMED_OUT));
        assert!((Duration::from_millis(300)..Duration::from_secs(5)).contains(&start.elapsed()));
        proxy.heal();
        let patient = Instant::now();
        while load(&store).await.is_err() {
            assert!(patient.elapsed() < Duration::from_secs(20));
        }
    });
}

#[test]
fn a_row_that_is_locked_is_not_waited_for_long() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let store = hasty(&server.url());
        while load(&store).await.is_err() {}
        let held = server.hold("SELECT FROM bulklink.circuit FOR UPDATE");
        let forced = store.force(&name("payments"), None, Force::Open).await;
        assert!([refused("55P03"), Err(StoreError::TIMED_OUT)].contains(&forced), "{forced:?}");
        // Another row, and what only reads.
        while store.force(&name("other"), None, Force::Open).await.is_err() {}
        drop(held);
        while store.force(&name("payments"), None, Force::Open).await.is_err() {}
    });
}

#[test]
fn a_statement_timeout_is_a_refusal() {
    let (server, runtime) = (require!(start()), runtime());
    server.sql("ALTER ROLE tests SET statement_timeout = 100");
    runtime.block_on(async {
        let store = circuits(&server.url());
        load(&store).await.unwrap();
        let held = server.hold("SELECT FROM bulklink.circuit FOR UPDATE");
        assert_eq!(store.force(&name("payments"), None, Force::Open).await, refused("57014"));
        drop(held);
        while store.force(&name("payments"), None, Force::Open).await.is_err() {}
    });
}

#[test]
fn a_server_that_was_killed_goes_on_with_its_rows() {
    let (mut server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let store = circuits(&server.url());
        let generation = load(&store).await.unwrap().generation;
        let mut changes = store.changes(&namespace()).await.unwrap();
        // An answer of a moment ago may be lost, as operations wait for no disk.
        server.sql("SET synchronous_commit = on; CREATE TABLE public.waits (); CHECKPOINT");
        server.kill();
        assert_eq!(changes.next().await, Err(StoreError::UNREACHABLE));
        for _ in 0..3 {
            assert_eq!(load(&store).await, Err(StoreError::UNREACHABLE));
        }
        server.restart(Data::Keep);
        assert_eq!(load(&store).await.unwrap().generation, generation);
        server.crash();
        let _ = load(&store).await;
        assert_eq!(load(&store).await.unwrap().generation, generation);
    });
}

#[test]
fn a_standby_refuses_until_it_is_promoted() {
    let (server, runtime) = (require!(start()), runtime());
    let mut standby = require!(Postgres::builder().standby_of(&server).start());
    runtime.block_on(async {
        let store = circuits(&server.url());
        let generation = load(&store).await.unwrap().generation;
        store.force(&name("payments"), None, Force::Open).await.unwrap();
        // Operations wait for no disk, and rows that are not written there are not sent.
        server.sql("SET synchronous_commit = on; CREATE TABLE public.waits ()");
        standby.catch_up(&server);
        let other = circuits(&standby.url());
        assert_eq!(load(&other).await, refused("25006"));
        assert_eq!(other.changes(&namespace()).await.err(), refused::<()>("25006").err());
        assert_eq!(other.list(&namespace()).await.unwrap()[0].1.generation, generation + 1);
        standby.promote();
        while load(&other).await == refused("25006") {}
        assert_eq!(load(&other).await.unwrap().generation, generation + 1);
    });
}
