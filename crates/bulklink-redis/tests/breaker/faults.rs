//! Faults of a server, and of the connection to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bulklink_breaker::{Settings, State};
use bulklink_circuits::outcomes;
use bulklink_fleet::circuits::{Changes, CircuitStore, Force, Report, Row};
use bulklink_redis::breaker::RedisCircuits;
use bulklink_redis::plumbing::Keys;
use bulklink_redis::{Name, Namespace, RedisStore, StoreError};
use bulklink_servers::{Cluster, Data, Proxy, Server, User, require};
use futures_util::future::{join, join_all};

use crate::fake::{answer, serve};
use crate::world::{name, runtime};

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn patient(url: &str) -> RedisCircuits {
    let store = RedisStore::builder(url).connect_timeout(PATIENCE).build().unwrap();
    store.circuits().answer_timeout(PATIENCE)
}

fn namespace() -> Namespace {
    Namespace::new("prod").unwrap()
}

async fn load(store: &RedisCircuits) -> Result<Row, StoreError> {
    store.load(&name("payments"), &Settings::consecutive(3)).await
}

#[test]
fn a_connection_that_ends_costs_one_operation() {
    let (server, runtime) = (require!(Server::start()), runtime());
    runtime.block_on(async {
        let store = patient(&server.url());
        let generation = load(&store).await.unwrap().generation;
        let mut changes = store.changes(&namespace()).await.unwrap();
        assert_eq!(server.call(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).text(), "1");
        assert_eq!(server.call(&["CLIENT", "KILL", "TYPE", "pubsub"]).text(), "1");
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

#[test]
fn a_reply_that_is_lost_may_have_counted() {
    let (server, runtime) = (require!(Server::start()), runtime());
    runtime.block_on(async {
        let proxy = Proxy::start(&server);
        let store = patient(&proxy.url());
        let generation = load(&store).await.unwrap().generation;
        let settings = Settings::consecutive(3);
        let report = Report::Closed { generation, outcomes: outcomes(&settings, "f") };
        // It is loaded already.
        store.report(&name("other"), &settings, &report).await.unwrap();
        proxy.drop_replies(1);
        assert_eq!(store.report(&name("payments"), &settings, &report).await, Err(StoreError::UNREACHABLE));
        assert_eq!(load(&store).await.unwrap().counts.failures, 1);
    });
}

#[test]
fn a_black_hole_is_left_when_the_time_is_over() {
    let (server, runtime) = (require!(Server::start()), runtime());
    runtime.block_on(async {
        let proxy = Proxy::start(&server);
        let store = RedisStore::builder(&proxy.url()).connect_timeout(PATIENCE).build().unwrap();
        let store = store.circuits().answer_timeout(Duration::from_millis(300));
        while load(&store).await.is_err() {}
        proxy.black_hole();
        let start = Instant::now();
        assert_eq!(load(&store).await, Err(StoreError::TIMED_OUT));
        assert!((Duration::from_millis(300)..Duration::from_secs(5)).contains(&start.elapsed()));
        proxy.heal();
        while load(&store).await.is_err() {
            assert!(start.elapsed() < PATIENCE);
        }
    });
}

#[test]
fn operations_go_on_after_script_flush_and_with_the_least_rights() {
    let mut user = User::service("prod");
    user.rules += " +subscribe +publish";
    let (server, runtime) = (require!(Server::builder().acl(user.clone()).start()), runtime());
    runtime.block_on(async {
        let store = patient(&server.url_of(&user));
        let mut changes = store.changes(&namespace()).await.unwrap();
        let generation = load(&store).await.unwrap().generation;
        server.call(&["SCRIPT", "FLUSH"]);
        assert_eq!(load(&store).await.unwrap().generation, generation);
        store.force(&name("payments"), None, Force::Open).await.unwrap();
        assert_eq!(changes.next().await.unwrap().row.generation, generation + 1);
    });
    // By the text, for a user without the right to load scripts.
    user.rules += " -script|load +eval";
    let server = require!(Server::builder().acl(user.clone()).start());
    runtime.block_on(async {
        let store = patient(&server.url_of(&user));
        assert_eq!(load(&store).await.unwrap().state, State::Closed);
    });
    user.rules += " -eval";
    let server = require!(Server::builder().acl(user.clone()).start());
    let refused = runtime.block_on(async { load(&patient(&server.url_of(&user))).await });
    assert_eq!(refused, Err(StoreError::refused("NOPERM")));
}

/// A refused operation has had no effect, and is no key of others.
#[test]
fn without_the_rights_of_circuits_nothing_changes_and_the_error_says_so() {
    let service = User::service("prod");
    let listing = User { rules: format!("{} +scan +cluster|slots", service.rules), ..service };
    let looker = User { name: "looker".into(), rules: format!("{} -hmget", listing.rules), ..listing.clone() };
    let server = require!(Server::builder().acl(listing.clone()).acl(looker.clone()).start());
    let denied = StoreError::refused("NOPERM");
    runtime().block_on(async {
        let before = load(&patient(&server.url())).await.unwrap();
        let store = patient(&server.url_of(&listing));
        assert_eq!(load(&store).await.unwrap(), before);
        assert_eq!(store.force(&name("payments"), None, Force::Open).await, Err(denied.clone()));
        assert_eq!(load(&patient(&server.url())).await.unwrap(), before);
        assert_eq!(store.list(&namespace()).await.unwrap().len(), 1);
        assert_eq!(patient(&server.url_of(&looker)).list(&namespace()).await, Err(denied));
    });
}

#[test]
fn a_restart_is_survived_with_data_and_without() {
    let (mut server, runtime) = (require!(Server::builder().tcp().start()), runtime());
    runtime.block_on(async {
        let store = patient(&server.url());
        let mut known = load(&store).await.unwrap().generation;
        for data in [Data::Keep, Data::Empty] {
            let mut changes = store.changes(&namespace()).await.unwrap();
            server.restart(data);
            assert_eq!(changes.next().await, Err(StoreError::UNREACHABLE));
            let _ = load(&store).await;
            let generation = load(&store).await.unwrap().generation;
            assert_eq!(generation == known, data == Data::Keep, "{data:?}: {generation} after {known}");
            assert!(generation >= known);
            known = generation;
        }
        server.kill();
        let _ = load(&store).await;
        assert_eq!(load(&store).await, Err(StoreError::UNREACHABLE));
    });
}

#[test]
fn while_memory_is_full_circuits_still_open() {
    let (server, runtime) = (require!(Server::start()), runtime());
    runtime.block_on(async {
        let store = patient(&server.url());
        load(&store).await.unwrap();
        server.call(&["CONFIG", "SET", "maxmemory", "1"]);
        assert!(server.call(&["SET", "a", "b"]).is_error());
        store.force(&name("payments"), None, Force::Open).await.unwrap();
    });
}

#[test]
fn a_replica_refuses_until_it_is_promoted() {
    let (server, runtime) = (require!(Server::builder().tcp().start()), runtime());
    let mut replica = require!(Server::builder().tcp().replica_of(&server).start());
    runtime.block_on(async {
        let store = patient(&replica.url());
        assert_eq!(load(&store).await, Err(StoreError::refused("READONLY")));
        replica.promote();
        load(&store).await.unwrap();
    });
}

/// Names on the first node. Only moves away from it are agreed on at once: the last node has the
/// largest epoch.
fn names(cluster: &Cluster) -> impl Iterator<Item = (Name, String)> {
    let names = (0..).map(|number| name(&format!("n{number}"))).map(|name| (Keys::new(&name).circuit(), name));
    names.filter(|(key, _)| cluster.owner_of(key) == 0).map(|(key, name)| (name, key))
}

#[test]
fn a_circuit_is_found_while_its_slot_moves() {
    let (cluster, runtime) = (require!(Cluster::start(2)), runtime());
    let settings = Settings::consecutive(3);
    runtime.block_on(async {
        let (store, target) = (patient(&cluster.nodes()[0].url()), &cluster.nodes()[1]);
        for ((name, key), exists) in names(&cluster).zip([true, false]) {
            let before = if exists { Some(store.load(&name, &settings).await.unwrap().generation) } else { None };
            cluster.begin_move_of(&key, 1);
            target.call(&["SCRIPT", "FLUSH"]);
            target.call(&["CONFIG", "RESETSTAT"]);
            let generation = store.load(&name, &settings).await.unwrap().generation;
            assert!(before.is_none_or(|before| before == generation));
            let report = Report::Closed { generation, outcomes: outcomes(&settings, "f") };
            assert!(store.report(&name, &settings, &report).await.unwrap().counted);
            // The slot is still where it was, so each command begins there.
            assert_eq!(target.info("errorstat_MOVED"), None);
            cluster.end_move_of(&key, 1);
            let moved = store.load(&name, &settings).await.unwrap();
            assert_eq!((moved.generation, moved.counts.failures), (generation, 1));
        }
    });
}

#[test]
fn no_report_counts_twice_while_slots_move() {
    let (cluster, runtime) = (require!(Cluster::start(2)), runtime());
    let (settings, is_done) = (Settings::consecutive(10_000), AtomicBool::new(false));
    let store = patient(&cluster.nodes()[0].url());
    let names: Vec<_> = names(&cluster).take(8).collect();
    let report = async |name: &Name| {
        let generation = store.load(name, &settings).await.unwrap().generation;
        let mut reports = 0;
        while !is_done.load(Ordering::Relaxed) {
            let report = Report::Closed { generation, outcomes: outcomes(&settings, "f") };
            reports += 1;
            let counts = store.report(name, &settings, &report).await.unwrap().row.counts;
            assert_eq!(counts.failures, reports);
        }
    };
    let moving = smol::unblock({
        let keys: Vec<_> = names.iter().map(|(_, key)| key.clone()).collect();
        move || {
            let asked = || cluster.nodes()[1].info("cmdstat_asking");
            for key in keys {
                let (before, start) = (asked(), Instant::now());
                cluster.begin_move_of(&key, 1);
                while asked() == before {
                    assert!(start.elapsed() < PATIENCE);
                }
                cluster.end_move_of(&key, 1);
            }
            cluster
        }
    });
    let moving = async {
        let cluster = moving.await;
        is_done.store(true, Ordering::Relaxed);
        cluster
    };
    // The nodes run until all reports have their answers.
    let (_cluster, _) = runtime.block_on(join(moving, join_all(names.iter().map(|(name, _)| report(name)))));
}

#[test]
fn a_move_needs_the_right_to_ask() {
    let mut user = User::service("prod");
    user.rules += " +publish";
    let (cluster, runtime) = (require!(Cluster::start(2)), runtime());
    let key = Keys::new(&name("payments")).circuit();
    let to = 1 - cluster.owner_of(&key);
    cluster.begin_move_of(&key, to);
    let mut load = |rules: &str| {
        user.rules += rules;
        for node in cluster.nodes() {
            let mut words = vec!["ACL", "SETUSER", &user.name, "reset", "on"];
            let password = format!(">{}", user.password);
            words.push(&password);
            words.extend(user.rules.split(' '));
            assert!(!node.call(&words).is_error());
        }
        runtime.block_on(async { load(&patient(&cluster.nodes()[1 - to].url_of(&user))).await })
    };
    assert_eq!(load(""), Err(StoreError::refused("NOPERM")));
    let generation = load(" +asking").unwrap().generation;
    cluster.nodes()[to].call(&["SCRIPT", "FLUSH"]);
    assert_eq!(load(" -script|load +eval").unwrap().generation, generation);
}

#[test]
fn an_operation_that_counts_is_not_refused_because_asking_is() {
    let (server, runtime) = (require!(Server::builder().tcp().start()), runtime());
    let address = format!("127.0.0.1:{}", server.port());
    let url = serve(move |words| match &*words[0] {
        "EVALSHA" => format!("-ASK 1 {address}\r\n").into_bytes(),
        _ => answer(words),
    });
    runtime.block_on(async {
        let row = load(&patient(&server.url())).await;
        assert!(row.is_ok());
        // As it is no node of a cluster, it refuses to be asked, and answers for all slots.
        assert_eq!(load(&patient(&url)).await, row);
    });
}

#[test]
fn circuits_of_a_cluster_are_found_and_told() {
    let (cluster, runtime) = (require!(Cluster::start(3)), runtime());
    runtime.block_on(async {
        let store = patient(&cluster.nodes()[0].url());
        let mut changes = patient(&cluster.nodes()[1].url()).changes(&namespace()).await.unwrap();
        let names: Vec<_> = (0..9).map(|number| name(&format!("n{number}"))).collect();
        for name in &names {
            store.force(name, None, Force::Open).await.unwrap();
            let told = tokio::time::timeout(PATIENCE, changes.next()).await.expect("nodes are connected");
            assert_eq!(told.unwrap().name, *name);
        }
        let list = store.list(&namespace()).await.unwrap();
        assert_eq!(list.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), names);
    });
}
