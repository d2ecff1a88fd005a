//! The errors of a server: its codes, and as their causes its texts and the errors of the network.
//! None has credentials: an old server or a proxy repeats the arguments of a command that it does
//! not know, and those of a greeting are the user and the password.

use std::error::Error;
use std::io;
use std::sync::Arc;

use bulklink_fleet::StoreError;
use redis::{ErrorKind, RedisError, ServerError};

/// The connection failed, or it carries no RESP3.
pub(crate) fn of_connection(error: &RedisError) -> StoreError {
    // That of the network, which `RedisError` would only repeat.
    let own = error.source().and_then(|source| source.downcast_ref::<Arc<dyn Error + Send + Sync>>());
    let io = own.and_then(|own| own.downcast_ref::<io::Error>());
    let is_tls = io.and_then(io::Error::get_ref).is_some_and(<dyn Error + Send + Sync>::is::<rustls::Error>);
    let kind = match error.kind() {
        _ if error.is_timeout() => StoreError::TIMED_OUT,
        _ if is_tls => StoreError::TLS,
        ErrorKind::Parse => StoreError::MALFORMED,
        ErrorKind::RESP3NotSupported => refused("UNSUPPORTED"),
        _ => match error.code() {
            Some(code) => return of_answer(code, error.detail()),
            None => StoreError::UNREACHABLE,
        },
    };
    match own {
        Some(own) => kind.with_source(Arc::clone(own)),
        None => kind.with_source(text(error.category())),
    }
}

/// The server answered with an error.
pub(crate) fn of_server(error: &ServerError) -> StoreError {
    of_answer(error.code(), error.details())
}

fn of_answer(code: &str, details: Option<&str>) -> StoreError {
    let Some(details) = details else { return of_code(code) };
    // A right that a script needs has no code of its own: Redis 7.0, and later versions.
    let is_denied =
        ["The user executing the script can't", "ACL failure in script"].iter().any(|it| details.contains(it));
    let error = of_code(if is_denied { "NOPERM" } else { code });
    // What follows could be a password.
    let is_unknown = details.contains("unknown command") || details.contains("with args");
    error.with_source(text(if is_unknown { "the server does not know the command" } else { details }))
}

fn text(text: &str) -> Arc<dyn Error + Send + Sync> {
    Box::<dyn Error + Send + Sync>::from(text).into()
}

fn of_code(code: &str) -> StoreError {
    // An error without a code begins with any word.
    let is_code = (1..=20).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_uppercase());
    match code {
        "OOM" => StoreError::FULL,
        _ if is_code => refused(code),
        _ => refused("ERR"),
    }
}

/// The error of a server that refuses, or that is refused.
pub(crate) fn refused(code: &str) -> StoreError {
    StoreError::refused(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(error: &StoreError) -> Option<String> {
        error.source().map(ToString::to_string)
    }

    #[test]
    fn only_codes_are_shown() {
        for (code, shown) in [("NOPERM", "NOPERM"), ("secret", "ERR"), ("A:B", "ERR"), ("", "ERR")] {
            assert_eq!(of_code(code), refused(shown), "{code}");
        }
        assert_eq!(of_code("OOM"), StoreError::FULL);
        assert_eq!(of_code(&"A".repeat(21)), refused("ERR"));
    }

    #[test]
    fn a_right_that_a_script_needs_is_missing() {
        for text in [
            "The user executing the script can't run this command or subcommand script: 9a, on @user_script:1.",
            "ACL failure in script: User x has no permissions to run the 'set' command script: 9a",
        ] {
            let error = of_answer("ERR", Some(text));
            assert_eq!((&error, cause(&error).as_deref()), (&refused("NOPERM"), Some(text)));
        }
        assert_eq!(of_answer("ERR", Some("value is not an integer")), refused("ERR"));
    }

    #[test]
    fn the_cause_of_an_error_is_that_of_the_network_or_the_text_of_the_server() {
        let io = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = of_connection(&io.into());
        assert_eq!((&error, cause(&error).as_deref()), (&StoreError::UNREACHABLE, Some("connection refused")));
        assert!(error.source().expect("it is kept").source().is_none(), "each text is there once");
        let io = std::io::Error::from(std::io::ErrorKind::TimedOut);
        assert_eq!(of_connection(&io.into()), StoreError::TIMED_OUT);
        let io = std::io::Error::other(rustls::Error::HandshakeNotComplete);
        let error = of_connection(&io.into());
        assert_eq!((&error, cause(&error).as_deref()), (&StoreError::TLS, Some("handshake not complete")));
    }

    #[test]
    fn no_credentials_are_in_a_cause() {
        let settings = (ErrorKind::InvalidClientConfig, "no address", "secret".to_owned());
        let error = of_connection(&settings.into());
        assert_eq!((&error, cause(&error).as_deref()), (&StoreError::UNREACHABLE, Some("invalid client config")));
        let text = "unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'ringo' 'secret' ";
        let error = of_answer("ERR", Some(text));
        assert_eq!(cause(&error).as_deref(), Some("the server does not know the command"));
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}
