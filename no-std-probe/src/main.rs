//! A program without the standard library that drives Bulklink on this host: the bare gate, then the async front, through
//! the same script, then partitions. It ends with the line `no-std: ok`; a check that fails is a panic, which says what failed and exits 1.

#![no_std]
#![no_main]

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("the probe speaks to the kernel itself, and knows Linux on x86_64 only");

extern crate alloc;

mod account;
mod front;
mod gate;
mod host;
mod partitions;
mod polled;
mod say;
mod time;

use core::arch::global_asm;

use say::say;

// The kernel aligns the stack as a call expects it, and leaves no address to return to.
global_asm!(
    ".text",
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "call {main}",
    "ud2",
    main = sym main,
);

extern "C" fn main() -> ! {
    gate::drive();
    front::drive();
    partitions::drive();
    assert_eq!(host::heap::in_use(), 0, "all memory was given back");
    say!("ok");
    host::exit(0)
}
