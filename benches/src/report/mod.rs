//! Compares the readings with the limits, and reports the result as tables and as JSON.

pub mod document;
pub mod json;
pub mod readings;
pub mod summary;
pub mod table;
pub mod verdict;
