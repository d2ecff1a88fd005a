//! Where the server is, and how it is reached.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bulklink_fleet::StoreError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::{MakeTlsConnect, NoTlsStream};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::InvalidStore;
use crate::error::{of_connection, of_statement, refused};
use crate::schema::Part;

/// How to connect to a server.
#[derive(Clone)]
pub(crate) struct Server {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    timeout: Duration,
}

/// Shows neither user nor password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address())
            .field("tls", &self.tls.is_some())
            .field("connect_timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Reads a URL.
pub(crate) fn parse(url: &str) -> Result<Config, InvalidStore> {
    let config = if is_ambiguous(url) { None } else { url.parse().ok() };
    let has_host = |config: &Config| !(config.get_hosts().is_empty() && config.get_hostaddrs().is_empty());
    config.filter(has_host).ok_or(InvalidStore::Url)
}

/// Whether an `@` or a `?` that is not escaped could make a part of the password that of a host,
/// which is shown. The parser takes the first `@` for the end of the password.
fn is_ambiguous(url: &str) -> bool {
    let rest = ["postgresql://", "postgres://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let Some((credentials, rest)) = rest.and_then(|rest| rest.split_once('@')) else { return false };
    credentials.contains('?') || rest.split('?').next().is_some_and(|hosts| hosts.contains('@'))
}

fn tls(pem: Option<&[u8]>) -> Result<MakeRustlsConnect, InvalidStore> {
    // Without it, building the configuration would panic.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err(InvalidStore::NoCryptoProvider);
    }
    let mut roots = RootCertStore::empty();
    match pem {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|_| InvalidStore::Certificates)?;
                roots.add(certificate).map_err(|_| InvalidStore::Certificates)?;
            }
            if roots.is_empty() {
                return Err(InvalidStore::Certificates);
            }
        }
        // Some of the system may be of forms that are not understood.
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

type TlsStream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// The part of a connection that reads and writes. Nothing happens unless it is polled.
pub(crate) enum Wire {
    Plain(Box<Connection<Socket, NoTlsStream>>),
    Tls(Box<Connection<Socket, TlsStream>>),
}

impl Wire {
    /// Returns the next message that the server sends without a question, and at last the end.
    pub(crate) fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> {
        match self {
            Wire::Plain(connection) => connection.poll_message(context),
            Wire::Tls(connection) => connection.poll_message(context),
        }
    }

    /// Runs statements on a connection that nothing else drives.
    pub(crate) async fn drive<T>(&mut self, statements: impl Future<Output = T>) -> T {
        let (mut statements, mut is_over) = (pin!(statements), false);
        poll_fn(|context| {
            while !is_over {
                match self.poll_message(context) {
                    Poll::Ready(Some(Ok(_))) => {}
                    // The statements learn it too.
                    Poll::Ready(_) => is_over = true,
                    Poll::Pending => break,
                }
            }
            statements.as_mut().poll(context)
        })
        .await
    }
}

impl Server {
    /// Connects to nothing yet. Certificates demand TLS.
    pub(crate) fn new(
        mut config: Config,
        certificates: Option<&[u8]>,
        timeout: Duration,
    ) -> Result<Self, InvalidStore> {
        let is_wanted = certificates.is_some() || config.get_ssl_mode() == SslMode::Require;
        // A server without TLS would be used without a word.
        config.ssl_mode(if is_wanted { SslMode::Require } else { SslMode::Disable });
        let tls = if is_wanted { Some(tls(certificates)?) } else { None };
        Ok(Server { config, tls, timeout })
    }

    /// Connects. `name` is shown in the server's list of sessions.
    pub(crate) async fn connect(&self, name: &str) -> Result<(Client, Wire), StoreError> {
        let mut config = self.config.clone();
        config.application_name(visible(name)).connect_timeout(self.timeout);
        let connected = async {
            if let Some(tls) = &self.tls {
                let (client, connection) = config.connect(tls.clone()).await?;
                return Ok((client, Wire::Tls(Box::new(connection))));
            }
            let (client, connection) = config.connect(NoTls).await?;
            Ok((client, Wire::Plain(Box::new(connection))))
        };
        self.in_time(connected).await?.map_err(of_connection)
    }

