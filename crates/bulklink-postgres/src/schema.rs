//! What must exist in a database: tables in the schema `bulklink`, and rights.
//!
//! Nothing of it is created at run time: an administrator calls [`set_up`](crate::PostgresStore) or
//! runs the texts.

use std::fmt;

use tokio_postgres::SimpleQueryMessage;

use crate::failure::Failure;
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

/// Whether a database has what is needed.
#[cfg(feature = "fleet")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// It has this version.
    Complete,
    /// It does not have it, or not the right to see it.
    Missing,
    /// It has another version.
    Other {
        /// Which one.
        version: i32,
    },
}

/// What is common to all parts.
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
const FLEET: &str = "\
CREATE TABLE IF NOT EXISTS bulklink.fleet (
    name text COLLATE \"C\" PRIMARY KEY,
    data text NOT NULL
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
ALTER TABLE bulklink.fleet ALTER COLUMN data SET STORAGE EXTERNAL;
";

/// A row is rewritten by each operation. What the last one did is in it, so that the statement can
/// return it.
const BREAKER: &str = "\
CREATE TABLE IF NOT EXISTS bulklink.circuit (
    name text COLLATE \"C\" PRIMARY KEY,
    settings bigint[] NOT NULL,
    state text NOT NULL,
    generation bigint NOT NULL,
    until bigint,
    reopened integer NOT NULL,
    marks text NOT NULL,
    newest bigint NOT NULL,
    parts bigint[] NOT NULL,
    successes integer NOT NULL,
    failures integer NOT NULL,
    probes text[] NOT NULL,
    said smallint NOT NULL,
    rest bigint
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- When processes last used different settings.
ALTER TABLE bulklink.circuit ADD COLUMN IF NOT EXISTS differed bigint;
";

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
            Part::Fleet => 2,
            Part::Breaker => 1,
        }
    }

    /// Returns the statements that create the part where it is missing. They can be run again.
    #[must_use]
    pub fn statements(self) -> String {
        let tables = match self {
            Part::Fleet => FLEET,
            Part::Breaker => BREAKER,
        };
        let (name, version) = (self.name(), self.version());
        format!(
            "{COMMON}{tables}\
             INSERT INTO bulklink.part (name, version) VALUES ('{name}', {version}) ON CONFLICT (name) DO NOTHING;\n"
        )
    }

    /// Returns the statements that give a role the least rights of a service.
    #[must_use]
    pub fn grants(self, role: &str) -> String {
        let role = Quoted(role);
        let tables = match self {
            Part::Fleet => format!(
                "GRANT SELECT, INSERT ON bulklink.run TO {role};\n\
                 GRANT SELECT, INSERT, UPDATE ON bulklink.fleet TO {role};\n"
            ),
            Part::Breaker => format!("GRANT SELECT, INSERT, UPDATE ON bulklink.circuit TO {role};\n"),
        };
        format!(
            "GRANT USAGE ON SCHEMA bulklink TO {role};\n\
             GRANT SELECT ON bulklink.part TO {role};\n{tables}"
        )
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

/// Creates what is missing and gives rights, whole or not at all.
pub(crate) async fn set_up(server: &Server, parts: &[Part], roles: &[&str]) -> Result<(), Failure> {
    let text = set_up_statements(parts, roles);
    let (client, mut wire) = server.connect("bulklink setup").await?;
    let run = wire.drive(client.batch_execute(&text));
    server.in_time(run).await?.map_err(|error| Failure::of(&error))?;
    // Tables of another version are left as they are.
    for part in parts {
        let text = format!("SELECT version FROM bulklink.part WHERE name = '{}'", part.name());
        let run = wire.drive(client.simple_query(&text));
        let rows = server.in_time(run).await?.map_err(|error| Failure::of(&error))?;
        let is_ours = |message: &SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some(&*part.version().to_string()));
        if !rows.iter().any(is_ours) {
            return Err(Failure::refused("VERSION"));
        }
    }
    Ok(())
}

/// Looks whether the database has a part, and changes nothing.
#[cfg(feature = "fleet")]
pub(crate) async fn check(server: &Server, part: Part) -> Result<Found, Failure> {
    let (client, mut wire) = server.connect("bulklink check").await?;
    let tables = match part {
        Part::Fleet => "SELECT FROM bulklink.run LIMIT 0; SELECT FROM bulklink.fleet LIMIT 0",
        Part::Breaker => "SELECT FROM bulklink.circuit LIMIT 0",
    };
    // All of it can be read, or it is not there for this user.
    let text = format!("{tables}; SELECT version FROM bulklink.part WHERE name = '{}'", part.name());
    let run = wire.drive(client.simple_query(&text));
    match server.in_time(run).await?.map_err(|error| Failure::of(&error)) {
        Ok(rows) => Ok(match last_row(&rows).and_then(|row| row.first()?.as_deref()?.parse().ok()) {
            None => Found::Missing,
            Some(version) if version == part.version() => Found::Complete,
            Some(version) => Found::Other { version },
        }),
        Err(Failure::Refused(code)) if ["42P01", "3F000", "42501"].contains(&&*code) => Ok(Found::Missing),
        Err(failure) => Err(failure),
    }
}

/// The values of the last row of an answer.
#[cfg(feature = "fleet")]
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
