//! What was measured, held against what was promised, and told to people and to programs.

pub mod document;
pub mod json;
pub mod plots;
pub mod readings;
pub mod table;
pub mod verdict;
