//! `bulklink-plan` finds the limits of a bulkhead for a load.
//!
//! ```text
//! $ bulklink-plan --rate 500/s --hold p50=20ms,p99=200ms --deadline 250ms --refuse 0.1%
//! ```
//!
//! `bulklink-plan --help` lists the options and the exit codes.

#![forbid(unsafe_code)]

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::run()
}
