//! The command line and the environment.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bulklink_postgres::breaker::PostgresCircuits;
use bulklink_redis::{InvalidStore, Name, Namespace, RedisStore, RedisStoreBuilder};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::breaker::{self, Server, Store};
use crate::failure::Failure;

/// The largest limit that every store handles exactly, as for a bulkhead of a fleet.
const MAX_UNITS: u64 = 1 << 40;

/// Versions are exact up to here.
pub(crate) const MAX_VERSION: u64 = 1 << 53;

const URL: &str = "\
The server: redis://[user@]host[:port][/database], rediss:// with TLS, or unix:///path \
[default: redis://127.0.0.1]; for breaker, also postgresql://[user@]host[:port][/database]. A password in it can be seen in the list of processes";

/// What `--help` ends with.
const AFTER: &str = "\
Environment:
  BULKLINK_REDIS_URL       the server, unless --url says it
  BULKLINK_REDIS_PASSWORD  the password, unless --password-file says it
  BULKLINK_POSTGRES_URL, BULKLINK_POSTGRES_PASSWORD
                           the same for breaker with PostgreSQL
  BULKLINK_NAMESPACE       the namespace, unless --namespace says it
  NO_COLOR                 if it is not empty, no colours

Exit codes:
  0  done
  1  no answer: the server is out of reach, or none that this program understands
  2  the command line or the environment is wrong
  3  there is no such bulkhead or circuit
  4  the limit has another version than expected, or the circuit another generation
  5  the server refused, such as for want of rights

Exit codes of breaker check:
  0  complete
  1  unusable
  2  undetermined, or the command line or the environment is wrong
  3  incomplete";

/// Shows and changes the bulkheads of a fleet on Redis or Valkey.
#[derive(Parser)]
#[command(name = "bulklink-ctl", version, after_help = AFTER)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) task: Tasks,
    #[command(flatten)]
    place: Place,
}

/// What to do, and with what.
#[derive(Subcommand)]
pub(crate) enum Tasks {
    #[command(flatten)]
    OfBulkheads(Task),
    /// Sets up, checks, shows and forces the circuits that processes share
    Breaker {
        #[command(subcommand)]
        task: breaker::Task,
    },
}

/// What to do with bulkheads.
#[derive(Subcommand)]
pub(crate) enum Task {
    /// Lists all bulkheads of the namespace
    List {
        #[command(flatten)]
        scope: Scope,
    },
    /// Shows one bulkhead: its limit, holders, waiters and processes
    Show {
        /// The label of the bulkhead
        name: String,
        /// Show at most this many holders, waiters and processes
        #[arg(long, value_name = "N")]
        top: Option<usize>,
    },
    /// Changes the limit of a bulkhead, unless another change comes first
    Resize {
        /// The label of the bulkhead
        name: String,
        /// The new limit, in units
        #[arg(value_parser = clap::value_parser!(u64).range(1..=MAX_UNITS))]
        limit: u64,
        /// The version that the limit must have [default: the present one]
        #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u64).range(..=MAX_VERSION))]
        expect: Option<u64>,
    },
    /// Drops leases that have expired, and waiters of processes that are gone
    Reap {
        /// The label of the bulkhead
        name: String,
    },
    /// Shows one bulkhead or all of them again and again, until Ctrl-C
    Watch {
        /// The label of a bulkhead [default: list all]
        #[arg(conflicts_with = "all_namespaces")]
        name: Option<String>,
        #[command(flatten)]
        scope: Scope,
        /// The time from one view to the next, such as 500ms, 2s or 1m
        #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
        every: Duration,
        /// Show at most this many holders, waiters and processes
        #[arg(long, value_name = "N", default_value_t = 10)]
        top: usize,
    },
}

/// Which bulkheads are listed.
#[derive(Args)]
pub(crate) struct Scope {
    /// List the bulkheads of all namespaces
    #[arg(long)]
    pub(crate) all_namespaces: bool,
}

/// Where the server is, and what is common to all commands.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
struct Place {
    // Not a comment for docs, which would make links of it.
    #[arg(long, global = true, help = URL)]
    url: Option<String>,
    /// The namespace of the bulkheads
    #[arg(long, global = true)]
    namespace: Option<String>,
    /// Trust the certificates in this file (PEM), and no others
    #[arg(long, global = true, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Read the password from the first line of this file
    #[arg(long, global = true, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// How long the server may take to accept a connection, and for each answer
    #[arg(long, global = true, value_name = "TIME", default_value = "2s", value_parser = duration)]
    timeout: Duration,
    /// Print JSON: one object on a line
    #[arg(long, global = true)]
    json: bool,
}

