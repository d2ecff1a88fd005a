//! A file that is applied whenever it has changed: real files, in virtual time. The file is read at
//! each whole second.
#![cfg(all(feature = "watch", feature = "serde", feature = "tracing"))]

mod follow;
mod log;
mod schedules;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulklink_tokio::config::{self, ApplyError, Watch};
use bulklink_tokio::{Registry, Tokio};
use tokio::time::{Instant, sleep, sleep_until};

const SECOND: Duration = Duration::from_secs(1);

type BoxError = Box<dyn Error + Send + Sync>;

/// An empty folder for the present test, whose thread has its name: no two can have the same.
fn folder() -> PathBuf {
    let thread = std::thread::current();
    let name = thread.name().expect("tests have names").replace("::", "_");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("watch").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The texts that were applied. One is valid if it ends in a full stop.
#[derive(Clone, Default)]
struct Texts(Arc<Mutex<Vec<String>>>);

impl Texts {
    fn apply(&self) -> impl FnMut(&str) -> Result<String, BoxError> + Send + use<> {
        let texts = self.clone();
        move |text| {
            assert!(!text.starts_with("panic"), "a bug in apply");
            if !text.ends_with('.') {
                return Err(format!("{text:?} has no end").into());
            }
            texts.0.lock().unwrap().push(text.to_owned());
            Ok(format!("applied {text}"))
        }
    }

    async fn watch(&self, path: &Path) -> Watch {
        config::watch(path, self.apply()).await.expect("the first text is valid")
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Replaces a file in one step.
fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_text_is_applied_at_the_start_and_once_when_two_reads_have_found_it() {
    let (path, texts) = (folder().join("a.txt"), Texts::default());
    fs::write(&path, "one.").unwrap();
    let begin = Instant::now();
    let watch = texts.watch(&path).await;
    assert_eq!(texts.all(), ["one."]);
    sleep_until(begin + SECOND / 2).await;
    replace(&path, "two.");
    sleep_until(begin + SECOND * 19 / 10).await;
    assert_eq!(texts.all(), ["one."], "one read has found it");
    assert_eq!(watch.status().applied, 1);
    sleep_until(begin + SECOND * 21 / 10).await;
    assert_eq!(texts.all(), ["one.", "two."]);
    sleep(60 * SECOND).await;
    let status = watch.status();
    assert_eq!((status.applied, status.refused, status.refusal), (2, 0, None));
    assert_eq!(texts.all().len(), 2);
    // A text that comes and goes between two reads, or is seen by one alone, is no change.
    replace(&path, "three.");
    replace(&path, "two.");
    sleep(3 * SECOND).await;
    replace(&path, "three.");
    sleep(SECOND).await;
    replace(&path, "two.");
    sleep(3 * SECOND).await;
    assert_eq!(texts.all(), ["one.", "two."]);
}

#[tokio::test(start_paused = true)]
async fn a_half_written_file_and_one_that_is_missing_for_a_moment_change_nothing() {
    let (path, texts) = (folder().join("a.txt"), Texts::default());
    fs::write(&path, "one.").unwrap();
    let watch = texts.watch(&path).await;
    sleep(SECOND / 2).await;
    for part in ["", "t", "tw", "two. And", "two. And three."] {
        fs::write(&path, part).unwrap();
        sleep(SECOND).await;
        fs::remove_file(&path).unwrap();
        sleep(SECOND).await;
    }
    assert_eq!((texts.all(), watch.status().refused), (vec!["one.".to_owned()], 0));
    fs::write(&path, "two. And three.").unwrap();
    sleep(2 * SECOND).await;
    assert_eq!(texts.all(), ["one.", "two. And three."]);
}

#[tokio::test(start_paused = true)]
async fn a_text_is_refused_once_until_another_one_comes() {
    let (path, texts) = (folder().join("a.txt"), Texts::default());
    fs::write(&path, "one.").unwrap();
    let watch = texts.watch(&path).await;
    for (text, refused, reason) in [
        ("two", 1, "\"two\" has no end"),
        ("three", 2, "\"three\" has no end"),
        ("two", 3, "\"two\" has no end"),
        ("panic", 4, "panicked: a bug in apply"),
    ] {
        replace(&path, text);
        sleep(60 * SECOND).await;
        assert_eq!((watch.status().refused, watch.status().refusal.as_deref()), (refused, Some(reason)));
    }
    fs::remove_file(&path).unwrap();
    sleep(60 * SECOND).await;
    let status = watch.status();
    assert_eq!(status.refused, 5);
    assert!(status.refusal.unwrap().starts_with("it cannot be read: No such file"));
    fs::write(&path, [0xFF, b'.']).unwrap();
    sleep(60 * SECOND).await;
    assert_eq!(watch.status().refused, 6, "it is no text");
    assert_eq!(texts.all(), ["one."]);

    // A text that was refused may have changed something, so the one before it is applied again.
    replace(&path, "one.");
    sleep(60 * SECOND).await;
    assert_eq!((texts.all().len(), watch.status().refusal), (2, None));
    // A file that was missing has changed nothing.
    fs::remove_file(&path).unwrap();
    sleep(60 * SECOND).await;
    assert_eq!((watch.status().refused, watch.status().refusal.is_some()), (7, true));
    replace(&path, "one.");
    sleep(60 * SECOND).await;
    assert_eq!((texts.all().len(), watch.status().refusal), (2, None));
}

#[tokio::test(start_paused = true)]
async fn a_program_does_not_start_with_a_file_that_is_missing_or_refused() {
    let (path, texts) = (folder().join("a.txt"), Texts::default());
    let missing = config::watch(&path, texts.apply()).await.unwrap_err();
    assert!(format!("{missing:?}").contains("a.txt are refused: No such file"), "{missing:?}");
    fs::write(&path, "panic").unwrap();
    let panicked = config::watch(&path, texts.apply()).await.unwrap_err();
    assert!(format!("{panicked:?}").ends_with(": panicked: a bug in apply"), "{panicked:?}");

    fs::write(&path, "[bulkheads.a]\nparallelism = 1\n[bulkheads.b]\nmeasure_waits = false\nwaiting_room = 1").unwrap();
    let registry = Registry::new();
    let limits = registry.clone();
    let apply = move |text: &str| {
        let limits_of_file: config::Config = toml::from_str(text)?;
        limits_of_file.require(&["a", "c"], &[])?;
        Ok(limits.apply(&limits_of_file, &Tokio)?)
    };
    let refused = config::watch(&path, apply).await.unwrap_err();
    let reasons = "bulkheads.c must be there; bulkheads.b.parallelism or capacity must be set";
    assert!(format!("{refused:?}").ends_with(reasons), "{refused:?}");
    assert!(!refused.to_string().contains("must"), "its text does not have the source's: {refused}");
    assert!(refused.source().unwrap().is::<config::ConfigError>());
    assert!(registry.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_registry_follows_its_file_and_keeps_its_limits_while_it_is_refused() {
    let path = folder().join("limits.toml");
    let registry = Registry::new();
    let text = |parallelism: usize| format!("[bulkheads.orders]\nparallelism = {parallelism}\n");
    fs::write(&path, text(2)).unwrap();
    let watch = {
        let registry = registry.clone();
        config::watch(&path, move |text| Ok(registry.apply(&toml::from_str(text)?, &Tokio)?)).await.unwrap()
    };
    let capacity = || registry.get("orders").unwrap().status().limits.capacity;
    assert_eq!(capacity(), 2);
    for (text, refusal, expected) in [
        (text(5), None, 5),
        (text(0), Some("must be from 1 to 2147483647, got 0"), 5),
        ("[bulkheads.orders".into(), Some("unclosed table"), 5),
        (text(5), None, 5),
        (text(7), None, 7),
    ] {
        replace(&path, &text);
        sleep(3 * SECOND).await;
        let found = watch.status().refusal;
        assert_eq!(found.is_some(), refusal.is_some(), "{found:?}");
        assert!(found.unwrap_or_default().contains(refusal.unwrap_or_default()));
        assert_eq!(capacity(), expected);
    }
    registry.close_all();
    replace(&path, &text(9));
    sleep(3 * SECOND).await;
    assert_eq!(watch.status().refusal, Some(ApplyError::Closed.to_string()));
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn a_file_behind_links_that_are_replaced_is_followed() {
    use std::os::unix::fs::symlink;
    // As Kubernetes mounts a ConfigMap: the link `..data` is replaced, and not the file's own.
    let (folder, texts) = (folder(), Texts::default());
    let point = |version: &str| {
        fs::create_dir_all(folder.join(version)).unwrap();
        fs::write(folder.join(version).join("a.txt"), format!("{version}.")).unwrap();
        symlink(version, folder.join("new")).unwrap();
        fs::rename(folder.join("new"), folder.join("..data")).unwrap();
    };
    point("first");
    symlink("..data/a.txt", folder.join("a.txt")).unwrap();
    let _watch = texts.watch(&folder.join("a.txt")).await;
    point("second");
    sleep(3 * SECOND).await;
    assert_eq!(texts.all(), ["first.", "second."]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_dropped_applies_nothing_more() {
    let (path, texts) = (folder().join("a.txt"), Texts::default());
    fs::write(&path, "one.").unwrap();
    let watching = tokio::spawn(config::watch(path.clone(), texts.apply()));
    let watch = watching.await.unwrap().unwrap();
    assert!(format!("{watch:?}").contains("applied: 1"), "{watch:?}");
    drop(watch);
    replace(&path, "two.");
    sleep(60 * SECOND).await;
    assert_eq!((texts.all(), Arc::strong_count(&texts.0)), (vec!["one.".to_owned()], 1));
}

/// An error whose text fails.
#[derive(Debug)]
struct Mute;

impl std::fmt::Display for Mute {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Err(std::fmt::Error)
    }
}

impl Error for Mute {
    /// A circle.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self)
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_whose_text_fails_does_not_end_the_watch() {
    let (path, texts) = (folder().join("a.txt"), Texts::default());
    fs::write(&path, "one.").unwrap();
    let mut apply = texts.apply();
    let apply = move |text: &str| if text == "mute" { Err(Mute.into()) } else { apply(text) };
    let watch = config::watch(&path, apply).await.unwrap();
    replace(&path, "mute");
    sleep(3 * SECOND).await;
    assert_eq!((watch.status().refused, watch.status().refusal.is_some()), (1, true));
    replace(&path, "two.");
    sleep(3 * SECOND).await;
    assert_eq!(texts.all(), ["one.", "two."]);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_file_is_refused_and_not_read() {
    let path = folder().join("folder");
    fs::create_dir_all(&path).unwrap();
    let error = config::watch(&path, Texts::default().apply()).await.unwrap_err();
    assert!(format!("{error:?}").ends_with("it is no file"), "{error:?}");
}
