//! A private PostgreSQL server, and faults for it.

mod account;
mod builder;
mod program;
mod session;
mod template;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub use self::builder::PostgresBuilder;
pub use self::session::{SqlError, SqlSession};

use self::account::Account;
use self::program::Programs;
use crate::guard::Guard;
use crate::{Data, Missing, Proxy, User, place, tls};

/// Servers start within a second, unless the machine is busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// The port in the name of the socket of a server that listens on no port.
const PORT: u16 = 5432;

/// The role that may do anything. It connects through the socket only, without a password.
const SUPERUSER: &str = "postgres";

/// A private PostgreSQL server. It ends, and its folder is removed, when this is dropped.
///
/// It has one database, `postgres`, which belongs to the user `tests`.
#[derive(Debug)]
pub struct Postgres {
    guard: Guard,
    settings: PostgresBuilder,
    programs: Programs,
    account: Account,
    folder: PathBuf,
    port: u16,
    pid: u32,
}

impl Postgres {
    /// Starts a server that listens on a socket.
    ///
    /// # Errors
    ///
    /// Returns [`Missing`] if this machine has no server.
    pub fn start() -> Result<Self, Missing> {
        Self::builder().start()
    }

    /// Begins a server with a port, TLS, users or more.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    fn new(settings: PostgresBuilder, programs: Programs, account: Account) -> Self {
        let folder = place::folder();
        if settings.has_tls {
            tls::create(&folder);
        }
        let mut program = account.words(programs.path("postgres"));
        program.extend(["-D".into(), folder.join("data").into()]);
        program.push(format!("--config-file={}", folder.join("config").display()).into());
        let guard = Guard::new(&folder, &program);
        let mut server = Postgres { guard, settings, programs, account, folder, port: 0, pid: 0 };
        server.account.give(&server.folder);
        server.create_data();
        // Another process may take a port between its choice and its use.
        for _ in 0..5 {
            let [port] = place::free_ports([server.settings.has_port]);
            server.port = port;
            if server.try_begin() {
                server.create_users();
                return server;
            }
        }
        panic!("five choices of ports are in use:\n{}", server.log());
    }

    /// Makes the data of a new server, or of a standby.
    fn create_data(&self) {
        let data = self.folder.join("data");
        let mut create = match &self.settings.primary {
            None => {
                let mut copy = self.account.command(Path::new("cp"));
                copy.args(["-R", "-p"]).arg(template::folder(&self.programs, &self.account)).arg(&data);
                copy
            }
            Some((socket, port)) => {
                let mut backup = self.account.command(&self.programs.path("pg_basebackup"));
                backup.args(["-U", SUPERUSER, "-c", "fast", "-R", "--no-sync", "-p"]).arg(port.to_string());
                backup.arg("-h").arg(socket).arg("-D").arg(&data);
                backup
            }
        };
        run(&mut create);
    }

    fn create_users(&self) {
        if self.settings.primary.is_some() {
            return;
        }
        for User { name, password, rules } in &self.settings.users {
            self.sql(&format!("CREATE ROLE {name} LOGIN PASSWORD '{password}' {rules}"));
        }
    }

    /// Starts the process with the present settings, and returns when it is as asked for.
    fn begin(&mut self) {
        assert!(self.try_begin(), "a port is in use:\n{}", self.log());
    }

    /// `false` if a port is in use.
    fn try_begin(&mut self) -> bool {
        let _ = fs::remove_file(self.folder.join("log"));
        for (name, text) in self.settings.files(&self.folder, self.port) {
            let file = self.folder.join(name);
            fs::write(&file, text).expect("the folder exists");
            self.account.give(&file);
        }
        self.pid = self.guard.start();
        let start = Instant::now();
        while !self.is_ready() {
            let log = self.log();
            if log.contains("Address already in use") {
                self.guard.kill();
                return false;
            }
            // The processes of a server that was killed end by themselves, but not at that moment.
            if log.contains("is still in use") {
                self.guard.kill();
                let _ = fs::remove_file(self.folder.join("log"));
                sleep(Duration::from_millis(50));
                self.pid = self.guard.start();
            }
            assert!(!log.contains("configuration file"), "the server refuses its configuration:\n{log}");
            assert!(start.elapsed() < PATIENCE, "the server does not start:\n{log}");
            sleep(Duration::from_millis(5));
        }
        true
    }

    fn is_ready(&self) -> bool {
        self.connect().is_ok_and(|mut session| session.run("SELECT 1").is_ok())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Returns the socket, to which a [`Proxy`] can lead.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.socket_port()))
    }

    fn socket_port(&self) -> u16 {
        if self.port == 0 { PORT } else { self.port }
    }

    /// Returns the port.
    ///
    /// # Panics
    ///
    /// Panics if the server was not asked to have one.
    pub fn port(&self) -> u16 {
        assert!(self.port != 0, "the server has no port");
        self.port
    }

    /// Returns the URL for the user `tests`, the owner of the database: of the port, or of the
    /// socket.
    pub fn url(&self) -> String {
        self.url_of(&tests())
    }

    /// Returns the URL for a user. With TLS, it demands that.
    pub fn url_of(&self, user: &User) -> String {
        match self.port {
            0 => url(user, &self.folder.display().to_string().replace('/', "%2F"), PORT, ""),
            port => url(user, "127.0.0.1", port, if self.settings.has_tls { "?sslmode=require" } else { "" }),
        }
    }

    /// Returns the URL for the user `tests`, through a network.
    pub fn url_through(&self, proxy: &Proxy) -> String {
        url(&tests(), "127.0.0.1", proxy.port(), "?sslmode=disable")
    }

    /// Returns the file of the certificate that signed the server's, for [`PostgresBuilder::tls`].
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

    /// Connects to the socket as the superuser.
    ///
    /// # Errors
    ///
    /// [`SqlError`] if the server does not run, or not yet.
    pub fn connect(&self) -> Result<SqlSession, SqlError> {
        SqlSession::connect(&self.socket(), SUPERUSER)
    }

    /// Runs statements in a session of its own, as the superuser. Returns the rows.
    ///
    /// # Panics
    ///
    /// Panics if the server does not run, or refuses.
    pub fn sql(&self, text: &str) -> Vec<Vec<String>> {
        let rows = self.connect().and_then(|mut session| session.run(text));
        rows.unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Returns the first value of the first row; otherwise as [`sql`](Self::sql). It is empty if
    /// there is none.
    pub fn value(&self, text: &str) -> String {
        self.sql(text).into_iter().flatten().next().unwrap_or_default()
    }

    /// Runs a statement in a transaction that stays open until the session is dropped: with it the
    /// locks that the statement took.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses.
    pub fn hold(&self, text: &str) -> SqlSession {
        let mut session = self.connect().expect("the server runs");
        session.run("BEGIN").and_then(|_| session.run(text)).unwrap_or_else(|error| panic!("{text}: {error}"));
        session
    }

    /// Ends all sessions of ordinary users, and returns how many there were.
    pub fn terminate_sessions(&self) -> usize {
        let ended = self.sql(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE backend_type = 'client backend' AND usename <> '{SUPERUSER}'"
        ));
        ended.len()
    }

    /// Kills one process of the server, as when its memory is at an end: all sessions end, and the
    /// server recovers by itself. Returns when it has.
    ///
    /// # Panics
    ///
    /// Panics if it does not.
    pub fn crash(&self) {
        let [mut victim, mut other] = [(), ()].map(|()| self.connect().expect("the server runs"));
        let pid = victim.run("SELECT pg_backend_pid()").expect("the server runs").concat().concat();
        let killed = Command::new("sh").args(["-c", "kill -s KILL \"$1\"", "sh", &pid]).status();
        assert!(killed.is_ok_and(|status| status.success()), "the process {pid} cannot be killed");
        let start = Instant::now();
        // The other session ends when the server has seen it.
        while other.run("SELECT 1").is_ok() || !self.is_ready() {
            assert!(start.elapsed() < PATIENCE, "the server does not recover:\n{}", self.log());
            sleep(Duration::from_millis(5));
        }
    }

    /// Stops all processes of the server, by SIGSTOP.
    pub fn stop_process(&mut self) {
        self.guard.signal("STOP");
    }

    /// Lets stopped processes go on.
    pub fn continue_process(&mut self) {
        self.guard.signal("CONT");
    }

    /// Kills all processes of the server, and returns when they are gone.
    /// [`restart`](Self::restart) starts others.
    pub fn kill(&mut self) {
        self.guard.kill();
    }

    /// Ends the server in good order: sessions are notified.
    pub fn shut_down(&mut self) {
        self.guard.signal("INT");
        self.guard.wait();
    }

    /// Kills the server, if it runs, and starts another at the same place. Data that was committed
    /// is there, with [`Data::Keep`].
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    pub fn restart(&mut self, data: Data) {
        self.guard.kill();
        if data == Data::Empty {
            let removed = fs::remove_dir_all(self.folder.join("data"));
            removed.expect("the data can be removed");
            self.create_data();
        }
        self.begin();
        if data == Data::Empty {
            self.create_users();
        }
    }

    /// Waits until a standby has all that the primary has now.
    ///
    /// # Panics
    ///
    /// Panics if it does not come.
    pub fn catch_up(&self, primary: &Postgres) {
        let place = primary.value("SELECT pg_current_wal_flush_lsn()");
        let start = Instant::now();
        while self.value(&format!("SELECT pg_last_wal_replay_lsn() >= '{place}'")) != "t" {
            assert!(start.elapsed() < PATIENCE, "the standby does not get the data:\n{}", self.log());
            sleep(Duration::from_millis(5));
        }
    }

    /// Makes a standby a primary, with the data that it has now.
    ///
    /// # Panics
    ///
    /// Panics if it stays a standby.
    pub fn promote(&mut self) {
        self.settings.primary = None;
        assert_eq!(self.value("SELECT pg_promote()"), "t", "the standby stays one:\n{}", self.log());
    }
}

/// The owner of the database.
fn tests() -> User {
    User { name: "tests".to_owned(), password: "a-password-of-tests".to_owned(), rules: String::new() }
}

fn url(user: &User, host: &str, port: u16, options: &str) -> String {
    let User { name, password, .. } = user;
    format!("postgresql://{name}:{password}@{host}:{port}/postgres{options}")
}

/// Runs a program to its end.
///
/// # Panics
///
/// Panics with its output if it fails.
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&said));
}
