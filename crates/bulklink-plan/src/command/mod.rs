//! The command: its options, its output, and its end.

mod args;
mod json;
mod progress;
mod text;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use bulklink_plan::plan;
use clap::Parser;

use self::args::Options;
use self::progress::Watch;

/// The command line is wrong.
const USAGE: u8 = 2;

/// Ctrl-C came before the plan was complete.
const INTERRUPTED: u8 = 130;

/// Runs the command.
pub(crate) fn run() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) if error.use_stderr() => return fail(&args::one_line(&error)),
        Err(help) => {
            // A closed pipe is no error.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    let ask = match options.ask() {
        Ok(ask) => ask,
        Err(error) => return fail(&error.to_string()),
    };
    let mut watch = Watch::start();
    let plan = match plan(&ask, |progress| watch.see(progress)) {
        Ok(plan) => plan,
        Err(error) => return fail(&error.to_string()),
    };
    watch.end();
    let report = if options.json { json::report(&ask, &plan) } else { text::report(&ask, &plan) };
    match io::stdout().lock().write_all(report.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain(&format!("the standard output cannot be written: {}", error.kind()));
            ExitCode::FAILURE
        }
        _ if plan.is_complete => ExitCode::SUCCESS,
        _ => ExitCode::from(INTERRUPTED),
    }
}

fn fail(message: &str) -> ExitCode {
    complain(message);
    ExitCode::from(USAGE)
}

fn complain(message: &str) {
    // Not by `eprintln`, which panics where there is no standard error.
    let _ = writeln!(io::stderr(), "bulklink-plan: {message}");
}
