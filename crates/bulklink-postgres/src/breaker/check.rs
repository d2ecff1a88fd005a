//! Whether a database has what circuits need.

use bulklink_fleet::StoreError;

use crate::error::store_error;
use crate::failure::Failure;
use crate::schema::Part;
use crate::server::Server;

/// What a look at a database has found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Check {
    /// Circuits can be shared.
    Complete,
    /// A table, a column or a right is missing: set up again, or grant it.
    Incomplete {
        /// What is missing, for people.
        missing: Vec<String>,
    },
    /// The database has another version of the table, or is a standby.
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

/// Every role can read the catalog.
const LOOK: &str = "SELECT t.oid IS NOT NULL, p.oid IS NOT NULL,
    coalesce(has_schema_privilege(n.oid, 'USAGE'), false),
    coalesce(has_table_privilege(t.oid, 'SELECT') AND has_table_privilege(t.oid, 'INSERT')
        AND has_table_privilege(t.oid, 'UPDATE'), false),
    coalesce(has_table_privilege(p.oid, 'SELECT'), false),
    (SELECT array_agg(attname::text) FROM pg_attribute WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped),
    pg_is_in_recovery()
    FROM (SELECT 1) AS one
    LEFT JOIN pg_namespace AS n ON n.nspname = 'bulklink'
    LEFT JOIN pg_class AS t ON t.relnamespace = n.oid AND t.relname = 'circuit' AND t.relkind IN ('r', 'p')
    LEFT JOIN pg_class AS p ON p.relnamespace = n.oid AND p.relname = 'part'";

const COLUMNS: &str =
    "name settings state generation until reopened marks newest parts successes failures probes said rest differed";

pub(super) async fn check(server: &Server) -> Check {
    match check_tables(server).await {
        Ok(found) => found,
        Err(failure) => Check::Undetermined { error: store_error(&failure) },
    }
}

async fn check_tables(server: &Server) -> Result<Check, Failure> {
    let (client, mut wire) = server.connect("bulklink check").await?;
    let queries = async {
        let found = client.query_one(LOOK, &[]).await?;
        let mut missing = Vec::new();
        let mut need = |has: bool, what: &str| {
            if !has {
                missing.push(what.to_owned());
            }
        };
        let [table, parts, may_use, may_write, may_read] = [0, 1, 2, 3, 4].map(|at| found.get::<_, bool>(at));
        need(table, "the table bulklink.circuit");
        need(parts, "the table bulklink.part");
        if table && parts {
            need(may_use, "the right USAGE on the schema bulklink");
            need(may_write, "the rights SELECT, INSERT and UPDATE on bulklink.circuit");
            need(may_read, "the right SELECT on bulklink.part");
            let columns: Vec<String> = found.get::<_, Option<_>>(5).unwrap_or_default();
            for column in COLUMNS.split(' ') {
                need(columns.iter().any(|known| known == column), &format!("the column {column} of bulklink.circuit"));
            }
        }
        if found.get::<_, bool>(6) {
            return Ok(Check::Unusable { why: "the server is a standby, which cannot be written to".to_owned() });
        }
        if !missing.is_empty() {
            return Ok(Check::Incomplete { missing });
        }
        let part = Part::Breaker;
        let version = "SELECT version FROM bulklink.part WHERE name = $1";
        Ok(match client.query_opt(version, &[&part.name()]).await?.map(|row| row.get::<_, i32>(0)) {
            Some(version) if version == part.version() => Check::Complete,
            Some(version) => {
                let known = part.version();
                Check::Unusable { why: format!("the tables have version {version}, and this program needs {known}") }
            }
            None => Check::Incomplete { missing: vec!["the version of the tables in bulklink.part".to_owned()] },
        })
    };
    server.in_time(wire.drive(queries)).await?.map_err(|error: tokio_postgres::Error| Failure::of(&error))
}
