//! Applying changes of the settings' file while calls run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::fs;
use tokio::time::sleep;
use tracing::{error, info, warn};

use crate::Error;
use crate::admission::Admission;
use crate::config::Config;

const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Applies each new content of the file. One that is invalid changes nothing, and is logged.
pub(crate) async fn watch(path: PathBuf, mut seen: String, mut config: Config, admission: Arc<Admission>) {
    loop {
        sleep(POLL_INTERVAL).await;
        // A file that cannot be read is being replaced.
        let Ok(text) = fs::read_to_string(&path).await else { continue };
        if text == seen {
            continue;
        }
        match apply(&text, &config, &admission) {
            Ok(in_force) => config = in_force,
            Err(error) => error!(%error, "the new configuration is refused"),
        }
        seen = text;
    }
}

/// Returns the configuration that is in force then.
fn apply(text: &str, old: &Config, admission: &Admission) -> Result<Config, Error> {
    let new: Config = toml::from_str(text)?;
    admission.reconfigure(old, &new.limits)?;
    let in_force = Config { limits: new.limits.clone(), ..old.clone() };
    if in_force != new {
        warn!("what is not a limit changes at the next restart");
    }
    info!(limits = ?new.limits, "the configuration is in force");
    Ok(in_force)
}
