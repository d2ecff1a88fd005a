//! The settings of a server.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use crate::{Missing, Network, Server, User, program, tls};

/// Starts a [`Server`] that is more than a socket.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder starts nothing until `start`"]
pub struct Builder {
    pub(crate) has_port: bool,
    pub(crate) has_tls: bool,
    pub(crate) is_node: bool,
    pub(crate) age: Duration,
    pub(crate) users: Vec<User>,
    /// The port of the primary.
    pub(crate) primary: Option<u16>,
    /// What starts the program beyond a network, if it is there.
    pub(crate) enter: Option<[String; 5]>,
    config: Vec<(String, String)>,
}

impl Builder {
    /// Listens on a free port of the loopback too.
    pub fn tcp(self) -> Self {
        Builder { has_port: true, ..self }
    }

    /// Listens on a port with TLS too. [`Server::authority`] signs the certificate of 127.0.0.1.
    pub fn tls(self) -> Self {
        Builder { has_tls: true, ..self }
    }

    /// Knows a user, beside the default one, which needs no password and may do anything.
    pub fn acl(mut self, user: User) -> Self {
        self.users.push(user);
        self
    }

    /// Waits after each start until the server reports that it is older than this, in whole
    /// seconds.
    pub fn aged(self, age: Duration) -> Self {
        Builder { age, ..self }
    }

    /// Is a replica, and has the data of the primary when it has started.
    ///
    /// # Panics
    ///
    /// Panics if the primary has no port.
    pub fn replica_of(self, primary: &Server) -> Self {
        Builder { primary: Some(primary.port()), ..self }
    }

    /// Is at the far end of a network, and listens on a port there. Its socket is in reach as that
    /// of any other server.
    pub fn beyond(self, network: &Network) -> Self {
        let server = Builder { enter: Some(network.enter()), ..self.tcp() };
        server.config("bind", Network::host()).config("protected-mode", "no")
    }

    /// The address of the ports.
    pub(crate) fn host(&self) -> &'static str {
        if self.enter.is_some() { Network::host() } else { "127.0.0.1" }
    }

    /// Appends a line to the configuration, such as `maxmemory 2mb`.
    pub fn config(mut self, name: &str, value: &str) -> Self {
        self.config.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Listens on a port as a node of a cluster.
    pub(crate) fn node(self) -> Self {
        Builder { is_node: true, has_port: true, ..self }
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
    pub fn start(self) -> Result<Server, Missing> {
        let program = program::find()?;
        if self.has_tls {
            tls::check(&program)?;
        }
        Ok(Server::new(self, &program))
    }

    /// The server's configuration.
    pub(crate) fn text(&self, folder: &Path, ports: Ports) -> String {
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let mut text = format!(
            "dir {}\nunixsocket {}\nbind 127.0.0.1\ndaemonize no\nsave \"\"\nappendonly no\n\
             enable-debug-command yes\nrepl-diskless-sync-delay 0\n",
            folder.display(),
            path("socket")
        );
        let mut line = |name: &str, value: &str| writeln!(text, "{name} {value}").expect("a string takes all");
        line("port", &ports.plain.to_string());
        if self.is_node {
            line("cluster-enabled", "yes");
            line("cluster-port", &ports.bus.to_string());
        }
        if self.has_tls {
            line("tls-port", &ports.tls.to_string());
            line("tls-auth-clients", "no");
            for (name, file) in tls::FILES {
                line(name, &path(file));
            }
        }
        for User { name, password, rules } in &self.users {
            line("user", &format!("{name} on >{password} {rules}"));
        }
        if let Some(port) = self.primary {
            line("replicaof", &format!("127.0.0.1 {port}"));
        }
        for (name, value) in &self.config {
            line(name, value);
        }
        text
    }
}

/// The ports of a server; 0 where it does not listen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ports {
    pub(crate) plain: u16,
    pub(crate) tls: u16,
    pub(crate) bus: u16,
}
