//! The methods that start to build a bulkhead.

use crate::{Builder, Bulkhead, Clock};

/// # Build
impl<R: Clock + Default> Bulkhead<R> {
    /// Starts to build a bulkhead with this name, on the runtime that its type names.
    ///
    /// See [Labels](Builder#labels) for valid names.
    pub fn builder(label: &str) -> Builder<R> {
        Builder::new(R::default(), label)
    }
}

impl<R: Clock> Bulkhead<R> {
    /// Starts to build a bulkhead with this name, on this runtime.
    ///
    /// See [Labels](Builder#labels) for valid names.
    pub fn builder_on(runtime: R, label: &str) -> Builder<R> {
        Builder::new(runtime, label)
    }
}
