//! The global allocator: a heap that remembers the most that was ever in use.

use core::alloc::{GlobalAlloc, Layout};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use embedded_alloc::LlffHeap;

/// How large it is, in bytes.
pub const SIZE: usize = 8 * 1024;

#[global_allocator]
static HEAP: Heap = Heap { heap: LlffHeap::empty(), peak: AtomicUsize::new(0) };

struct Heap {
    heap: LlffHeap,
    peak: AtomicUsize,
}

/// Gives the heap its memory. The first thing that a program does, and only once.
///
/// # Panics
///
/// When called again.
pub fn init() {
    static mut MEMORY: [MaybeUninit<u8>; SIZE] = [MaybeUninit::uninit(); SIZE];
    // SAFETY: the memory is a static that nothing else can name, and a second call panics before it touches it.
    unsafe { HEAP.heap.init(&raw mut MEMORY as usize, SIZE) }
}

/// The bytes that are in use, with what the allocator adds to keep them aligned.
pub fn used() -> usize {
    HEAP.heap.used()
}

/// The most that were in use at once.
pub fn peak() -> usize {
    HEAP.peak.load(Ordering::Relaxed)
}

// SAFETY: every block is the inner heap's, which is an allocator.
unsafe impl GlobalAlloc for Heap {
    // SAFETY: what the caller promises is what the inner heap asks for.
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
