//! The errors of a server: codes, and never a text of the server, of the network or of a URL, which
//! could contain credentials or data.

use bulklink_fleet::StoreError;
use redis::{ErrorKind, RedisError, ServerError};

/// The connection failed, or it carries no RESP3.
pub(crate) fn of_connection(error: &RedisError) -> StoreError {
    if error.is_timeout() {
        return StoreError::TimedOut;
    }
    match error.kind() {
        ErrorKind::Parse => StoreError::Malformed,
        ErrorKind::RESP3NotSupported => refused("UNSUPPORTED"),
        _ => match error.code() {
            Some(code) => of_code(code),
            None => StoreError::Unreachable,
        },
    }
}

/// The server answered with an error.
pub(crate) fn of_server(error: &ServerError) -> StoreError {
    of_code(error.code())
}

fn of_code(code: &str) -> StoreError {
    // An error without a code begins with any word.
    let is_code = (1..=20).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_uppercase());
    match code {
        "OOM" => StoreError::Full,
        _ if is_code => refused(code),
        _ => refused("ERR"),
    }
}

/// The error of a server that refuses, or that is refused.
pub(crate) fn refused(code: &str) -> StoreError {
    StoreError::Refused { code: code.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_codes_are_shown() {
        for (code, shown) in [("NOPERM", "NOPERM"), ("secret", "ERR"), ("A:B", "ERR"), ("", "ERR")] {
            assert_eq!(of_code(code), refused(shown), "{code}");
        }
        assert_eq!(of_code("OOM"), StoreError::Full);
        assert_eq!(of_code(&"A".repeat(21)), refused("ERR"));
    }

    #[test]
    fn an_error_of_the_network_has_no_text() {
        let io = std::io::Error::other("redis://user:secret@host");
        assert_eq!(of_connection(&io.into()), StoreError::Unreachable);
        let io = std::io::Error::from(std::io::ErrorKind::TimedOut);
        assert_eq!(of_connection(&io.into()), StoreError::TimedOut);
        let settings = (ErrorKind::InvalidClientConfig, "no address", "secret".to_owned());
        assert_eq!(of_connection(&settings.into()), StoreError::Unreachable);
    }
}
