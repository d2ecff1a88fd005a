//! Where the server is, and how it is reached.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulklink_fleet::{LeaseStore, Name, Namespace, Receiver, Session, StoreError};
use redis::io::tcp::TcpSettings;
use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, TlsCertificates};
use thiserror::Error;

use crate::link::RedisLink;
use crate::list::{self, SHARES};

/// How long a connection may take, unless the builder has another limit.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A server of Redis (7.0 or later) or Valkey (7.2 or later), or a cluster of them.
///
/// The URL is one of
///
/// - `redis://[user:password@]host[:port][/database]`,
/// - `rediss://…`, with TLS,
/// - `valkey://…` and `valkeys://…`, which mean the same as these two,
/// - `unix:///path[?db=database&user=user&pass=password]`.
///
/// # Clusters and failover
///
/// | servers | shares | circuits |
/// | --- | --- | --- |
/// | a primary, with or without replicas | its address | its address |
/// | a cluster: a slot has moved (`MOVED`) | the link ends, and the next one finds the name | the name is followed |
/// | a cluster: a slot is being moved (`ASK`, `TRYAGAIN`) | statements are refused until it has moved: processes have the units that they had, for a lease | the name is followed (`ASK`), if the user has `+asking` |
/// | Sentinel | not supported | not supported |
///
/// Any node of a cluster may be named: the others are found through it. New connections begin
/// there, so it should be an address that several nodes have.
///
/// No Sentinel is asked which server is the primary. Instead, the URL names an address that leads
/// to the primary, also after a failover: a name in DNS or an address of the network that a script
/// of Sentinel (`client-reconfig-script`) moves, a proxy that asks each server for its role, or the
/// primary endpoint of a hosted service. A cluster fails over by itself. A server that is demoted
/// must end the connections of its clients. Sentinel makes it do so; after `REPLICAOF` by hand, it
/// needs `CLIENT KILL TYPE normal` and `CLIENT KILL TYPE pubsub`. Otherwise, shares keep their
/// connection, and their statements are refused with the code `READONLY`.
///
/// ```
/// use bulklink_redis::RedisStore;
///
/// let store = RedisStore::new("redis://localhost:6379")?;
/// # Ok::<(), bulklink_redis::InvalidStore>(())
/// ```
#[derive(Clone)]
pub struct RedisStore {
    info: ConnectionInfo,
    timeout: Duration,
}

/// Shows neither user nor password.
impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("address", &self.address())
            .field("tls", &matches!(self.info.addr(), ConnectionAddr::TcpTls { .. }))
            .field("database", &self.info.redis_settings().db())
            .field("connect_timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl RedisStore {
    /// Makes a store from a URL. It connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`InvalidStore`] as in [`RedisStoreBuilder::build`].
    pub fn new(url: &str) -> Result<Self, InvalidStore> {
        Self::builder(url).build()
    }

    /// Begins a store with credentials, certificates or a timeout beside its URL.
    pub fn builder(url: &str) -> RedisStoreBuilder {
        let info = url.into_connection_info().map_err(|_| InvalidStore::Url);
        RedisStoreBuilder { info, certificates: None, timeout: CONNECT_TIMEOUT }
    }

    /// Returns the circuits on the server, for processes that share breakers. They have connections
    /// of their own.
    #[cfg(feature = "breaker")]
    pub fn circuits(&self) -> crate::breaker::RedisCircuits {
        crate::breaker::RedisCircuits::new(self.info.clone(), self.timeout)
    }

    /// Returns where the server is, without credentials: its host and port, or the path of its
    /// socket.
    ///
    /// ```
    /// let store = bulklink_redis::RedisStore::new("redis://user:password@cache:6380/2")?;
    /// assert_eq!(store.address(), "cache:6380");
    /// # Ok::<(), bulklink_redis::InvalidStore>(())
    /// ```
    pub fn address(&self) -> String {
        self.info.addr().to_string()
    }
}

impl LeaseStore for RedisStore {
    type Link = RedisLink;

    async fn connect(&self, session: &Session, receiver: Arc<dyn Receiver>) -> Result<RedisLink, StoreError> {
        RedisLink::connect(self.info.clone(), self.timeout, session, receiver).await
    }

    /// Reads all keys of the database, on each node of a cluster: the user needs the rights to SCAN
    /// and CLUSTER SLOTS.
    async fn names(&self, namespace: Option<&Namespace>) -> Result<Vec<Name>, StoreError> {
        list::names(&self.info, self.timeout, SHARES, namespace).await
    }
}

/// Makes a [`RedisStore`].
#[derive(Clone)]
#[must_use = "a builder makes nothing until `build`"]
pub struct RedisStoreBuilder {
    info: Result<ConnectionInfo, InvalidStore>,
    certificates: Option<Vec<u8>>,
    timeout: Duration,
}

