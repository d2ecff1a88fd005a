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

/// The findings of the polls of the file.
#[derive(Debug)]
struct Content {
    /// The content that was applied or refused.
    judged: String,
    /// The content that the last poll read.
    read: String,
}

impl Content {
    /// Whether this is new and whole: the poll before could have read a file that was half written.
    fn is_settled(&mut self, text: String) -> bool {
        let is_same = text == self.read;
        self.read = text;
        is_same && self.read != self.judged
    }
}

/// Applies each new content of the file, and its content on SIGHUP. If anything is wrong with it,
/// all stays as it is, and each reason is logged.
pub(crate) async fn watch(
    path: PathBuf,
    text: String,
    settings: Settings,
    admission: Arc<Admission>,
    mut hangup: Signal,
) {
    let mut content = Content { read: text.clone(), judged: text };
    loop {
        let is_asked = tokio::select! {
            _ = hangup.recv() => true,
            () = sleep(POLL_INTERVAL) => false,
        };
        let cause = if is_asked { "SIGHUP" } else { "the file has changed" };
        let text = match fs::read_to_string(&path).await {
            Ok(text) => text,
            Err(error) if is_asked => {
                error!(%error, path = %path.display(), "the configuration cannot be read");
                continue;
            }
            // It is being replaced.
            Err(_) => continue,
        };
        if content.is_settled(text) || is_asked {
            if let Err(refused) = apply(cause, &content.read, &settings, &admission) {
                for reason in refused.0 {
                    error!(cause, reason, "the new configuration is refused");
                }
            }
            content.judged.clone_from(&content.read);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_applied_once_when_two_polls_have_read_the_same() {
        let mut content = Content { judged: "old".to_owned(), read: "old".to_owned() };
        let mut settled = |text: &str| {
            let is_settled = content.is_settled(text.to_owned());
            if is_settled {
                content.judged = text.to_owned();
            }
            is_settled
        };
        let read = ["old", "n", "ne", "new", "new", "new", "", "new", "new", "old", "old"];
        let applied = read.map(&mut settled);
        assert_eq!(applied, [false, false, false, false, true, false, false, false, false, false, true]);
    }
}
