//! How figures are taken: time, instructions; memory is read where its goal is.

pub mod instructions;
pub mod series;
pub mod time;

/// Counts and nanoseconds as one divides them. None here comes near 2⁵².
#[allow(clippy::cast_precision_loss)]
pub(crate) fn float(number: u128) -> f64 {
    number as f64
}
