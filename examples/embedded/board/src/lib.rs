//! What any firmware brings along, made for a microcontroller in QEMU: a heap, a tick, a line of output, and an end.

#![no_std]

pub mod heap;
mod host;
pub mod systick;

/// Prints a line in QEMU's output.
pub use cortex_m_semihosting::hprintln as say;
pub use host::finish;
