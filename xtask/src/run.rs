//! Runs commands: prints each as it could be typed, and turns a failure into an error that keeps
//! the exit code.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;
use std::{env, io, iter, thread};

use anyhow::{Context, Result};
use wait_timeout::ChildExt;

use crate::workspace;

/// The error of a command that ran and did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("failed with {status}: {command}")]
struct Failed {
    command: String,
    status: ExitStatus,
}

/// A limit for commands that do not hang.
pub(crate) const HOUR: Duration = Duration::from_hours(1);

/// The exit code of xtask: that of the command that failed, or 1 for any other error.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(code(error).and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// The exit code of the command that failed.
pub(crate) fn code(error: &anyhow::Error) -> Option<i32> {
    error.downcast_ref::<Failed>()?.status.code()
}

/// A command that runs in the root of the workspace.
pub(crate) fn command(program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(workspace::root());
    command
}

/// [`command`] for cargo.
pub(crate) fn cargo(args: &[&str]) -> Command {
    command("cargo", args)
}

/// Prints the command and runs it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let text = echo(command);
    let status = command.status().with_context(|| format!("cannot start: {text}"))?;
    succeeded(text, status)
}

/// [`run`], and returns the command's standard output, after printing it. Kills a command that
/// takes longer than `limit`.
pub(crate) fn run_and_read(command: &mut Command, limit: Duration) -> Result<String> {
    let text = echo(command);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start: {text}"))?;
    let stdout = child.stdout.take().expect("the output is piped");
    // Reads in a thread, so that a full pipe does not stop the child.
    let reader = thread::spawn(move || io::read_to_string(stdout));
    let status = child.wait_timeout(limit)?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    let output = reader.join().expect("reading does not panic")?;
    print!("{output}");
    let status = status.with_context(|| format!("killed after {limit:?}: {text}"))?;
    succeeded(text, status).map(|()| output)
}

pub(crate) fn succeeded(command: String, status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { Err(Failed { command, status }.into()) }
}

/// Runs a command quietly and returns its standard output, or `None` if it is absent or fails.
pub(crate) fn ask(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The flags that the user set in `variable`, followed by `more`.
pub(crate) fn flags(variable: &str, more: &str) -> String {
    let flags = env::var(variable).unwrap_or_default();
    format!("{flags} {more}").trim_start().to_owned()
}

fn echo(command: &Command) -> String {
    let text = shown(command);
    eprintln!("$ {text}");
    text
}

/// The command as it could be typed.
pub(crate) fn shown(command: &Command) -> String {
    let envs = command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", quoted(name), quoted(value?))));
    let words = iter::once(command.get_program()).chain(command.get_args()).map(quoted);
    envs.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    // Only a word with a NUL cannot be quoted.
    shlex::try_quote(&word).unwrap_or(Cow::Borrowed("?")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_printed_as_it_could_be_typed() {
        let mut command = cargo(&["test", "--", "it's"]);
        command.env("RUSTFLAGS", "--cfg a");
        assert_eq!(shown(&command), r#"RUSTFLAGS='--cfg a' cargo test -- "it's""#);
    }

    #[test]
    #[cfg(unix)]
    fn a_failure_keeps_its_exit_code_and_a_command_that_hangs_is_killed() {
        let exit = |how| exit_code(&run(&mut command("sh", &["-c", how])).unwrap_err());
        assert_eq!((exit("exit 101"), exit("kill -9 $$")), (ExitCode::from(101), ExitCode::from(1)));
        assert_eq!(ask(&mut command("bulklink-no-such-program", &[])), None);
        let read = |program, args: &[&str]| run_and_read(&mut command(program, args), Duration::from_millis(200));
        assert_eq!(read("sleep", &["1000"]).unwrap_err().to_string(), "killed after 200ms: sleep 1000");
        assert_eq!(code(&read("false", &[]).unwrap_err()), Some(1));
        assert_eq!(run_and_read(&mut command("echo", &["read"]), HOUR).unwrap(), "read\n");
    }
}
