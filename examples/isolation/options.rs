//! The command line: every rate, duration and limit, and the combinations that are refused.

use std::{ops::RangeInclusive, path::PathBuf, time::Duration};

use clap::{CommandFactory, Parser, builder::RangedU64ValueParser, error::ErrorKind};

const LONGEST: Duration = Duration::from_mins(1);

/// Measures whether a stalled upstream disturbs its neighbour.
///
/// Two HTTP upstreams, a gateway with an outbound pool that both routes share, and open-loop load,
/// on loopback. Times are written like 2s or 500ms. Exits with 1 unless bulkheads keep the healthy
/// route at 99 % success and its p99 within 3 times the unloaded one or 50 ms, whichever is larger.
#[derive(Clone, Debug, Parser)]
#[command(name = "isolation")]
pub(crate) struct Options {
    /// Requests a second on each route while unloaded
    #[arg(long, value_name = "RATE", default_value = "50", value_parser = rate())]
    pub(crate) unloaded_rate: u32,
    /// Requests a second on the healthy route while overloaded
    #[arg(long, value_name = "RATE", default_value = "100", value_parser = rate())]
    pub(crate) healthy_rate: u32,
    /// Requests a second on the stalling route while overloaded
    #[arg(long, value_name = "RATE", default_value = "300", value_parser = rate())]
    pub(crate) stalling_rate: u32,

    /// How long the unloaded phase lasts
    #[arg(long, value_name = "TIME", default_value = "6s", value_parser = phase_length)]
    pub(crate) unloaded: Duration,
    /// How long each of the two overloaded phases lasts
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = phase_length)]
    pub(crate) overloaded: Duration,
    /// When the stalling upstream goes silent, from the start of an overloaded phase
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = stall)]
    pub(crate) stall_after: Duration,

    /// How long an upstream that works takes to answer
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = patience)]
    pub(crate) work: Duration,
    /// When a client gives up, from the instant its request was due
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = patience)]
    pub(crate) client_timeout: Duration,
    /// When the gateway gives up on an upstream, its whole answer included
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = patience)]
    pub(crate) upstream_timeout: Duration,

    /// Calls the gateway can have outbound simultaneously, shared by both routes
    #[arg(long, value_name = "COUNT", default_value = "32", value_parser = limit(1))]
    pub(crate) pool: usize,
    /// How long a request waits for the shared pool before the gateway answers 504
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = patience)]
    pub(crate) pool_wait: Duration,

    /// Parallelism of the healthy route's bulkhead
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = limit(1))]
    pub(crate) healthy_slots: usize,
    /// Parallelism of the stalling route's bulkhead
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = limit(1))]
    pub(crate) stalling_slots: usize,
    /// Waiting room of each bulkhead
    #[arg(long, value_name = "COUNT", default_value = "8", value_parser = limit(0))]
    pub(crate) waiting_room: usize,
    /// How long a request may wait for its bulkhead
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = patience)]
    pub(crate) wait_limit: Duration,

    /// Where to write a plot of the healthy route, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
}

impl Options {
    /// Exits with a message that names the option and its value if the command line is invalid.
    pub(crate) fn from_command_line() -> Self {
        let options = Self::parse();
        if let Err(why) = options.check() {
            Self::command().error(ErrorKind::ValueValidation, why).exit();
        }
        options
    }

    fn check(&self) -> Result<(), String> {
        self.check_pool()?;
        self.check_stall()?;
        self.check_clients()
    }

    fn check_pool(&self) -> Result<(), String> {
        let Self { pool, healthy_slots, stalling_slots, .. } = self;
        if healthy_slots + stalling_slots <= *pool {
            return Ok(());
        }
        Err(format!(
            "--healthy-slots {healthy_slots} and --stalling-slots {stalling_slots} do not fit into --pool {pool}: \
             the bulkheads would admit more requests than the pool can serve"
        ))
    }

    fn check_stall(&self) -> Result<(), String> {
        let Self { stall_after, overloaded, .. } = self;
        if stall_after < overloaded {
            return Ok(());
        }
        Err(format!(
            "--stall-after {stall_after:?} is not before the end of the phase, --overloaded {overloaded:?}: \
             nothing would stall"
        ))
    }

    fn check_clients(&self) -> Result<(), String> {
        let Self { work, client_timeout, .. } = self;
        if work < client_timeout {
            return Ok(());
        }
        Err(format!("--work {work:?} is not less than --client-timeout {client_timeout:?}: no request could succeed"))
    }
}

fn rate() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=2_000)
}

fn limit(least: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=4_096)
}

fn phase_length(text: &str) -> Result<Duration, String> {
    time_within(text, Duration::from_secs(1)..=LONGEST)
}

fn stall(text: &str) -> Result<Duration, String> {
    time_within(text, Duration::ZERO..=LONGEST)
}

fn patience(text: &str) -> Result<Duration, String> {
    time_within(text, Duration::from_millis(1)..=LONGEST)
}

fn time_within(text: &str, range: RangeInclusive<Duration>) -> Result<Duration, String> {
    let time = time(text).ok_or("not a time: write it like 2s or 500ms")?;
    if range.contains(&time) {
        return Ok(time);
    }
    Err(format!("must be between {:?} and {:?}", range.start(), range.end()))
}

fn time(text: &str) -> Option<Duration> {
    if let Some(millis) = text.strip_suffix("ms") {
        return millis.parse().ok().map(Duration::from_millis);
    }
    text.strip_suffix('s')?.parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(arguments: &[&str]) -> String {
        let command_line = std::iter::once(&"isolation").chain(arguments);
        match Options::try_parse_from(command_line) {
            Err(why) => why.to_string(),
            Ok(options) => options.check().expect_err("accepted"),
        }
    }

    fn assert_refused(arguments: &[&str]) {
        let message = refusal(arguments);
        for word in arguments {
            assert!(message.contains(word), "{word} is missing in: {message}");
        }
    }

    #[test]
    fn the_defaults_are_valid() {
        let options = Options::try_parse_from(["isolation"]).unwrap();
        assert_eq!(options.check(), Ok(()));
        let run = options.unloaded + 2 * options.overloaded;
        assert!(run < Duration::from_secs(40));
    }

    #[test]
    fn a_refusal_names_option_and_value() {
        for option in ["--unloaded-rate", "--healthy-rate", "--stalling-rate", "--pool", "--healthy-slots"] {
            assert_refused(&[option, "0"]);
            assert_refused(&[option, "1000000"]);
        }
        for option in ["--unloaded", "--overloaded", "--client-timeout", "--pool-wait", "--wait-limit"] {
            assert_refused(&[option, "0s"]);
            assert_refused(&[option, "61s"]);
            assert_refused(&[option, "soon"]);
        }
    }

    #[test]
    fn bulkheads_must_fit_into_the_pool() {
        assert_refused(&["--pool", "20", "--healthy-slots", "11", "--stalling-slots", "10"]);
    }

    #[test]
    fn a_stall_must_happen_and_success_be_possible() {
        assert_refused(&["--stall-after", "5s", "--overloaded", "5s"]);
        assert_refused(&["--work", "2s", "--client-timeout", "2s"]);
    }
}
