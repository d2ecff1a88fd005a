//! Identities of processes, and their texts.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The digits of the text of a process, in the order of ASCII: so numbers and texts sort alike.
const DIGITS: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

/// The length of the text: 128 bits in digits of 6.
const LENGTH: usize = 22;

/// The identity of one process: 128 random bits, 22 characters as a text.
///
/// A process that starts again has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(u128);

impl From<u128> for ProcessId {
    fn from(bits: u128) -> Self {
        Self(bits)
    }
}

impl From<ProcessId> for u128 {
    fn from(id: ProcessId) -> Self {
        id.0
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The first digit has the two highest bits.
        (0..LENGTH).rev().try_for_each(|place| {
            let digit = (self.0 >> (6 * place)) & 63;
            write!(f, "{}", char::from(DIGITS[digit as usize]))
        })
    }
}

impl FromStr for ProcessId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        if text.len() != LENGTH {
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

/// The text is not that of a [`ProcessId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the text is no id")]
pub struct InvalidId;
