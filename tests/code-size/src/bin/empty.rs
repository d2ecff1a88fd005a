//! The empty program: no gate, only what every program has.

#![no_std]
#![no_main]

use code_size as _;

code_size::keep!();
