//! No gate: what a program is that does nothing.

#![no_std]
#![no_main]

use size_probe as _;

size_probe::keep!();
