//! The log of what runs on this thread.

use std::io;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the lines that a program logs.
pub(crate) fn of(run: impl FnOnce()) -> Vec<String> {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).without_time();
    tracing::subscriber::with_default(subscriber.with_writer(move || writer.clone()).finish(), run);
    let bytes = log.0.lock().expect("no panic").clone();
    String::from_utf8(bytes).expect("UTF-8").lines().map(ToOwned::to_owned).collect()
}
