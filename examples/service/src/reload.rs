//! Applying changes of the settings' file while calls run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::fs;
use tokio::signal::unix::Signal;
use tokio::time::sleep;
use tracing::{error, info, warn};

use crate::admission::Admission;
use crate::settings::{Refused, Settings};

const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Applies each new content of the file, and what it has on SIGHUP. If anything is wrong with it,
/// all stays as it is, and each reason is logged.
pub(crate) async fn watch(
    path: PathBuf,
    mut seen: String,
    settings: Settings,
    admission: Arc<Admission>,
    mut hangup: Signal,
) {
    let mut read = seen.clone();
    loop {
        let is_asked = tokio::select! {
            _ = hangup.recv() => true,
            () = sleep(POLL_INTERVAL) => false,
        };
        let text = match fs::read_to_string(&path).await {
            Ok(text) => text,
            Err(error) if is_asked => {
                error!(%error, path = %path.display(), "the configuration cannot be read");
                continue;
            }
            // It is being replaced.
            Err(_) => continue,
        };
        // It could be half written, unless it was the same before.
        let is_settled = text == read;
        read = text;
        if is_asked || is_settled && read != seen {
            let cause = if is_asked { "SIGHUP" } else { "the file has changed" };
            if let Err(refused) = apply(cause, &read, &settings, &admission) {
                for reason in refused.0 {
                    error!(cause, reason, "the new configuration is refused");
                }
            }
            seen.clone_from(&read);
        }
    }
}

fn apply(cause: &str, text: &str, started_with: &Settings, admission: &Admission) -> Result<(), Refused> {
    let new = Settings::parse(text)?;
    let applied = admission.apply(&new.limits)?;
    if (Settings { limits: started_with.limits.clone(), ..new }) != *started_with {
        warn!(cause, "what is not a limit changes at the next restart");
    }
    for change in &applied.changes {
        info!(cause, %change, "the limits have changed");
    }
    if applied.is_empty() {
        info!(cause, "the limits are the same");
    }
    Ok(())
}
