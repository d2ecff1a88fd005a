//! The page of the guide on a whole service, compiled.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/whole-service.md")]
struct Guide;
