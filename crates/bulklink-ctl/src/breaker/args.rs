//! The command line of `breaker`.

use bulklink_fleet::circuits::Force;
use bulklink_postgres::Part;
use clap::{Subcommand, ValueEnum};

use crate::args::MAX_VERSION;
use crate::text::is_hidden;

/// What to do with circuits.
#[derive(Subcommand)]
pub(crate) enum Task {
    /// Creates the tables in PostgreSQL, and gives roles the least rights
    Setup {
        /// Print the statements, and connect to nothing
        #[arg(long)]
        dry_run: bool,
        /// Give this role the least rights of a service; may be repeated
        #[arg(long = "role", value_name = "NAME", value_parser = role)]
        roles: Vec<String>,
        /// What the tables are for; may be repeated
        #[arg(long = "part", value_name = "PART", default_value = "breaker")]
        parts: Vec<Tables>,
    },
    /// Looks whether the server has all that circuits need, and changes nothing
    Check,
    /// Shows one circuit or all of the namespace, and changes nothing
    Show {
        /// The label of a circuit [default: list all]
        name: Option<String>,
    },
    /// Opens or closes a circuit by hand
    Force {
        /// The new state
        state: Forced,
        /// The label of the circuit, which is made if there is none
        name: String,
        /// The generation that the circuit must have [default: any]
        #[arg(long, value_name = "GENERATION", value_parser = clap::value_parser!(u64).range(..=MAX_VERSION))]
        expected: Option<u64>,
    },
}

/// What tables are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tables {
    /// Circuits
    Breaker,
    /// The limits of fleets
    Fleet,
}

impl From<Tables> for Part {
    fn from(tables: Tables) -> Self {
        match tables {
            Tables::Breaker => Part::Breaker,
            Tables::Fleet => Part::Fleet,
        }
    }
}

/// To what a circuit is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Forced {
    /// Open, until it is closed by hand
    Open,
    /// Closed, as if it were new
    Closed,
}

impl From<Forced> for Force {
    fn from(state: Forced) -> Self {
        match state {
            Forced::Open => Force::Open,
            Forced::Closed => Force::Closed,
        }
    }
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
