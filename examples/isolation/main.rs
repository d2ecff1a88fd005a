//! Measures whether a stalled upstream disturbs its neighbour. A gateway forwards two routes to two
//! HTTP upstreams through one shared pool of outbound calls, under open-loop load on loopback:
//!
//! ```text
//! cargo run -p isolation
//! cargo run -p isolation -- --plot isolation.svg
//! ```
//!
//! There are three phases: unloaded, overloaded without bulkheads, and the same load with
//! bulkheads. `protect.rs` is the part to copy into a gateway of your own. The run fails unless the
//! bulkheads kept the healthy route healthy (`verdict.rs`). This file runs the phases in order.

mod gateway;
mod held;
mod http;
mod load;
mod options;
mod outbound;
mod phase;
mod plot;
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
    if let Some(path) = &options.plot {
        plot::draw(&results, options, path)?;
        println!("The plot is in {}.", path.display());
    }
    verdict::check(&results.unloaded.total.healthy, &results.protected.total.healthy)?;
    Ok(())
}
