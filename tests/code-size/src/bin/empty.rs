//! No gate: what a program is that does nothing.

#![no_std]
#![no_main]

use code_size as _;

code_size::keep!();
