//! Internal.