    /// Runs statements on the tables of a part, unless they are of another version.
    pub(crate) async fn read<T, F: Future<Output = Result<T, Error>>>(
        &self,
        name: &str,
        part: Part,
        statements: impl FnOnce(Client) -> F,
    ) -> Result<T, StoreError> {
        let run = |client: Client| async move {
            let found = client.query_opt("SELECT version FROM bulklink.part WHERE name = $1", &[&part.name()]).await?;
            if found.map(|row| row.get::<_, i32>(0)) == Some(part.version()) {
                return statements(client).await.map(Ok);
            }
            Ok(Err(refused("VERSION")))
        };
        self.run(name, run).await?
    }

    /// Runs statements on a connection of their own.
    pub(crate) async fn run<T, F: Future<Output = Result<T, Error>>>(
        &self,
        name: &str,
        statements: impl FnOnce(Client) -> F,
    ) -> Result<T, StoreError> {
        let (client, mut wire) = self.connect(name).await?;
        self.in_time(wire.drive(statements(client))).await?.map_err(of_statement)
    }

    /// Gives up after the time that connecting may take.
    pub(crate) async fn in_time<T>(&self, future: impl Future<Output = T>) -> Result<T, StoreError> {
        timeout(self.timeout, future).await.map_err(|_| StoreError::TIMED_OUT)
    }

    /// Returns where the server is, without credentials.
    pub(crate) fn address(&self) -> String {
        let ports = self.config.get_ports();
        let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        let shown = |(at, host): (usize, &Host)| match host {
            Host::Tcp(host) => format!("{host}:{}", port(at)),
            #[cfg(unix)]
            Host::Unix(folder) => folder.join(format!(".s.PGSQL.{}", port(at))).display().to_string(),
        };
        let hosts: Vec<_> = self.config.get_hosts().iter().enumerate().map(shown).collect();
        hosts.join(",")
    }
}

/// A text that the server shows as it is.
fn visible(name: &str) -> String {
    name.bytes().take(60).map(|byte| if byte.is_ascii_graphic() { char::from(byte) } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Result<Server, InvalidStore> {
        Server::new(parse(url)?, None, Duration::from_secs(1))
    }

    #[test]
    fn addresses_have_no_credentials() {
        for (url, address) in [
            ("postgresql://ringo:s3cret@db/prod", "db:5432"),
            ("postgres://ringo:s3cret@db:6000,other:6001/prod?target_session_attrs=read-write", "db:6000,other:6001"),
            ("postgresql://ringo:s3cret@%2Frun%2Fpg/prod", "/run/pg/.s.PGSQL.5432"),
            ("host=db user=ringo password=s3cret", "db:5432"),
        ] {
            let server = server(url).unwrap();
            assert_eq!(server.address(), address);
            assert!(!format!("{server:?}").contains("s3cret"), "{server:?}");
        }
    }

    #[test]
    fn a_password_that_is_not_escaped_is_no_host() {
        for url in [
            "postgresql://ringo:s3@cret@db/prod",
            "postgres://ringo:s3@cr/et@db/prod",
            "postgresql://ringo:s3?c@ret/x@db",
            "postgresql://db/prod?user=ringo&password=s3@cret",
        ] {
            assert_eq!(server(url).unwrap_err(), InvalidStore::Url, "{url}");
        }
        assert_eq!(server("postgresql://ringo:s3%40cret@db/prod?user=a@b").unwrap().address(), "db:5432");
        assert_eq!(server("postgresql://ringo:s3/cret@db/prod").unwrap().address(), "db:5432");
    }

    #[test]
    fn a_process_may_have_any_name() {
        assert_eq!(visible("pay ments\n\u{e9}"), "pay_ments___");
        assert_eq!(visible(&"x".repeat(500)).len(), 60);
    }
}
