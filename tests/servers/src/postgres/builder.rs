//! The settings of a PostgreSQL server.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::account::Account;
use super::program::Programs;
use super::{Postgres, SUPERUSER};
use crate::{Missing, User, tls};

/// Starts a [`Postgres`] that is more than a socket.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder starts nothing until `start`"]
pub struct PostgresBuilder {
    pub(super) has_port: bool,
    pub(super) has_tls: bool,
    pub(super) users: Vec<User>,
    /// The folder of the primary's socket, and the port in its name.
    pub(super) primary: Option<(PathBuf, u16)>,
    is_durable: bool,
    config: Vec<(String, String)>,
}

impl PostgresBuilder {
    /// Listens on a free port of the loopback too.
    pub fn tcp(self) -> Self {
        PostgresBuilder { has_port: true, ..self }
    }

    /// Listens on a free port, with TLS only. [`Postgres::authority`] signs the certificate of
    /// 127.0.0.1.
    pub fn tls(self) -> Self {
        PostgresBuilder { has_port: true, has_tls: true, ..self }
    }

    /// Has a user with a password, beside `tests`. The rules are those of CREATE ROLE.
    pub fn user(mut self, user: User) -> Self {
        self.users.push(user);
        self
    }

    /// Is a standby, which answers queries only, and has the data of the primary when it has
    /// started. It has the primary's users.
    pub fn standby_of(self, primary: &Postgres) -> Self {
        PostgresBuilder { primary: Some((primary.folder().to_owned(), primary.socket_port())), ..self }
    }

    /// Waits until data is on the disk, which servers of tests usually do not.
    pub fn durable(self) -> Self {
        PostgresBuilder { is_durable: true, ..self }
    }

    /// Appends a line to the configuration, such as `max_connections = 10`.
    pub fn config(mut self, name: &str, value: &str) -> Self {
        self.config.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the server, and returns when it answers.
    ///
    /// # Errors
    ///
    /// Returns [`Missing`] if this machine has no server, or not what TLS needs.
    ///
    /// # Panics
    ///
    /// Panics with the server's log if it does not start.
    pub fn start(self) -> Result<Postgres, Missing> {
        let programs = Programs::find()?;
        if self.has_tls {
            tls::check_openssl()?;
        }
        Ok(Postgres::new(self, programs, Account::find()?))
    }

    /// The files of the server's configuration, by their names.
    pub(super) fn files(&self, folder: &Path, port: u16) -> [(&'static str, String); 3] {
        [("config", self.text(folder, port)), ("access", self.access()), ("names", String::new())]
    }

    fn text(&self, folder: &Path, port: u16) -> String {
        let path = |name: &str| format!("'{}'", folder.join(name).display());
        let mut text = String::new();
        let mut line = |name: &str, value: &str| writeln!(text, "{name} = {value}").expect("a string takes all");
        line("hba_file", &path("access"));
        line("ident_file", &path("names"));
        line("unix_socket_directories", &format!("'{}'", folder.display()));
        line("listen_addresses", if port == 0 { "''" } else { "'127.0.0.1'" });
        line("port", &(if port == 0 { super::PORT } else { port }).to_string());
        line("fsync", if self.is_durable { "on" } else { "off" });
        // Small, as many servers run beside each other.
        line("shared_buffers", "'16MB'");
        line("jit", "off");
        line("lc_messages", "'C'");
        if self.has_tls {
            line("ssl", "on");
            line("ssl_cert_file", &path("server.pem"));
            line("ssl_key_file", &path("server.key"));
        }
        for (name, value) in &self.config {
            line(name, value);
        }
        text
    }

    /// Who may connect: the folder of the socket is closed to others.
    fn access(&self) -> String {
        let host = if self.has_tls { "hostssl" } else { "host" };
        format!(
            "local all {SUPERUSER} trust\nlocal replication {SUPERUSER} trust\nlocal all all scram-sha-256\n\
             {host} all {SUPERUSER} 127.0.0.1/32 reject\n{host} all all 127.0.0.1/32 scram-sha-256\n"
        )
    }
}
