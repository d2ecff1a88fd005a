//! The reference models of the core and of a circuit, and the programs that compare each machine
//! with its model.
//!
//! A model is written to be read: it keeps its whole history and counts in it. A world holds the
//! machine and its model side by side, gives both the same inputs and compares the answers.
//! [`search`] and [`merged`] try every script of inputs up to a depth; [`script`] plays long
//! scripts, which `runner` makes at random and the fuzz target makes of bytes.

#[cfg(feature = "circuit")]
pub mod circuit;
pub mod gate;
pub mod merged;
pub mod partitions;
pub mod pool;
#[cfg(feature = "proptest")]
pub mod runner;
pub mod script;
pub mod search;
