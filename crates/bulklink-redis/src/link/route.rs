//! Where a node of a cluster sends a command.

use redis::{ConnectionAddr, ConnectionInfo, ServerError, ServerErrorKind};

/// The address of the server that has a slot now.
pub(crate) fn moved(error: &ServerError) -> Option<&str> {
    address(error, ServerErrorKind::Moved)
}

/// The address of the server that has the key while its slot is being moved there, or that creates
/// it: of this command only, after ASKING.
#[cfg(feature = "breaker")]
pub(crate) fn asked(error: &ServerError) -> Option<&str> {
    address(error, ServerErrorKind::Ask)
}

fn address(error: &ServerError, kind: ServerErrorKind) -> Option<&str> {
    if error.kind() == Some(kind) { error.details()?.split_ascii_whitespace().nth(1) } else { None }
}

/// How to connect there: with the same credentials, and with TLS if that was used.
pub(crate) fn redirected(info: &ConnectionInfo, address: &str) -> Option<ConnectionInfo> {
    let (host, port) = address.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Some(at(info, host, port))
}

/// The same for a host and a port. A node that does not know its host leaves it empty, or `?`: it
/// is the host that answered.
pub(crate) fn at(info: &ConnectionInfo, host: &str, port: u16) -> ConnectionInfo {
    let of = |known: &str| if matches!(host, "" | "?") { known.to_owned() } else { host.to_owned() };
    let address = match info.addr() {
        ConnectionAddr::Tcp(known, _) => ConnectionAddr::Tcp(of(known), port),
        ConnectionAddr::TcpTls { host: known, insecure, tls_params, .. } => {
            ConnectionAddr::TcpTls { host: of(known), port, insecure: *insecure, tls_params: tls_params.clone() }
        }
        // A socket is on this machine.
        _ => ConnectionAddr::Tcp(of("localhost"), port),
    };
    info.clone().set_addr(address)
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;

    use super::*;

    #[test]
    fn a_redirection_keeps_credentials_and_tls() {
        let info = "rediss://user:secret@first:7000".into_connection_info().unwrap();
        let of = |address| redirected(&info, address).map(|info| info.addr().to_string());
        assert_eq!(of("second:7001").as_deref(), Some("second:7001"));
        assert_eq!(of(":7001").as_deref(), Some("first:7001"));
        assert_eq!(of("?:7001").as_deref(), Some("first:7001"));
        assert_eq!(of("2001:db8::1:7001").as_deref(), Some("2001:db8::1:7001"));
        assert_eq!(of("[2001:db8::1]:7001").as_deref(), Some("2001:db8::1:7001"));
        for address in ["", "second", "second:", "second:70001", "second:x"] {
            assert_eq!(of(address), None, "{address}");
        }
        let there = redirected(&info, "second:7001").unwrap();
        assert!(matches!(there.addr(), ConnectionAddr::TcpTls { insecure: false, .. }));
        assert_eq!(there.redis_settings().password(), Some("secret"));
    }

    #[test]
    fn behind_a_socket_is_this_machine() {
        let info = "unix:///run/redis".into_connection_info().unwrap();
        let of = |address| redirected(&info, address).unwrap().addr().to_string();
        assert_eq!((of(":7001"), of("10.0.0.1:7001")), ("localhost:7001".into(), "10.0.0.1:7001".into()));
    }
}
