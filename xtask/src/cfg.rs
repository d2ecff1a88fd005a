//! Builds with a cfg more. Only the crates of the workspace get it, by a compiler around the usual
//! one: so their dependencies are compiled once, and not anew as by `RUSTFLAGS`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, Result, ensure};

use crate::run::ask;
use crate::workspace;

/// The folder of these compilers, each named after its cfg.
const FOLDER: &str = "cfg";

/// Makes cargo compile the crates of the workspace with a cfg.
pub(crate) fn add(cargo: &mut Command, cfg: &str) -> Result<()> {
    // Cargo keeps apart what compilers of other paths have built.
    let compiler = workspace::target_path(FOLDER).join(cfg).with_extension(env::consts::EXE_EXTENSION);
    copy_own(&compiler)?;
    // Without the cfg, all tests would pass, and prove nothing.
    let known = ask(Command::new(&compiler).args(["rustc", "--print", "cfg"])).unwrap_or_default();
    ensure!(known.lines().any(|line| line == cfg), "{} does not compile with {cfg}", compiler.display());
    cargo.env("RUSTC_WORKSPACE_WRAPPER", compiler);
    Ok(())
}

/// Puts this program at another path too.
pub(crate) fn copy_own(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    // That of an older xtask.
    if path.exists() {
        fs::remove_file(path)?;
    }
    let own = env::current_exe()?;
    // A copy where the target folder is on another file system.
    let made = fs::hard_link(&own, path).or_else(|_| fs::copy(&own, path).map(drop));
    made.with_context(|| format!("cannot make {}", path.display()))
}

/// Compiles, if cargo has started this program as one of these compilers.
pub(crate) fn compile() -> Option<ExitCode> {
    let mut args = env::args_os();
    let own = args.next()?;
    let own = Path::new(&own);
    if own.parent()?.file_name() != Some(OsStr::new(FOLDER)) {
        return None;
    }
    Some(finish(Command::new(args.next()?).args(args).arg("--cfg").arg(own.file_stem()?)))
}

/// Runs the program that this one is put around, and ends as it does.
pub(crate) fn finish(command: &mut Command) -> ExitCode {
    let code = command.status().ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
