//! The options of all commands, and the environment.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bulklink_fleet::{Name, Namespace};
use clap::Args;
use jiff::SignedDuration;

use crate::failure::Failure;
use crate::server::{Kind, Server};

/// Versions are exact up to here.
pub(crate) const MAX_VERSION: u64 = 1 << 53;

const URL: &str = "\
The server: redis://[user@]host[:port][/database], rediss:// with TLS, valkey://, unix:///path, \
or postgresql://[user@]host[:port][/database] [default: redis://127.0.0.1]. A password in it can be seen in the list \
of processes";

/// The options of all commands.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Place {
    // Not a comment for docs, which would make links of it.
    #[arg(long, global = true, help = URL)]
    url: Option<String>,
    /// The namespace of shares and circuits
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
    pub(crate) json: bool,
}

impl Place {
    /// The server, by the options and the environment.
    pub(crate) fn server(&self) -> Result<Server, Failure> {
        let Place { password_file, ca, timeout, .. } = self;
        let (kind, url) = self.url()?;
        let password = match password_file {
            Some(path) => Some(first_line(path)?),
            None => variable(kind.password())?,
        };
        let read = |path: &PathBuf| fs::read(path).map_err(|error| unreadable(path, &error));
        Ok(Server { kind, url, password, certificates: ca.as_ref().map(read).transpose()?, timeout: *timeout })
    }

    pub(crate) fn namespace(&self) -> Result<Namespace, Failure> {
        let text = match &self.namespace {
            Some(namespace) => Some(namespace.clone()),
            None => variable("BULKLINK_NAMESPACE")?,
        };
        let missing = || Failure::usage("the namespace is missing: --namespace, or BULKLINK_NAMESPACE");
        let namespace = Namespace::new(&text.ok_or_else(missing)?);
        namespace.map_err(|error| Failure::usage(format!("the namespace: {error}")))
    }

    /// The name of the thing with a label.
    pub(crate) fn name(&self, thing: &str, label: &str) -> Result<Name, Failure> {
        Name::new(&self.namespace()?, label).map_err(|error| Failure::usage(format!("the {thing}: {error}")))
    }

    fn url(&self) -> Result<(Kind, String), Failure> {
        if let Some(url) = &self.url {
            return Ok((Kind::of(url), url.clone()));
        }
        match (variable("BULKLINK_REDIS_URL")?, variable("BULKLINK_POSTGRES_URL")?) {
            (Some(_), Some(_)) => Err(Failure::usage(
                "BULKLINK_REDIS_URL and BULKLINK_POSTGRES_URL are both set: --url says which server",
            )),
            (None, Some(url)) => Ok((Kind::Postgres, url)),
            (url, None) => Ok((Kind::Redis, url.unwrap_or_else(|| "redis://127.0.0.1".to_owned()))),
        }
    }
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

/// Reads a time, such as `500ms`, `1.5s` or `1m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let time: SignedDuration = text.parse().map_err(|_| "a time has a unit: ms, s or m")?;
    let is_allowed = (SignedDuration::from_millis(1)..=SignedDuration::from_hours(24)).contains(&time);
    if is_allowed { Ok(time.unsigned_abs()) } else { Err("must be between 1ms and a day".to_owned()) }
}

/// Shortens an error of the command line to one line, without a URL.
pub(crate) fn one_line(error: &clap::Error) -> String {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a command is missing; --help lists them".to_owned();
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // The rest after the first empty line is advice.
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
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_time_has_a_unit_and_a_range() {
        for (text, millis) in
            [("1ms", 1), ("500ms", 500), ("2s", 2_000), ("1.5s", 1_500), ("1 s", 1_000), ("1m", 60_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "1", "s", "-1s", "0s", "0.5ms", "1d", "99999m", "NaNs", "infs", "é"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_of_the_command_line_is_one_line_without_urls() {
        for (line, message) in [
            ("", "a command is missing; --help lists them"),
            ("share show", "the following required arguments were not provided: <NAME>"),
            ("shre", "unrecognized subcommand 'shre'"),
            ("redis://:secret@host", "unrecognized subcommand (hidden)"),
            ("share list --password=secret", "unexpected argument '--password' found"),
            ("share resize a redis://:s@h", "invalid value (hidden) for '<LIMIT>': invalid digit found in string"),
            ("share resize a 0", "invalid value '0' for '<LIMIT>': 0 is not in 1..=4294967295"),
            ("share watch --every 5", "invalid value '5' for '--every <TIME>': a time has a unit: ms, s or m"),
            ("share watch a --all-namespaces", "the argument '[NAME]' cannot be used with '--all-namespaces'"),
        ] {
            let words = ["bulklink-ctl"].into_iter().chain(line.split_whitespace());
            let Err(error) = Cli::try_parse_from(words) else { panic!("{line}") };
            assert_eq!(one_line(&error), message, "{line}");
        }
    }
}
