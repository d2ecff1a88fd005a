//! What every program needs, with or without a gate: a heap, a panic handler, and a table of the
//! functions to keep.
//!
//! The programs are linked in order to be measured, and never run.

#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::hint::black_box;
use core::panic::PanicInfo;
use core::ptr;
use core::sync::atomic::AtomicPtr;

/// The value that the gate parks, as small as possible.
#[derive(Debug)]
pub struct Waiter(pub fn());

/// Functions that the linker must keep. An atomic pointer can be in a static, and the compiler
/// cannot assume its value.
pub type Functions<const N: usize> = [AtomicPtr<()>; N];

/// Makes a table of [`Functions`], and the entry point from which the linker reaches it. No code
/// calls them, so only their own code is measured.
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

/// An allocator that always fails. The compiler cannot see that, so it keeps the code that uses the
/// memory.
struct Heap;

// SAFETY: no block is ever returned, so none can be wrong.
unsafe impl GlobalAlloc for Heap {
    // SAFETY: it accepts every layout and touches no memory.
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

/// Loops without a message, as a small firmware does, because the texts of panics are not measured.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
