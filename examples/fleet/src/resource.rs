//! The resource behind the limit: it counts its users, on a socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{env, fs, process, thread};

use anyhow::Result;

/// A resource that is used between an `enter` and a `leave`, each of which it answers.
pub(crate) struct Resource {
    socket: PathBuf,
    seen: Arc<Mutex<Seen>>,
}

/// The figures of the resource.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) users: usize,
    pub(crate) entries: u64,
    /// The largest number of users at the same time.
    pub(crate) most: usize,
}

impl Resource {
    pub(crate) fn start() -> Result<Self> {
        let socket = env::temp_dir().join(format!("bulklink-example-{}.socket", process::id()));
        let listener = UnixListener::bind(&socket)?;
        let seen = Arc::<Mutex<Seen>>::default();
        let resource = Self { socket, seen: Arc::clone(&seen) };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&seen);
                thread::spawn(move || serve(stream, &seen));
            }
        });
        Ok(resource)
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(crate) fn seen(&self) -> Seen {
        *lock(&self.seen)
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves one client until its connection ends, as it does when its worker is killed.
fn serve(stream: UnixStream, seen: &Mutex<Seen>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let (mut stream, mut is_inside) = (stream, false);
    while let Some(Ok(line)) = lines.next() {
        let mut seen = lock(seen);
        if line == "enter" {
            seen.enter();
        } else if is_inside {
            seen.users -= 1;
        }
        is_inside = line == "enter";
        drop(seen);
        if writeln!(stream, "{line}").is_err() {
            break;
        }
    }
    lock(seen).users -= usize::from(is_inside);
    Some(())
}

impl Seen {
    fn enter(&mut self) {
        self.users += 1;
        self.entries += 1;
        self.most = self.most.max(self.users);
    }
}
