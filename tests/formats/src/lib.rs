//! How people write configurations; the tests are in `tests/`, and the examples of the guide are
//! tested here.
//!
//! They are a package, so that the front's own tests need none of the crates that read formats.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/configuration.md")]
mod guide {}
