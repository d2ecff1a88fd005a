//! The embedded build: `text`, the size of the core's `.text` on thumbv7em at opt-level s with LTO, and `failed builds`, how many
//! of core on thumbv6m and front on thumbv7m do not build; both as `embedded.json`.

use anyhow::{Result, bail};

use super::readings::Readings;

pub(super) fn measure(_readings: &Readings) -> Result<()> {
    bail!("there is no build for thumbv7em yet")
}
