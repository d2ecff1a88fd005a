//! The options.

use std::time::Duration;

use bulklink_core::InvalidArgument;
use bulklink_plan::{Ask, Burst, Distribution};
use clap::Parser;

/// The end of `--help`.
const AFTER: &str = "\
Times have a unit: us, ms, s or m. Ctrl-C ends the search and prints what is known so far.

Exit codes:
  0    done
  1    the plan cannot be printed
  2    the command line is wrong
  130  ended by Ctrl-C; the plan is not complete";

/// Finds parallelism, waiting room and wait limit of a bulkhead for a load, by simulation of the
/// bulkhead itself
#[derive(Parser)]
#[command(name = "bulklink-plan", version, after_help = AFTER)]
pub(crate) struct Options {
    /// The calls that come: 500/s, or 30/m
    #[arg(long, value_parser = rate)]
    rate: f64,
    /// How long a call holds its slot: p50=20ms,p99=200ms (log-normal), mean=20ms (exponential), or
    /// constant=20ms
    #[arg(long, value_parser = hold)]
    hold: Distribution,
    /// The time of a call from its arrival to its end; the wait limit follows from it
    #[arg(long, value_name = "TIME", value_parser = time)]
    deadline: Option<Duration>,
    /// Calls bring the deadline to the bulkhead, which learns how much of it an operation needs
    #[arg(long, requires = "deadline")]
    bring_deadline: bool,
    /// The wait limit, instead of one that is found
    #[arg(long, value_name = "TIME", value_parser = time)]
    wait: Option<Duration>,
    /// The share of calls that may be rejected: 0.1%, or 0.001
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    refuse: f64,
    /// How calls come, if not independently: batch=4 (so many at a time on average), or 3:1@2s (two
    /// rates, for two seconds each on average)
    #[arg(long, value_parser = burst)]
    burst: Option<Burst>,
    /// The seed of all random numbers: the same one gives the same plan
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The most calls of one simulation
    #[arg(long, value_name = "CALLS", default_value_t = 2_000_000)]
    budget: u64,
    /// Print JSON: one object on a line
    #[arg(long)]
    pub(crate) json: bool,
}

impl Options {
    pub(crate) fn ask(&self) -> Result<Ask, InvalidArgument> {
        let mut ask = Ask::new(self.rate, self.hold.clone());
        ask.burst = self.burst.unwrap_or(Burst::None);
        (ask.deadline, ask.brings_deadline) = (self.deadline, self.bring_deadline);
        (ask.wait_limit, ask.rejected) = (self.wait, self.refuse);
        (ask.seed, ask.budget) = (self.seed, self.budget);
        ask.check()?;
        Ok(ask)
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

fn rate(text: &str) -> Result<f64, String> {
    let per = [("/s", 1.0), ("/m", 60.0)];
    let found = per.iter().find_map(|(unit, seconds)| Some(number(text.strip_suffix(unit)?)? / seconds));
    found.ok_or_else(|| "a rate is as 500/s or 30/m".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let found = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    found.ok_or_else(|| "a share is as 0.1% or 0.001".to_owned())
}

fn time(text: &str) -> Result<Duration, String> {
    // Those first that others end with.
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0)];
    let found = units.iter().find_map(|(unit, seconds)| Some(number(text.strip_suffix(unit)?)? * seconds));
    let time = found.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| format!("{text:?} is no time with a unit: us, ms, s or m"))
}

fn hold(text: &str) -> Result<Distribution, String> {
    let parts: Vec<_> = text.split(',').map(|part| part.split_once('=').unwrap_or((part, ""))).collect();
    match parts[..] {
        [("mean", mean)] => Ok(Distribution::exponential(time(mean)?)),
        [("constant", constant)] => Ok(Distribution::constant(time(constant)?)),
        [("p50", p50), ("p99", p99)] | [("p99", p99), ("p50", p50)] => {
            Distribution::quantiles(time(p50)?, time(p99)?).map_err(|error| error.to_string())
        }
        _ => Err("a hold is p50=TIME,p99=TIME, mean=TIME or constant=TIME".to_owned()),
    }
}

fn burst(text: &str) -> Result<Burst, String> {
    let found = match text.strip_prefix("batch=") {
        Some(size) => number(size).map(Burst::Batches),
        None => phases(text),
    };
    found.ok_or_else(|| "a burst is as batch=4 or 3:1@2s".to_owned())
}

fn phases(text: &str) -> Option<Burst> {
    let (rates, stay) = text.split_once('@')?;
    let (high, low) = rates.split_once(':')?;
    Some(Burst::Phases(number(high)? / number(low)?, time(stay).ok()?))
}

/// Shortens an error of the command line to one line.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // The rest after the first empty line is advice.
    let text = text.split("\n\n").next().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn times_rates_and_shares_have_units() {
        for (text, nanos) in [("1us", 1_000), ("20ms", 20_000_000), ("1.5s", 1_500_000_000), ("2m", 120_000_000_000)] {
            assert_eq!(time(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        for text in ["", "1", "ms", "-1ms", "1h", "NaNs", "infs", "1e40s", "é"] {
            assert!(time(text).is_err() && rate(text).is_err(), "{text}");
        }
        assert_eq!((rate("500/s"), rate("30/m")), (Ok(500.0), Ok(0.5)));
        assert_eq!((share("0.5%"), share("0.005")), (Ok(0.005), Ok(0.005)));
        assert!(["%", "-1%", "x", "1 %"].iter().all(|text| share(text).is_err()));
    }

    #[test]
    fn holds_and_bursts_have_forms() {
        let mean = |text| hold(text).map(|hold| hold.mean().as_micros());
        assert_eq!((mean("mean=20ms"), mean("constant=3ms")), (Ok(20_000), Ok(3_000)));
        assert_eq!((mean("p50=20ms,p99=200ms"), mean("p99=200ms,p50=20ms")), (Ok(32_641), Ok(32_641)));
        for text in ["", "20ms", "mean=20", "p50=20ms", "p50=20ms,p99=2ms", "p50=1ms,p99=2ms,p100=3ms"] {
            assert!(hold(text).is_err(), "{text}");
        }
        assert_eq!(burst("batch=4"), Ok(Burst::Batches(4.0)));
        assert_eq!(burst("3:2@2s"), Ok(Burst::Phases(1.5, Duration::from_secs(2))));
        assert!(["", "batch=", "3:1", "3@2s", "3:1@2"].iter().all(|text| burst(text).is_err()));
    }
}
