//! The progress on a terminal, and Ctrl-C.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bulklink_plan::Progress;
use tokio::runtime::Builder;
use tokio::signal::ctrl_c;

use super::INTERRUPTED;
use super::text::millions;

/// A search that takes no longer shows no progress.
const SILENT: Duration = Duration::from_millis(500);

/// The time between two lines.
const EVERY: Duration = Duration::from_millis(200);

/// Watches a search from its beginning.
pub(crate) struct Watch {
    start: Instant,
    /// When the next line is due, if the standard error is a terminal.
    due: Option<Instant>,
    is_shown: bool,
    is_interrupted: Arc<AtomicBool>,
}

impl Watch {
    pub(crate) fn start() -> Self {
        let start = Instant::now();
        let is_interrupted = Arc::new(AtomicBool::new(false));
        let flag = is_interrupted.clone();
        thread::spawn(move || wait_for_ctrl_c(&flag));
        let due = io::stderr().is_terminal().then_some(start + SILENT);
        Watch { start, due, is_shown: false, is_interrupted }
    }

    /// Shows the progress, and returns whether the search goes on.
    pub(crate) fn see(&mut self, progress: &Progress) -> ControlFlow<()> {
        let now = Instant::now();
        if self.due.is_some_and(|due| due <= now) {
            self.due = Some(now + EVERY);
            self.is_shown = true;
            let (calls, seconds) = (millions(progress.arrivals), (now - self.start).as_secs());
            let line = format!("{}: {calls} calls, {seconds} s; Ctrl-C ends", progress.step);
            let _ = write!(io::stderr(), "\r{line}\x1b[K");
        }
        if self.is_interrupted.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Removes the progress.
    pub(crate) fn end(&self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// The first one ends the search, and a second one the program.
fn wait_for_ctrl_c(flag: &AtomicBool) {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        if ctrl_c().await.is_ok() {
            flag.store(true, Ordering::Relaxed);
        }
        if ctrl_c().await.is_ok() {
            process::exit(INTERRUPTED.into());
        }
    });
}
