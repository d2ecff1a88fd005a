//! What every program needs, with or without a gate: a heap, an answer to panics, and a table of the functions to be kept.
//!
//! The programs are linked to be measured, and never run.

#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::hint::black_box;
use core::panic::PanicInfo;
use core::ptr;
use core::sync::atomic::AtomicPtr;

/// What the gate parks: no bigger than it must be, and its name tells the gate's own code from other.
#[derive(Debug)]
pub struct Waiter(pub fn());

/// Functions that the linker must keep. An atomic pointer may lie in a static, and nobody may assume what it holds.
pub type Functions<const N: usize> = [AtomicPtr<()>; N];

/// A table of [`Functions`], and the entry from which the linker reaches it. No code calls them: what is measured is theirs.
#[macro_export]
macro_rules! keep {
    ($($function:expr),* $(,)?) => {
        const COUNT: usize = <[&str]>::len(&[$(stringify!($function)),*]);

        static KEPT: $crate::Functions<COUNT> = [$(core::sync::atomic::AtomicPtr::new($function as *mut ())),*];

        #[unsafe(no_mangle)]
        extern "C" fn _start() -> &'static $crate::Functions<COUNT> {
            &KEPT
        }
    };
}

#[global_allocator]
static HEAP: Heap = Heap;

/// Gives nothing, but does not say so: the compiler must expect memory.
struct Heap;

// SAFETY: no block is ever given out, so none can be wrong.
unsafe impl GlobalAlloc for Heap {
    // SAFETY: there is nothing that a caller could get wrong.
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        black_box(layout);
        black_box(ptr::null_mut())
    }

    // SAFETY: the block is not touched.
    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        black_box((block, layout));
    }

    // SAFETY: the block is not touched.
    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        black_box((block, layout, size));
        black_box(ptr::null_mut())
    }
}

/// Says nothing, as a small firmware does: the texts of panics are not what is measured.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
