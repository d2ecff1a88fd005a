//! The events of a watch. It applies on blocking threads, so the subscriber is that of the program.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use bulklink_tokio::config;
use tokio::time::sleep;
use tracing_subscriber::fmt::MakeWriter;

use super::{SECOND, Texts, folder, replace};

#[derive(Clone, Default)]
pub(super) struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Lines;

    fn make_writer(&self) -> Lines {
        self.clone()
    }
}

/// Returns what follows the path in the lines that have it.
pub(super) fn logged(path: &str) -> Vec<String> {
    let text = String::from_utf8(lines().0.lock().unwrap().clone()).unwrap();
    let lines = text.lines().filter(|line| line.contains(path));
    lines.map(|line| line.replace(path, "PATH").trim().to_owned()).collect()
}

pub(super) fn lines() -> &'static Lines {
    static LINES: OnceLock<Lines> = OnceLock::new();
    LINES.get_or_init(|| {
        let lines = Lines::default();
        tracing_subscriber::fmt().with_writer(lines.clone()).without_time().with_ansi(false).init();
        lines
    })
}

#[tokio::test(start_paused = true)]
async fn each_change_and_each_refused_text_is_logged_once() {
    lines();
    let (path, texts) = (folder().join("a.txt"), Texts::default());
    std::fs::write(&path, "one.").unwrap();
    let _watch = texts.watch(&path).await;
    for text in ["two", "three.\nfour."] {
        replace(&path, text);
        sleep(60 * SECOND).await;
    }
    let events = [
        r#"INFO bulklink_tokio::watch: the settings have changed cause="start" path=PATH change="applied one.""#,
        r#"ERROR bulklink_tokio::watch: the settings are refused cause="the file has changed" path=PATH reasons="\"two\" has no end""#,
        r#"INFO bulklink_tokio::watch: the settings have changed cause="the file has changed" path=PATH change="applied three.""#,
        r#"INFO bulklink_tokio::watch: the settings have changed cause="the file has changed" path=PATH change="four.""#,
    ];
    assert_eq!(logged(path.to_str().unwrap()), events);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_several_lines_is_logged_in_one() {
    lines();
    let path = folder().join("a.toml");
    std::fs::write(&path, "one = 1").unwrap();
    let apply = |text: &str| {
        toml::from_str::<toml::Table>(text)?;
        Ok("")
    };
    let watch = config::watch(&path, apply).await.unwrap();
    replace(&path, "one = 1\ntwo");
    sleep(60 * SECOND).await;
    let reasons = "TOML parse error at line 2, column 4; 2 | two; key with no value, expected `=`";
    assert_eq!(watch.status().refusal.as_deref(), Some(reasons));
    assert!(logged(path.to_str().unwrap()).pop().unwrap().ends_with(&format!("reasons={reasons:?}")));
}
