//! A file of settings that is applied at the start, and whenever it has changed.

use std::error::Error;
use std::fmt::{self, Display};
use std::fs;
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bulklink::config::FileStatus;
use bulklink::plumbing::{catch, discard, texts};
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::sleep;

use crate::signals::Signals;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// The time between two reads.
const INTERVAL: Duration = Duration::from_secs(1);
/// The time between two reads after a signal: a tool that writes in place has a moment to go on.
const HURRIED: Duration = Duration::from_millis(20);

/// Applies a file of settings now, and from then on whenever it has changed.
///
/// `apply` gets the text of the file, in whichever format, and applies it to all registries that
/// the program has. It must change nothing if it fails: with several registries, it first
/// [checks](bulklink::Registry::check) what all but one of them would refuse, and that one is the
/// first that it applies something to. After a failure, the text that was applied before is applied
/// again when the file has it again. The result of `apply` names the changes, and is logged.
///
/// [`follow`](crate::config::follow) does all that for settings that are read from the text.
///
/// The file is read every second, and as soon as possible on SIGHUP. A text is applied once two
/// reads in a row have found it, as it may be half written before. On SIGHUP, the second one is
/// 20 ms after the first, and the text is applied also if it has not changed. Otherwise the text
/// that was applied or refused last is no change, and is not applied again. A text is refused if
/// `apply` fails or panics, and so is a file that two reads have not found or could not read: then
/// all stays as it is.
///
/// It reads the file, and does not have the system watch it: that would not see a change on a
/// network file system, would lose a file that is replaced and the links of a mounted `ConfigMap`,
/// and needs a crate for each system. A read of a small file takes some microseconds. It is on a
/// blocking thread of the runtime, and so is `apply`.
///
/// With the feature `tracing`, each line of a change is an event of the level `INFO`, and each text
/// that is refused, once, one of the level `ERROR`, with all its reasons.
///
/// # Errors
///
/// If the file cannot be read, or `apply` fails or panics: its program should not start. The
/// [source](Error::source) is the error of `apply`, and the debug form, which `main` prints, has
/// the whole chain. Also if SIGHUP cannot be received.
///
/// # Cancel safety
///
/// If the future is dropped, the file may have been applied, and it is not watched. SIGHUP does not
/// end the process any more from when it is first polled.
///
/// # Panics
///
/// Outside of a tokio runtime with time and, on unix, I/O.
///
/// # Examples
///
/// ```no_run
/// use bulklink_tokio::{Registry, Tokio, config};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let limits = Registry::new();
/// let registry = limits.clone();
/// let apply = move |text: &str| Ok(registry.apply(&toml::from_str(text)?, &Tokio)?);
/// let watch = config::watch("limits.toml", apply).await?;
/// // … the service runs …
/// println!("{} refused", watch.status().refused);
/// # Ok(())
/// # }
/// ```
pub async fn watch<D: Display + 'static>(
    path: impl Into<PathBuf>,
    apply: impl FnMut(&str) -> Result<D, BoxError> + Send + 'static,
) -> Result<Watch, BoxError> {
    watch_from(path.into(), None, apply, |_| ()).await
}

/// How many files were watched.
static WATCHES: AtomicU64 = AtomicU64::new(0);

/// As [`watch`], with the text of the start, if that was read before. `report` gets the fate of
/// each text.
pub(crate) async fn watch_from<D: Display + 'static>(
    path: PathBuf,
    text: Option<String>,
    apply: impl FnMut(&str) -> Result<D, BoxError> + Send + 'static,
    report: impl Fn(&FileStatus) + Send + 'static,
) -> Result<Watch, BoxError> {
    let mut hangups = Signals::to_reload()?;
    let instance = WATCHES.fetch_add(1, Ordering::Relaxed);
    let mut status = FileStatus::default();
    (status.path, status.instance) = (path.display().to_string(), instance);
    let state = Arc::new(Mutex::new(status));
    let file = File { path, apply, report, state: Arc::clone(&state), applied: None, read: None, judged: None };
    let (mut file, started) = on_thread(file, |file| file.start(text)).await?;
    started?;
    let task = tokio::spawn(async move {
        loop {
            let is_asked = hangup_or_sleep(&mut hangups).await;
            let mut cause = "the file has changed";
            if is_asked {
                cause = "SIGHUP";
                file.forget();
            }
            loop {
                // It fails only while the runtime shuts down.
                let Ok((back, ())) = on_thread(file, move |file| file.look(cause)).await else { return };
                file = back;
                if file.judged.is_some() {
                    break;
                }
                sleep(HURRIED).await;
            }
        }
    });
    Ok(Watch { state, task: task.abort_handle() })
}

/// A file that is watched. **Dropping this ends the watch**: keep it for as long as the service
/// runs.
///
/// A text that is being applied when it is dropped is applied to its end.
#[must_use = "dropping it ends the watch"]
pub struct Watch {
    state: Arc<Mutex<FileStatus>>,
    task: AbortHandle,
}

impl Watch {
    /// Returns how many texts of the file were applied and refused until now.
    #[must_use]
    pub fn status(&self) -> FileStatus {
        lock(&self.state).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("status", &self.status()).finish()
    }
}

fn lock(state: &Mutex<FileStatus>) -> MutexGuard<'_, FileStatus> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The text that a read has found, or why there is none.
type Found = Result<String, String>;

