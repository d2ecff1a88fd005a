//! How time and instructions are measured. Memory is read where its goal is.

pub mod instructions;
pub mod time;

/// Converts a count or a number of nanoseconds for a division. None here comes near 2⁵².
#[allow(clippy::cast_precision_loss)]
pub(crate) fn float(number: u128) -> f64 {
    number as f64
}
