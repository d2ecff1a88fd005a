//! Symbols that the linker asks for: the functions on memory that compiled code calls, and the names of an unwinder.

use core::arch::asm;
use core::ffi::{c_int, c_void};

// SAFETY: as in C, `to` and `from` are good for `length` bytes and do not overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    // SAFETY: good by this contract; without overlap, any direction will do.
    unsafe { copy_forward(to, from, length) };
    to
}

// SAFETY: as in C, `to` and `from` are good for `length` bytes; they may overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    if to.addr().wrapping_sub(from.addr()) >= length {
        // SAFETY: good by this contract. `to` does not begin inside `from`, so each byte is read before it is overwritten.
        unsafe { copy_forward(to, from, length) };
    } else {
        // SAFETY: good by this contract. `to` begins inside `from`, so `from` is not empty, and from its end on each byte is read
        // before it is overwritten.
        unsafe { copy_backward(to, from, length) };
    }
    to
}

// SAFETY: `to` and `from` must be good for `length` bytes; they are read and written one by one, the first one first.
unsafe fn copy_forward(to: *mut c_void, from: *const c_void, length: usize) {
    // SAFETY: good by this contract. The direction flag is clear, as the ABI demands.
    unsafe {
        asm!(
            "rep movsb",
            inout("rcx") length => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags),
        );
    }
}

// SAFETY: `to` and `from` must be good for `length` bytes, at least one; the last one comes first.
unsafe fn copy_backward(to: *mut c_void, from: *const c_void, length: usize) {
    // SAFETY: good by this contract, and so are the last bytes. The direction flag is cleared again, as the ABI demands.
    unsafe {
        let (last_to, last_from) = (to.byte_add(length - 1), from.byte_add(length - 1));
        asm!(
            "std", "rep movsb", "cld",
            inout("rcx") length => _, inout("rdi") last_to => _, inout("rsi") last_from => _,
            options(nostack),
        );
    }
}

// SAFETY: as in C, `to` is good for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut c_void, byte: c_int, length: usize) -> *mut c_void {
    // SAFETY: the range is good by the contract of this function. The direction flag is clear, as the ABI demands.
    unsafe {
        asm!(
            "rep stosb",
            inout("rcx") length => _, inout("rdi") to => _, in("eax") byte,
            options(nostack, preserves_flags),
        );
    }
    to
}

// SAFETY: as in C, `left` and `right` are good for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(left: *const c_void, right: *const c_void, length: usize) -> c_int {
    let (left, right) = (left.cast::<u8>(), right.cast::<u8>());
    for index in 0..length {
        // SAFETY: `index` is less than `length`, so both bytes are good by the contract of this function.
        let (left, right) = unsafe { (*left.add(index), *right.add(index)) };
        if left != right {
            return c_int::from(left) - c_int::from(right);
        }
    }
    0
}

// SAFETY: as `memcmp`, of which it tells only whether the result is zero.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(left: *const c_void, right: *const c_void, length: usize) -> c_int {
    // SAFETY: the contracts are the same.
    unsafe { memcmp(left, right, length) }
}

/// The distributed `alloc` was compiled to unwind, and names this; with `panic = "abort"` nobody calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// As `rust_eh_personality`.
#[unsafe(export_name = "_Unwind_Resume")]
extern "C" fn unwind_resume() -> ! {
    super::exit(1)
}
