//! The command line of `share`.

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::args::{MAX_VERSION, duration};

/// What to do with shares.
#[derive(Subcommand)]
pub(crate) enum Task {
    /// Lists the shared limits of the namespace
    List {
        #[command(flatten)]
        scope: Scope,
    },
    /// Shows one shared limit, and what each process has and needs of it
    Show {
        /// The label
        name: String,
    },
    /// Shows one shared limit or all of them again and again, until Ctrl-C
    Watch {
        /// The label [default: list all]
        #[arg(conflicts_with = "all_namespaces")]
        name: Option<String>,
        #[command(flatten)]
        scope: Scope,
        /// The time from one view to the next, such as 500ms, 2s or 1m
        #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
        every: Duration,
    },
    /// Changes a shared limit, unless another change comes first
    Resize {
        /// The label
        name: String,
        /// The new limit, in units
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// The version that the limit must have [default: the present one]
        #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u64).range(..=MAX_VERSION))]
        expect: Option<u64>,
    },
}

/// What is listed.
#[derive(Args)]
pub(crate) struct Scope {
    /// List all namespaces
    #[arg(long)]
    pub(crate) all_namespaces: bool,
}
