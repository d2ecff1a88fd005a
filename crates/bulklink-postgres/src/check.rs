//! Whether a database has the tables and rights of a part.

use bulklink_fleet::StoreError;
use tokio_postgres::Client;

use crate::schema::{Part, Table};
use crate::server::Server;

/// The result of a look at a database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Check {
    /// Limits or circuits can be shared.
    Complete,
    /// A table, a column or a right is missing: set up again, or grant it.
    Incomplete {
        /// The missing tables, columns and rights, for people.
        missing: Vec<String>,
    },
    /// The database has another version of the tables, or is a standby.
    Unusable {
        /// Why, for people.
        why: String,
    },
    /// The database could not be asked, or refused to answer.
    Undetermined {
        /// Why not.
        error: StoreError,
    },
}

/// A table with its columns, and which rights are missing. Every role can read the catalog.
const LOOK: &str = "SELECT coalesce(has_schema_privilege(n.oid, 'USAGE'), false),
    (SELECT array_agg(attname::text) FROM pg_attribute WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped),
    ARRAY(SELECT r FROM unnest($2::text[]) AS r WHERE NOT coalesce(has_any_column_privilege(t.oid, r), false))
    FROM (SELECT 1) AS one
    LEFT JOIN pg_namespace AS n ON n.nspname = 'bulklink'
    LEFT JOIN pg_class AS t ON t.relnamespace = n.oid AND t.relname = $1 AND t.relkind IN ('r', 'p')";

/// Looks whether the database has a part, and changes nothing.
pub(crate) async fn check(server: &Server, part: Part) -> Check {
    check_tables(server, part).await.unwrap_or_else(|error| Check::Undetermined { error })
}

async fn check_tables(server: &Server, part: Part) -> Result<Check, StoreError> {
    let queries = |client: Client| async move {
        if client.query_one("SELECT pg_is_in_recovery()", &[]).await?.get(0) {
            return Ok(Check::Unusable { why: "the server is a standby, which cannot be written to".to_owned() });
        }
        let (mut missing, mut may_use) = (Vec::new(), true);
        for Table { name, rights, columns } in part.tables() {
            let found = client.query_one(LOOK, &[&name, &rights]).await?;
            let Some(known) = found.get::<_, Option<Vec<String>>>(1) else {
                missing.push(format!("the table bulklink.{name}"));
                continue;
            };
            may_use &= found.get::<_, bool>(0);
            let denied: Vec<String> = found.get(2);
            missing.extend(denied.iter().map(|right| format!("the right {right} on bulklink.{name}")));
            let absent = columns.split(' ').filter(|column| !known.iter().any(|known| known == column));
            missing.extend(absent.map(|column| format!("the column {column} of bulklink.{name}")));
        }
        if !may_use {
            missing.push("the right USAGE on the schema bulklink".to_owned());
        }
        // Another version may have other columns.
        if may_use && !missing.iter().any(|what| what.ends_with("bulklink.part")) {
            let version = "SELECT version FROM bulklink.part WHERE name = $1";
            match client.query_opt(version, &[&part.name()]).await?.map(|row| row.get::<_, i32>(0)) {
                Some(version) if version != part.version() => {
                    let known = part.version();
                    let why = format!("the tables have version {version}, and this program needs {known}");
                    return Ok(Check::Unusable { why });
                }
                None if missing.is_empty() => missing.push("the version of the tables in bulklink.part".to_owned()),
                _ => {}
            }
        }
        Ok(if missing.is_empty() { Check::Complete } else { Check::Incomplete { missing } })
    };
    server.run("bulklink check", queries).await
}
