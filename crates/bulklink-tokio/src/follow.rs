//! Settings that a program follows: their parts are applied to registries, together.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bulklink::config::{Apply, ApplyError, ConfigError, FileStatus};

use crate::Tokio;
use crate::watch::{BoxError, Refused, Watch, text_of, watch_from};

type Read<T> = Box<dyn FnMut(&str) -> Result<T, BoxError> + Send>;
type Part<T> = Box<dyn Fn(&Compared<'_, T>, Step<'_>) -> Result<String, ApplyError> + Send>;
type Report = Box<dyn Fn(&FileStatus) + Send>;

/// Reads the settings of a file, to follow them. `read` makes them of its text, in whichever
/// format.
///
/// # Errors
///
/// If the file cannot be read, or `read` fails: the program should not start. The
/// [source](std::error::Error::source) is the error of `read`, and the debug form, which `main`
/// prints, has the whole chain.
///
/// # Panics
///
/// If `read` panics. Later, that is a refusal of the text.
///
/// # Blocking
///
/// It reads the file on this thread, at once, and needs no runtime: so the settings may say how
/// many threads the runtime has.
///
/// # Examples
///
/// ```no_run
/// use bulklink_tokio::config::{self, Config};
/// use bulklink_tokio::{Bulkhead, Registry};
///
/// #[derive(serde::Deserialize)]
/// struct Settings {
///     listen: std::net::SocketAddr,
///     limits: Config,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let limits = Registry::new();
/// let file = config::follow("app.toml", |text| toml::from_str::<Settings>(text))?;
/// let settings = file.settings();
/// let file = file.part("limits", &limits, |settings| &settings.limits);
/// let _watch = file.fixed("listen", |settings| &settings.listen).start().await?;
///
/// let orders: Bulkhead = limits.bulkhead("orders")?;
/// let listener = tokio::net::TcpListener::bind(settings.listen).await?;
/// # Ok(())
/// # }
/// ```
pub fn follow<T, E: Into<BoxError>>(
    path: impl Into<PathBuf>,
    mut read: impl FnMut(&str) -> Result<T, E> + Send + 'static,
) -> Result<Follow<T>, BoxError> {
    let path = path.into();
    let refused = |source| Refused { path: path.clone(), source };
    let text = text_of(&path).map_err(|error| refused(error.into()))?;
    let settings = read(&text).map_err(|error| refused(error.into()))?;
    let read = Box::new(move |text: &str| read(text).map_err(Into::into));
    Ok(Follow { path, read, text, settings: Arc::new(settings), parts: Vec::new(), reports: Vec::new() })
}

/// The settings of a file, and what their parts are applied to: [`follow`] reads them, and
/// [`start`](Follow::start) applies them.
///
/// All parts of a text are checked before one is applied, so a text that is refused changes
/// nothing, and has the reasons of all parts. A section that the text of the start has must stay,
/// as the program has looked it up: a text without it is refused, and names one that may be a
/// misspelling of it. Others can be added and removed.
#[must_use = "it does nothing until it is started"]
pub struct Follow<T> {
    path: PathBuf,
    read: Read<T>,
    /// The text of the start, and its settings.
    text: String,
    settings: Arc<T>,
    parts: Vec<Part<T>>,
    reports: Vec<Report>,
}

/// Settings beside those of the start.
struct Compared<'a, T> {
    now: &'a T,
    started: &'a T,
}

enum Step<'a> {
    /// With the labels of the bulkheads that the parts before bring.
    Check(&'a mut BTreeSet<String>),
    Apply,
}

impl<T: Send + Sync + 'static> Follow<T> {
    /// Returns the settings that were read: those of the start, which stay as they are.
    #[must_use]
    pub fn settings(&self) -> Arc<T> {
        Arc::clone(&self.settings)
    }

    /// Applies a part of the settings to a registry. `path` is that of the part in the file, and
    /// each reason against a value begins with it: `limits.bulkheads.payments.parallelism must be…`
    /// It is empty if the part is the whole file.
    ///
    /// Parts are applied in this order. A registry of bulkheads should come first. Shares of a
    /// fleet are refused unless their bulkheads exist, or a part before brings them. And a call
    /// that begins to wait between check and change can have its part refused, and then no part
    /// is applied.
    pub fn part<A>(
        mut self,
        path: impl Into<String>,
        registry: &A,
        sections: impl Fn(&T) -> &A::Sections + Send + 'static,
    ) -> Self
    where
        A: Apply<Tokio> + Clone + Send + 'static,
    {
        let (path, registry, reported) = (path.into(), registry.clone(), registry.clone());
        self.reports.push(Box::new(move |status| reported.report(status)));
        self.parts.push(Box::new(move |settings, step| {
            let now = sections(settings.now);
            let done = match step {
                Step::Check(bulkheads) => A::require(now, sections(settings.started))
                    .map_err(ApplyError::from)
                    .and_then(|()| registry.check(now, &Tokio, bulkheads))
                    .map(|()| String::new()),
                Step::Apply => registry.apply(now, &Tokio),
            };
            done.map_err(|error| error.within(A::TABLE, &path))
        }));
        self
    }

    /// Names a part of the settings that does not change while the program runs: where it differs
    /// from that of the start, the log says so.
    pub fn fixed<V: PartialEq>(mut self, path: impl Into<String>, value: impl Fn(&T) -> &V + Send + 'static) -> Self {
        let path = path.into();
        self.parts.push(Box::new(move |settings, step| {
            // Also to check: if it panics, no part may have been applied.
            let is_changed = value(settings.now) != value(settings.started);
            let is_logged = is_changed && matches!(step, Step::Apply);
            Ok(if is_logged { format!("{path}: changes at the next restart") } else { String::new() })
        }));
        self
    }

    /// Applies the parts of the settings that were read, and from then on those of the file
    /// whenever it has changed, as [`watch`](crate::config::watch) does.
    ///
    /// # Errors
    ///
    /// If a part cannot be applied, as `watch`.
    ///
    /// # Cancel safety
    ///
    /// As that of `watch`.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time and, on unix, I/O.
    pub async fn start(self) -> Result<Watch, BoxError> {
        let Follow { path, mut read, text, settings: started, parts, reports } = self;
        let mut first = Some(Arc::clone(&started));
        let apply_text = move |text: &str| {
            let now = first.take().map_or_else(|| read(text).map(Arc::new), Ok)?;
            Ok(apply(&parts, &now, &started)?)
        };
        let report = move |status: &FileStatus| reports.iter().for_each(|report| report(status));
        watch_from(path, Some(text), apply_text, report).await
    }
}

/// Checks all parts, and then applies all. Returns the changes.
fn apply<T>(parts: &[Part<T>], now: &T, started: &T) -> Result<String, ApplyError> {
    let settings = Compared { now, started };
    let mut bulkheads = BTreeSet::new();
    let checked = parts.iter().map(|part| part(&settings, Step::Check(&mut bulkheads)));
    let refused: Vec<_> = checked.filter_map(Result::err).collect();
    let problems = refused.iter().flat_map(ApplyError::problems).cloned().collect();
    // A registry that is closed or busy has no reasons.
    if let Some(error) = refused.into_iter().find(|error| error.problems().is_empty()) {
        return Err(error);
    }
    ConfigError::unless_none(problems)?;
    let changes = parts.iter().map(|part| part(&settings, Step::Apply));
    let changes: Vec<String> = changes.collect::<Result<_, _>>()?;
    Ok(changes.join("\n"))
}

impl<T> fmt::Debug for Follow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("path", &self.path).finish_non_exhaustive()
    }
}
