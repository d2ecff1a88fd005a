//! The session of a store: when it ends, and the order of the operations on it.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bulklink_breaker::{ProbeId, Settings};
use bulklink_circuits::{namespace, outcomes};
use bulklink_fleet::StoreError;
use bulklink_fleet::circuits::{Changes, CircuitStore, Force, Forced, Report};
use bulklink_postgres::breaker::PostgresCircuits;
use bulklink_servers::{Postgres, Proxy, require};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::world::{circuits, load, name, patient, runtime, start};

const MILLI: Duration = Duration::from_millis(1);

fn force(store: &PostgresCircuits, label: &str) -> JoinHandle<Result<Forced, StoreError>> {
    let (store, name) = (store.clone(), name(label));
    tokio::spawn(async move { store.force(&name, None, Force::Open).await })
}

/// Repeats an operation until it succeeds.
async fn again(store: &PostgresCircuits) {
    let begin = Instant::now();
    while let Err(error) = store.force(&name("payments"), None, Force::Open).await {
        assert!(begin.elapsed() < Duration::from_secs(20), "{error:?}");
        sleep(20 * MILLI).await;
    }
}

#[test]
fn a_session_that_may_not_write_is_left() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        server.sql("ALTER ROLE tests SET default_transaction_read_only = on");
        let store = circuits(&server.url());
        let refused = store.force(&name("payments"), None, Force::Open).await;
        assert_eq!(refused, Err(StoreError::refused("25006")));
        server.sql("ALTER ROLE tests RESET default_transaction_read_only");
        again(&store).await;
    });
}

#[test]
fn a_session_with_the_plan_of_another_table_is_left() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let store = circuits(&server.url());
        load(&store).await.unwrap();
        server.sql("ALTER TABLE bulklink.circuit ALTER COLUMN data TYPE varchar");
        again(&store).await;
    });
}

/// As in a network that drops all packets.
#[test]
fn a_session_without_answers_ends_also_if_its_callers_give_up_before() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let store = circuits(&server.url()).answer_timeout(Duration::from_secs(2));
        load(&store).await.unwrap();
        let process = server.value("SELECT pid FROM pg_stat_activity WHERE application_name = 'bulklink_circuits'");
        let signal = |name: &str| assert!(Command::new("kill").args([name, &process]).status().unwrap().success());
        signal("-STOP");
        let begin = Instant::now();
        while !matches!(timeout(300 * MILLI, load(&store)).await, Ok(Ok(_))) {
            assert!(begin.elapsed() < Duration::from_secs(20));
        }
        signal("-CONT");
    });
}

#[test]
fn the_longest_timeout_is_possible() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        load(&circuits(&server.url()).answer_timeout(Duration::MAX)).await.unwrap();
    });
}

#[test]
fn operations_that_wait_for_a_connection_fail_together() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let proxy = Proxy::to(server.socket());
        proxy.black_hole();
        let time = Duration::from_secs(2);
        let store = patient(&server.url_through(&proxy)).connect_timeout(time).build().unwrap().circuits();
        let begin = Instant::now();
        for force in (0..20).map(|_| force(&store, "payments")).collect::<Vec<_>>() {
            assert_eq!(force.await.unwrap(), Err(StoreError::TIMED_OUT));
        }
        assert!(begin.elapsed() < time * 4, "{:?}", begin.elapsed());
    });
}

/// A fleet gives up after 500 ms.
#[test]
fn connecting_goes_on_without_its_caller() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let proxy = Proxy::to(server.socket());
        proxy.delay(60 * MILLI);
        let store = circuits(&server.url_through(&proxy));
        let begin = Instant::now();
        // Far less than it takes.
        while !matches!(timeout(300 * MILLI, load(&store)).await, Ok(Ok(_))) {
            assert!(begin.elapsed() < Duration::from_secs(20));
        }
    });
}

#[test]
fn a_row_that_is_locked_is_waited_for_once() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        // The server waits for a row for 2 s.
        let store = circuits(&server.url()).answer_timeout(Duration::from_secs(5));
        for label in ["locked", "one", "two", "three"] {
            store.force(&name(label), None, Force::Closed).await.unwrap();
        }
        let held = server.hold("SELECT FROM bulklink.circuit WHERE name = 'test:locked' FOR UPDATE");
        let mut forces = vec![];
        for label in ["locked", "one", "locked", "two", "locked", "three"] {
            forces.push((label, force(&store, label)));
            sleep(5 * MILLI).await;
        }
        for (label, force) in forces {
            let result = force.await.unwrap();
            let locked = Err(StoreError::refused("55P03"));
            assert!(if label == "locked" { result == locked } else { result.is_ok() }, "{label}: {result:?}");
        }
        drop(held);
    });
}

