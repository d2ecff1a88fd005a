//! What the standard library would bring: output, exit, a panic handler, and below, a heap, critical sections and symbols.

pub(crate) mod heap;
mod link;
pub(crate) mod section;

use core::arch::asm;
use core::fmt::{self, Write};
use core::panic::PanicInfo;

const WRITE: isize = 1;
const EXIT_GROUP: isize = 231;
const STDOUT: usize = 1;

/// Writes to standard output. What cannot be written ends the program: nobody would see a panic's message either.
pub(crate) fn print(text: fmt::Arguments<'_>) {
    if Stdout.write_fmt(text).is_err() {
        exit(1);
    }
}

/// Ends the program.
pub(crate) fn exit(code: u8) -> ! {
    // SAFETY: `exit_group` takes a number, touches no memory of ours, and does not return.
    unsafe {
        asm!("syscall", in("rax") EXIT_GROUP, in("rdi") usize::from(code), options(noreturn, nostack));
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    print(format_args!("no-std: FAILED: {info}\n"));
    exit(1)
}

struct Stdout;

impl Write for Stdout {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            // A result below zero is an error; zero would never end.
            let written = usize::try_from(write(rest)).ok().filter(|&written| written > 0).ok_or(fmt::Error)?;
            rest = &rest[written..];
        }
        Ok(())
    }
}

/// Writes some of the bytes to standard output; returns how many, or an error below zero.
fn write(bytes: &[u8]) -> isize {
    let result;
    // SAFETY: `write` reads `bytes.len()` bytes from `bytes`, which is so long, and changes no memory. The kernel keeps all
    // registers but `rax`, `rcx` and `r11`.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") WRITE => result,
            in("rdi") STDOUT,
            in("rsi") bytes.as_ptr(),
            in("rdx") bytes.len(),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack, readonly),
        );
    }
    result
}
