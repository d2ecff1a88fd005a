//! Setting up, the least rights, TLS and pools; and no secret is shown.

use std::fs;

use bulklink_circuits::namespace;
use bulklink_fleet::StoreError;
use bulklink_fleet::circuits::{Changes, CircuitStore, Force};
use bulklink_postgres::Check;
use bulklink_postgres::Part;
use bulklink_postgres::breaker::PostgresCircuits;
use bulklink_servers::{Postgres, User, require};

use crate::world::{load, name, patient, runtime, start};

fn user() -> User {
    User { name: "service".into(), password: "a-password-of-tests".into(), rules: String::new() }
}

#[test]
fn nothing_is_created_unless_it_is_asked_for() {
    let (server, runtime) = (require!(Postgres::start()), runtime());
    runtime.block_on(async {
        let store = patient(&server.url()).build().unwrap();
        assert_eq!(load(&store).await, Err(StoreError::Refused { code: "42P01".into() }));
        let Check::Incomplete { missing } = store.check().await else { panic!("nothing is there") };
        assert_eq!(missing, ["the table bulklink.circuit", "the table bulklink.part"]);
        store.set_up().await.unwrap();
        store.set_up().await.unwrap();
        assert_eq!(store.check().await, Check::Complete);
        load(&store).await.unwrap();
        server.sql("UPDATE bulklink.part SET version = 7");
        // Another version may have other columns.
        server.sql("ALTER TABLE bulklink.circuit DROP COLUMN rest");
        assert!(matches!(store.check().await, Check::Unusable { .. }));
        server.sql("DELETE FROM bulklink.part");
        let Check::Incomplete { missing } = store.check().await else { panic!("a column is missing") };
        assert_eq!(missing, ["the column rest of bulklink.circuit"]);
    });
}

#[test]
fn the_least_rights_are_enough() {
    let user = user();
    let (server, runtime) = (require!(Postgres::builder().user(user.clone()).start()), runtime());
    runtime.block_on(async {
        server.sql(&Part::Breaker.statements());
        let store = patient(&server.url_of(&user)).build().unwrap();
        let Check::Incomplete { missing } = store.check().await else { panic!("it has no rights") };
        assert_eq!(missing.len(), 5, "{missing:?}");
        assert_eq!(load(&store).await, Err(StoreError::Refused { code: "42501".into() }));
        server.sql(&Part::Breaker.grants(&user.name));
        assert_eq!(store.check().await, Check::Complete);
        let mut changes = store.changes(&namespace()).await.unwrap();
        load(&store).await.unwrap();
        store.force(&name("payments"), None, Force::Open).await.unwrap();
        changes.next().await.unwrap();
        assert_eq!(store.list(&namespace()).await.unwrap().len(), 1);
        assert!(store.set_up().await.is_err());
    });
}

#[test]
fn an_administrator_sets_up_for_roles_or_changes_nothing() {
    let user = user();
    let (server, runtime) = (require!(Postgres::builder().user(user.clone()).start()), runtime());
    runtime.block_on(async {
        let store = patient(&server.url()).build().unwrap();
        let parts = [Part::Breaker, Part::Fleet];
        let unknown = store.set_up_for(&parts, &[&user.name, "missing"]).await;
        assert_eq!(unknown, Err(StoreError::Refused { code: "42704".into() }));
        assert_eq!(server.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'bulklink'"), "0");
        for _ in 0..2 {
            store.set_up_for(&parts, &[&user.name]).await.unwrap();
        }
        let service = patient(&server.url_of(&user)).build().unwrap();
        assert_eq!(service.check().await, Check::Complete);
        assert_eq!(server.value("SELECT has_table_privilege('service', 'bulklink.fleet', 'UPDATE')"), "t");
    });
}

#[test]
fn a_standby_is_unusable_and_no_server_undetermined() {
    let (mut server, runtime) = (require!(start()), runtime());
    let standby = require!(Postgres::builder().standby_of(&server).start());
    runtime.block_on(async {
        assert!(matches!(patient(&standby.url()).build().unwrap().check().await, Check::Unusable { .. }));
        server.kill();
        let gone = patient(&server.url()).build().unwrap().check().await;
        assert_eq!(gone, Check::Undetermined { error: StoreError::Unreachable });
    });
}

#[test]
fn no_secret_is_shown() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let store = patient(&server.url()).user("ringo").password("s3cret").build().unwrap();
        let shown = format!("{store:?} {:?} {:?}", load(&store).await, store.check().await);
        let malformed = PostgresCircuits::new("postgresql://ringo:s3cret@db:x/y").unwrap_err();
        for shown in [shown, format!("{malformed} {malformed:?}"), format!("{:?}", patient("s3cret"))] {
            assert!(!shown.contains("s3cret") && !shown.contains("ringo"), "{shown}");
        }
    });
}

#[test]
fn circuits_are_shared_over_tls() {
    let (server, runtime) = (require!(Postgres::builder().tls().start()), runtime());
    let _ = rustls::crypto::ring::default_provider().install_default();
    runtime.block_on(async {
        let pem = fs::read(server.authority()).unwrap();
        let store = patient(&server.url()).certificates(&pem).build().unwrap();
        store.set_up().await.unwrap();
        let mut changes = store.changes(&namespace()).await.unwrap();
        store.force(&name("payments"), None, Force::Open).await.unwrap();
        assert_eq!(changes.next().await.unwrap().name, name("payments"));
        assert_eq!(server.value("SELECT count(*) FROM pg_stat_ssl WHERE ssl"), "2");
        let distrusting = patient(&server.url()).build().unwrap();
        assert!(load(&distrusting).await.is_err());
    });
}

#[test]
fn operations_run_on_a_pool() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let config = server.url().parse().unwrap();
        let manager = deadpool_postgres::Manager::new(config, tokio_postgres::NoTls);
        let pool = deadpool_postgres::Pool::builder(manager).max_size(2).build().unwrap();
        let store = patient(&server.url()).pool(pool.clone()).build().unwrap();
        let generation = load(&store).await.unwrap().generation;
        assert_eq!(pool.status().size, 1);
        server.terminate_sessions();
        let first = load(&store).await;
        assert!(first.is_ok() || first == Err(StoreError::Unreachable), "{first:?}");
        assert_eq!(load(&store).await.unwrap().generation, generation);
    });
}

#[cfg(feature = "fleet")]
#[test]
fn circuits_of_a_store_are_those_of_its_server() {
    let server = require!(start());
    let same = bulklink_postgres::PostgresStore::new(&server.url()).unwrap().circuits();
    runtime().block_on(async {
        patient(&server.url()).build().unwrap().force(&name("payments"), None, Force::Open).await.unwrap();
        assert_eq!(load(&same).await.unwrap().state, bulklink_breaker::State::Open);
    });
}
