//! The least of HTTP that the server's API needs.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// An answer that takes longer has been lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the status and the body that a server on the loopback answers to a GET.
pub(super) fn get(port: u16, path: &str) -> io::Result<(u16, String)> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // The body of an answer of this version is not in pieces, and the connection ends with it.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    parse(&answer).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, answer.clone()))
}

fn parse(answer: &str) -> Option<(u16, String)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// Returns a text as a value in a query string.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(byte.into());
        } else {
            write!(encoded, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_and_the_body_are_read() {
        let answer = "HTTP/1.0 400 Bad Request\r\nContent-Type: a\r\n\r\none\r\n\r\ntwo";
        assert_eq!(parse(answer), Some((400, "one\r\n\r\ntwo".to_owned())));
        assert_eq!(parse("HTTP/1.0 200 OK\r\n"), None);
    }

    #[test]
    fn a_query_is_encoded() {
        assert_eq!(encoded("up{a=\"ä\"}"), "up%7Ba%3D%22%C3%A4%22%7D");
    }
}
