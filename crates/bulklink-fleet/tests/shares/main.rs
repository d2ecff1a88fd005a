//! A server, processes and a network in short and in long scripts: whatever is lost, late or
//! doubled, and whatever ends, no more than the limit is in use, and each process is served.
//!
//! `BULKLINK_DEPTH` makes the short scripts longer by as much as those of the gate's search;
//! `PROPTEST_CASES` changes the number of the others.

mod faults;
mod found;
mod random;
mod releases;
mod rules;
mod scripts;
mod world;
