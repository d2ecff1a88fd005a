//! How figures are taken: time, instructions; memory is read where its goal is.

pub mod instructions;
pub mod series;
pub mod time;
