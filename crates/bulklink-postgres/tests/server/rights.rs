//! Setting up, rights, and that no error shows a secret.

use bulklink_fleet::Link;
use bulklink_postgres::{Check, InvalidStore, LeaseStore, Name, Namespace, Part, PostgresStore, StoreError};
use bulklink_servers::{Postgres, User, require};
use bulklink_stores::{Process, name};

use crate::world::{Postgresql, on_tokio, store};

const SECRET: &str = "s3cret-pass";

fn refused<T>(code: &str) -> Result<T, StoreError> {
    Err(StoreError::refused(code))
}

fn assert_silent(shown: &str) {
    for secret in [SECRET, "s3cret", "ringo", "a-password-of-tests"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

/// The server's text may name the user.
fn assert_has_no_password(error: &StoreError) {
    let shown = format!("{error:?} {}", bulklink_stores::causes::texts(error).concat());
    assert!([SECRET, "a-password-of-tests"].iter().all(|password| !shown.contains(password)), "{shown}");
}

fn user() -> User {
    User { name: "service".into(), password: "a-password-of-tests".into(), rules: String::new() }
}

#[test]
fn nothing_is_created_unless_it_is_asked_for() {
    on_tokio(async {
        let server = require!(Postgres::start());
        let store = store(&server.url());
        let missing = ["the table bulklink.run", "the table bulklink.fleet", "the table bulklink.part"];
        assert_eq!(store.check(Part::Fleet).await, Check::Incomplete { missing: missing.map(str::to_owned).into() });
        assert_eq!(Process::connect(&store, 1).await.err(), refused::<()>("42P01").err());
        assert_eq!(server.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'bulklink'"), "0");
        // By two at the same time, and again.
        let (first, second) = futures_util::future::join(
            Box::pin(store.set_up(&[Part::Fleet], &[])),
            Box::pin(store.set_up(&[Part::Fleet], &[])),
        )
        .await;
        assert_eq!((first, second, store.set_up(&[Part::Fleet], &[]).await), (Ok(()), Ok(()), Ok(())));
        assert_eq!(store.check(Part::Fleet).await, Check::Complete);
        let process = Process::on(&store, 1).await;
        process.join(&name("a"), 1).await.unwrap();
        assert_eq!(store.set_up(&[Part::Fleet], &[]).await, Ok(()));
        assert_eq!(store.names(None).await, Ok(vec![name("a")]));
        server.sql("UPDATE bulklink.part SET version = 7");
        let why = format!("the tables have version 7, and this program needs {}", Part::Fleet.version());
        assert_eq!(store.check(Part::Fleet).await, Check::Unusable { why });
        assert_eq!(store.set_up(&[Part::Fleet], &[]).await, refused("VERSION"));
        assert_eq!(Process::connect(&store, 2).await.err(), refused::<()>("VERSION").err());
    });
}

#[test]
fn the_least_rights_are_enough() {
    on_tokio(async {
        let user = user();
        let server = require!(Postgres::builder().user(user.clone()).start().map(Postgresql));
        let server = require!(server.set_up().await).0;
        let store = store(&server.url_of(&user));
        let Check::Incomplete { missing } = store.check(Part::Fleet).await else { panic!("it has no rights") };
        assert_eq!(missing[..2], ["the right SELECT on bulklink.run", "the right INSERT on bulklink.run"]);
        assert_eq!((missing.len(), missing.last().unwrap().contains("USAGE")), (7, true), "{missing:?}");
        assert_eq!(Process::connect(&store, 1).await.err(), refused::<()>("42501").err());
        server.sql(&Part::Fleet.grants("service"));
        assert_eq!(store.check(Part::Fleet).await, Check::Complete);
        let (first, second) = (Process::on(&store, 1).await, Process::on(&store, 2).await);
        let name = name("rights");
        assert!(first.link.listen(&name).await.unwrap().run.is_some());
        assert_eq!((first.join(&name, 10).await, second.join(&name, 4).await), (Ok(10), Ok(0)));
        first.state(&name, 6, 6).await.unwrap();
        assert_eq!(second.ears.granted().units, 4);
        // Each of them is needed.
        server.sql("REVOKE INSERT ON bulklink.fleet FROM service");
        let other = bulklink_stores::name("other");
        assert_eq!(first.join(&other, 1).await, refused("42501"));
        assert_eq!(first.state(&name, 6, 6).await, Ok(6));
        server.sql("REVOKE UPDATE ON bulklink.fleet FROM service");
        assert_eq!(second.state(&name, 3, 3).await, refused("42501"));
        assert_eq!((second.granted(&name).await, first.ears.ends()), (10, 0));
        assert_eq!(store.set_up(&[Part::Fleet], &[]).await, refused("42501"));
    });
}

#[test]
fn names_are_found_by_namespace() {
    on_tokio(async {
        let server = require!(Postgresql::start().await).0;
        let store = store(&server.url());
        let namespace = Namespace::new("test").unwrap();
        assert_eq!(store.names(Some(&namespace)).await, Ok(vec![]));
        let process = Process::on(&store, 1).await;
        let mut names: Vec<_> = (0..20).map(|number| name(&format!("a b{number}"))).collect();
        for name in &names {
            process.state(name, 0, 1).await.unwrap();
        }
        let other = Name::new(&Namespace::new("test-2").unwrap(), "other").unwrap();
        process.state(&other, 0, 1).await.unwrap();
        server.sql("INSERT INTO bulklink.fleet VALUES ('test:%', ''), ('x', ''), ('test:a b', '')");
        names.sort();
        assert_eq!(store.names(Some(&namespace)).await.as_ref(), Ok(&names));
        names.push(other);
        names.sort();
        assert_eq!(store.names(None).await, Ok(names));
        // Rows of another version may have another form.
        server.sql("UPDATE bulklink.part SET version = 1");
        assert_eq!(store.names(None).await, refused("VERSION"));
        #[cfg(feature = "breaker")]
        assert_eq!(
            bulklink_fleet::circuits::CircuitStore::list(&store.circuits(), &namespace).await,
            refused("VERSION")
        );
    });
}

#[test]
fn a_wrong_password_is_refused_and_not_shown() {
    on_tokio(async {
        let user = user();
        let server = require!(Postgres::builder().tcp().user(user.clone()).start());
        let port = server.port();
        for (url, code) in [
            (format!("postgresql://service:{SECRET}@127.0.0.1:{port}/postgres"), "28P01"),
            (format!("postgresql://ringo:{SECRET}@127.0.0.1:{port}/postgres"), "28P01"),
            (format!("postgresql://service@127.0.0.1:{port}/postgres"), "28000"),
            (format!("postgresql://service:{}@127.0.0.1:{port}/s3cret", user.password), "3D000"),
        ] {
            let store = PostgresStore::new(&url).unwrap();
            assert_silent(&format!("{store:?}"));
            let error = Process::connect(&store, 1).await.err().unwrap();
            assert_has_no_password(&error);
            assert_eq!(Err::<(), _>(error), refused(code), "{url}");
            assert_has_no_password(&store.set_up(&[Part::Fleet], &[]).await.unwrap_err());
        }
        let url = format!("postgresql://127.0.0.1:{port}/postgres");
        let builder = PostgresStore::builder(&url).user("tests").password(&user.password);
        assert_silent(&format!("{builder:?}"));
        let store = builder.build().unwrap();
        assert_silent(&format!("{store:?}"));
        assert_eq!(store.set_up(&[Part::Fleet], &[]).await, Ok(()));
        assert_silent(&format!("{:?}", Process::on(&store, 1).await));
    });
}

#[test]
fn a_url_that_is_none_is_not_shown() {
    for url in [
        "",
        "postgresql",
        "http://ringo:s3cret@host",
        "postgresql://ringo:s3cret@host:x",
        "postgresql://ringo:s3cret@host/db?no_such_option=1",
        "postgresql://",
        "password='s3cret",
        "user=ringo password=s3cret",
    ] {
        let error = PostgresStore::new(url).unwrap_err();
        assert_eq!(error, InvalidStore::Url, "{url}");
        assert_silent(&format!("{error:?} {error}"));
    }
}
