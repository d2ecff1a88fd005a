//! What any firmware has, for a microcontroller in QEMU: a heap, a tick, output, and an exit.

#![no_std]

pub mod heap;
mod host;
pub mod systick;

/// Prints a line in QEMU's output.
pub use cortex_m_semihosting::hprintln as say;
pub use host::finish;