/// Shows no credentials, as it shows nothing.
impl fmt::Debug for RedisStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStoreBuilder").finish_non_exhaustive()
    }
}

impl RedisStoreBuilder {
    /// Logs in as this user, instead of the URL's.
    pub fn user(self, name: &str) -> Self {
        self.with(|info| {
            let settings = info.redis_settings().clone().set_username(name);
            info.set_redis_settings(settings)
        })
    }

    /// Logs in with this password, instead of the URL's.
    pub fn password(self, password: &str) -> Self {
        self.with(|info| {
            let settings = info.redis_settings().clone().set_password(password);
            info.set_redis_settings(settings)
        })
    }

    /// Trusts these certificates, in PEM, and no others. Without it, those of the system are
    /// trusted.
    pub fn certificates(self, pem: &[u8]) -> Self {
        RedisStoreBuilder { certificates: Some(pem.to_vec()), ..self }
    }

    /// Sets how long connecting may take, and how long the server's first answers: 2 s by default.
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        RedisStoreBuilder { timeout, ..self }
    }

    fn with(self, change: impl FnOnce(ConnectionInfo) -> ConnectionInfo) -> Self {
        RedisStoreBuilder { info: self.info.map(change), ..self }
    }

    /// Makes the store.
    ///
    /// # Errors
    ///
    /// [`InvalidStore::Url`] if the URL is of no known form, [`InvalidStore::NoPassword`] if there
    /// is a user and no password, [`InvalidStore::Certificates`] if the certificates are no PEM or
    /// the URL is not one with TLS, and [`InvalidStore::NoCryptoProvider`] if the URL is one with
    /// TLS and the program has not installed what `rustls` computes with, such as by
    /// `rustls::crypto::ring::default_provider().install_default()`.
    pub fn build(self) -> Result<RedisStore, InvalidStore> {
        let mut info = self.info?;
        // Without a password, `redis` would log in as the default user.
        if info.redis_settings().username().is_some() && info.redis_settings().password().is_none() {
            return Err(InvalidStore::NoPassword);
        }
        if let ConnectionAddr::TcpTls { insecure, .. } = info.addr() {
            if *insecure {
                return Err(InvalidStore::Url);
            }
            // Connecting would panic.
            if rustls::crypto::CryptoProvider::get_default().is_none() {
                return Err(InvalidStore::NoCryptoProvider);
            }
        }
        if let Some(pem) = self.certificates {
            // Without one, `redis` would trust nothing, and fail only when it connects.
            if !pem.windows(BEGIN.len()).any(|window| window == BEGIN) {
                return Err(InvalidStore::Certificates);
            }
            let certificates = TlsCertificates { client_tls: None, root_cert: Some(pem) };
            let client = Client::build_with_tls(info, certificates).map_err(|_| InvalidStore::Certificates)?;
            info = client.get_connection_info().clone();
        }
        // Its name of the library would need another right, and does not name the process.
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3).set_skip_set_lib_name();
        let info = info.set_redis_settings(settings).set_tcp_settings(TcpSettings::default().set_nodelay(true));
        Ok(RedisStore { info, timeout: self.timeout })
    }
}

/// How a certificate in PEM begins.
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// The error of a [`RedisStore`] that cannot be made. It never contains the URL or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidStore {
    /// The URL does not begin with `redis://`, `rediss://`, `valkey://`, `valkeys://` or `unix://`,
    /// or it is malformed, or it demands TLS that trusts any server.
    #[error(
        "the URL must be well-formed, begin with redis://, rediss://, valkey://, valkeys:// or unix://, and \
         not end with #insecure"
    )]
    Url,
    /// There is a user, and no password.
    #[error("there is a user, and no password")]
    NoPassword,
    /// The certificates cannot be read, or the URL is not one with TLS.
    #[error("the certificates cannot be read, or the URL is without TLS")]
    Certificates,
    /// The program has not installed a provider of cryptography for `rustls`.
    #[error("TLS needs a provider of cryptography, which the program installs for rustls")]
    NoCryptoProvider,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_needs_a_password() {
        assert_eq!(RedisStore::new("redis://service@host").unwrap_err(), InvalidStore::NoPassword);
        let builder = RedisStore::builder("redis://service@host").password("word");
        assert!(builder.build().is_ok());
        // The default user.
        assert!(RedisStore::new("redis://:word@host").is_ok());
    }

    #[test]
    fn tls_needs_a_provider_of_cryptography() {
        // No test of this program installs one.
        for url in ["rediss://host", "valkeys://host"] {
            assert_eq!(RedisStore::new(url).unwrap_err(), InvalidStore::NoCryptoProvider, "{url}");
        }
        for url in ["redis://host", "valkey://host", "unix:///socket", "redis://host/3"] {
            assert!(RedisStore::new(url).is_ok(), "{url}");
        }
    }
}
