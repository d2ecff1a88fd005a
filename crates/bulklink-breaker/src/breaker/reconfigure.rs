//! Changing the settings of a circuit while calls run.

use std::sync::atomic::Ordering;

use bulklink::InvalidArgument;

use super::core::{Core, slow_after};
use super::log::Origin;
use crate::{Instant, Settings};

impl Core {
    /// Returns why the settings cannot be changed to these.
    pub(crate) fn check_settings(&self, settings: Settings) -> Result<(), InvalidArgument> {
        settings.check()?;
        if self.peer.is_none() || settings == self.settings() {
            return Ok(());
        }
        let requirement = "must stay as they are, as other processes share the circuit";
        Err(InvalidArgument::new("settings", "others", requirement))
    }

    /// Changes the settings, and returns those before.
    pub(crate) fn set_settings(&self, settings: Settings) -> Result<Settings, InvalidArgument> {
        let owned = |invalid: InvalidArgument| invalid.of(format_args!("breaker {}", self.config.label));
        self.check_settings(settings).map_err(owned)?;
        self.replace_settings(self.now(), settings)
    }

    pub(super) fn replace_settings(&self, now: Instant, settings: Settings) -> Result<Settings, InvalidArgument> {
        self.change(now, Origin::Calls, |locked| {
            let before = *locked.circuit.settings();
            locked.circuit.set_settings(settings)?;
            self.slow_after.store(slow_after(&settings), Ordering::Relaxed);
            Ok(before)
        })
    }

    /// Changes the settings of a circuit that is not shared.
    pub(crate) fn set_settings_at(&self, now: Instant, settings: Settings) -> Result<(), InvalidArgument> {
        self.replace_settings(now, settings).map(drop)
    }
}
