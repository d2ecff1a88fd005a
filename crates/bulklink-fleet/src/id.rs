//! Identities of processes and of their calls, and their texts.

use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::ServerTime;

/// The digits of an owner's text, in the order of ASCII: so numbers and texts sort alike.
const DIGITS: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

/// The length of an owner's text: 128 bits in digits of 6.
const OWNER_LENGTH: usize = 22;

/// The identity of one process: 128 random bits, 22 characters as a text.
///
/// A process that starts again has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerId(u128);

impl From<u128> for OwnerId {
    fn from(bits: u128) -> Self {
        Self(bits)
    }
}

impl From<OwnerId> for u128 {
    fn from(id: OwnerId) -> Self {
        id.0
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The first digit has the two highest bits.
        (0..OWNER_LENGTH).rev().try_for_each(|place| {
            let digit = (self.0 >> (6 * place)) & 63;
            write!(f, "{}", char::from(DIGITS[digit as usize]))
        })
    }
}

impl FromStr for OwnerId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        if text.len() != OWNER_LENGTH {
            return Err(InvalidId);
        }
        let digit = |byte| DIGITS.iter().position(|digit| *digit == byte).ok_or(InvalidId);
        let value = text.bytes().try_fold(0_u128, |value, byte| {
            let high = value.checked_mul(64).ok_or(InvalidId)?;
            Ok(high | digit(byte)? as u128)
        })?;
        Ok(Self(value))
    }
}

/// The identity of one call: its process, its number there, and its cost in units.
///
/// The process chooses it, so a command that is repeated with the same id takes effect once. The
/// cost is part of it, so that all that see the id agree on it. The text is
/// `<owner>:<number>:<cost>`, and ids are ordered as their texts, byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId {
    /// The process of the call.
    pub owner: OwnerId,
    /// Grows with the calls of the process. Usually it is the server's time at which the call
    /// asked, in microseconds since 1970, as far as the process knew it.
    pub seq: u64,
    /// What the call costs, in units; at least 1.
    pub cost: u64,
}

impl CallId {
    /// Returns when the call asked, by the server's clock, if its number says so.
    #[must_use]
    pub fn asked_at(&self) -> Option<ServerTime> {
        // A process that knows no time yet counts from 1; a million seconds are twelve days.
        (self.seq > 1_000_000_000_000).then(|| ServerTime::from(self.seq))
    }
}

impl Ord for CallId {
    fn cmp(&self, other: &Self) -> Ordering {
        // The character after the number, a colon, is above all digits.
        let by_seq = || as_texts(self.seq, other.seq, Ordering::Greater);
        let by_cost = || as_texts(self.cost, other.cost, Ordering::Less);
        self.owner.cmp(&other.owner).then_with(by_seq).then_with(by_cost)
    }
}

/// Compares numbers as their texts are ordered, without making these. `shorter` is the order of a
/// text to a longer one that begins with it.
fn as_texts(one: u64, other: u64, shorter: Ordering) -> Ordering {
    let [length, others] = [one, other].map(|number| number.checked_ilog10().unwrap_or(0));
    let power = 10_u64.pow(length.abs_diff(others));
    match length.cmp(&others) {
        Ordering::Less => one.cmp(&(other / power)).then(shorter),
        Ordering::Equal => one.cmp(&other),
        Ordering::Greater => (one / power).cmp(&other).then(shorter.reverse()),
    }
}

impl PartialOrd for CallId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.owner, self.seq, self.cost)
    }
}

impl FromStr for CallId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let mut parts = text.split(':');
        let mut next = || parts.next().ok_or(InvalidId);
        let id = Self { owner: next()?.parse()?, seq: number(next()?)?, cost: number(next()?)? };
        if parts.next().is_some() || id.cost == 0 { Err(InvalidId) } else { Ok(id) }
    }
}

/// Parses a number as `Display` writes it: without sign and leading zeros.
fn number(text: &str) -> Result<u64, InvalidId> {
    let number: u64 = text.parse().map_err(|_| InvalidId)?;
    if number.to_string() == text { Ok(number) } else { Err(InvalidId) }
}

/// The text is not that of an [`OwnerId`] or a [`CallId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidId;

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the text is no id")
    }
}

impl Error for InvalidId {}
