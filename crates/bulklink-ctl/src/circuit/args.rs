//! The command line of `circuit`.

use bulklink_fleet::circuits::Force;
use clap::{Subcommand, ValueEnum};

use crate::args::MAX_VERSION;

/// What to do with circuits.
#[derive(Subcommand)]
pub(crate) enum Task {
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
        expect: Option<u64>,
    },
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
