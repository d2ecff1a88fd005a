//! Names of bulkheads on a server: a namespace and a label, escaped so that both can be in a key.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bulklink::InvalidArgument;
use thiserror::Error;

const MAX_NAMESPACE: usize = 64;

const MAX_LABEL: usize = 200;

/// A set of names on one server: two environments with different namespaces share nothing.
///
/// It has 1 to 64 bytes, each a letter of ASCII, a digit, `.`, `_` or `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(Arc<str>);

impl Namespace {
    /// Checks the text.
    ///
    /// # Errors
    ///
    /// [`InvalidName`] if the text is empty, too long, or has any other byte.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        check_length(text, MAX_NAMESPACE)?;
        match text.bytes().find(|byte| !is_plain(*byte)) {
            Some(byte) => Err(InvalidName::Byte(byte)),
            None => Ok(Self(text.into())),
        }
    }

    /// Checks the namespace of a builder, where it is required: so two environments on one store
    /// never share anything by accident.
    pub(crate) fn required(text: Option<&str>) -> Result<Self, InvalidArgument> {
        let text = text.unwrap_or_default();
        Self::new(text).map_err(|error| error.of("namespace", text))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of one bulkhead on a server, with its namespace: `prod:payments`.
///
/// The label is escaped: each byte other than a letter of ASCII, a digit, `.`, `_` and `-` is
/// `%XX`, in upper case. So a name has no byte that means something in a key, a channel or a
/// pattern, and two labels never share a name.
///
/// ```
/// use bulklink_fleet::{Name, Namespace};
///
/// let name = Name::new(&Namespace::new("prod")?, " card payments ")?;
/// assert_eq!(name.as_str(), "prod:card%20payments");
/// assert_eq!(name.label(), "card payments");
/// # Ok::<(), bulklink_fleet::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    /// Makes the name of `label`, without the white space around it.
    ///
    /// # Errors
    ///
    /// [`InvalidName`] if nothing is left, or if the escaped label has more than 200 bytes.
    pub fn new(namespace: &Namespace, label: &str) -> Result<Self, InvalidName> {
        Self::exact(namespace, label.trim())
    }

    /// Makes the name of `label` as it is. So the names of keys that differ in white space differ.
    pub(crate) fn exact(namespace: &Namespace, label: &str) -> Result<Self, InvalidName> {
        let label = escape(label);
        check_length(&label, MAX_LABEL)?;
        Ok(Self(format!("{namespace}:{label}").into()))
    }

    /// Makes the name of the label that a builder was given.
    pub(crate) fn labelled(namespace: &Namespace, label: &str) -> Result<Self, InvalidArgument> {
        Self::new(namespace, label).map_err(|error| error.of("label", label))
    }

    /// Returns namespace, colon and escaped label.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the namespace.
    pub fn namespace(&self) -> &str {
        self.parts().0
    }

    /// Returns the label as it was before it was escaped.
    pub fn label(&self) -> String {
        unescape(self.parts().1)
    }

    fn parts(&self) -> (&str, &str) {
        self.0.split_once(':').unwrap_or_default()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads what [`Name::as_str`] returns, and nothing else.
impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let (namespace, label) = text.split_once(':').ok_or(InvalidName::Empty)?;
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
        let mut parts = label.split('%');
        let is_plain_first = parts.next().is_some_and(|part| part.bytes().all(is_plain));
        let is_escaped = |part: &str| {
            let (code, rest) = part.as_bytes().split_at_checked(2).unwrap_or_default();
            code.len() == 2 && code.iter().all(is_digit) && rest.iter().copied().all(is_plain)
        };
        if !is_plain_first || !parts.all(is_escaped) {
            return Err(InvalidName::Byte(b'%'));
        }
        let (namespace, label) = (Namespace::new(namespace)?, unescape(label));
        // A key of partitions keeps the white space at its end.
        let label = if label.contains(':') { label.trim_start() } else { label.trim() };
        let name = Self::exact(&namespace, label)?;
        // Another text for the same label would be a name of another bulkhead.
        if name.as_str() == text { Ok(name) } else { Err(InvalidName::Byte(b'%')) }
    }
}

/// Why a text is no [`Name`] or [`Namespace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// The text is empty, or white space only.
    #[error("the name is empty")]
    Empty,
    /// The text is too long.
    #[error("the name has {bytes} bytes, escaped; at most {max} are allowed")]
    TooLong {
        /// Its length in bytes, escaped.
        bytes: usize,
        /// The largest length.
        max: usize,
    },
    /// A namespace must not have this byte.
    #[error("a namespace has only A-Z, a-z, 0-9, '.', '_' and '-', got 0x{0:02x}")]
    Byte(u8),
}

impl InvalidName {
    pub(crate) fn of(self, field: &'static str, value: &str) -> InvalidArgument {
        InvalidArgument::new(field, format_args!("{value:?}"), format_args!("must be a valid name: {self}"))
    }
}

fn check_length(text: &str, max: usize) -> Result<(), InvalidName> {
    match text.len() {
        0 => Err(InvalidName::Empty),
        bytes if bytes > max => Err(InvalidName::TooLong { bytes, max }),
        _ => Ok(()),
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn escape(label: &str) -> String {
    let escaped = |byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    label.bytes().map(escaped).collect()
}

fn unescape(label: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = label;
    while let Some((plain, after)) = rest.split_once('%') {
        let (code, after) = after.split_at(2);
        bytes.extend(plain.bytes());
        bytes.extend(u8::from_str_radix(code, 16));
        rest = after;
    }
    bytes.extend(rest.bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}
