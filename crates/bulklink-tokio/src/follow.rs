//! Settings that a program follows: their parts are applied to registries, together.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bulklink::config::{Apply, ApplyError, ConfigError};

use crate::Tokio;
use crate::watch::{BoxError, Watch, watch};

type Read<T> = Box<dyn FnMut(&str) -> Result<T, BoxError> + Send>;
type Part<T> = Box<dyn Fn(&Compared<'_, T>, Step) -> Result<String, ApplyError> + Send>;

/// Begins to follow the settings of a file. `read` makes them of its text, in whichever format.
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
/// let file = config::follow("app.toml", |text| toml::from_str::<Settings>(text));
/// let file = file.part(&limits, |settings| settings.limits.clone().at("limits"));
/// let file = file.fixed("listen", |settings| settings.listen);
/// let (settings, _watch) = file.start().await?;
///
/// let orders: Bulkhead = limits.bulkhead("orders")?;
/// let listener = tokio::net::TcpListener::bind(settings.listen).await?;
/// # Ok(())
/// # }
/// ```
pub fn follow<T, E: Into<BoxError>>(
    path: impl Into<PathBuf>,
    mut read: impl FnMut(&str) -> Result<T, E> + Send + 'static,
) -> Follow<T> {
    Follow { path: path.into(), read: Box::new(move |text| read(text).map_err(Into::into)), parts: Vec::new() }
}

/// The settings of a file, and what their parts are applied to: [`follow`] begins it, and
/// [`start`](Follow::start) ends it.
///
/// All parts of a text are checked before one is applied, so a text that is refused changes
/// nothing, and has the reasons of all parts. A section that the text of the start has must stay,
/// as the program has looked it up: a text without it is refused, and names one that may be a
/// misspelling of it. Others can be added and removed.
#[must_use = "it does nothing until it is started"]
pub struct Follow<T> {
    path: PathBuf,
    read: Read<T>,
    parts: Vec<Part<T>>,
}

/// Settings beside those of the start.
struct Compared<'a, T> {
    now: &'a T,
    started: &'a T,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Check,
    Apply,
}

impl<T: Send + Sync + 'static> Follow<T> {
    /// Applies a part of the settings to a registry.
    ///
    /// Parts are applied in this order. A registry of bulkheads should come first: a call that
    /// begins to wait between check and change can have its part refused, and then no part is
    /// applied.
    pub fn part<A>(mut self, registry: &A, sections: impl Fn(&T) -> A::Sections + Send + 'static) -> Self
    where
        A: Apply<Tokio> + Clone + Send + 'static,
    {
        let registry = registry.clone();
        self.parts.push(Box::new(move |settings, step| {
            let now = sections(settings.now);
            match step {
                Step::Check => {
                    A::require(&now, &sections(settings.started))?;
                    registry.check(&now, &Tokio)?;
                    Ok(String::new())
                }
                Step::Apply => registry.apply(&now, &Tokio),
            }
        }));
        self
    }

    /// Names a part of the settings that does not change while the program runs: where it differs
    /// from that of the start, the log says so.
    pub fn fixed<V: PartialEq>(mut self, name: impl Into<String>, value: impl Fn(&T) -> V + Send + 'static) -> Self {
        let name = name.into();
        self.parts.push(Box::new(move |settings, step| {
            let is_changed = step == Step::Apply && value(settings.now) != value(settings.started);
            Ok(if is_changed { format!("{name}: changes at the next restart") } else { String::new() })
        }));
        self
    }

    /// Reads the file and applies its parts now, and from then on whenever it has changed, as
    /// [`watch`](crate::config::watch) does. Returns the settings of the start.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a part cannot be applied, as `watch`.
    ///
    /// # Cancel safety
    ///
    /// As that of `watch`.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time and, on unix, I/O.
    pub async fn start(self) -> Result<(Arc<T>, Watch), BoxError> {
        let Follow { path, mut read, parts } = self;
        let first = Arc::new(OnceLock::<Arc<T>>::new());
        let started = Arc::clone(&first);
        let watch = watch(path, move |text: &str| {
            let now = Arc::new(read(text)?);
            // Nothing is watched before one is applied.
            let applied = apply(&parts, &now, started.get().unwrap_or(&now))?;
            let _ = started.set(now);
            Ok(applied)
        });
        let watch = watch.await?;
        match first.get() {
            Some(started) => Ok((Arc::clone(started), watch)),
            None => unreachable!("the settings of the start were applied"),
        }
    }
}

/// Checks all parts, and then applies all. Returns the changes.
fn apply<T>(parts: &[Part<T>], now: &T, started: &T) -> Result<String, ApplyError> {
    let settings = Compared { now, started };
    let refused: Vec<_> = parts.iter().filter_map(|part| part(&settings, Step::Check).err()).collect();
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
