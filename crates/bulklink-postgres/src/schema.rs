//! What must exist in a database: tables in the schema `bulklink`, and rights.
//!
//! Nothing of it is created at run time: an administrator calls
//! [`set_up`](crate::PostgresStore::set_up) or runs the texts.

use std::fmt;

use bulklink_fleet::StoreError;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::error::refused;
use crate::server::Server;

/// A part of the schema, for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The limits of fleets.
    Fleet,
    /// Circuits that processes share.
    Breaker,
}

/// A table of a part: the rights that a service needs on it, and its columns.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) rights: &'static [&'static str],
    pub(crate) columns: &'static str,
}

const PART: Table = Table { name: "part", rights: &["SELECT"], columns: "name version" };

/// The tables of all parts.
const COMMON: &str = "\
CREATE SCHEMA IF NOT EXISTS bulklink;
CREATE TABLE IF NOT EXISTS bulklink.part (
    name text PRIMARY KEY,
    version integer NOT NULL
);
-- Has lost its row wherever committed data may have been lost: after a crash, on a standby that was
-- promoted, and in a backup.
CREATE UNLOGGED TABLE IF NOT EXISTS bulklink.run (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    id uuid NOT NULL,
    began timestamptz NOT NULL
);
";

/// A row is rewritten by each command, so there is room for its next version on its page.
fn rows(table: &str) -> String {
    format!(
        "\
CREATE TABLE IF NOT EXISTS bulklink.{table} (
    name text COLLATE \"C\" PRIMARY KEY,
    data text NOT NULL
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
ALTER TABLE bulklink.{table} ALTER COLUMN data SET STORAGE EXTERNAL;
"
    )
}

impl Part {
    /// Returns the name of the part, as in the table `bulklink.part`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Part::Fleet => "fleet",
            Part::Breaker => "breaker",
        }
    }

    /// Returns the version that this crate needs.
    #[must_use]
    pub fn version(self) -> i32 {
        match self {
            Part::Fleet | Part::Breaker => 2,
        }
    }

    /// Returns the statements that create the part where it is missing. They can be run again.
    #[must_use]
    pub fn statements(self) -> String {
        let table = rows(self.table());
        let (name, version) = (self.name(), self.version());
        format!(
            "{COMMON}{table}\
             INSERT INTO bulklink.part (name, version) VALUES ('{name}', {version}) ON CONFLICT (name) DO NOTHING;\n"
        )
    }

    /// The table of its rows.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Part::Fleet => "fleet",
            Part::Breaker => "circuit",
        }
    }

    /// The tables that a service uses.
    pub(crate) fn tables(self) -> Vec<Table> {
        let rights = &["SELECT", "INSERT", "UPDATE"];
        let rows = Table { name: self.table(), rights, columns: "name data" };
        let run = Table { name: "run", rights: &["SELECT", "INSERT"], columns: "id began" };
        match self {
            Part::Fleet => vec![run, rows, PART],
            Part::Breaker => vec![rows, PART],
        }
    }

    /// Returns the statements that give a role the least rights of a service.
    #[must_use]
    pub fn grants(self, role: &str) -> String {
        let role = Quoted(role);
        let grant =
            |Table { name, rights, .. }: &Table| format!("GRANT {} ON bulklink.{name} TO {role};\n", rights.join(", "));
        let tables: String = self.tables().iter().map(grant).collect();
        format!("GRANT USAGE ON SCHEMA bulklink TO {role};\n{tables}")
    }
}

/// A name in statements.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "\"\"").replace('\0', ""))
    }
}

/// Returns the statements that create parts where they are missing, and give roles the least rights
/// of a service on them: one transaction, which can be run again.
#[must_use]
pub fn set_up_statements(parts: &[Part], roles: &[&str]) -> String {
    let grants = |part: Part| roles.iter().map(move |role| part.grants(role)).collect::<String>();
    let texts: String = parts.iter().map(|part| part.statements() + &grants(*part)).collect();
    // Two at the same time would meet each other's tables half way.
    format!("BEGIN;\nSELECT pg_advisory_xact_lock(7158103424927);\n{texts}COMMIT;\n")
}

/// Creates missing tables and gives rights, whole or not at all. Tables of another version are left
/// as they are.
pub(crate) async fn set_up(server: &Server, parts: &[Part], roles: &[&str]) -> Result<(), StoreError> {
    let run = |client: Client| async move {
        let found = client.simple_query("SELECT to_regclass('bulklink.part')").await?;
        let is_there = last_row(&found).is_some_and(|row| row != [None]);
        let versions =
            if is_there { client.simple_query("SELECT name, version FROM bulklink.part").await? } else { vec![] };
        let is_other = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => {
                let part = parts.iter().find(|part| row.get(0) == Some(part.name()));
                part.is_some_and(|part| row.get(1) != Some(&part.version().to_string()))
            }
            _ => false,
        };
        if versions.iter().any(is_other) {
            return Ok(Err(refused("VERSION")));
        }
        client.batch_execute(&set_up_statements(parts, roles)).await.map(Ok)
    };
    server.run("bulklink setup", run).await?
}

/// The values of the last row of an answer.
pub(crate) fn last_row(messages: &[SimpleQueryMessage]) -> Option<Vec<Option<String>>> {
    messages.iter().rev().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_cannot_end_its_quotes() {
        let grants = Part::Fleet.grants("a\"; DROP TABLE x; --");
        assert!(grants.contains("TO \"a\"\"; DROP TABLE x; --\";"), "{grants}");
    }
}