/// The file, and the texts that were read and applied. It is moved to a thread for each read.
struct File<F, G> {
    path: PathBuf,
    apply: F,
    report: G,
    state: Arc<Mutex<FileStatus>>,
    /// The text that is applied; `None` once another one has failed, which may have changed
    /// something, or once it is to be applied again.
    applied: Option<String>,
    /// The result of the last read.
    read: Option<Found>,
    /// The result that was applied or refused last.
    judged: Option<Found>,
}

impl<F, G, D: Display> File<F, G>
where
    F: FnMut(&str) -> Result<D, BoxError> + Send + 'static,
    G: Fn(&FileStatus) + Send + 'static,
{
    /// Applies the file at the start, without a second read.
    fn start(&mut self, text: Option<String>) -> Result<(), Refused> {
        let refused = |source| Refused { path: self.path.clone(), source };
        let text = text.map_or_else(|| text_of(&self.path), Ok).map_err(|error| refused(error.into()))?;
        let path = self.path.clone();
        self.try_to_apply("start", &text).map_err(|source| Refused { path, source })?;
        self.judged = Some(Ok(text));
        Ok(())
    }

    /// Reads the file, and applies a text that the read before has found too.
    fn look(&mut self, cause: &'static str) {
        let found = text_of(&self.path).map_err(|error| format!("it cannot be read: {error}"));
        if self.judged.as_ref() != Some(&found) && self.read.as_ref() == Some(&found) {
            let refused = match &found {
                Ok(text) if self.applied.as_ref() == Some(text) => {
                    self.set(|state| state.refusal = None);
                    Ok(())
                }
                Ok(text) => self.try_to_apply(cause, text).map_err(reasons),
                Err(reason) => Err(reason.clone()),
            };
            if let Err(reasons) = refused {
                self.refuse(cause, reasons);
            }
            self.judged = Some(found.clone());
        }
        self.read = Some(found);
    }

    /// Has the next text that two reads find applied, whatever it is.
    fn forget(&mut self) {
        (self.applied, self.judged, self.read) = (None, None, None);
    }

    fn try_to_apply(&mut self, cause: &'static str, text: &str) -> Result<(), BoxError> {
        self.applied = None;
        let change = catch(|| (self.apply)(text).map(|change| change.to_string()));
        let change = change.unwrap_or_else(|panic| {
            let text = panic_text(&*panic);
            // It is foreign, too.
            discard(panic);
            Err(text.into())
        })?;
        self.applied = Some(text.to_owned());
        self.set(|state| (state.applied, state.refusal) = (state.applied + 1, None));
        self.log(cause, &change);
        Ok(())
    }

    fn refuse(&self, cause: &'static str, reasons: String) {
        #[cfg(feature = "tracing")]
        tracing::error!(cause, path = %self.path.display(), reasons, "the settings are refused");
        #[cfg(not(feature = "tracing"))]
        let _ = cause;
        self.set(|state| (state.refused, state.refusal) = (state.refused + 1, Some(reasons)));
    }

    /// Changes the fate of the texts, and reports it.
    fn set(&self, change: impl FnOnce(&mut FileStatus)) {
        let mut state = lock(&self.state);
        change(&mut state);
        let now = state.clone();
        drop(state);
        (self.report)(&now);
    }

    #[cfg(feature = "tracing")]
    fn log(&self, cause: &'static str, change: &str) {
        let path = self.path.display();
        for change in change.lines().filter(|line| !line.is_empty()) {
            tracing::info!(cause, %path, change, "the settings have changed");
        }
        if change.trim().is_empty() {
            tracing::info!(cause, %path, "the settings change nothing");
        }
    }

    #[cfg(not(feature = "tracing"))]
    #[expect(clippy::unused_self, reason = "as with the feature `tracing`")]
    fn log(&self, _cause: &'static str, _change: &str) {}
}

/// Returns the text of a file.
pub(crate) fn text_of(path: &Path) -> io::Result<String> {
    // Others, such as a pipe, could block for ever.
    if fs::metadata(path)?.is_file() { fs::read_to_string(path) } else { Err(io::Error::other("it is no file")) }
}

/// Why a program does not start.
pub(crate) struct Refused {
    pub(crate) path: PathBuf,
    pub(crate) source: BoxError,
}

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the settings of {} are refused", self.path.display())
    }
}

/// The text and all causes, as `main` shows an error by its debug form.
impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}: {}", texts(&*self.source))
    }
}

impl Error for Refused {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// Returns the texts of an error of `apply` and of its causes, in one line: readers of TOML draw
/// the place of an error below its text, over several.
fn reasons(error: BoxError) -> String {
    let texts = texts(&*error);
    discard(error);
    let lines = texts.lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric));
    lines.collect::<Vec<_>>().join("; ")
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(|text| &**text));
    text.map_or("panicked".into(), |text| format!("panicked: {text}"))
}

/// Runs a step on a blocking thread, and returns the value with the result of the step.
async fn on_thread<T, R>(mut value: T, step: impl FnOnce(&mut T) -> R + Send + 'static) -> io::Result<(T, R)>
where
    T: Send + 'static,
    R: Send + 'static,
{
    let task = spawn_blocking(move || {
        let returned = step(&mut value);
        (value, returned)
    });
    task.await.map_err(io::Error::other)
}

/// Returns whether the signal came within the interval.
async fn hangup_or_sleep(hangups: &mut Signals) -> bool {
    let mut asleep = pin!(sleep(INTERVAL));
    let first = poll_fn(|context| {
        if hangups.poll(context).is_ready() {
            return Poll::Ready(true);
        }
        asleep.as_mut().poll(context).map(|()| false)
    });
    first.await
}
