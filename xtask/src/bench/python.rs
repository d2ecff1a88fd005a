//! Times the Python library of the same name with a script.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::readings::Readings;
use crate::run::{command, run, run_and_read};
use crate::toolchain::{NO_INSTALL, may_install};
use crate::workspace;

const VERSION: &str = "0.6.0";

const SCRIPT: &str = "benches/python/bulkhead.py";

pub(super) fn measure(readings: &Readings) -> Result<()> {
    let packages = workspace::target_path("bench/python");
    install(&packages).with_context(|| format!("cannot install the Python package bulklink {VERSION}"))?;
    let figures = run_and_read(command("python3", &[SCRIPT]).env("PYTHONPATH", &packages))?;
    Ok(fs::write(readings.path("python.json"), figures)?)
}

/// Installs the package into a separate folder, where no other program finds it.
fn install(packages: &Path) -> Result<()> {
    if packages.join(format!("bulklink-{VERSION}.dist-info")).is_dir() {
        return Ok(());
    }
    ensure!(may_install(), "{NO_INSTALL} forbids installing it");
    let package = format!("bulklink=={VERSION}");
    let quiet = ["--quiet", "--disable-pip-version-check", "--root-user-action=ignore"];
    run(command("python3", &["-m", "pip", "install"]).args(quiet).arg("--target").arg(packages).arg(package))
}
