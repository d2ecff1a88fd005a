//! Running commands: each is printed as one could type it, and a failure becomes an error with its exit code.

use std::borrow::Cow;
use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::{Context, Result};

use crate::workspace;

/// A command that ran and did not succeed.
#[derive(Debug)]
struct Failed {
    command: String,
    code: Option<i32>,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "failed with exit code {code}: {}", self.command),
            None => write!(f, "killed by a signal: {}", self.command),
        }
    }
}

impl std::error::Error for Failed {}

/// What xtask itself exits with: the code of the command that failed, 1 for any other error.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(code(error).and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn code(error: &anyhow::Error) -> Option<i32> {
    error.downcast_ref::<Failed>()?.code
}

/// A command to be run in the root of the workspace.
pub(crate) fn command(program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(workspace::root());
    command
}

/// [`command`] for cargo.
pub(crate) fn cargo(args: &[&str]) -> Command {
    command("cargo", args)
}

/// Prints the command and runs it to its end.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let text = echo(command);
    let status = command.status().with_context(|| format!("cannot start: {text}"))?;
    succeeded(text, status)
}

/// [`run`] for a command that may tell something by its exit code.
pub(crate) fn run_and_accept(command: &mut Command, codes: &[i32]) -> Result<()> {
    match run(command) {
        Err(error) if code(&error).is_some_and(|code| codes.contains(&code)) => Ok(()),
        result => result,
    }
}

/// [`run`] that hands back what the command wrote to its standard output, after showing it.
pub(crate) fn run_and_read(command: &mut Command) -> Result<String> {
    let text = echo(command);
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start: {text}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{stdout}");
    succeeded(text, output.status).map(|()| stdout)
}

/// [`run_and_read`] for a command that may hang: it is killed when the time is up.
pub(crate) fn run_and_read_within(command: &mut Command, limit: Duration) -> Result<String> {
    let text = echo(command);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start: {text}"))?;
    let stdout = child.stdout.take().context("a child without the output that it was given")?;
    let reader = thread::spawn(move || io::read_to_string(stdout));
    let status = status_within(&mut child, limit)?;
    let output = reader.join().expect("reading does not panic")?;
    print!("{output}");
    let status = status.with_context(|| format!("killed, as it took more than {limit:?}: {text}"))?;
    succeeded(text, status).map(|()| output)
}

/// How a child ended; nothing if it had to be killed.
fn status_within(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

fn succeeded(command: String, status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { Err(Failed { command, code: status.code() }.into()) }
}

/// Asks a question quietly: the standard output, or nothing if the program is absent or fails.
pub(crate) fn ask(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The user's own flags in `variable` with `more` behind them.
pub(crate) fn flags(variable: &str, more: &str) -> String {
    let flags = env::var(variable).unwrap_or_default();
    format!("{flags} {more}").trim_start().to_owned()
}

fn echo(command: &Command) -> String {
    let text = shown(command);
    eprintln!("$ {text}");
    text
}

fn shown(command: &Command) -> String {
    let envs =
        command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quoted(value?))));
    let words = [command.get_program()].into_iter().chain(command.get_args()).map(|word| quoted(word).into_owned());
    envs.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> Cow<'_, str> {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word;
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = cargo(&["test", "--", "it's"]);
        command.env("RUSTFLAGS", "--cfg a");
        assert_eq!(shown(&command), r"RUSTFLAGS='--cfg a' cargo test -- 'it'\''s'");
    }

    #[test]
    fn a_failure_keeps_its_exit_code() {
        let code = |code| exit_code(&Failed { command: String::new(), code }.into());
        assert_eq!(code(Some(101)), ExitCode::from(101));
        assert_eq!(code(None), ExitCode::from(1));
        assert_eq!(exit_code(&anyhow::anyhow!("other")), ExitCode::from(1));
    }

    #[test]
    #[cfg(unix)]
    fn an_exit_code_that_tells_something_is_no_failure() {
        let exit = |code| run_and_accept(&mut command("sh", &["-c", &format!("exit {code}")]), &[2, 3]);
        assert!(exit(0).is_ok() && exit(3).is_ok());
        assert_eq!(code(&exit(4).unwrap_err()), Some(4));
    }

    #[test]
    #[cfg(unix)]
    fn a_command_that_hangs_is_killed_and_one_that_ends_is_read() {
        let limit = Duration::from_millis(200);
        let error = run_and_read_within(&mut command("sleep", &["1000"]), limit).unwrap_err();
        assert!(error.to_string().starts_with("killed, as it took more than 200ms: sleep"), "{error}");
        let limit = Duration::from_secs(100);
        assert_eq!(run_and_read_within(&mut command("echo", &["read"]), limit).unwrap(), "read\n");
        let error = run_and_read_within(&mut command("false", &[]), limit).unwrap_err();
        assert_eq!(exit_code(&error), ExitCode::from(1));
    }

    #[test]
    fn a_program_that_is_absent_answers_nothing() {
        assert_eq!(ask(&mut command("bulklink-no-such-program", &[])), None);
    }
}
