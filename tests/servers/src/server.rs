//! A private server, and faults for it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::builder::Ports;
use crate::guard::Guard;
use crate::place::{self, folder};
use crate::{Builder, Connection, Missing, Reply, User, tls};

/// Servers start in milliseconds, unless the machine is busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// The data of a server after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// All that it had.
    Keep,
    /// Nothing.
    Empty,
}

/// A private server. It ends, and its folder is removed, when this is dropped.
#[derive(Debug)]
pub struct Server {
    guard: Guard,
    settings: Builder,
    folder: PathBuf,
    ports: Ports,
    pid: u32,
}

impl Server {
    /// Starts a server that listens on a socket.
    ///
    /// # Errors
    ///
    /// Returns [`Missing`] if this machine has no server.
    pub fn start() -> Result<Self, Missing> {
        Self::builder().start()
    }

    /// Begins a server with a port, TLS, users or more.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(settings: Builder, program: &Path) -> Self {
        let folder = folder();
        if settings.has_tls {
            tls::create(&folder);
        }
        let enter = settings.enter.iter().flatten().map(OsString::from);
        let command: Vec<_> = enter.chain([program.into(), folder.join("config").into()]).collect();
        let guard = Guard::new(&folder, &command);
        let mut server = Server { guard, settings, folder, ports: Ports::default(), pid: 0 };
        // Another process may take a port between its choice and its use.
        for _ in 0..5 {
            server.ports = free_ports(&server.settings);
            if server.try_begin() {
                return server;
            }
        }
        panic!("five choices of ports are in use:\n{}", server.log());
    }

    /// Starts the process with the present settings, and returns when it is as asked for.
    fn begin(&mut self) {
        assert!(self.try_begin(), "a port is in use:\n{}", self.log());
    }

    /// `false` if a port is in use.
    fn try_begin(&mut self) -> bool {
        let _ = fs::remove_file(self.folder.join("log"));
        fs::write(self.folder.join("config"), self.settings.text(&self.folder, self.ports)).expect("the folder exists");
        self.pid = self.guard.start();
        let start = Instant::now();
        while !self.is_ready() {
            let log = self.log();
            if log.contains("Address already in use") {
                self.guard.kill();
                return false;
            }
            assert!(!log.contains("FATAL CONFIG FILE ERROR"), "the server refuses its configuration:\n{log}");
            assert!(start.elapsed() < PATIENCE + self.settings.age, "the server does not start:\n{log}");
            sleep(Duration::from_millis(5));
        }
        true
    }

    fn is_ready(&self) -> bool {
        let Ok(mut connection) = self.connect() else { return false };
        let pong = connection.call(&["PING"]).is_ok_and(|reply| reply.text() == "PONG");
        let is_linked = self.settings.primary.is_none() || self.info("master_link_status").as_deref() == Some("up");
        pong && is_linked && self.uptime() > self.settings.age
    }

    /// A server reports its age in whole seconds; one that must not be old may be of any age.
    fn uptime(&self) -> Duration {
        if self.settings.age == Duration::ZERO {
            return Duration::MAX;
        }
        let seconds = self.info("uptime_in_seconds").and_then(|text| text.parse().ok());
        Duration::from_secs(seconds.unwrap_or_default())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Returns the socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Returns the port.
    ///
    /// # Panics
    ///
    /// Panics if the server was not asked to have one.
    pub fn port(&self) -> u16 {
        assert!(self.ports.plain != 0, "the server has no port");
        self.ports.plain
    }

    /// The ports for clients and for other nodes.
    pub(crate) fn node_ports(&self) -> [u16; 2] {
        [self.ports.plain, self.ports.bus]
    }

    /// Returns the URL for the default user: of the port with TLS, the port, or the socket.
    pub fn url(&self) -> String {
        let host = self.settings.host();
        match self.ports {
            Ports { plain: 0, tls: 0, .. } => self.socket_url(),
            Ports { plain, tls: 0, .. } => format!("redis://{host}:{plain}"),
            Ports { tls, .. } => format!("rediss://{host}:{tls}"),
        }
    }

    /// Returns the URL of the socket, for the default user.
    pub fn socket_url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Returns the URL for a user.
    pub fn url_of(&self, user: &User) -> String {
        let User { name, password, .. } = user;
        let url = self.url();
        match url.split_once("://") {
            Some(("unix", _)) => format!("{url}?user={name}&pass={password}"),
            Some((scheme, place)) => format!("{scheme}://{name}:{password}@{place}"),
            None => url,
        }
    }

    /// Returns the file of the certificate that signed the server's, for [`Builder::tls`].
    pub fn authority(&self) -> PathBuf {
        tls::authority(&self.folder)
    }

    /// Returns the id of the process, which is another after a restart.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Connects to the socket as the default user.
    ///
    /// # Errors
    ///
    /// Fails if the server does not run.
    pub fn connect(&self) -> std::io::Result<Connection> {
        Connection::unix(&self.socket())
    }

    /// Sends a command on a connection of its own.
    ///
    /// # Panics
    ///
    /// Panics if the server does not run.
    pub fn call(&self, words: &[&str]) -> Reply {
        let reply = self.connect().and_then(|mut connection| connection.call(words));
        reply.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Returns the value of a field of INFO.
    pub fn info(&self, field: &str) -> Option<String> {
        let info = self.connect().ok()?.call(&["INFO", "everything"]).ok()?.text();
        let mut fields = info.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(name, _)| *name == field).map(|(_, value)| value.trim().to_owned())
    }

    /// Lets no command through for the time, which begins now. Connections stay.
    pub fn pause(&self, time: Duration) {
        self.call(&["CLIENT", "PAUSE", &time.as_millis().to_string()]);
    }

    /// Keeps the server busy for the time, by DEBUG SLEEP, and returns afterwards.
    pub fn stall(&self, time: Duration) {
        self.call(&["DEBUG", "SLEEP", &time.as_secs_f64().to_string()]);
    }

    /// Stops the process, by SIGSTOP.
    pub fn stop_process(&mut self) {
        self.guard.signal("STOP");
    }

    /// Lets a stopped process go on.
    pub fn continue_process(&mut self) {
        self.guard.signal("CONT");
    }

    /// Kills the process, and returns when it is gone. [`restart`](Self::restart) starts another.
    pub fn kill(&mut self) {
        self.guard.kill();
    }

    /// Ends the process, if it runs, and starts another at the same place.
    ///
    /// The data of the server is saved first. A server that was killed before has only the data
    /// that it wrote itself, which needs `appendonly yes`.
    pub fn restart(&mut self, data: Data) {
        if data == Data::Keep {
            // Refused by a server that appends, which has it all in its file.
            let _ = self.connect().and_then(|mut connection| connection.call(&["SAVE"]));
        }
        self.guard.kill();
        if data == Data::Empty {
            let _ = fs::remove_file(self.folder.join("dump.rdb"));
            let _ = fs::remove_dir_all(self.folder.join("appendonlydir"));
        }
        self.begin();
    }

    /// Makes a replica a primary, with the data that it has now.
    pub fn promote(&mut self) {
        self.settings.primary = None;
        self.call(&["REPLICAOF", "NO", "ONE"]);
    }
}

fn free_ports(settings: &Builder) -> Ports {
    let [plain, tls, bus] = place::free_ports([settings.has_port, settings.has_tls, settings.is_node]);
    Ports { plain, tls, bus }
}
