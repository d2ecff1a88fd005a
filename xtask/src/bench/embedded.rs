//! Measures the embedded builds and writes `embedded.json`: `text` is the size of the core's
//! `.text` on thumbv7em at opt-level s with LTO, and `failed builds` is how many of two builds
//! fail, the core on thumbv6m and the front on thumbv7m.

use std::fs;

use anyhow::Result;

use super::readings::Readings;
use crate::{no_std, size};

pub(super) fn measure(readings: &Readings) -> Result<()> {
    let sizes = size::measured()?;
    let failed = no_std::failed_builds()?;
    let (text, path) = (sizes.core(), readings.path("embedded.json"));
    Ok(fs::write(path, format!("{{\"text\": {text}, \"failed builds\": {failed}}}"))?)
}
