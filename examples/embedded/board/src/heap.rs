//! The global allocator: a heap that records its peak use.

use core::alloc::{GlobalAlloc, Layout};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use embedded_alloc::LlffHeap;

/// The size of the heap, in bytes.
pub const SIZE: usize = 8 * 1024;

#[global_allocator]
static HEAP: Heap = Heap { heap: LlffHeap::empty(), peak: AtomicUsize::new(0) };

struct Heap {
    heap: LlffHeap,
    peak: AtomicUsize,
}

/// Gives the heap its memory. A program must call it first, and only once.
///
/// # Panics
///
/// Panics when called again.
pub fn init() {
    static mut MEMORY: [MaybeUninit<u8>; SIZE] = [MaybeUninit::uninit(); SIZE];
    // SAFETY: the memory is a static that nothing else can name, and a second call panics before it
    // touches it.
    unsafe { HEAP.heap.init(&raw mut MEMORY as usize, SIZE) }
}

/// Returns the bytes in use, including the allocator's padding for alignment.
pub fn used() -> usize {
    HEAP.heap.used()
}

/// Returns the largest number of bytes that were in use at the same time.
pub fn peak() -> usize {
    HEAP.peak.load(Ordering::Relaxed)
}

// SAFETY: every block is the inner heap's, which is an allocator.
unsafe impl GlobalAlloc for Heap {
    // SAFETY: the caller's promise is that of the inner heap.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.heap.alloc(layout) };
        // A Cortex-M0 has no atomic maximum.
        critical_section::with(|_| self.peak.store(peak().max(used()), Ordering::Relaxed));
        block
    }

    // SAFETY: as for `alloc`.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.heap.dealloc(block, layout) }
    }
}
