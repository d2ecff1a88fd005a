//! What the limit protects: it counts its users, on a socket.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fs, process, thread};

use anyhow::Result;

/// A resource that is used between an `enter TOKEN` and a `leave TOKEN`, each of which it answers.
pub(crate) struct Resource {
    socket: PathBuf,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    users: BTreeSet<u64>,
    seen: Seen,
}

/// What the resource has seen.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) entries: u64,
    /// The largest number of users at the same time.
    pub(crate) most: u64,
    /// Entries with a token that is in use already.
    pub(crate) repeated: u64,
}

impl Resource {
    pub(crate) fn start() -> Result<Self> {
        let socket = env::temp_dir().join(format!("bulklink-example-{}.socket", process::id()));
        let listener = UnixListener::bind(&socket)?;
        let counts = Arc::new(Mutex::new(Counts::default()));
        let resource = Self { socket, counts: Arc::clone(&counts) };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let counts = Arc::clone(&counts);
                thread::spawn(move || serve(stream, &counts));
            }
        });
        Ok(resource)
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(crate) fn users(&self) -> usize {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).users.len()
    }

    pub(crate) fn seen(&self) -> Seen {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).seen
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
    }
}

/// Serves one worker until its connection ends, as it does when the worker is killed.
fn serve(stream: UnixStream, counts: &Mutex<Counts>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let mut stream = stream;
    let mut own = BTreeSet::new();
    while let Some(Ok(line)) = lines.next() {
        let (word, token) = line.split_once(' ')?;
        let token = token.parse().ok()?;
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        if word == "enter" {
            counts.enter(token);
            own.insert(token);
        } else {
            counts.users.remove(&token);
            own.remove(&token);
        }
        drop(counts);
        writeln!(stream, "{line}").ok()?;
    }
    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    counts.users.retain(|token| !own.contains(token));
    Some(())
}

impl Counts {
    fn enter(&mut self, token: u64) {
        let is_new = self.users.insert(token);
        self.seen.repeated += u64::from(!is_new);
        self.seen.entries += 1;
        self.seen.most = self.seen.most.max(self.users.len() as u64);
    }
}
