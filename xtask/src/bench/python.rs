//! Times the Python library of the same name with a script.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::run::{HOUR, command, run, run_and_read};
use crate::toolchain::{NO_INSTALL, may_install};
use crate::workspace;

const VERSION: &str = "0.6.0";

pub(super) fn measure(readings: &Path) -> Result<()> {
    let packages = workspace::target_path("bench/python");
    install(&packages).with_context(|| format!("cannot install the Python package bulklink {VERSION}"))?;
    let mut script = command("python3", &["benches/python/bulkhead.py"]);
    let figures = run_and_read(script.env("PYTHONPATH", &packages), HOUR)?;
    Ok(fs::write(readings.join("python.json"), figures)?)
}

/// Installs the package into a separate folder, where no other program finds it.
fn install(packages: &Path) -> Result<()> {
    if packages.join(format!("bulklink-{VERSION}.dist-info")).is_dir() {
        return Ok(());
    }
    ensure!(may_install(), "{NO_INSTALL} forbids installing it");
    let mut pip = command("python3", &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run(pip.args(["--root-user-action=ignore", "--target"]).arg(packages).arg(format!("bulklink=={VERSION}")))
}
