//! TLS, with the right certificates and with others.

use std::fs;

use bulklink_postgres::{InvalidStore, Part, PostgresStore, StoreError};
use bulklink_servers::{Postgres, require};
use bulklink_stores::{PATIENCE, Process, Told, name};

use crate::world::on_tokio;

/// One test, as a process has one provider of cryptography.
#[test]
fn only_the_right_authority_is_trusted() {
    on_tokio(async {
        let server = require!(Postgres::builder().tls().start());
        let other = require!(Postgres::builder().tls().start());
        let [right, wrong] = [&server, &other].map(|server| fs::read(server.authority()).unwrap());
        let builder = || PostgresStore::builder(&server.url()).connect_timeout(PATIENCE);
        assert_eq!(builder().build().unwrap_err(), InvalidStore::NoCryptoProvider);
        let _ = rustls::crypto::ring::default_provider().install_default();
        for pem in [&b""[..], b"s3cret", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert_eq!(builder().certificates(pem).build().unwrap_err(), InvalidStore::Certificates);
        }
        let trusting = builder().certificates(&right).build().unwrap();
        trusting.set_up(&[Part::Fleet], &[]).await.unwrap();
        let (first, second) = (Process::on(&trusting, 1).await, Process::on(&trusting, 2).await);
        assert_eq!(server.value("SELECT count(*) FROM pg_stat_ssl WHERE ssl"), "2");
        let name = name("tls");
        assert_eq!((first.join(&name, 10).await, second.join(&name, 4).await), (Ok(10), Ok(0)));
        first.state(&name, 6, 6).await.unwrap();
        assert_eq!(second.ears.granted().units, 4);
        server.terminate_sessions();
        for process in [first, second] {
            process.ears.wait(|told| *told == Told::Ended);
        }
        // Those of the system do not have it either.
        for store in [builder().certificates(&wrong).build().unwrap(), builder().build().unwrap()] {
            assert_eq!(Process::connect(&store, 1).await.err(), Some(StoreError::TLS), "{store:?}");
        }
        // This server refuses what does not ask for TLS.
        let plain = PostgresStore::new(&server.url().replace("?sslmode=require", "")).unwrap();
        assert_eq!(Process::connect(&plain, 1).await.err(), Some(StoreError::refused("28000")));
    });
}
