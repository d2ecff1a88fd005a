//! For the other crates of Bulklink. It may change in any release.

pub use crate::foreign::{catch, contain, discard, wake};

/// Blocks the thread until the future is ready.
#[cfg(feature = "std")]
pub fn block_on<F: Future>(future: F) -> F::Output {
    crate::blocking::thread::Thread::on(crate::gate::latch::NoTime).block_on(future)
}