/// The values that all commands share.
pub(crate) struct Settings {
    pub(crate) store: RedisStore,
    pub(crate) timeout: Duration,
    pub(crate) json: bool,
    naming: Naming,
}

/// The namespace, if one is set.
pub(crate) struct Naming(Option<String>);

impl Cli {
    /// Reads the command line.
    ///
    /// `Ok(Err(text))` is a text that was asked for, such as the help.
    pub(crate) fn read() -> Result<Result<Self, clap::Error>, Failure> {
        let parsed = Self::command().try_get_matches().and_then(|found| Self::from_arg_matches(&found));
        match parsed {
            Ok(cli) => Ok(Ok(cli)),
            Err(help) if !help.use_stderr() => Ok(Err(help)),
            Err(error) => Err(Failure::usage(one_line(&error))),
        }
    }

    /// Completes the options by the environment, and checks them.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let url = or_variable(self.place.url.as_ref(), "BULKLINK_REDIS_URL")?;
        let store = self.place.redis(url.as_deref())?.build().map_err(|error| Failure::usage(reason(error)))?;
        Ok(Settings { store, timeout: self.place.timeout, json: self.place.json, naming: self.naming()? })
    }

    /// As [`settings`](Self::settings), for circuits.
    pub(crate) fn circuits(&self) -> Result<Store, Failure> {
        let (server, url) = self.place.server()?;
        match server {
            Server::Postgres => self.place.postgres(url.as_deref().unwrap_or_default()).map(Store::Postgres),
            Server::Redis => {
                let store = self.place.redis(url.as_deref())?.build().map_err(|error| match error {
                    InvalidStore::Url => Failure::usage("the URL is one of neither Redis nor PostgreSQL"),
                    error => Failure::usage(reason(error)),
                })?;
                Ok(Store::redis(store, self.place.timeout))
            }
        }
    }

    /// How names are completed.
    pub(crate) fn naming(&self) -> Result<Naming, Failure> {
        Ok(Naming(or_variable(self.place.namespace.as_ref(), "BULKLINK_NAMESPACE")?))
    }

    pub(crate) fn json(&self) -> bool {
        self.place.json
    }
}

impl Place {
    /// The server of circuits, and its URL unless that is the default.
    fn server(&self) -> Result<(Server, Option<String>), Failure> {
        if let Some(url) = &self.url {
            return Ok((Server::of(url), Some(url.clone())));
        }
        match (variable("BULKLINK_REDIS_URL")?, variable("BULKLINK_POSTGRES_URL")?) {
            (Some(_), Some(_)) => Err(Failure::usage(
                "BULKLINK_REDIS_URL and BULKLINK_POSTGRES_URL are both set: --url says which server",
            )),
            (None, Some(url)) => Ok((Server::Postgres, Some(url))),
            (url, None) => Ok((Server::Redis, url)),
        }
    }

    fn redis(&self, url: Option<&str>) -> Result<RedisStoreBuilder, Failure> {
        let mut store = RedisStore::builder(url.unwrap_or("redis://127.0.0.1")).connect_timeout(self.timeout);
        if let Some(password) = self.password("BULKLINK_REDIS_PASSWORD")? {
            store = store.password(&password);
        }
        if let Some(pem) = self.certificates()? {
            store = store.certificates(&pem);
        }
        Ok(store)
    }

    fn postgres(&self, url: &str) -> Result<PostgresCircuits, Failure> {
        let mut store = PostgresCircuits::builder(url).connect_timeout(self.timeout).answer_timeout(self.timeout);
        if let Some(password) = self.password("BULKLINK_POSTGRES_PASSWORD")? {
            store = store.password(&password);
        }
        if let Some(pem) = self.certificates()? {
            store = store.certificates(&pem);
        }
        store.build().map_err(|error| Failure::usage(error.to_string()))
    }

    fn password(&self, name: &str) -> Result<Option<String>, Failure> {
        match &self.password_file {
            Some(path) => first_line(path).map(Some),
            None => variable(name),
        }
    }

