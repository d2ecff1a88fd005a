//! `setup`: tables and rights in PostgreSQL.

use bulklink_postgres::{Part, set_up_statements};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
use crate::report::Report;
use crate::server::{Kind, Server};
use crate::text::{is_hidden, visible};

/// Shares, and circuits.
const PARTS: [&str; 2] = ["fleet", "breaker"];

/// The options of `setup`.
#[derive(Args)]
pub(crate) struct Options {
    /// Print the statements, and connect to nothing
    #[arg(long)]
    dry_run: bool,
    /// Give this role the least rights of a service; may be repeated
    #[arg(long = "grant", value_name = "ROLE", value_parser = role)]
    roles: Vec<String>,
    /// Create the tables of shares or of circuits only; may be repeated [default: both]
    #[arg(long = "part", value_name = "PART", default_values = PARTS, hide_default_value = true, value_parser = parts())]
    parts: Vec<Part>,
}

/// The parts and rights that were set up, or would be.
#[derive(Serialize)]
struct Setup {
    address: String,
    dry_run: bool,
    parts: Vec<&'static str>,
    roles: Vec<String>,
    /// Empty on Redis.
    statements: String,
}

/// Creates tables and gives rights, or prints the statements. On Redis, there is nothing to create.
pub(crate) async fn run(server: &Server, output: &Output, options: &Options) -> Result<(), Failure> {
    let Options { dry_run, roles, parts } = options;
    let names: Vec<&str> = roles.iter().map(String::as_str).collect();
    let (address, statements) = match server.kind {
        Kind::Redis if !roles.is_empty() => {
            return Err(Failure::usage("--grant is for PostgreSQL: Redis gives rights by ACL SETUSER"));
        }
        Kind::Redis => {
            let store = server.redis()?;
            if *dry_run {
                return Err(Failure::usage("--dry-run is for PostgreSQL: Redis needs no tables"));
            }
            (store.address(), String::new())
        }
        Kind::Postgres => {
            let store = server.postgres()?;
            if !dry_run {
                let done = store.set_up(parts, &names).await;
                done.map_err(|error| Failure::store(&store.address(), &error))?;
            }
            (store.address(), set_up_statements(parts, &names))
        }
    };
    let parts = parts.iter().map(|part| part.name()).collect();
    output.print(&Setup { address, dry_run: *dry_run, parts, roles: roles.clone(), statements })
}

impl Report for Setup {
    fn text(&self) -> String {
        // To be run as they are.
        if self.dry_run {
            return self.statements.clone();
        }
        let address = visible(&self.address);
        if self.statements.is_empty() {
            return format!("{address}: Redis needs no tables\n");
        }
        let parts = self.parts.join(" and ");
        let roles: Vec<_> = self.roles.iter().map(|role| visible(role)).collect();
        let rights = if roles.is_empty() { String::new() } else { format!("; rights for {}", roles.join(", ")) };
        format!("{address}: tables for {parts}{rights}\n")
    }
}

fn parts() -> impl TypedValueParser<Value = Part> {
    PossibleValuesParser::new(PARTS).map(|name| if name == "fleet" { Part::Fleet } else { Part::Breaker })
}

/// A role is printed in statements as it is.
fn role(name: &str) -> Result<String, String> {
    if name.is_empty() {
        Err("a role has a name".to_owned())
    } else if name.contains(is_hidden) {
        Err("a role has only visible characters".to_owned())
    } else {
        Ok(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_printed_as_it_is() {
        assert_eq!(role("web-\"1\" é").as_deref(), Ok("web-\"1\" é"));
        for name in ["", "a\nb", "\u{1b}[1m", "a\u{202e}b"] {
            assert!(role(name).is_err(), "{name:?}");
        }
    }
}
