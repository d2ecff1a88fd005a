//! One upstream stalls; does its neighbour notice? Two HTTP upstreams, a gateway in front of them whose outbound pool
//! both routes share, and open-loop load, all of it real and on loopback:
//!
//! ```text
//! cargo run --release --example isolation
//! ```
//!
//! Three phases: unloaded; overloaded without bulkheads; the same again with them. `protect.rs` is the part to copy into
//! a gateway of your own. The run fails unless the bulkheads kept the healthy route healthy (`verdict.rs`).
//! This file holds the order of the run.

mod gateway;
mod held;
mod http;
mod load;
mod options;
mod outbound;
mod phase;
mod protect;
mod report;
mod scenario;
mod summary;
mod tally;
mod upstream;
mod verdict;

use std::{error::Error, process::ExitCode};

use options::Options;
use scenario::Phase;
use summary::Results;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Options::from_command_line()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("isolation: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    println!("{}", report::legend(options));
    let results = Results {
        unloaded: phase::run(Phase::Unloaded, options).await?,
        bare: phase::run(Phase::Bare, options).await?,
        protected: phase::run(Phase::Protected, options).await?,
    };
    println!("{}", summary::table(&results));
    println!("{}", summary::sentence(&results));
    verdict::check(&results.unloaded.healthy, &results.protected.healthy)?;
    Ok(())
}
