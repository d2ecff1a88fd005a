//! Setting up, the least rights and TLS; and no secret is shown.

use std::fs;
use std::time::Duration;

use bulklink_circuits::namespace;
use bulklink_fleet::StoreError;
use bulklink_fleet::circuits::{Changes, CircuitStore, Force};
use bulklink_postgres::{Check, Part, PostgresStore};
use bulklink_servers::{Postgres, User, require};

use crate::world::{circuits, load, name, patient, runtime, start};

fn user() -> User {
    User { name: "service".into(), password: "a-password-of-tests".into(), rules: String::new() }
}

#[test]
fn nothing_is_created_unless_it_is_asked_for() {
    let (server, runtime) = (require!(Postgres::start()), runtime());
    runtime.block_on(async {
        let (store, shared) = (patient(&server.url()).build().unwrap(), circuits(&server.url()));
        assert_eq!(load(&shared).await, Err(StoreError::refused("42P01")));
        let Check::Incomplete { missing } = store.check(Part::Breaker).await else { panic!("nothing is there") };
        assert_eq!(missing, ["the table bulklink.circuit", "the table bulklink.part"]);
        store.set_up(&[Part::Breaker], &[]).await.unwrap();
        store.set_up(&[Part::Breaker], &[]).await.unwrap();
        assert_eq!(store.check(Part::Breaker).await, Check::Complete);
        load(&shared).await.unwrap();
        server.sql("UPDATE bulklink.part SET version = 7");
        assert_eq!(load(&circuits(&server.url())).await, Err(StoreError::refused("VERSION")));
        // Another version may have other columns.
        server.sql("ALTER TABLE bulklink.circuit DROP COLUMN data");
        assert!(matches!(store.check(Part::Breaker).await, Check::Unusable { .. }));
        let other = store.set_up(&[Part::Fleet, Part::Breaker], &[]).await;
        assert_eq!(other, Err(StoreError::refused("VERSION")));
        assert_eq!(server.value("SELECT to_regclass('bulklink.fleet') IS NULL"), "t", "nothing has changed");
        server.sql("DELETE FROM bulklink.part");
        let Check::Incomplete { missing } = store.check(Part::Breaker).await else { panic!("a column is missing") };
        assert_eq!(missing, ["the column data of bulklink.circuit"]);
    });
}

#[test]
fn the_least_rights_are_enough() {
    let user = user();
    let (server, runtime) = (require!(Postgres::builder().user(user.clone()).start()), runtime());
    runtime.block_on(async {
        server.sql(&Part::Breaker.statements());
        let (store, shared) = (patient(&server.url_of(&user)).build().unwrap(), circuits(&server.url_of(&user)));
        let Check::Incomplete { missing } = store.check(Part::Breaker).await else { panic!("it has no rights") };
        assert_eq!(missing.len(), 5, "{missing:?}");
        assert_eq!(load(&shared).await, Err(StoreError::refused("42501")));
        server.sql(&Part::Breaker.grants(&user.name));
        assert_eq!(store.check(Part::Breaker).await, Check::Complete);
        let mut changes = shared.changes(&namespace()).await.unwrap();
        load(&shared).await.unwrap();
        shared.force(&name("payments"), None, Force::Open).await.unwrap();
        changes.next().await.unwrap();
        assert_eq!(shared.list(&namespace()).await.unwrap().len(), 1);
        assert!(store.set_up(&[Part::Breaker], &[]).await.is_err());
    });
}

#[test]
fn an_administrator_sets_up_for_roles_or_changes_nothing() {
    let user = user();
    let (server, runtime) = (require!(Postgres::builder().user(user.clone()).start()), runtime());
    runtime.block_on(async {
        let store = patient(&server.url()).build().unwrap();
        let parts = [Part::Breaker, Part::Fleet];
        let unknown = store.set_up(&parts, &[&user.name, "missing"]).await;
        assert_eq!(unknown, Err(StoreError::refused("42704")));
        assert_eq!(server.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'bulklink'"), "0");
        for _ in 0..2 {
            store.set_up(&parts, &[&user.name]).await.unwrap();
        }
        let service = patient(&server.url_of(&user)).build().unwrap();
        assert_eq!(service.check(Part::Breaker).await, Check::Complete);
        assert_eq!(server.value("SELECT has_table_privilege('service', 'bulklink.fleet', 'UPDATE')"), "t");
    });
}

#[test]
fn a_standby_is_unusable_and_no_server_undetermined() {
    let (mut server, runtime) = (require!(start()), runtime());
    let standby = require!(Postgres::builder().standby_of(&server).start());
    runtime.block_on(async {
        assert!(matches!(patient(&standby.url()).build().unwrap().check(Part::Breaker).await, Check::Unusable { .. }));
        server.kill();
        let gone = patient(&server.url()).build().unwrap().check(Part::Breaker).await;
        assert_eq!(gone, Check::Undetermined { error: StoreError::UNREACHABLE });
    });
}

#[test]
fn no_secret_is_shown() {
    let (server, runtime) = (require!(start()), runtime());
    runtime.block_on(async {
        let store = patient(&server.url()).user("ringo").password("s3cret").build().unwrap();
        let shared = store.circuits();
        // The server's text may name the user.
        let errors = format!("{:?} {:?}", load(&shared).await, store.check(Part::Breaker).await);
        assert!(!errors.contains("s3cret"), "{errors}");
        let shown = format!("{store:?} {shared:?}");
        let malformed = PostgresStore::new("postgresql://ringo:s3cret@db:x/y").unwrap_err();
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
        store.set_up(&[Part::Breaker], &[]).await.unwrap();
        let shared = store.circuits().answer_timeout(Duration::from_secs(20));
        let mut changes = shared.changes(&namespace()).await.unwrap();
        shared.force(&name("payments"), None, Force::Open).await.unwrap();
        assert_eq!(changes.next().await.unwrap().name, name("payments"));
        assert_eq!(server.value("SELECT count(*) FROM pg_stat_ssl WHERE ssl"), "2");
        let distrusting = circuits(&server.url());
        assert!(load(&distrusting).await.is_err());
    });
}
