//! The errors of stores.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The error of a command that a store did not carry out: its kind, the server's code, and as the
/// [source](Error::source) the error of the driver, such as that of the network.
///
/// No text has a password; that of a server may name the user. Two errors are equal if their kinds
/// and codes are.
///
/// ```
/// use bulklink_fleet::{StoreError, StoreErrorKind};
///
/// let error = StoreError::refused("WRONGPASS");
/// assert_eq!(error.kind(), StoreErrorKind::Login);
/// assert_eq!(error.to_string(), "the store refuses the user or the password: WRONGPASS");
/// ```
#[derive(Clone, Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    code: Option<Box<str>>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kind of a [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// There is no connection, or it ended before the answer: such as a port that refuses, or an
    /// unknown host.
    Unreachable,
    /// The answer did not come in time.
    TimedOut,
    /// The server and this process do not agree on TLS, or do not trust each other.
    Tls,
    /// The server refuses the user or the password.
    Login,
    /// The user lacks a right. The command has had no effect.
    Rights,
    /// The server refused the command for another reason. It has had no effect.
    Refused,
    /// The server has no memory or space for the command, which has had no effect.
    Full,
    /// The answer has an unknown form. The command may have had an effect.
    Malformed,
}

impl StoreError {
    /// An error of the kind [`Unreachable`](StoreErrorKind::Unreachable), without a cause.
    pub const UNREACHABLE: Self = Self::new(StoreErrorKind::Unreachable);

    /// An error of the kind [`TimedOut`](StoreErrorKind::TimedOut).
    pub const TIMED_OUT: Self = Self::new(StoreErrorKind::TimedOut);

    /// An error of the kind [`Tls`](StoreErrorKind::Tls), without a cause.
    pub const TLS: Self = Self::new(StoreErrorKind::Tls);

    /// An error of the kind [`Full`](StoreErrorKind::Full).
    pub const FULL: Self = Self::new(StoreErrorKind::Full);

    /// An error of the kind [`Malformed`](StoreErrorKind::Malformed).
    pub const MALFORMED: Self = Self::new(StoreErrorKind::Malformed);

    const fn new(kind: StoreErrorKind) -> Self {
        Self { kind, code: None, source: None }
    }

    /// Makes the error of a command that the server has refused with this code, such as `READONLY`.
    /// The kind is [`Login`](StoreErrorKind::Login) or [`Rights`](StoreErrorKind::Rights) if Redis
    /// or PostgreSQL has the code for that, otherwise [`Refused`](StoreErrorKind::Refused).
    pub fn refused(code: impl Into<Box<str>>) -> Self {
        let code = code.into();
        let kind = match &*code {
            "WRONGPASS" | "NOAUTH" | "28P01" | "28000" => StoreErrorKind::Login,
            "NOPERM" | "42501" => StoreErrorKind::Rights,
            _ => StoreErrorKind::Refused,
        };
        Self { code: Some(code), ..Self::new(kind) }
    }

    /// Adds the cause, such as the error of a driver. Its texts must have no password.
    #[must_use]
    pub fn with_source(mut self, source: Arc<dyn Error + Send + Sync>) -> Self {
        self.source = Some(source);
        self
    }

    /// Returns the kind.
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Returns the server's code, such as `NOPERM`, if it has refused a command.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Returns whether the server has answered, and has refused: the command has had no effect, and
    /// another connection would change nothing.
    pub const fn is_refusal(&self) -> bool {
        use StoreErrorKind::{Full, Login, Refused, Rights};
        matches!(self.kind, Login | Rights | Refused | Full)
    }

    /// Finds the error of a store among an error and its causes: why a share did not begin, or why
    /// a call was rejected by the [ceiling](crate::ceiling) of its share.
    ///
    /// ```
    /// use bulklink::Rejection;
    /// use bulklink_fleet::{StoreError, StoreErrorKind};
    ///
    /// fn is_login_refused(rejection: &Rejection) -> bool {
    ///     StoreError::of(rejection).is_some_and(|error| error.kind() == StoreErrorKind::Login)
    /// }
    /// ```
    pub fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        std::iter::successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref())
    }
}

impl PartialEq for StoreError {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.code) == (other.kind, &other.code)
    }
}

impl Eq for StoreError {}

/// Says what failed; the [source](Error::source) has the cause.
impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            StoreErrorKind::Unreachable => "the store is unreachable",
            StoreErrorKind::TimedOut => "the store did not answer in time",
            StoreErrorKind::Tls => "there is no TLS connection to the store",
            StoreErrorKind::Login => "the store refuses the user or the password",
            StoreErrorKind::Rights => "the store wants a right that the user lacks",
            StoreErrorKind::Refused => "the store refused the command",
            StoreErrorKind::Full => "the store is full",
            StoreErrorKind::Malformed => "the store's answer has an unknown form",
        })?;
        self.code.as_ref().map_or(Ok(()), |code| write!(f, ": {code}"))
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&**self.source.as_ref()?)
    }
}
