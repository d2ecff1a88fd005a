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
    of_answer(error.code(), error.details().unwrap_or_default())
}

fn of_answer(code: &str, text: &str) -> StoreError {
    // A right that a script needs has no code of its own: Redis 7.0, and later versions.
    let is_denied = ["The user executing the script can't", "ACL failure in script"].iter().any(|it| text.contains(it));
    of_code(if is_denied { "NOPERM" } else { code })
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
    fn a_right_that_a_script_needs_is_missing() {
        for text in [
            "The user executing the script can't run this command or subcommand script: 9a, on @user_script:1.",
            "ACL failure in script: User x has no permissions to run the 'set' command script: 9a",
        ] {
            assert_eq!(of_answer("ERR", text), refused("NOPERM"));
        }
        assert_eq!(of_answer("ERR", "value is not an integer"), refused("ERR"));
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