    fn certificates(&self) -> Result<Option<Vec<u8>>, Failure> {
        let read = |path: &PathBuf| fs::read(path).map_err(|error| unreadable(path, &error));
        self.ca.as_ref().map(read).transpose()
    }
}

impl Settings {
    /// The namespace, or `None` for all of them.
    pub(crate) fn scope(&self, scope: &Scope) -> Result<Option<Namespace>, Failure> {
        if scope.all_namespaces { Ok(None) } else { self.naming.namespace().map(Some) }
    }

    /// The name of the bulkhead with a label.
    pub(crate) fn name(&self, label: &str) -> Result<Name, Failure> {
        self.naming.name("bulkhead", label)
    }
}

impl Naming {
    /// The name of the thing with a label.
    pub(crate) fn name(&self, thing: &str, label: &str) -> Result<Name, Failure> {
        Name::new(&self.namespace()?, label).map_err(|error| Failure::usage(format!("the {thing}: {error}")))
    }

    pub(crate) fn namespace(&self) -> Result<Namespace, Failure> {
        let missing = || Failure::usage("the namespace is missing: --namespace, or BULKLINK_NAMESPACE");
        let text = self.0.as_deref().ok_or_else(missing)?;
        Namespace::new(text).map_err(|error| Failure::usage(format!("the namespace: {error}")))
    }
}

fn or_variable(option: Option<&String>, name: &str) -> Result<Option<String>, Failure> {
    option.map_or_else(|| variable(name), |value| Ok(Some(value.clone())))
}

/// A variable of the environment, unless it is empty.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    let Some(value) = env::var_os(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    value.into_string().map(Some).map_err(|_| Failure::usage(format!("{name} is not UTF-8")))
}

fn first_line(path: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(Failure::usage(format!("{} begins with an empty line", path.display()))),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{} cannot be read: {}", path.display(), error.kind()))
}

fn reason(error: InvalidStore) -> String {
    match error {
        InvalidStore::Certificates => "--ca has no certificates, or the URL is not one with TLS".to_owned(),
        error => error.to_string(),
    }
}

/// Reads a time: a number and `ms`, `s` or `m`.
fn duration(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|char: char| char.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err("a time has a unit: ms, s or m".to_owned()),
    };
    let seconds = number.parse().map_or(0.0, |number: f64| number * factor);
    if (0.001..=86_400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("must be between 1ms and a day".to_owned())
    }
}

/// Shortens an error of the command line to one line, without a URL.
fn one_line(error: &clap::Error) -> String {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a command is missing; --help lists them".to_owned();
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // What follows the first empty line is advice.
    let text = text.split("\n\n").next().unwrap_or_default();
    without_urls(text)
}

/// Words with a URL could contain credentials.
fn without_urls(text: &str) -> String {
    let hidden = |word| if str::contains(word, "://") || str::contains(word, '@') { "(hidden)" } else { word };
    text.split_whitespace().map(hidden).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_time_has_a_unit_and_a_range() {
        for (text, millis) in [("1ms", 1), ("500ms", 500), ("2s", 2_000), ("1.5s", 1_500), ("1m", 60_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "1", "s", "-1s", "0s", "0.5ms", "1d", "1 s", "99999m", "NaNs", "infs", "é"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_of_the_command_line_is_one_line_without_urls() {
        for (line, message) in [
            ("", "a command is missing; --help lists them"),
            ("show", "the following required arguments were not provided: <NAME>"),
            ("lst", "unrecognized subcommand 'lst'"),
            ("redis://:secret@host", "unrecognized subcommand (hidden)"),
            ("list --password=secret", "unexpected argument '--password' found"),
            ("resize a redis://:secret@host", "invalid value (hidden) for '<LIMIT>': invalid digit found in string"),
            ("resize a 0", "invalid value '0' for '<LIMIT>': 0 is not in 1..=1099511627776"),
            ("watch --every 5", "invalid value '5' for '--every <TIME>': a time has a unit: ms, s or m"),
            ("watch a --all-namespaces", "the argument '[NAME]' cannot be used with '--all-namespaces'"),
        ] {
            let words = ["bulklink-ctl"].into_iter().chain(line.split_whitespace());
            let Err(error) = Cli::try_parse_from(words) else { panic!("{line}") };
            assert_eq!(one_line(&error), message, "{line}");
        }
    }
}
