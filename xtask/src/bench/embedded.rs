//! The embedded build: `text`, the size of the core's `.text` on thumbv7em at opt-level s with LTO, and `failed builds`, how many
//! of core on thumbv6m and front on thumbv7m do not build; both as `embedded.json`.

use std::fs;

use anyhow::{Result, bail};

use super::readings::Readings;
use crate::{bare, no_std, size};

pub(super) fn measure(readings: &Readings) -> Result<()> {
    let Some(sizes) = size::measured()? else { bail!("{}", bare::absent(&[size::TARGET])) };
    let failed = no_std::failed_builds()?;
    let (text, path) = (sizes.core(), readings.path("embedded.json"));
    Ok(fs::write(path, format!("{{\"text\": {text}, \"failed builds\": {failed}}}"))?)
}
