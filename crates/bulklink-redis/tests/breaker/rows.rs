//! Rows that are none.