#[test]
fn a_call_that_is_dropped_before_its_turn_takes_no_place() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let store = circuits(&server.url()).answer_timeout(Duration::from_secs(5));
        let (payments, settings) = (name("payments"), Settings::consecutive(1).cool_down(MILLI));
        let row = store.load(&payments, &settings).await.unwrap();
        let report = Report::Closed { generation: row.generation, outcomes: outcomes(&settings, "f") };
        store.report(&payments, &settings, &report).await.unwrap();
        store.force(&name("locked"), None, Force::Closed).await.unwrap();
        let held = server.hold("SELECT FROM bulklink.circuit WHERE name = 'test:locked' FOR UPDATE");
        let locked = force(&store, "locked");
        sleep(20 * MILLI).await;
        let asked = timeout(50 * MILLI, store.admit_probe(&payments, &settings, ProbeId(1))).await;
        assert!(asked.is_err(), "the row before is locked");
        assert!(locked.await.unwrap().is_err());
        drop(held);
        assert_eq!(store.load(&payments, &settings).await.unwrap().probes, 0);
    });
}

/// Many stores create each row, beside impossible settings. Each transition is sent once, in order.
#[test]
fn transitions_of_many_stores_are_told_once_and_in_order() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let mut changes = circuits(&server.url()).changes(&namespace()).await.unwrap();
        for round in 0..10 {
            let name = name(&format!("circuit-{round}"));
            let processes = (0..8).map(|at| {
                let (store, name) = (circuits(&server.url()), name.clone());
                tokio::spawn(async move {
                    let by_hand = if at % 2 == 0 { Force::Open } else { Force::Closed };
                    let (settings, never) = (Settings::consecutive(3), Settings::of_last(3));
                    let (first, refused, second, loaded) = tokio::join!(
                        store.force(&name, None, by_hand),
                        store.load(&name, &never),
                        store.force(&name, None, by_hand),
                        store.load(&name, &settings)
                    );
                    assert_eq!(refused, Err(StoreError::refused("SETTINGS")));
                    loaded.unwrap();
                    [first, second]
                })
            });
            let mut rows = vec![];
            for process in processes.collect::<Vec<_>>() {
                for forced in process.await.unwrap() {
                    let Ok(Forced::Done(row)) = forced else { panic!("{forced:?}") };
                    rows.push(row);
                }
            }
            rows.sort_by_key(|row| row.generation);
            assert!(rows.windows(2).all(|pair| pair[0].generation + 1 == pair[1].generation), "{rows:?}");
            for row in rows {
                let change = changes.next().await.unwrap();
                assert_eq!((&change.name, change.row.generation, change.row.state), (&name, row.generation, row.state));
            }
        }
        assert!(timeout(200 * MILLI, changes.next()).await.is_err(), "no more than those");
    });
}

/// Counts the reports that were done and that may have counted, of several processes.
async fn report(server: &Postgres, proxy: &Proxy, settings: Settings, generation: u64) -> (u64, u64) {
    let processes = (0..6).map(|_| {
        let store = patient(&server.url_through(proxy)).build().unwrap().circuits();
        tokio::spawn(async move {
            let report = Report::Closed { generation, outcomes: outcomes(&settings, "f") };
            let (mut done, mut unknown) = (0, 0);
            for _ in 0..20 {
                match store.report(&name("payments"), &settings, &report).await {
                    Ok(reported) => done += u64::from(reported.counted),
                    Err(error) if error.is_refusal() => {}
                    Err(_) => unknown += 1,
                }
            }
            (done, unknown)
        })
    });
    let mut sums = (0, 0);
    for process in processes.collect::<Vec<_>>() {
        let (done, unknown) = process.await.unwrap();
        sums = (sums.0 + done, sums.1 + unknown);
    }
    sums
}

#[test]
fn each_outcome_counts_once_whatever_happens_to_sessions() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let settings = Settings::of_last(10_000).failures(10_000);
        let store = circuits(&server.url());
        let generation = store.load(&name("payments"), &settings).await.unwrap().generation;
        let proxy = Arc::new(Proxy::to(server.socket()));
        let faults = tokio::spawn({
            let proxy = Arc::clone(&proxy);
            async move {
                for count in 0.. {
                    sleep(Duration::from_millis(60 + count * 37 % 90)).await;
                    if count % 2 == 0 { proxy.cut() } else { proxy.drop_replies(1) }
                }
            }
        });
        let (done, unknown) = report(&server, &proxy, settings, generation).await;
        faults.abort();
        // Transactions of connections that were cut may still end.
        while server.value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bulklink_circuits'") != "1"
        {
            sleep(10 * MILLI).await;
        }
        let counted = store.load(&name("payments"), &settings).await.unwrap().counts.failures;
        assert!((done..=done + unknown).contains(&counted) && done > 0, "{counted} of {done} and {unknown}");
    });
}
