//! `setup`: tables and rights, or the statements for them.

use bulklink_postgres::Part;
use bulklink_servers::{Postgres, require};

use crate::world::{circuit, ctl, share};

#[test]
fn a_dry_run_prints_what_setup_runs_and_connects_to_nothing() {
    let dry = |words: &[&str]| ctl("postgresql://nowhere.invalid/db", &[&["setup", "--dry-run"], words].concat());
    let begin = "BEGIN;\nSELECT pg_advisory_xact_lock(7158103424927);\n";
    let [fleet, breaker] = [Part::Fleet, Part::Breaker].map(Part::statements);
    let expected = format!("{begin}{fleet}{breaker}COMMIT;\n");
    assert_eq!(dry(&[]).text(), expected);
    assert_eq!(dry(&["--json"]).json()["statements"], expected);
    let expected = format!("{begin}{breaker}{}COMMIT;\n", Part::Breaker.grants("a\"b"));
    assert_eq!(dry(&["--grant", "a\"b", "--part", "breaker"]).text(), expected);
    // The statements of none would be an empty file.
    let refused = ctl("redis://nowhere.invalid", &["setup", "--dry-run"]).failure();
    assert_eq!(refused, (2, "--dry-run is for PostgreSQL: Redis needs no tables".to_owned()));
}

#[test]
fn the_statements_of_a_dry_run_can_be_run_by_hand_and_again() {
    let server = require!(Postgres::start());
    let statements = ctl(&server.url(), &["setup", "--dry-run", "--grant", "tests"]).text();
    for _ in 0..2 {
        server.sql(&statements);
        assert!(circuit(&server.url(), &["check"]).text().ends_with(": complete\n"));
        assert_eq!(share(&server.url(), &["list"]).text(), "no shares\n");
    }
}

#[test]
fn tables_of_another_version_are_refused_and_stay() {
    let server = require!(Postgres::start());
    assert!(ctl(&server.url(), &["setup"]).text().ends_with(": tables for fleet and breaker\n"));
    server.sql("UPDATE bulklink.part SET version = 1 WHERE name = 'fleet'");
    for words in
        [&["setup"][..], &["setup", "--part", "fleet"], &["share", "show", "a"], &["share", "resize", "a", "1"]]
    {
        let (code, error) = ctl(&server.url(), words).failure();
        assert_eq!(code, 5);
        assert!(error.ends_with("VERSION, the tables have another version than this program needs"), "{error}");
    }
    assert_eq!(server.value("SELECT version FROM bulklink.part WHERE name = 'fleet'"), "1");
    assert!(ctl(&server.url(), &["setup", "--part", "breaker"]).text().ends_with(": tables for breaker\n"));
}

#[test]
fn redis_needs_no_setup() {
    let setup = ctl("redis://127.0.0.1:1", &["setup"]).text();
    assert_eq!(setup, "127.0.0.1:1: Redis needs no tables\n");
    let (code, error) = ctl("redis://127.0.0.1:1", &["setup", "--grant", "web"]).failure();
    assert_eq!((code, &*error), (2, "--grant is for PostgreSQL: Redis gives rights by ACL SETUSER"));
}
