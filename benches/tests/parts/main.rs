//! The tests of the library. They are no unit tests, so that the scenes are compiled once: as they
//! are measured.

#![allow(clippy::float_cmp, reason = "the tests use numbers that floats represent exactly")]

mod adaptive;
mod document;
mod goals;
mod hand_made;
mod instructions;
mod json;
mod load;
mod overload;
mod plot;
mod readings;
mod series;
mod station;
mod summary;
mod table;
mod tally;
mod time;
mod upstream;
mod verdict;
mod work;
