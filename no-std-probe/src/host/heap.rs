//! The heap: a piece of static memory, given out from the front and never again. A run needs a few kilobytes.

use alloc::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

const SIZE: usize = 64 * 1024;
const ALIGN: usize = 64;

#[repr(align(64))]
struct Arena(UnsafeCell<[u8; SIZE]>);

// SAFETY: nothing but the allocator takes its address, and that hands out each byte once.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; SIZE]));

/// Bytes gone from the front.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Bytes given out and not given back.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static HEAP: Heap = Heap;

struct Heap;

/// How many bytes are in use.
pub(crate) fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

// SAFETY: every block lies in the arena, as long as asked and aligned as asked, and overlaps no other: `reserve` takes each
// range once. None is reused, so none can be invalidated. Nothing here panics.
unsafe impl GlobalAlloc for Heap {
    // SAFETY: there is nothing that a caller could get wrong.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(offset) = reserve(layout) else { return ptr::null_mut() };
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        ARENA.0.get().cast::<u8>().wrapping_add(offset)
    }

    // SAFETY: the memory is not touched.
    unsafe fn dealloc(&self, _block: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
    }
}

/// Takes the next range that fits, and returns its offset from the arena's beginning.
fn reserve(layout: Layout) -> Option<usize> {
    if layout.align() > ALIGN {
        return None;
    }
    let start = |taken: usize| taken.next_multiple_of(layout.align());
    let end = |taken| start(taken).checked_add(layout.size()).filter(|&end| end <= SIZE);
    TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end).ok().map(start)
}
